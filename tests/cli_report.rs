//! Every format of one journal tells the same verdict, counts and exit code; a cut journal renders and says so; every JSON
//! document meets the schema.

use assay::record::*;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

/// Verdict and reason of a case.
type Case = (Verdict, Option<&'static str>);

fn assay(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_assay")).args(args).output().expect("the binary runs")
}

fn header(ids: &[&str]) -> RunHeader {
    RunHeader {
        schema: SCHEMA.to_string(),
        tool: Tool { name: "assay".to_string(), version: "0".to_string() },
        board: BoardInfo {
            id: "sim:gfx1151".to_string(),
            name: "Some APU".to_string(),
            arch: "gfx1151".to_string(),
            runtime: "sim".to_string(),
            simulated: true,
            wave: 32,
        },
        command: vec!["assay".to_string(), "run".to_string()],
        seed: 0,
        shard: None,
        plan_hash: "00".to_string(),
        cases: ids
            .iter()
            .map(|id| Planned { id: id.to_string(), op: "cast".to_string(), suite: "s".to_string() })
            .collect(),
        provenance: Provenance::default(),
        started: 1,
    }
}

fn assertion(pass: bool, tier: Tier) -> Assertion {
    let worst = Worst {
        index: 5,
        row: 1,
        col: 2,
        got: "1.5".to_string(),
        want: "2.5".to_string(),
        got_hex: "0x3fc0".to_string(),
        want_hex: "0x4020".to_string(),
    };
    Assertion {
        bar: "ulp".to_string(),
        on: "out".to_string(),
        tier,
        pass,
        figure: Some(if pass { 0.25 } else { 12.5 }),
        limit: Some(0.51),
        elements: 10,
        worst: (!pass).then_some(worst),
        note: None,
    }
}

fn record(index: u64, id: &str, verdict: Verdict, reason: Option<&str>) -> CaseRecord {
    let pass = verdict != Verdict::Fail;
    let ran = !matches!(verdict, Verdict::NotRun | Verdict::NotApplicable);
    let assertions = if ran { vec![assertion(pass, Tier::Device), assertion(true, Tier::Reference)] } else { vec![] };
    CaseRecord {
        index,
        id: id.to_string(),
        suite: "s".to_string(),
        op: "cast".to_string(),
        verdict,
        reason: reason.map(str::to_string),
        worst: assertions.first().cloned(),
        assertions,
        absent: vec![],
        canaries: Canaries { run: 3, refused: 3, ..Canaries::default() },
        paths: vec![],
        findings: vec![],
        timings: Timings::default(),
        repro: format!("assay run --case '{id}'"),
    }
}

/// Writes a journal of one case per verdict.
fn journal(folder: &Path, verdicts: &[Case], board_failed: bool) -> String {
    let ids: Vec<String> = (0..verdicts.len()).map(|i| format!("cast/rows={i}")).collect();
    let names: Vec<&str> = ids.iter().map(String::as_str).collect();
    let mut lines = vec![Line::Header(Box::new(header(&names)))];
    for (i, (verdict, reason)) in verdicts.iter().enumerate() {
        lines.push(Line::Start { index: i as u64 });
        lines.push(Line::Record(Box::new(record(i as u64, &ids[i], *verdict, *reason))));
    }
    lines.push(Line::End { at: 2, wall_ms: 10, board_failed });
    let text: String = lines.iter().map(|l| serde_json::to_string(l).unwrap() + "\n").collect();
    let path = folder.join("journal.jsonl");
    std::fs::write(&path, text).unwrap();
    path.to_string_lossy().into_owned()
}

fn rendered(file: &str, format: &str) -> (String, i32) {
    let out = assay(&["report", file, "--format", format]);
    assert!(out.stderr.is_empty(), "{}", String::from_utf8_lossy(&out.stderr));
    (String::from_utf8(out.stdout).unwrap(), out.status.code().unwrap())
}

const MIXED: &[Case] = &[
    (Verdict::Pass, None),
    (Verdict::Fail, Some("ulp on out, \"quoted\"\nsecond line")),
    (Verdict::Error, Some("blind gate")),
    (Verdict::NotRun, Some("time")),
    (Verdict::NotApplicable, Some("no fp8 unit")),
    (Verdict::Pass, None),
];

#[test]
fn exit_codes_follow_the_documented_order() {
    use Verdict::*;
    let table: &[(&[Case], bool, u8, &str)] = &[
        (&[(Pass, None)], false, 0, "PASS"),
        (&[(Pass, None), (NotApplicable, Some("no unit"))], false, 0, "PASS"),
        (&[(Pass, None), (Known, Some("waived"))], false, 0, "PASS"),
        (&[(Pass, None), (UnexpectedPass, Some("waived"))], false, 0, "PASS"),
        (&[(NotApplicable, Some("no unit"))], false, 3, "NOT-RUN"),
        (&[(Pass, None), (NotRun, Some("time"))], false, 3, "NOT-RUN"),
        (&[(Pass, None), (Reference, Some("served by the reference tier"))], false, 3, "NOT-RUN"),
        (&[(Pass, None), (Error, Some("crash"))], false, 3, "ERROR"),
        (&[(Pass, None), (NotRun, Some("wedged"))], true, 4, "NOT-RUN"),
        (&[(Fail, Some("wrong")), (NotRun, Some("wedged"))], true, 1, "FAIL"),
        (&[(Fail, Some("wrong")), (Error, Some("crash"))], false, 1, "FAIL"),
        (&[(Fail, Some("wrong")), (Error, Some("defect of assay: index out of range"))], false, 70, "ERROR"),
    ];
    let folder = tempfile::tempdir().unwrap();
    for (verdicts, board_failed, code, verdict) in table {
        let file = journal(folder.path(), verdicts, *board_failed);
        let (text, exit) = rendered(&file, "text");
        assert_eq!(exit, i32::from(*code), "{text}");
        let last = text.lines().last().unwrap();
        assert!(last.starts_with(&format!("{verdict} on sim:gfx1151 (simulated)")), "{last}");
        assert!(last.ends_with(&format!("exit code {code}")), "{last}");
    }
}

#[test]
fn every_format_tells_the_same_verdict_counts_and_exit_code() {
    let folder = tempfile::tempdir().unwrap();
    let file = journal(folder.path(), MIXED, false);
    let (json, code) = rendered(&file, "json");
    let report: Report = serde_json::from_str(&json).unwrap();
    assert_eq!((code, report.exit_code, report.verdict), (1, 1, Verdict::Fail));
    let c = report.counts;
    assert_eq!((c.planned, c.pass, c.fail, c.error, c.not_run, c.not_applicable), (6, 2, 1, 1, 1, 1));
    assert_eq!((report.assertions.run, report.assertions.failed, report.control.run), (8, 1, 4));
    assert_eq!(report.canaries.run, 18);
    let line =
        "FAIL on sim:gfx1151 (simulated): 6 planned: 2 pass, 1 fail, 1 error, 1 not-run, 1 not applicable; exit code 1";
    for format in ["text", "markdown", "csv"] {
        let (text, code) = rendered(&file, format);
        assert!(text.contains(line), "{format}: {text}");
        assert_eq!(code, 1);
    }
    let (csv, _) = rendered(&file, "csv");
    assert!(csv.contains("# verdict=FAIL exit_code=1 planned=6 pass=2 fail=1 error=1 not_run=1 not_applicable=1"));
    assert!(csv.contains("\"ulp on out, \"\"quoted\"\"\nsecond line\""));
    let (text, _) = rendered(&file, "text");
    assert!(text.contains("at index 5, row 1, col 2: got 1.5 (0x3fc0), want 2.5 (0x4020)"), "{text}");
    assert!(text.contains("repro: assay run --case 'cast/rows=1'"));
}

#[test]
fn a_required_case_that_did_not_run_is_an_error_in_junit_and_never_a_skip() {
    let folder = tempfile::tempdir().unwrap();
    let file = journal(folder.path(), MIXED, false);
    let (xml, code) = rendered(&file, "junit");
    assert_eq!(code, 1);
    assert!(xml.contains(r#"tests="6" skipped="1" failures="1" errors="2""#), "{xml}");
    assert_eq!(xml.matches("<testcase ").count(), 6);
    assert_eq!(xml.matches("<failure ").count(), 1);
    assert_eq!(xml.matches("<error ").count(), 2);
    assert_eq!(xml.matches("<skipped ").count(), 1);
    for (name, value) in [("verdict", "FAIL"), ("exit_code", "1"), ("planned", "6"), ("pass", "2"), ("not_run", "1")] {
        assert!(xml.contains(&format!(r#"<property name="{name}" value="{value}"/>"#)), "{name}: {xml}");
    }
}

#[test]
fn a_report_json_renders_as_its_journal_does() {
    let folder = tempfile::tempdir().unwrap();
    let file = journal(folder.path(), MIXED, false);
    let path = folder.path().join("report.json");
    std::fs::write(&path, rendered(&file, "json").0).unwrap();
    for format in ["json", "junit", "markdown", "csv", "text"] {
        let strip = |xml: String| xml.lines().filter(|l| !l.contains("timestamp")).collect::<String>();
        let (a, b) = (rendered(&file, format), rendered(path.to_str().unwrap(), format));
        assert_eq!(strip(a.0), strip(b.0), "{format}");
        assert_eq!(a.1, b.1);
    }
    let damaged = std::fs::read_to_string(&path).unwrap().replacen("\"pass\": 2", "\"pass\": 3", 1);
    std::fs::write(&path, damaged).unwrap();
    let out = assay(&["report", path.to_str().unwrap()]);
    assert_eq!(out.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&out.stderr).contains("damaged"));
}

#[test]
fn a_journal_cut_anywhere_renders_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let file = journal(folder.path(), &[(Verdict::Pass, None), (Verdict::Pass, None)], false);
    let whole = std::fs::read(&file).unwrap();
    let head = whole.iter().position(|b| *b == b'\n').unwrap() + 1;
    let path = folder.path().join("cut.jsonl");
    for at in (head..whole.len() - 1).step_by(97) {
        std::fs::write(&path, &whole[..at]).unwrap();
        let journal = assay::run::journal::read(&path).unwrap();
        let report = assay::report::fold(&journal).unwrap();
        assert!(report.cut, "cut at {at}");
        assert_eq!((report.exit_code, report.verdict), (3, Verdict::Error), "cut at {at}");
        assert_eq!(report.counts.planned, 2);
        assert_eq!(report.counts.planned, report.counts.pass + report.counts.not_run);
        let text = assay::report::summary(&report, false);
        assert!(text.contains("the journal is cut"), "{text}");
        assert!(text.lines().last().unwrap().contains("journal cut"), "{text}");
    }
}

#[test]
fn shards_merge_only_when_all_are_there() {
    let folder = tempfile::tempdir().unwrap();
    let mut files = Vec::new();
    for i in 1..=2 {
        let dir = folder.path().join(i.to_string());
        std::fs::create_dir(&dir).unwrap();
        let file = journal(&dir, &[(Verdict::Pass, None)], false);
        let text = std::fs::read_to_string(&file).unwrap().replace("\"shard\":null", &format!("\"shard\":\"{i}/2\""));
        std::fs::write(&file, text).unwrap();
        files.push(file);
    }
    let out = assay(&["report", &files[0], &files[1]]);
    assert_eq!(out.status.code(), Some(0), "{}", String::from_utf8_lossy(&out.stderr));
    assert!(String::from_utf8_lossy(&out.stdout).contains("2 planned: 2 pass"));
    let out = assay(&["report", &files[0], &files[0]]);
    assert_eq!(out.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&out.stderr).contains("shard 1/2 is there twice"));
    let text = std::fs::read_to_string(&files[1]).unwrap().replace("2/2", "2/3");
    std::fs::write(&files[1], text).unwrap();
    assert_eq!(assay(&["report", &files[0], &files[1]]).status.code(), Some(2));
}

#[test]
fn every_json_document_meets_the_schema() {
    let schema: Value = serde_json::from_slice(&assay(&["schema"]).stdout).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = journal(folder.path(), MIXED, false);
    let outputs = [
        assay(&["report", &file, "--format", "json"]).stdout,
        assay(&["list", "--json"]).stdout,
        assay(&["list", "--json", "--count"]).stdout,
        assay(&["ops", "--json"]).stdout,
        assay(&["ops", "show", "cast", "--json"]).stdout,
        assay(&["doctor", "--json"]).stdout,
        assay(&["power", "op=embedding", "--json"]).stdout,
    ];
    for text in outputs {
        let document: Value = serde_json::from_slice(&text).unwrap();
        assert!(validator.is_valid(&document), "{:.300}", document.to_string());
        assert_eq!(document["schema"], SCHEMA);
    }
    for line in std::fs::read_to_string(&file).unwrap().lines() {
        assert!(validator.is_valid(&serde_json::from_str(line).unwrap()), "{line:.300}");
    }
    assert!(!validator.is_valid(&serde_json::json!({"schema": SCHEMA})));
    assert!(!validator.is_valid(&serde_json::json!({})));
}
