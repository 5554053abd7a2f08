use super::super::record::{ControlArm, End, Header, Kill, Near};
use super::*;
use crate::record::{BoardInfo, Tool};

fn record(id: &str, origin: &str, state: State) -> RungRecord {
    let kill = Kill {
        by: "ulp".into(),
        case: "c".into(),
        on: "out".into(),
        figure: Some(2.0),
        limit: Some(0.5),
        margin: Some(4.0),
        detail: String::new(),
    };
    let near = Near { case: "c".into(), bar: "ulp".into(), on: "out".into(), figure: 0.4, limit: 0.5, margin: 0.8 };
    RungRecord {
        id: id.into(),
        origin: origin.into(),
        operator: "relational".into(),
        class: Some(4),
        ops: vec!["add".into()],
        why: String::new(),
        file: "k.hip".into(),
        line: 1,
        diff: "@@ k.hip:1 @@\n-a\n+b\n".into(),
        state,
        reason: None,
        kill: (state == State::Killed).then_some(kill),
        bars: if state == State::Killed { vec!["ulp".into()] } else { vec![] },
        expected: vec![],
        nearest: (state == State::Survived).then_some(near),
        cases: 1,
        assertions: 9,
        build_ms: 1.0,
        gate_ms: 1.0,
    }
}

fn arm(when: &str, assertions: u64) -> ControlArm {
    let (when, failures) = (when.to_string(), vec![]);
    ControlArm { when, cases: 3, left_out: 0, assertions, canaries: 5, failures, wall_ms: 1.0 }
}

/// A ladder that came to its end in good order, with these rungs.
fn journal(rungs: Vec<RungRecord>) -> Journal {
    let sources: BTreeMap<String, String> = [("k.hip".to_string(), "abc".to_string())].into();
    let board = BoardInfo {
        id: "sim:gfx1151".into(),
        name: "x".into(),
        arch: "gfx1151".into(),
        runtime: "sim".into(),
        simulated: true,
        wave: 32,
    };
    let header = Header {
        schema: "assay-ladder/1".into(),
        tool: Tool { name: "assay".into(), version: "0".into() },
        board,
        command: vec![],
        lane: "default".into(),
        all_bars: false,
        min_score: 95.0,
        plan_hash: "p".into(),
        rungs: rungs.iter().map(|r| r.id.clone()).collect(),
        sources: sources.clone(),
        compiler: BTreeMap::new(),
        tree: "t".into(),
        started: 0,
    };
    let control = |id: &str, state| (id.to_string(), record(id, "control", state));
    Journal {
        header,
        rungs: rungs.into_iter().map(|r| (r.id.clone(), r)).collect(),
        controls: [control(controls::MUST_DIE, State::Killed), control(controls::MUST_LIVE, State::Survived)].into(),
        arms: vec![arm("before", 90), arm("after", 90)],
        notes: vec![],
        end: Some(End { sources, changed: vec![], wall_ms: 1.0, jobs: 2 }),
        good_bytes: 0,
        ends_in_newline: true,
    }
}

fn killed(n: usize) -> Vec<RungRecord> {
    (0..n).map(|i| record(&format!("k{i}"), "generated", State::Killed)).collect()
}

#[test]
fn a_ladder_in_good_order_exits_0() {
    let report = fold(&journal(killed(3)));
    assert_eq!((report.exit_code, report.problems.len(), report.total.score), (0, 0, Some(100.0)));
    assert_eq!(report.by_bar["ulp"], BarKills { killed: 3, failed: 3, alone: 3 });
    assert_eq!(report.by_class["04"].all, 3);
}

#[test]
fn survivors_and_unreached_count_against_the_score_and_the_rest_does_not() {
    let mut rungs = killed(2);
    for (i, state) in
        [State::Survived, State::Unreached, State::Equivalent, State::BuildBroken, State::OutOfReach].iter().enumerate()
    {
        rungs.push(record(&format!("x{i}"), "named", *state));
    }
    let report = fold(&journal(rungs));
    assert_eq!((report.exit_code, report.total.score, report.total.scored()), (1, Some(50.0), 4));
    assert_eq!(report.total.raw, Some(200.0 / 7.0));
    assert_eq!(report.rungs[0].state, State::Survived);
}

#[test]
fn a_stale_rung_fails_the_run_whatever_the_score() {
    let mut rungs = killed(9);
    rungs.push(record("old", "named", State::Stale));
    let report = fold(&journal(rungs));
    assert_eq!((report.exit_code, report.total.score), (1, Some(100.0)));
    assert!(report.problems[0].contains("stale"));
}

#[test]
fn more_than_15_of_100_generated_rungs_left_out_fail_the_run() {
    let left_out = |n: usize| {
        let mut rungs = killed(100 - n);
        rungs.extend((0..n).map(|i| record(&format!("e{i}"), "generated", State::Equivalent)));
        fold(&journal(rungs))
    };
    assert_eq!(left_out(15).exit_code, 0);
    let report = left_out(16);
    assert_eq!((report.exit_code, report.left_out), (1, Some(16.0)));
}

#[test]
fn failed_controls_come_first_and_make_an_error() {
    let mut weak = journal(killed(3));
    weak.controls.insert(controls::MUST_DIE.into(), record(controls::MUST_DIE, "control", State::Survived));
    let report = fold(&weak);
    assert_eq!(report.exit_code, 3);
    assert!(report.problems[0].contains(controls::MUST_DIE), "{:?}", report.problems);
    let mut strict = journal(killed(3));
    strict.controls.insert(controls::MUST_LIVE.into(), record(controls::MUST_LIVE, "control", State::Equivalent));
    assert_eq!(fold(&strict).exit_code, 3);
    let mut drifted = journal(killed(3));
    drifted.arms[1].assertions = 89;
    assert_eq!(fold(&drifted).exit_code, 3);
    let mut once = journal(killed(3));
    once.arms.truncate(1);
    assert_eq!(fold(&once).exit_code, 3);
}

#[test]
fn a_changed_hash_is_70_before_everything_else() {
    let mut journal = journal(vec![record("s", "named", State::Survived)]);
    journal.arms.clear();
    let end = journal.end.as_mut().expect("an end");
    end.sources.insert("k.hip".into(), "other".into());
    let report = fold(&journal);
    assert_eq!(report.exit_code, 70);
    assert!(report.problems[0].contains("hashes"));
}

#[test]
fn a_cut_ladder_and_one_without_a_score_are_errors() {
    let mut cut = journal(killed(3));
    cut.rungs.remove("k1");
    assert_eq!((fold(&cut).exit_code, fold(&cut).missing), (3, 1));
    let nothing = fold(&journal(vec![record("e", "named", State::Equivalent)]));
    assert_eq!((nothing.exit_code, nothing.total.score), (3, None));
}

#[test]
fn an_unnoticed_fault_of_the_harness_and_a_survivor_of_the_smoke_lane_fail() {
    let mut rungs = killed(40);
    rungs.push(record("h", "host", State::Survived));
    assert_eq!(fold(&journal(rungs)).exit_code, 1);
    let mut rungs = killed(40);
    rungs.push(record("n", "named", State::Survived));
    let mut smoke = journal(rungs);
    assert_eq!(fold(&smoke).exit_code, 0);
    smoke.header.lane = "smoke".into();
    assert_eq!(fold(&smoke).exit_code, 1);
}

#[test]
fn text_and_markdown_lead_with_problems_and_survivors() {
    let mut rungs = killed(1);
    rungs.push(record("alive", "generated", State::Survived));
    let report = fold(&journal(rungs));
    let text = super::super::report::text(&report);
    assert!(text.starts_with("FAIL: the score 50.0 is below 95.0"), "{text}");
    let (survivor, table) = (text.find("alive").expect("listed"), text.find("killed first").expect("a table"));
    assert!(survivor < table && text.contains("      +b\n") && text.contains("(0.800 of the limit)"), "{text}");
    let markdown = super::super::markdown(&report);
    assert!(markdown.contains("- alive (relational, class 4; add)") && markdown.contains("````diff"), "{markdown}");
}
