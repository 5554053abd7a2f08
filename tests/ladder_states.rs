//! One rung of each state yields exactly that state.

mod ladder_support;

use assay::ladder::record::State;
use assay::ladder::rung::Need;
use assay::ladder::{Lane, Sources};
use ladder_support::{expect, options, plan, quietly, record, rung};

const NORM: &str = "norm/rms_norm.hip";
const INV: &str = "const float inv = 1.0f / sqrtf(total / (float)cols + eps);";

#[test]
fn every_state_is_reached_by_its_rung() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let sources = Sources::read(None).expect("sources");
    let rung = |id: &str, old: &str, new: &str| rung(id, "rms_norm", NORM, old, new, &sources);
    let mut rungs = vec![
        rung("killed", INV, "const float inv = 1.0f / sqrtf(total + eps);"),
        rung(
            "survived",
            "if (gemma) scale = scale + 1.0f;",
            "if (gemma) scale = scale + 1.0f + (cols == 77777 ? 1.0f : 0.0f);",
        ),
        rung("equivalent", INV, "const float inv = 1.0f / sqrtf(total / (float)cols + eps);  // the same"),
        rung("broken", INV, "const float inv = nonsense(total);"),
        rung("crash", INV, "const float inv = *(volatile float*)0 + total;"),
        rung("hang", INV, "float inv = total; while (*(volatile float*)&inv == total) {}"),
        rung("wave64", INV, "const float inv = 1.0f / sqrtf(total + eps);"),
        rung("stale", INV, ""),
        rung("by-reason", INV, "const float inv = 1.0f / sqrtf(total + eps);"),
    ];
    rungs.iter_mut().filter(|r| r.id == "wave64").for_each(|r| r.needs = Some(Need::Wave64));
    let mut unreached = rung("unreached", INV, "");
    unreached.ops = vec!["cast".to_string()];
    rungs.push(unreached);
    let mut plan = plan(rungs, sources.clone(), Lane::Smoke);
    plan.stale.insert("stale".to_string(), "its anchor matches nothing".to_string());
    plan.equivalent.insert("by-reason".to_string(), "a reason".to_string());
    let report = quietly(&options(folder.path()), &plan).expect("a report");
    for (id, state) in [
        ("killed", State::Killed),
        ("survived", State::Survived),
        ("equivalent", State::Equivalent),
        ("broken", State::BuildBroken),
        ("crash", State::Killed),
        ("hang", State::Killed),
        ("wave64", State::OutOfReach),
        ("stale", State::Stale),
        ("by-reason", State::Equivalent),
        ("unreached", State::Unreached),
    ] {
        expect(&report, id, state);
    }
    let by = |id: &str| record(&report, id).kill.clone().expect("killed").by;
    assert_eq!((by("crash").as_str(), by("hang").as_str()), ("crash", "hang"));
    let killed = record(&report, "killed");
    let kill = killed.kill.as_ref().expect("a kill");
    assert!(killed.cases > 0 && killed.assertions > 0 && kill.margin.is_some_and(|m| m > 1.0), "{killed:?}");
    assert!(record(&report, "survived").nearest.as_ref().is_some_and(|n| n.margin > 0.0 && n.margin <= 1.0));
    assert!(record(&report, "broken").reason.as_ref().is_some_and(|r| r.contains("nonsense")));
    assert!(killed.diff.contains("-    const float inv") && killed.diff.contains("+    const float inv"));
    assert_eq!(report.total.all, 10);
    assert_eq!(report.total.scored(), 5);
    assert_eq!(report.sources_before, report.sources_after);
    assert!(!folder.path().join("scratch").exists());
}
