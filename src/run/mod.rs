//! Supervisor, workers, journal. The supervisor refuses to touch a board.
//!
//! ```text
//! run()  supervisor: hands out cases, writes the journal, outlives every death
//!   |  JSON lines over pipes
//! __worker  one per board (`jobs` per simulated board): prepares, runs and judges cases
//! ```
//!
//! The out folder holds `journal.jsonl` (see [`journal`]), a `lock` and what reports add. A new run moves `journal.jsonl`,
//! `report.json` and `junit.xml` of the run before it into `previous/` and starts afresh; a resume goes on in place.

mod error;
pub mod journal;
mod options;

pub use error::RunError;
pub use options::{DEFAULT_SEED, Options};

use crate::record::{Counts, RunHeader, Verdict};
use crate::suite::Case;
use std::path::PathBuf;

/// What happens while a run goes on; a display subscribes to it.
#[derive(Debug)]
pub enum Event<'a> {
    /// The plan stands. First event.
    Planned {
        /// The header as it is in the journal: board, cases, provenance.
        header: &'a RunHeader,
        /// Cases that already have a verdict (resume).
        done: u64,
    },
    /// Kernels are being built before any worker starts.
    Building {
        /// Kernel files to build.
        files: usize,
    },
    /// A worker began a case on the board.
    CaseStarted {
        /// Place in the plan.
        index: u64,
        /// Case id.
        id: &'a str,
    },
    /// A case has its verdict, and the verdict is in the journal.
    CaseDone(CaseDone<'a>),
    /// A finding about the run itself; also in the journal.
    Note {
        /// `exit_hang`, `worker_died`, `wedged`, `resumed`, `write_failed`, `interrupted`.
        kind: &'a str,
        /// One sentence.
        text: &'a str,
    },
    /// Nothing happened for a while; lets a display tick. At most about 20 a second.
    Idle,
    /// Every case has a verdict. Last event.
    Finished(&'a Outcome),
}

/// The summary of one finished case.
#[derive(Clone, Copy, Debug)]
pub struct CaseDone<'a> {
    /// Place in the plan.
    pub index: u64,
    /// Case id.
    pub id: &'a str,
    /// Op.
    pub op: &'a str,
    /// Verdict.
    pub verdict: Verdict,
    /// Why, for everything but PASS.
    pub reason: Option<&'a str>,
    /// The whole record as a JSON object ([`crate::record::Line::Record`]).
    pub record: &'a str,
}

/// What a run came to. The verdict and exit code are folds over the journal.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The out folder.
    pub out: PathBuf,
    /// The journal in it.
    pub journal: PathBuf,
    /// Verdicts of all planned cases, those of a resumed journal included.
    pub counts: Counts,
    /// Ctrl-C or SIGTERM ended the run early.
    pub interrupted: bool,
    /// The board was declared wedged or lost (exit 4).
    pub board_failed: bool,
    /// Some case hit a defect of assay itself (exit 70).
    pub defect: bool,
}

/// Runs `cases` and writes the journal.
///
/// # Errors
/// Only what keeps a run from starting or a journal from being written; everything about a case or a board is in the records.
pub fn run(options: &Options, cases: Vec<Case>, on_event: &mut dyn FnMut(Event)) -> Result<Outcome, RunError> {
    let _ = (options, cases, on_event);
    Err(RunError::Unfinished)
}
