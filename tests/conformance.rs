//! Every case of the smoke suite as a test: `cargo test --test conformance`, or cargo-nextest, which runs each in a process of
//! its own. A case is judged by the `assay` binary, in a worker; the kernel cache makes a fresh process cheap.

use assay::record::{Report, Verdict};
use assay::suite::{self, Case, Selection};
use libtest_mimic::{Arguments, Completion, Failed, Trial};
use std::process::{Command, ExitCode};

/// The board to run on; `sim:gfx1151` when unset.
const BOARD: &str = "ASSAY_TEST_BOARD";

fn main() -> ExitCode {
    let args = Arguments::from_args();
    let selection = Selection { suites: vec!["smoke".to_string()], ..Selection::default() };
    let cases = match suite::plan(&selection) {
        Ok(cases) => cases,
        Err(error) => {
            eprintln!("the smoke suite cannot be planned: {error}");
            return ExitCode::from(2);
        }
    };
    let board = std::env::var(BOARD).unwrap_or_else(|_| "sim:gfx1151".to_string());
    let trial = |case: Case| {
        let (board, op) = (board.clone(), case.op.clone());
        Trial::ignorable_test(case.id.clone(), move || judge(&case, &board)).with_kind(op)
    };
    let trials = cases.into_iter().map(trial).collect();
    libtest_mimic::run(&args, trials).exit_code()
}

fn judge(case: &Case, board: &str) -> Result<Completion, Failed> {
    let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
    let out = Command::new(env!("CARGO_BIN_EXE_assay"))
        .args(["run", "--suite", "smoke", "--case", &case.id, "--board", board, "--jobs", "1", "--out"])
        .arg(folder.path())
        .output()
        .map_err(|e| e.to_string())?;
    let said = || format!("{}{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    let text = std::fs::read(folder.path().join("report.json")).map_err(|_| said())?;
    let report: Report = serde_json::from_slice(&text).map_err(|e| e.to_string())?;
    let [only] = &report.cases[..] else {
        return Err(format!("one case asked for, {} reported", report.cases.len()).into());
    };
    let reason = only.reason.clone().unwrap_or_default();
    match only.verdict {
        Verdict::Pass if report.exit_code == 0 && out.status.code() == Some(0) => Ok(Completion::Completed),
        Verdict::NotApplicable => Ok(Completion::ignored_with(reason)),
        // Left to other boards: too large or too slow here. Anything else that did not run is a failure.
        Verdict::NotRun if reason.starts_with("left to hardware") => Ok(Completion::ignored_with(reason)),
        _ => Err(said().into()),
    }
}
