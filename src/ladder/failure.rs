//! What keeps a ladder from starting or from ending. Refuses to speak of rungs: what becomes of one is in its record.

use crate::run::RunError;
use crate::suite::SuiteError;
use crate::toolchain::BuildError;
use std::path::{Path, PathBuf};

/// Why there is no outcome.
#[derive(Debug, thiserror::Error)]
pub enum ClimbError {
    /// Out folder, board id or signals.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The suites cannot be read.
    #[error(transparent)]
    Suite(#[from] SuiteError),
    /// No compiler, or sources that cannot be read.
    #[error("{0}")]
    Tools(#[from] BuildError),
    /// A ladder needs a simulated board.
    #[error("{0} is no simulated board; assay ladder runs on sim:PROFILE only, e.g. sim:gfx1151")]
    NotSimulated(String),
    /// Nothing to do.
    #[error("no rung is selected: widen the selection, or list the rungs with assay ladder --list")]
    NoRung,
    /// An unmutated source that does not build.
    #[error("the unmutated {file} does not build, so nothing can be said of its mutants:\n{output}")]
    Control {
        /// Below the kernel folder.
        file: String,
        /// The compiler's words.
        output: String,
    },
    /// A file or folder of the run.
    #[error("{what} {}: {why}", path.display())]
    Io {
        /// What was tried.
        what: &'static str,
        /// On which path.
        path: PathBuf,
        /// The system's words.
        why: String,
    },
    /// The journal to resume is none, or another ladder's.
    #[error("{}: {why}; start a new ladder without --resume", path.display())]
    Journal {
        /// The journal.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// The board could not be opened, or a case could not be run that the control ran.
    #[error("the gate broke off at {at}: {why}")]
    Gate {
        /// Rung and case.
        at: String,
        /// What happened.
        why: String,
    },
    /// Something that must not change has changed.
    #[error("{0} has changed while the ladder ran: its results cannot be trusted")]
    Changed(String),
    /// A defect of assay.
    #[error("defect of assay: {0}")]
    Defect(String),
}

impl ClimbError {
    /// An I/O error with its path.
    pub(crate) fn io(what: &'static str, path: &Path, error: std::io::Error) -> Self {
        Self::Io { what, path: path.to_path_buf(), why: error.to_string() }
    }

    /// 70 for a defect or a changed hash, 3 when the ladder broke off, 2 for everything before the start.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Run(e) => e.exit_code(),
            Self::Changed(_) | Self::Defect(_) => 70,
            Self::Control { .. } | Self::Io { .. } | Self::Gate { .. } => 3,
            Self::Suite(_) | Self::Tools(_) | Self::NotSimulated(_) | Self::NoRung | Self::Journal { .. } => 2,
        }
    }
}
