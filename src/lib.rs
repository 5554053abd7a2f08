//! assay: hardware validation and conformance harness for AMD ROCm boards.
//!
//! The rooms and the way of the data are described in `docs/architecture.md`:
//! suites expand to cases, ops plan them, fixtures fill them, boards run them, the judge decides, and
//! reports fold the journal. Nothing flows backwards.

pub mod board;
pub mod cli;
pub mod fixture;
pub mod judge;
pub mod ladder;
pub mod ops;
pub mod power;
pub mod record;
pub mod report;
pub mod run;
pub mod suite;
pub mod survey;
pub mod tensor;
pub mod toolchain;

/// Writes a line to standard error. One that is closed or full is no reason to die: the exit code still tells.
pub(crate) fn complain(line: std::fmt::Arguments) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}
