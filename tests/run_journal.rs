//! A journal cut or damaged anywhere is still a journal, and nothing in it is ever lost.

mod run_support;

use assay::record::Verdict;
use assay::run::RunError;
use assay::run::journal::{self, FILE, JournalError};
use run_support::{casts, finish, options, quietly, verdicts};
use std::os::unix::fs::symlink;
use std::path::Path;

/// Bytes of the journal of a small run with a PASS, a FAIL and an ERROR.
fn small(dir: &Path) -> (Vec<u8>, Vec<Verdict>) {
    let (outcome, journal) = finish(&options("wrong@rows=2,,abort@rows=3,", dir), casts(4));
    (std::fs::read(&outcome.journal).unwrap(), verdicts(&journal))
}

#[test]
fn a_journal_cut_at_any_byte_keeps_every_whole_record() {
    let dir = tempfile::tempdir().unwrap();
    let (bytes, _) = small(dir.path());
    let header = bytes.iter().position(|&b| b == b'\n').unwrap();
    for cut in 0..bytes.len() {
        let part = &bytes[..cut];
        let parsed = journal::parse(part, Path::new("cut"));
        if cut < header {
            assert!(matches!(parsed, Err(JournalError::Empty { .. })), "cut at {cut}");
            continue;
        }
        let journal = parsed.expect("a journal");
        // A record is whole once its closing brace is there, newline or not.
        let whole = part.split(|&b| b == b'\n').filter(|l| l.starts_with(br#"{"t":"record""#));
        let whole = whole.filter(|l| bytes[l.as_ptr() as usize - bytes.as_ptr() as usize + l.len()] == b'\n');
        assert_eq!(journal.records.len(), whole.count(), "cut at {cut}");
        // The last line may lack its newline and be whole.
        assert_eq!(journal.is_cut(), cut < bytes.len() - 1, "cut at {cut}");
        assert!(journal.good_bytes <= cut as u64);
    }
}

#[test]
fn a_resume_from_any_cut_gives_the_same_verdicts() {
    let dir = tempfile::tempdir().unwrap();
    let (bytes, wanted) = small(dir.path());
    let lines = bytes.iter().enumerate().filter(|(_, b)| **b == b'\n').map(|(i, _)| i);
    let mut cuts: Vec<usize> = lines.flat_map(|i| [i - 1, i, i + 1]).collect();
    cuts.extend((0..bytes.len()).step_by(499));
    for cut in cuts {
        let path = dir.path().join(FILE);
        std::fs::write(&path, &bytes[..cut]).unwrap();
        let mut options = options("wrong@rows=2,,abort@rows=3,", dir.path());
        options.resume = true;
        let (_, journal) = finish(&options, casts(4));
        assert_eq!(verdicts(&journal), wanted, "cut at {cut}");
        assert!(!journal.is_cut() && journal.dropped.is_empty(), "cut at {cut}: {:?}", journal.dropped);
        if cut > 2000 {
            assert!(journal.notes.iter().any(|(kind, _)| kind == "resumed"));
        }
    }
}

#[test]
fn a_resume_never_judges_again_what_has_a_verdict() {
    let dir = tempfile::tempdir().unwrap();
    let (bytes, _) = small(dir.path());
    // The journal says FAIL where a new run would say PASS: the journal stands.
    let text = String::from_utf8(bytes).unwrap();
    let forged = text.replacen(r#""verdict":"pass""#, r#""verdict":"fail""#, 1);
    let cut = forged.find(r#"{"t":"end""#).unwrap();
    std::fs::write(dir.path().join(FILE), &forged[..cut]).unwrap();
    let mut options = options("wrong@rows=2,,abort@rows=3,", dir.path());
    options.resume = true;
    let (_, journal) = finish(&options, casts(4));
    assert_eq!(verdicts(&journal)[..2], [Verdict::Fail, Verdict::Fail]);
}

#[test]
fn a_corrupt_line_in_the_middle_is_dropped_named_and_run_again() {
    let dir = tempfile::tempdir().unwrap();
    let (mut bytes, wanted) = small(dir.path());
    let record = bytes.windows(12).position(|w| w == br#"{"t":"record"#.as_slice()).unwrap();
    bytes[record + 3] = 0;
    bytes[record + 9] = 0xff;
    std::fs::write(dir.path().join(FILE), &bytes).unwrap();
    let journal = journal::read(dir.path()).unwrap();
    assert_eq!(journal.dropped.len(), 1, "{:?}", journal.dropped);
    assert!(journal.dropped[0].contains("corrupt") && journal.is_cut());
    let mut options = options("wrong@rows=2,,abort@rows=3,", dir.path());
    options.resume = true;
    let outcome = quietly(&options, casts(4)).unwrap();
    assert_eq!(verdicts(&journal::read(&outcome.journal).unwrap()), wanted);
}

#[test]
fn a_resume_of_another_plan_is_refused_and_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let (bytes, _) = small(dir.path());
    let mut other = options("wrong@rows=2,", dir.path());
    other.resume = true;
    let error = quietly(&other, casts(4)).unwrap_err();
    assert!(matches!(error, RunError::OtherPlan { .. }), "{error}");
    let mut fewer = options("wrong@rows=2,,abort@rows=3,", dir.path());
    fewer.resume = true;
    let error = quietly(&fewer, casts(3)).unwrap_err();
    assert!(matches!(error, RunError::OtherPlan { .. }));
    assert_eq!(error.exit_code(), 2);
    assert_eq!(std::fs::read(dir.path().join(FILE)).unwrap(), bytes);
}

#[test]
fn what_is_no_journal_is_refused_and_kept() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(FILE);
    for text in ["my notes\n", "{\"t\":\"end\",\"at\":0,\"wall_ms\":0,\"board_failed\":false}\n"] {
        std::fs::write(&path, text).unwrap();
        let mut options = options("", dir.path());
        options.resume = true;
        let error = quietly(&options, casts(2)).unwrap_err();
        assert!(matches!(error, RunError::Journal(JournalError::NoHeader { .. })), "{error}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    }
}

#[test]
fn a_new_run_moves_the_one_before_aside() {
    let dir = tempfile::tempdir().unwrap();
    let (bytes, _) = small(dir.path());
    finish(&options("", dir.path()), casts(2));
    assert_eq!(std::fs::read(dir.path().join("previous").join(FILE)).unwrap(), bytes);
}

#[test]
fn rerun_failed_plans_only_what_did_not_pass() {
    let dir = tempfile::tempdir().unwrap();
    small(dir.path());
    let mut again = options("", dir.path());
    again.rerun_failed = true;
    let (_, journal) = finish(&again, casts(4));
    let ids: Vec<&str> = journal.header.cases.iter().map(|c| c.id.as_str()).collect();
    assert_eq!(ids, [&casts(4)[1].id, &casts(4)[2].id]);
    assert!(verdicts(&journal).iter().all(|v| *v == Verdict::Pass));
    let error = quietly(&again, casts(2)[1..].to_vec()).unwrap_err();
    assert!(matches!(error, RunError::NothingFailed { .. }) && error.exit_code() == 0);
}

#[test]
fn two_runs_in_one_folder_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let mut inner = None;
    let first = options("", dir.path());
    assay::run::run(&first, casts(3), &mut |event| {
        if matches!(event, assay::run::Event::Planned { .. }) {
            inner = Some(quietly(&options("", dir.path()), casts(1)));
        }
    })
    .unwrap();
    let error = inner.unwrap().unwrap_err();
    assert!(matches!(error, RunError::Locked { .. }), "{error}");
    assert_eq!(error.exit_code(), 2);
    assert_eq!(verdicts(&journal::read(dir.path()).unwrap()).len(), 3);
}

#[test]
fn an_out_folder_that_cannot_be_made_is_a_clear_error() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    std::fs::write(&file, "x").unwrap();
    for out in [file.join("out"), file.clone(), "/proc/assay".into(), "/dev/full".into()] {
        let error = quietly(&options("", &out), casts(1)).unwrap_err();
        assert!(matches!(error, RunError::Folder { .. }), "{error}");
        assert!(error.to_string().contains("--out DIR") && error.exit_code() == 2);
    }
}

#[test]
fn a_full_device_stops_the_run_with_its_cause() {
    let dir = tempfile::tempdir().unwrap();
    symlink("/dev/full", dir.path().join(FILE)).unwrap();
    let error = quietly(&options("", dir.path()), casts(5)).unwrap_err();
    assert!(matches!(error, RunError::Write { .. }), "{error}");
    assert!(error.to_string().contains("No space left"), "{error}");
    assert_eq!(error.exit_code(), 3);
}
