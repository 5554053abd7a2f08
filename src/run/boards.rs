//! Board ids and what stands behind them. Refuses to fall back from one board to another.

use super::{Options, RunError, mock};
use crate::board::sim::{SimBoard, profile};
use crate::board::{Board, Facts};
use crate::record::BoardInfo;

/// A board id, understood.
pub enum Named {
    /// `mock:SCRIPT`.
    Mock(mock::Script),
    /// `sim:PROFILE`.
    Sim(Facts),
}

/// Understands a board id.
///
/// # Errors
/// When it names no board; the message lists what there is.
pub fn named(id: &str) -> Result<Named, RunError> {
    match id.split_once(':') {
        Some(("mock", script)) => mock::Script::parse(script).map(Named::Mock).map_err(RunError::NoSuchBoard),
        Some(("sim", name)) => profile(name).map(Named::Sim).map_err(|e| RunError::NoSuchBoard(e.to_string())),
        _ => Err(RunError::NoSuchBoard(format!("'{id}' names no board; boards are sim:PROFILE, e.g. sim:gfx1151"))),
    }
}

impl Named {
    /// The mock's script.
    pub fn script(&self) -> Option<mock::Script> {
        match self {
            Self::Mock(script) => Some(script.clone()),
            Self::Sim(_) => None,
        }
    }

    /// Facts of the board.
    pub fn facts(&self) -> Facts {
        match self {
            Self::Mock(_) => mock::facts(),
            Self::Sim(facts) => facts.clone(),
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
        }
    }

    /// What is known of the board without opening it.
    pub fn info(&self, id: &str) -> BoardInfo {
        let facts = self.facts();
        let runtime = match self {
            Self::Mock(_) => "mock",
            Self::Sim(_) => "sim",
        };
        BoardInfo {
            id: id.to_string(),
            name: facts.name,
            arch: facts.arch,
            runtime: runtime.to_string(),
            simulated: true,
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
