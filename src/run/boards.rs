//! Board ids and what stands behind them. Refuses to fall back from one board to another.

use super::{Options, RunError, mock};
use crate::board::{Board, Facts};
use crate::record::BoardInfo;

/// A board id, understood.
pub enum Named {
    /// `mock:SCRIPT`.
    Mock(mock::Script),
}

/// Understands a board id.
///
/// # Errors
/// When it names no board; the message lists what there is.
pub fn named(id: &str) -> Result<Named, RunError> {
    match id.split_once(':') {
        Some(("mock", script)) => mock::Script::parse(script).map(Named::Mock).map_err(RunError::NoSuchBoard),
        _ => Err(RunError::NoSuchBoard(format!("'{id}' names no board; boards are sim:PROFILE, e.g. sim:gfx1151"))),
    }
}

impl Named {
    /// The mock's script.
    pub fn script(&self) -> Option<mock::Script> {
        match self {
            Self::Mock(script) => Some(script.clone()),
        }
    }

    /// Facts of the board.
    pub fn facts(&self) -> Facts {
        match self {
            Self::Mock(_) => mock::facts(),
        }
    }

    /// Opens the board, in a worker.
    ///
    /// # Errors
    /// Why it cannot be opened.
    pub fn open(self, _options: &Options) -> Result<Open, String> {
        match self {
            Self::Mock(script) => Ok(Open::Mock(script)),
        }
    }

    /// What is known of the board without opening it.
    pub fn info(&self, id: &str) -> BoardInfo {
        match self {
            Self::Mock(_) => info(id, "mock", &mock::facts()),
        }
    }
}

fn info(id: &str, runtime: &str, facts: &Facts) -> BoardInfo {
    BoardInfo {
        id: id.to_string(),
        name: facts.name.clone(),
        arch: facts.arch.clone(),
        runtime: runtime.to_string(),
        simulated: true,
        wave: facts.wave,
    }
}

/// A board, open in a worker.
pub enum Open {
    /// The mock.
    Mock(mock::Script),
    /// A board behind the trait.
    Board(Box<dyn Board>),
}
