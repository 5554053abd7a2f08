//! Ladders that are killed, resumed, run side by side, or have no compiler; and controls that fail.

mod ladder_support;

use assay::ladder::record::State;
use assay::ladder::rung::{HostFault, Rung};
use assay::ladder::{ClimbError, JOURNAL, Lane, Plan, Sources};
use ladder_support::{expect, host, options, plan, quietly, record, rung};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const FILE: &str = "elementwise/mul_scalar.hip";

/// Rungs of one small unit: the same statement put before every kernel body's first brace is enough to die in many ways.
fn rungs(sources: &Sources, n: usize) -> Vec<Rung> {
    let text = std::str::from_utf8(&sources.texts[FILE]).expect("UTF-8");
    let loop_head = text.lines().find(|l| l.contains("for (") && l.contains("first_element")).expect("a loop").trim();
    let start = "first_element()";
    let one = |i: usize| {
        let new = loop_head.replace(start, &format!("first_element() + {}", i + 1));
        rung(&format!("start-{i}"), "mul_scalar", FILE, loop_head, &new, sources)
    };
    (0..n).map(one).collect()
}

fn small(n: usize) -> Plan {
    let sources = Sources::read(None).expect("sources");
    plan(rungs(&sources, n), sources, Lane::Smoke)
}

fn tree() -> BTreeMap<String, Vec<u8>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels");
    let files = assay::toolchain::files_below(&root).expect("files");
    files.into_iter().map(|f| (f.display().to_string(), std::fs::read(&f).expect("read"))).collect()
}

/// Played in a process of its own; the result is written down as text.
#[test]
fn play_a_ladder() {
    let Some(out) = std::env::var_os("ASSAY_TEST_OUT") else { return };
    let out = Path::new(&out);
    let said = match quietly(&options(out), &small(24)) {
        Ok(report) => format!("{}", report.exit_code),
        Err(e) => format!("{} {e}", e.exit_code()),
    };
    std::fs::write(out.join("said"), said).expect("written");
}

fn player(out: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this test"));
    command.args(["--exact", "play_a_ladder", "--nocapture"]).env("ASSAY_TEST_OUT", out);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command
}

#[test]
fn a_killed_ladder_is_resumed_with_the_same_sources() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let before = tree();
    let mut child = player(folder.path()).spawn().expect("a process");
    let journal = folder.path().join(JOURNAL);
    let results = || std::fs::read_to_string(&journal).unwrap_or_default().matches("\"id\":\"start-").count();
    let until = Instant::now() + Duration::from_secs(120);
    while results() < 2 {
        assert!(Instant::now() < until, "no rung was done");
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().expect("killed");
    child.wait().expect("ended");
    assert!(!folder.path().join("said").exists(), "it came to its end before it was killed");
    let plan = small(24);
    let resumed = ladder_support::resumed(folder.path());
    let report = quietly(&resumed, &plan).expect("a report");
    assert_eq!((report.missing, report.total.all, report.total.killed()), (0, 24, 24), "{:?}", report.problems);
    assert!(
        report.notes.iter().any(|n| n.starts_with("resumed: with ") && !n.contains("with 0 ")),
        "{:?}",
        report.notes
    );
    assert_eq!(report.exit_code, 0, "{:?}", report.problems);
    assert_eq!(report.sources_before, report.sources_after);
    assert_eq!(tree(), before, "the tree was written to");
    let other = Plan { rungs: plan.rungs[..3].to_vec(), ..plan };
    assert!(matches!(quietly(&resumed, &other), Err(ClimbError::Journal { .. })));
}

#[test]
fn without_a_compiler_nothing_starts_and_the_message_says_so() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let status = player(folder.path()).env("PATH", folder.path()).env_remove("CXX").status().expect("a process");
    assert!(status.success());
    let said = std::fs::read_to_string(folder.path().join("said")).expect("a result");
    assert!(said.starts_with("2 no ") && said.contains("compiler"), "{said}");
}

#[test]
fn two_ladders_run_side_by_side_and_not_in_one_folder() {
    let folders = [tempfile::tempdir().expect("temporary folder"), tempfile::tempdir().expect("temporary folder")];
    let plan = small(4);
    let [a, b] = std::thread::scope(|scope| {
        let ladders = folders.each_ref().map(|f| scope.spawn(|| quietly(&options(f.path()), &plan).expect("a report")));
        // The folder of the first is taken as soon as its journal is there.
        let journal = folders[0].path().join(JOURNAL);
        while !journal.exists() {
            std::thread::sleep(Duration::from_millis(2));
        }
        let refused = quietly(&options(folders[0].path()), &plan);
        assert!(refused.is_err_and(|e| e.to_string().contains("another assay run")));
        ladders.map(|l| l.join().expect("no panic"))
    });
    assert_eq!((a.exit_code, b.exit_code), (0, 0), "{:?} {:?}", a.problems, b.problems);
    assert_eq!((a.total, b.total.all), (b.total, 4));
}

#[test]
fn kernels_that_are_not_green_make_an_error_before_any_mutant() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let mut sources = Sources::read(None).expect("sources");
    let text = String::from_utf8(sources.texts[FILE].clone()).expect("UTF-8");
    sources.texts.insert(FILE.to_string(), text.replace("first_element()", "first_element() + 1").into_bytes());
    let fixed =
        rung("any", "mul_scalar", FILE, "#include <hip/hip_runtime.h>", "#include <hip/hip_runtime.h>\n", &sources);
    let report = quietly(&options(folder.path()), &plan(vec![fixed], sources, Lane::Smoke)).expect("a report");
    assert_eq!((report.exit_code, report.rungs.len()), (3, 0));
    assert!(
        report.problems[0].starts_with("control: the unmutated kernels are not green before"),
        "{:?}",
        report.problems
    );
}

#[test]
fn a_ladder_that_scored_nothing_is_an_error_and_a_low_score_fails() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let sources = Sources::read(None).expect("sources");
    let include = "#include <hip/hip_runtime.h>";
    let same = rung("same", "mul_scalar", FILE, include, &format!("{include}\n// a comment"), &sources);
    let nothing =
        quietly(&options(folder.path()), &plan(vec![same.clone()], sources.clone(), Lane::Smoke)).expect("a report");
    assert_eq!((nothing.exit_code, nothing.total.score), (3, None), "{:?}", nothing.problems);
    let mut rungs = rungs(&sources, 1);
    let unused = format!("{include}\nextern \"C\" int never_called(int x) {{ return x + 1; }}");
    rungs.push(rung("unused", "mul_scalar", FILE, include, &unused, &sources));
    rungs.push(same);
    let low = quietly(&options(folder.path()), &plan(rungs, sources, Lane::Smoke)).expect("a report");
    expect(&low, "unused", State::Survived);
    assert_eq!((low.exit_code, low.total.score), (1, Some(50.0)), "{:?}", low.problems);
    assert!((low.total.raw.expect("raw") - 33.3).abs() < 0.1);
    assert_eq!(low.rungs[0].id, "unused", "survivors come first");
}

#[test]
fn every_fault_of_the_harness_is_noticed() {
    let folder = tempfile::tempdir().expect("temporary folder");
    use HostFault::*;
    let faults = [
        ("removed", ProviderRemoved),
        ("repointed", ProviderRepointed),
        ("drain", DrainRemoved),
        ("skipped", LaunchSkipped),
        ("zeroed", FixtureZeroed),
        ("bar", BarDropped),
        ("canary", CanaryDisarmed),
    ];
    let rungs = faults.iter().map(|(id, fault)| host(id, "fused_norm_rope", *fault)).collect();
    let plan = plan(rungs, Sources::read(None).expect("sources"), Lane::Smoke);
    let report = quietly(&options(folder.path()), &plan).expect("a report");
    for (id, _) in faults {
        expect(&report, id, State::Killed);
        assert!(record(&report, id).kill.is_some());
    }
    assert_eq!(report.exit_code, 0, "{:?}", report.problems);
}
