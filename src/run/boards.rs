//! Board ids and what stands behind them. Refuses to fall back from one board to another.

use super::lock::{self, BoardLock};
use super::{Options, RunError, mock};
use crate::board::cuda;
use crate::board::sim::{SimBoard, profile};
use crate::board::{Board, BoardError, Facts};
use crate::record::BoardInfo;
use crate::toolchain::Target;

/// A board id, understood.
pub enum Named {
    /// `mock:SCRIPT`.
    Mock(mock::Script),
    /// `sim:PROFILE`.
    Sim(Facts),
    /// `cuda:INDEX`.
    Cuda(u32, Box<cuda::Identity>),
    /// A real board that is not there: its runtime, and why.
    Absent(&'static str, String),
}

/// Understands a board id.
///
/// # Errors
/// When it names no board; the message lists what there is.
pub fn named(id: &str) -> Result<Named, RunError> {
    match id.split_once(':') {
        Some(("mock", script)) => mock::Script::parse(script).map(Named::Mock).map_err(RunError::NoSuchBoard),
        Some(("sim", name)) => profile(name).map(Named::Sim).map_err(|e| RunError::NoSuchBoard(e.to_string())),
        Some(("cuda", index)) => {
            let index = index.parse().map_err(|_| {
                RunError::NoSuchBoard(format!("'{id}' names no board: cuda:INDEX has a number, e.g. cuda:0"))
            })?;
            Ok(match cuda::identity(index) {
                Ok(identity) => Named::Cuda(index, Box::new(identity)),
                Err(BoardError::Lost { why }) => Named::Absent("cuda", format!("no device: {why}")),
                Err(e) => Named::Absent("cuda", format!("no device: {e}")),
            })
        }
        _ => Err(RunError::NoSuchBoard(format!(
            "'{id}' names no board; boards are sim:PROFILE, e.g. sim:gfx1151, and cuda:INDEX, e.g. cuda:0"
        ))),
    }
}

impl Named {
    /// The mock's script.
    pub fn script(&self) -> Option<mock::Script> {
        match self {
            Self::Mock(script) => Some(script.clone()),
            _ => None,
        }
    }

    /// What kernels are built for; none where nothing is launched.
    pub fn target(&self) -> Option<Target> {
        match self {
            Self::Sim(_) => Some(Target::Host),
            Self::Cuda(_, identity) => Some(Target::Nvidia(identity.facts.arch.clone())),
            Self::Mock(_) | Self::Absent(..) => None,
        }
    }

    /// Why no case can run, where that is known before any worker starts.
    pub fn absent(&self) -> Option<&str> {
        match self {
            Self::Absent(_, why) => Some(why),
            _ => None,
        }
    }

    /// Keeps others off a real board, which two runs at once would hang or fault at random.
    ///
    /// # Errors
    /// Who has it.
    pub fn lock(&self) -> Result<Option<BoardLock>, String> {
        match self {
            Self::Cuda(_, identity) => lock::take(&identity.uuid).map(Some),
            Self::Mock(_) | Self::Sim(_) | Self::Absent(..) => Ok(None),
        }
    }

    /// Facts of the board.
    pub fn facts(&self) -> Facts {
        match self {
            Self::Mock(_) => mock::facts(),
            Self::Sim(facts) => facts.clone(),
            Self::Cuda(_, identity) => identity.facts.clone(),
            Self::Absent(..) => Facts { name: "none".into(), arch: "none".into(), wave: 0, ..mock::facts() },
        }
    }

    /// Opens the board, in a worker.
    ///
    /// # Errors
    /// Why it cannot be opened.
    pub fn open(self, options: &Options) -> Result<Open, String> {
        match self {
            Self::Mock(script) => Ok(Open::Mock(script)),
            Self::Sim(facts) => {
                let board = SimBoard::open(facts, options.exe.clone()).map_err(|e| e.to_string())?;
                Ok(Open::Board(Box::new(board)))
            }
            Self::Cuda(index, _) => {
                let board = cuda::open(index).map_err(|e| e.to_string())?;
                Ok(Open::Board(Box::new(board)))
            }
            Self::Absent(_, why) => Err(why),
        }
    }

    /// What is known of the board without opening it.
    pub fn info(&self, id: &str) -> BoardInfo {
        let facts = self.facts();
        let (runtime, simulated) = match self {
            Self::Mock(_) => ("mock", true),
            Self::Sim(_) => ("sim", true),
            Self::Cuda(..) => ("cuda", false),
            Self::Absent(runtime, _) => (*runtime, false),
        };
        BoardInfo {
            id: id.to_string(),
            name: facts.name,
            arch: facts.arch,
            runtime: runtime.to_string(),
            simulated,
            wave: facts.wave,
        }
    }
}

/// A board, open in a worker.
pub enum Open {
    /// The mock.
    Mock(mock::Script),
    /// A board behind the trait.
    Board(Box<dyn Board>),
}
