//! What the tests of the ladder share. Each uses a part of it.
#![allow(dead_code)]

use assay::ladder::record::{LadderReport, RungRecord, State};
use assay::ladder::rung::{Edit, Fault, HostFault, Origin, Rung};
use assay::ladder::{ClimbError, Lane, Options, Plan, Sources, run};
use std::path::Path;

/// A rung that replaces `old`, which must stand once in `file`.
pub fn rung(id: &str, op: &str, file: &str, old: &str, new: &str, sources: &Sources) -> Rung {
    let text = std::str::from_utf8(&sources.texts[file]).expect("UTF-8");
    assert_eq!(text.matches(old).count(), 1, "{old}");
    let at = text.find(old).expect("found");
    let edit = Edit { file: file.to_string(), span: at..at + old.len(), old: old.to_string(), new: new.to_string() };
    let line = text[..at].matches('\n').count() + 1;
    Rung {
        id: id.to_string(),
        origin: Origin::Named,
        operator: "named".to_string(),
        class: None,
        ops: if op.is_empty() { vec![] } else { vec![op.to_string()] },
        why: "a test".to_string(),
        fault: Fault::Source(vec![edit]),
        killers: vec![],
        needs: None,
        line,
    }
}

/// A fault of the harness.
pub fn host(id: &str, op: &str, fault: HostFault) -> Rung {
    Rung {
        id: id.to_string(),
        origin: Origin::Host,
        operator: "host".to_string(),
        class: None,
        ops: vec![op.to_string()],
        why: "a test".to_string(),
        fault: Fault::Host(fault),
        killers: vec![],
        needs: None,
        line: 0,
    }
}

/// Options of a ladder on sim:gfx1151 with the cases of the default suites.
pub fn options(out: &Path) -> Options {
    Options {
        board: "sim:gfx1151".to_string(),
        exe: env!("CARGO_BIN_EXE_assay").into(),
        out: out.to_path_buf(),
        command: vec!["assay".to_string(), "ladder".to_string()],
        lane: Lane::Default,
        jobs: Some(2),
        all_bars: false,
        min_score: 95.0,
        resume: false,
    }
}

/// A plan of these rungs over the embedded kernels, with the gate of `lane`.
pub fn plan(rungs: Vec<Rung>, sources: Sources, lane: Lane) -> Plan {
    Plan { rungs, sources, cases: lane.cases(0).expect("cases"), ..Plan::default() }
}

/// Runs without a display.
pub fn quietly(options: &Options, plan: &Plan) -> Result<LadderReport, ClimbError> {
    run(options, plan, &mut |_| {})
}

/// The record of a rung.
#[track_caller]
pub fn record<'a>(report: &'a LadderReport, id: &str) -> &'a RungRecord {
    report.rungs.iter().find(|r| r.id == id).unwrap_or_else(|| panic!("no record of {id}"))
}

/// The state of a rung, with what it says of itself when it is another.
#[track_caller]
pub fn expect(report: &LadderReport, id: &str, state: State) {
    let record = record(report, id);
    assert_eq!(record.state, state, "{id}: {:?} {:?}", record.reason, record.kill);
}

/// The same, going on from the journal in `out`.
pub fn resumed(out: &Path) -> Options {
    Options { resume: true, ..options(out) }
}
