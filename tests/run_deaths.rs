//! Every death of a worker costs exactly the case it happened in.

mod run_support;

use assay::record::Verdict;
use assay::run::Event;
use run_support::{casts, finish, only, options, reason, verdicts};
use std::time::Duration;

#[test]
fn a_run_of_passes_is_all_pass_and_whole() {
    let dir = tempfile::tempdir().unwrap();
    let (outcome, journal) = finish(&options("", dir.path()), casts(40));
    assert!(verdicts(&journal).iter().all(|v| *v == Verdict::Pass));
    assert_eq!((outcome.counts.planned, outcome.counts.pass), (40, 40));
    assert!(!outcome.board_failed && !outcome.interrupted && !outcome.defect);
    assert_eq!(journal.end, Some(false));
    assert!(journal.header.board.simulated && journal.header.board.runtime == "mock");
}

#[test]
fn a_wrong_element_and_a_nan_fail_their_case_only() {
    for act in ["wrong", "nan"] {
        let dir = tempfile::tempdir().unwrap();
        let (_, journal) = finish(&options(&format!("{act}@rows=7,"), dir.path()), casts(12));
        let record = only(&journal, 6, Verdict::Fail);
        assert!(record.assertions.iter().any(|a| !a.pass));
        assert!(record.repro.contains("--case 'cast/dtype=f32,to=bf16,rows=7,cols=16'"), "{}", record.repro);
    }
}

#[test]
fn a_segfault_costs_exactly_its_case_and_names_the_signal() {
    let dir = tempfile::tempdir().unwrap();
    let (outcome, journal) = finish(&options("crash@rows=20,", dir.path()), casts(40));
    let record = only(&journal, 19, Verdict::Error);
    assert!(reason(record).contains("SIGSEGV"), "{}", reason(record));
    assert!(journal.notes.iter().any(|(kind, text)| kind == "worker_died" && text.contains("rows=20,")));
    assert!(!outcome.board_failed);
}

#[test]
fn an_abort_costs_exactly_its_case_with_several_workers_too() {
    let dir = tempfile::tempdir().unwrap();
    let mut options = options("abort@rows=20,", dir.path());
    options.jobs = Some(3);
    let (_, journal) = finish(&options, casts(60));
    assert!(reason(only(&journal, 19, Verdict::Error)).contains("SIGABRT"));
}

#[test]
fn two_deaths_one_after_the_other_cost_two_cases() {
    let dir = tempfile::tempdir().unwrap();
    let (outcome, journal) = finish(&options("crash@rows=20,,abort@rows=21,", dir.path()), casts(30));
    let errors: Vec<u64> = journal.records.values().filter(|r| r.verdict != Verdict::Pass).map(|r| r.index).collect();
    assert_eq!(errors, [19, 20]);
    assert_eq!((outcome.counts.error, outcome.counts.pass), (2, 28));
}

#[test]
fn a_hang_ends_at_the_deadline_and_costs_its_case() {
    let dir = tempfile::tempdir().unwrap();
    let mut options = options("hang@rows=3,", dir.path());
    options.timeout = Duration::from_millis(300);
    let (_, journal) = finish(&options, casts(6));
    let text = reason(only(&journal, 2, Verdict::Error));
    assert!(text.contains("no completion within 300 ms"), "{text}");
}

#[test]
fn a_worker_that_does_not_exit_keeps_its_verdicts_and_is_noted() {
    let dir = tempfile::tempdir().unwrap();
    let (outcome, journal) = finish(&options("exit-hang@rows=3,", dir.path()), casts(6));
    assert!(verdicts(&journal).iter().all(|v| *v == Verdict::Pass));
    assert!(journal.notes.iter().any(|(kind, _)| kind == "exit_hang"), "{:?}", journal.notes);
    assert_eq!(outcome.counts.pass, 6);
}

#[test]
fn rubbish_on_the_pipe_costs_the_case_on_the_board() {
    let dir = tempfile::tempdir().unwrap();
    let (_, journal) = finish(&options("rubbish@rows=5,", dir.path()), casts(12));
    assert!(reason(only(&journal, 4, Verdict::Error)).contains("rubbish"));
}

#[test]
fn a_lost_board_costs_its_case_and_is_opened_anew() {
    let dir = tempfile::tempdir().unwrap();
    let (outcome, journal) = finish(&options("device-lost@rows=5,", dir.path()), casts(12));
    assert!(reason(only(&journal, 4, Verdict::Error)).contains("device lost"));
    assert!(!outcome.board_failed);
}

#[test]
fn too_few_bytes_are_an_error_with_both_sizes() {
    let dir = tempfile::tempdir().unwrap();
    let (_, journal) = finish(&options("wrong-size@rows=5,", dir.path()), casts(12));
    let text = reason(only(&journal, 4, Verdict::Error)).to_string();
    assert!(text.contains("16383 bytes") && text.contains("16384"), "{text}");
}

#[test]
fn a_panic_of_ours_is_that_cases_error_and_a_defect() {
    let dir = tempfile::tempdir().unwrap();
    let (outcome, journal) = finish(&options("panic@rows=5,", dir.path()), casts(12));
    let text = reason(only(&journal, 4, Verdict::Error)).to_string();
    assert!(text.starts_with("defect of assay") && text.contains("played by the mock"), "{text}");
    assert!(outcome.defect);
}

#[test]
fn three_deaths_in_a_row_make_the_board_wedged_and_the_rest_not_run() {
    let dir = tempfile::tempdir().unwrap();
    let (outcome, journal) = finish(&options("crash", dir.path()), casts(20));
    assert!(outcome.board_failed);
    assert_eq!((outcome.counts.error, outcome.counts.not_run), (3, 17));
    assert_eq!(journal.end, Some(true));
    assert!(reason(&journal.records[&19]).contains("board wedged"));
}

#[test]
fn fail_fast_leaves_the_rest_not_run() {
    let dir = tempfile::tempdir().unwrap();
    let mut options = options("wrong@rows=5,", dir.path());
    options.fail_fast = true;
    let (outcome, journal) = finish(&options, casts(200));
    assert_eq!(journal.records[&4].verdict, Verdict::Fail);
    assert!(outcome.counts.not_run > 150, "{:?}", outcome.counts);
    assert!(reason(&journal.records[&199]).contains("--fail-fast"));
}

#[test]
fn max_time_leaves_the_rest_not_run() {
    let dir = tempfile::tempdir().unwrap();
    let mut options = options("", dir.path());
    options.max_time = Some(Duration::ZERO);
    let (outcome, journal) = finish(&options, casts(5000));
    assert!(outcome.counts.not_run > 0 && outcome.counts.error == 0, "{:?}", outcome.counts);
    assert!(reason(&journal.records[&4999]).contains("time"));
}

#[test]
fn events_tell_the_plan_every_verdict_and_the_end() {
    let dir = tempfile::tempdir().unwrap();
    let (mut planned, mut started, mut done, mut finished) = (0, 0, 0, 0);
    let outcome = assay::run::run(&options("", dir.path()), casts(30), &mut |event| match event {
        Event::Planned { header, done: 0 } => planned += header.cases.len(),
        Event::CaseStarted { .. } => started += 1,
        Event::CaseDone(d) => {
            let line: assay::record::Line = serde_json::from_str(d.record).expect("a journal line");
            assert!(matches!(line, assay::record::Line::Record(r) if r.id == d.id && r.verdict == d.verdict));
            done += 1;
        }
        Event::Finished(outcome) => finished += outcome.counts.pass,
        _ => {}
    });
    assert!(outcome.is_ok());
    assert_eq!((planned, started, done, finished), (30, 30, 30, 30));
}
