//! What the tests of running safely share. Each uses a part of it.
#![allow(dead_code)]

use assay::ops::{self, Params, Value};
use assay::record::{CaseRecord, Verdict};
use assay::run::journal::{self, Journal};
use assay::run::{Event, Options, Outcome, RunError, run};
use assay::suite::{Case, Placement};
use std::path::Path;
use std::time::Duration;

/// `n` casts of 1 x `cols` elements; case `i` has `i + 1` rows, so its id ends in that number.
pub fn casts(n: usize) -> Vec<Case> {
    (0..n).map(|i| cast(i as u64, i as i64 + 1, 16)).collect()
}

/// One cast from f32 to bf16.
pub fn cast(index: u64, rows: i64, cols: i64) -> Case {
    let op = ops::find("cast").expect("cast is an op");
    let given = |name: &str| match name {
        "dtype" => Some(Value::Str("f32".to_string())),
        "to" => Some(Value::Str("bf16".to_string())),
        "rows" => Some(Value::Int(rows)),
        "cols" => Some(Value::Int(cols)),
        _ => None,
    };
    let params = op.params().iter().map(|p| {
        let value = given(p.name).or_else(|| p.default_value()).expect("value");
        (p.name.to_string(), value)
    });
    Case {
        index,
        id: format!("cast/dtype=f32,to=bf16,rows={rows},cols={cols}"),
        suite: "test".to_string(),
        op: "cast".to_string(),
        params: Params(params.collect()),
        place: Placement::Guarded,
        limits: Default::default(),
        seed: 0,
    }
}

/// Options for the mock board that plays `script`.
pub fn options(script: &str, out: &Path) -> Options {
    let mut options = Options::new(&format!("mock:{script}"), env!("CARGO_BIN_EXE_assay").into(), out.to_path_buf());
    options.jobs = Some(1);
    options.timeout = Duration::from_secs(20);
    options
}

/// Runs and ignores the events.
pub fn quietly(options: &Options, cases: Vec<Case>) -> Result<Outcome, RunError> {
    run(options, cases, &mut |_: Event| {})
}

/// Runs to the end and reads the journal.
pub fn finish(options: &Options, cases: Vec<Case>) -> (Outcome, Journal) {
    let outcome = quietly(options, cases).expect("a run");
    let journal = journal::read(&outcome.journal).expect("a journal");
    (outcome, journal)
}

/// The verdicts in plan order; every planned case must have one.
pub fn verdicts(journal: &Journal) -> Vec<Verdict> {
    (0..journal.header.cases.len() as u64).map(|i| journal.records[&i].verdict).collect()
}

/// All PASS, but for the case `at`, whose record is returned.
#[track_caller]
pub fn only(journal: &Journal, at: u64, verdict: Verdict) -> &CaseRecord {
    for (index, record) in &journal.records {
        let want = if *index == at { verdict } else { Verdict::Pass };
        assert_eq!(record.verdict, want, "case {index}: {:?}", record.reason);
    }
    assert_eq!(journal.records.len(), journal.header.cases.len());
    assert!(!journal.is_cut() && journal.dropped.is_empty(), "{:?}", journal.dropped);
    &journal.records[&at]
}

/// The reason of a record.
#[track_caller]
pub fn reason(record: &CaseRecord) -> &str {
    record.reason.as_deref().expect("a reason")
}
