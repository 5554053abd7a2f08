//! What a run is told. Plain values.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::Duration;

/// Seed of a run that names none. A repro line leaves it out.
pub const DEFAULT_SEED: u64 = 0;

/// What a run is told, besides its cases.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Options {
    /// Board id: `sim:PROFILE`, `mock:SCRIPT`.
    pub board: String,
    /// The assay binary: workers and executors are started from it.
    pub exe: PathBuf,
    /// Out folder; created when missing. `assay-out` by custom.
    pub out: PathBuf,
    /// Command line, for the header.
    pub command: Vec<String>,
    /// Seed of the inputs; equal to the seed in the cases.
    pub seed: u64,
    /// `i/n`, for the header.
    pub shard: Option<String>,
    /// Workers of a simulated board; `None` = one per core. A real board always has one.
    pub jobs: Option<usize>,
    /// Time a case may take on the board.
    pub timeout: Duration,
    /// Launches of a case on real hardware; at least 2 (one per poison).
    pub repeat: u32,
    /// Every launch sanitised on a simulated board, whatever its size.
    pub deep: bool,
    /// A lane that returned before a barrier is an ERROR.
    pub strict_barriers: bool,
    /// Stop handing out cases after the first FAIL or ERROR.
    pub fail_fast: bool,
    /// Stop handing out cases after this time.
    pub max_time: Option<Duration>,
    /// Go on from the journal in `out`; its plan hash must match.
    pub resume: bool,
    /// Plan only the cases that have no PASS in the journal in `out`.
    pub rerun_failed: bool,
    /// Overlay of candidate kernels.
    pub kernels: Option<PathBuf>,
    /// Kernel pack, instead of the one behind the binary.
    pub pack: Option<PathBuf>,
    /// Write inputs, reference, oracle and device outputs of every case here, as safetensors.
    pub dump: Option<PathBuf>,
    /// Suite files besides the embedded ones, for repro lines.
    pub suites: Vec<PathBuf>,
}

impl Options {
    /// Options with the customary defaults.
    pub fn new(board: &str, exe: PathBuf, out: PathBuf) -> Self {
        Self {
            board: board.to_string(),
            exe,
            out,
            command: vec![],
            seed: DEFAULT_SEED,
            shard: None,
            jobs: None,
            timeout: Duration::from_secs(60),
            repeat: 2,
            deep: false,
            strict_barriers: false,
            fail_fast: false,
            max_time: None,
            resume: false,
            rerun_failed: false,
            kernels: None,
            pack: None,
            dump: None,
            suites: vec![],
        }
    }

    /// True when the board is no real hardware; every result is then labelled simulated.
    pub fn simulated(&self) -> bool {
        self.board.starts_with("sim:") || self.board.starts_with("mock:")
    }
}
