//! `assay run` from the outside, on the mock board: files, exit codes, resume, shards.

use assay::record::{Report, Verdict};
use assay::suite::{self, Selection};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

fn assay(folder: &Path, args: &[&str]) -> Output {
    let out = Command::new(env!("CARGO_BIN_EXE_assay")).args(args).current_dir(folder).output();
    out.expect("the binary runs")
}

fn report(folder: &Path) -> Report {
    let text = std::fs::read_to_string(folder.join("assay-out/report.json")).expect("report.json");
    serde_json::from_str(&text).expect("a report")
}

fn stdout(out: &Output) -> String {
    String::from_utf8_lossy(&out.stdout).into_owned()
}

#[test]
fn a_run_writes_journal_report_and_junit_that_agree() {
    let folder = tempfile::tempdir().unwrap();
    let run = assay(folder.path(), &["run", "--board", "mock:wrong@bf16", "op=cast", "data=normal"]);
    let report = report(folder.path());
    assert_eq!(run.status.code(), Some(i32::from(report.exit_code)), "{}", stdout(&run));
    assert_eq!((report.exit_code, report.verdict), (1, Verdict::Fail));
    assert!(report.counts.fail > 0 && report.counts.pass > 0);
    assert!(report.board.simulated);
    let text = stdout(&run);
    let last = text.lines().last().unwrap();
    assert!(last.starts_with("FAIL on mock:wrong@bf16 (simulated)") && last.ends_with("exit code 1"), "{last}");
    let failed = report.cases.iter().find(|c| c.verdict == Verdict::Fail).unwrap();
    assert!(text.contains(&format!("repro: {}", failed.repro)), "{text}");
    let again = assay(folder.path(), &["report", "assay-out", "--format", "json"]);
    assert_eq!(stdout(&again), std::fs::read_to_string(folder.path().join("assay-out/report.json")).unwrap());
    let junit = std::fs::read_to_string(folder.path().join("assay-out/junit.xml")).unwrap();
    assert_eq!(junit.matches("<failure ").count() as u64, report.counts.fail);
    assert_eq!(junit.matches("<testcase ").count() as u64, report.counts.planned);
}

#[test]
fn run_json_prints_the_report_alone_and_it_meets_the_schema() {
    let folder = tempfile::tempdir().unwrap();
    let run = assay(folder.path(), &["run", "--board", "mock:", "--json", "op=cast", "place=flush"]);
    let document: Value = serde_json::from_slice(&run.stdout).unwrap();
    let schema: Value = serde_json::from_slice(&assay(folder.path(), &["schema"]).stdout).unwrap();
    assert!(jsonschema::validator_for(&schema).unwrap().is_valid(&document));
    assert_eq!(document["exit_code"], run.status.code().unwrap());
    let id = document["cases"][0]["id"].as_str().unwrap();
    for args in [&["explain", id, "--board", "mock:", "--json"][..], &["explain", id, "--out", "assay-out", "--json"]] {
        let explained = assay(folder.path(), args);
        let document: Value = serde_json::from_slice(&explained.stdout).unwrap();
        assert!(jsonschema::validator_for(&schema).unwrap().is_valid(&document));
        assert_eq!(document["id"], id);
    }
}

#[test]
fn a_shard_without_a_case_succeeds_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let ids = suite::plan(&Selection { filters: vec!["op=cast".to_string()], ..Selection::default() }).unwrap();
    let id = &ids[0].id;
    let empty = (1..=9).find(|&index| !suite::Shard { index, of: 9 }.holds(id)).unwrap();
    let shard = format!("{empty}/9");
    let run = assay(folder.path(), &["run", "--board", "mock:", "--case", id, "--shard", &shard]);
    let text = stdout(&run);
    assert_eq!(run.status.code(), Some(0), "{text}{}", String::from_utf8_lossy(&run.stderr));
    assert!(text.contains(&format!("shard {shard} got no case")), "{text}");
    let last = text.lines().last().unwrap();
    assert!(last.starts_with("NOT-RUN"), "{last}");
}

#[test]
fn a_resume_needs_nothing_but_the_folder() {
    let folder = tempfile::tempdir().unwrap();
    let first = assay(folder.path(), &["run", "--board", "mock:", "op=cast", "--seed", "5"]);
    assert_eq!(first.status.code(), Some(0), "{}", String::from_utf8_lossy(&first.stderr));
    let whole = report(folder.path());
    let journal = folder.path().join("assay-out/journal.jsonl");
    let bytes = std::fs::read(&journal).unwrap();
    std::fs::write(&journal, &bytes[..bytes.len() * 2 / 3]).unwrap();
    let cut = assay(folder.path(), &["report", "assay-out"]);
    assert_eq!(cut.status.code(), Some(3));
    assert!(stdout(&cut).contains("the journal is cut"));
    let second = assay(folder.path(), &["run", "--resume", "assay-out"]);
    assert_eq!(second.status.code(), Some(0), "{}", String::from_utf8_lossy(&second.stderr));
    let resumed = report(folder.path());
    assert_eq!(resumed.counts, whole.counts);
    assert!(!resumed.cut);
    let ids = |r: &Report| r.cases.iter().map(|c| c.id.clone()).collect::<Vec<_>>();
    assert_eq!(ids(&resumed), ids(&whole));
}

#[test]
fn a_board_that_is_none_is_refused_before_anything_is_written() {
    let folder = tempfile::tempdir().unwrap();
    for board in ["sim:gfx9999", "nonsense", "mock:nonsense@x"] {
        let run = assay(folder.path(), &["run", "--board", board, "op=cast"]);
        assert_eq!(run.status.code(), Some(2), "{board}: {}", String::from_utf8_lossy(&run.stderr));
        assert!(!run.stderr.is_empty());
    }
    let run = assay(folder.path(), &["run", "--require-hardware"]);
    assert_eq!(run.status.code(), Some(2));
    assert!(!folder.path().join("assay-out/report.json").exists());
}
