//! From assertions to a case's verdict, and from verdicts to the exit code of a run.

use super::error::JudgeError;
use crate::record::{Assertion, Counts, Tier, Verdict};
use std::process::Termination;

/// Who served the op.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Served {
    /// The board's own kernel.
    Board,
    /// The reference tier: judged, but never a device PASS.
    Reference,
}

/// Verdict of a judged case, with the reason for everything but PASS.
///
/// In this order: an error that voids the comparison, or a reference tier outside its own bars, is ERROR; a bar that
/// the device failed is FAIL; any other error (vacuous bar, blind gate, no assertion at all) is ERROR.
#[must_use]
pub fn case(assertions: &[Assertion], errors: &[JudgeError], served: Served) -> (Verdict, Option<String>) {
    if let Some(e) = errors.iter().find(|e| e.voids()) {
        return (Verdict::Error, Some(e.to_string()));
    }
    let failed = |tier| assertions.iter().find(|a| a.tier == tier && !a.pass);
    if let Some(a) = failed(Tier::Reference) {
        return (Verdict::Error, Some(format!("unusable reference: {}", sentence(a))));
    }
    if let Some(a) = failed(Tier::Device) {
        return (Verdict::Fail, Some(sentence(a)));
    }
    if let Some(e) = errors.first() {
        return (Verdict::Error, Some(e.to_string()));
    }
    if let Some(a) = assertions.iter().find(|a| a.elements == 0) {
        return (Verdict::Error, Some(format!("vacuous: bar '{}' compared 0 elements", a.bar)));
    }
    if !assertions.iter().any(|a| a.tier == Tier::Device) {
        return (Verdict::Error, Some("nothing was asserted about the device".into()));
    }
    match served {
        Served::Board => (Verdict::Pass, None),
        Served::Reference => (Verdict::Reference, Some("served by the reference tier".into())),
    }
}

/// One line about an assertion that failed.
#[must_use]
pub fn sentence(a: &Assertion) -> String {
    let mut text = if a.on.is_empty() { a.bar.clone() } else { format!("{} of {}", a.bar, a.on) };
    match (a.figure, a.limit) {
        (Some(f), Some(l)) => text += &format!(": {f:.4e}, limit {l:.4e}"),
        _ => text += ": no finite figure",
    }
    if let Some(w) = &a.worst {
        text += &format!(
            "; element {} (row {}, col {}) got {} ({}), want {} ({})",
            w.index, w.row, w.col, w.got, w.got_hex, w.want, w.want_hex
        );
    }
    if let Some(n) = &a.note {
        text += &format!("; {n}");
    }
    text
}

/// The assertion to show for a case: the failed one with the largest figure over limit, else the passed one nearest its limit.
#[must_use]
pub fn worst(assertions: &[Assertion]) -> Option<&Assertion> {
    let ratio = |a: &Assertion| match (a.figure, a.limit) {
        (Some(f), Some(l)) if l > 0.0 => f / l,
        (Some(f), _) if f <= 0.0 => 0.0,
        // A count against limit 0, or a figure that is not finite: beyond any ratio.
        _ => f64::INFINITY,
    };
    let failed = assertions.iter().filter(|a| !a.pass).max_by(|a, b| ratio(a).total_cmp(&ratio(b)));
    let undefined = |a: &&Assertion| a.figure.is_some();
    failed.or_else(|| assertions.iter().filter(undefined).max_by(|a, b| ratio(a).total_cmp(&ratio(b))))
}

/// Exit code of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum ExitCode {
    /// Everything required is PASS or KNOWN.
    Success = 0,
    /// A FAIL, or an UNEXPECTED-PASS under `--strict`.
    Fail = 1,
    /// Bad usage or a bad suite, before anything ran.
    Usage = 2,
    /// An ERROR, something required was not run, or nothing was asserted.
    Error = 3,
    /// The board is busy, wedged or lost.
    Board = 4,
    /// A defect of assay itself.
    Defect = 70,
}

impl Termination for ExitCode {
    fn report(self) -> std::process::ExitCode {
        std::process::ExitCode::from(self as u8)
    }
}

/// What a run's exit code depends on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunFacts {
    /// Verdicts of the run.
    pub counts: Counts,
    /// Assertions executed.
    pub assertions: u64,
    /// The board is busy, wedged or lost.
    pub board_failed: bool,
    /// assay itself failed (a panic, a broken invariant).
    pub defect: bool,
    /// Bad usage or bad suite; nothing ran.
    pub usage: bool,
    /// `--strict`.
    pub strict: bool,
    /// A shard of a larger run: having no case is no error.
    pub shard: bool,
}

/// Every planned case has exactly one verdict.
#[must_use]
pub fn complete(c: &Counts) -> bool {
    c.planned == c.pass + c.fail + c.error + c.not_run + c.not_applicable + c.known + c.unexpected_pass + c.reference
}

/// Verdict and exit code of a run: the first rule that holds.
#[must_use]
pub fn run(f: &RunFacts) -> (Verdict, ExitCode) {
    let c = &f.counts;
    let lost = !complete(c) && !f.usage;
    if f.defect || lost {
        return (Verdict::Error, ExitCode::Defect);
    }
    if f.usage {
        return (Verdict::Error, ExitCode::Usage);
    }
    if c.fail > 0 || (f.strict && c.unexpected_pass > 0) {
        return (Verdict::Fail, ExitCode::Fail);
    }
    if f.board_failed {
        return (if c.error > 0 { Verdict::Error } else { Verdict::NotRun }, ExitCode::Board);
    }
    if c.error > 0 {
        return (Verdict::Error, ExitCode::Error);
    }
    // A case that the reference tier served is no PASS of the board.
    if c.not_run > 0 || c.reference > 0 {
        return (Verdict::NotRun, ExitCode::Error);
    }
    if c.planned == 0 && f.shard {
        return (Verdict::Pass, ExitCode::Success);
    }
    if f.assertions == 0 {
        return (Verdict::NotRun, ExitCode::Error);
    }
    (Verdict::Pass, ExitCode::Success)
}

#[cfg(test)]
mod tests;
