//! What keeps a run from starting, or its journal from being written.

use std::path::PathBuf;

/// Why there is no outcome.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The out folder cannot be used.
    #[error("cannot use the out folder {}: {source}; give another with --out DIR", path.display())]
    Folder {
        /// The folder or the file in it.
        path: PathBuf,
        /// Cause.
        source: std::io::Error,
    },
    /// Another run works in the out folder.
    #[error("another assay run works in {}; wait for it, or give another folder with --out DIR", path.display())]
    Locked {
        /// The folder.
        path: PathBuf,
    },
    /// A journal that was asked for cannot be read.
    #[error(transparent)]
    Journal(#[from] super::journal::JournalError),
    /// The journal is of another plan.
    #[error(
        "{} belongs to another run (its plan hash is {found}, this plan's is {wanted}): cases, limits, seed, board, kernels \
         and options must be the same to resume; start a new run without --resume", path.display()
    )]
    OtherPlan {
        /// The journal.
        path: PathBuf,
        /// Hash in the journal.
        found: String,
        /// Hash of this plan.
        wanted: String,
    },
    /// `--rerun-failed` found nothing to run again.
    #[error("every planned case already passes in {}; nothing to run again", path.display())]
    NothingFailed {
        /// The journal.
        path: PathBuf,
    },
    /// The board id names no board.
    #[error("{0}")]
    NoSuchBoard(String),
    /// The board is not there.
    #[error("{board}: {why}")]
    BoardAbsent {
        /// Board id.
        board: String,
        /// Why.
        why: String,
    },
    /// Somebody else has the board.
    #[error("{board} is {why}")]
    BoardBusy {
        /// Board id.
        board: String,
        /// Who has it.
        why: String,
    },
    /// Kernels could not be resolved (no compiler, a bad overlay).
    #[error("{0}")]
    Kernels(String),
    /// No worker process could be started.
    #[error("cannot start a worker ({}): {source}", exe.display())]
    Spawn {
        /// The binary.
        exe: PathBuf,
        /// Cause.
        source: std::io::Error,
    },
    /// The journal cannot be written any more. What is in it is whole.
    #[error(
        "cannot write {}: {source}; the run stops, the {done} verdicts written so far are kept; go on with --resume {} \
         when there is room", path.display(), out.display()
    )]
    Write {
        /// The journal.
        path: PathBuf,
        /// Out folder.
        out: PathBuf,
        /// Verdicts written.
        done: u64,
        /// Cause.
        source: std::io::Error,
    },
    /// The plan and the verdicts do not add up.
    #[error("defect of assay: {planned} cases planned, {judged} verdicts")]
    Unbalanced {
        /// Planned cases.
        planned: u64,
        /// Sum of the verdicts.
        judged: u64,
    },
    /// Signals cannot be watched.
    #[error("cannot watch for signals: {0}")]
    Signals(std::io::Error),
}

impl RunError {
    /// Exit code: 70 for a defect of assay, 3 when the run broke off or there is no board, 4 when it is busy, 0 for nothing to do, 2 for everything before the start.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Unbalanced { .. } => 70,
            Self::Write { .. } | Self::Spawn { .. } | Self::BoardAbsent { .. } => 3,
            Self::BoardBusy { .. } => 4,
            Self::NothingFailed { .. } => 0,
            _ => 2,
        }
    }
}
