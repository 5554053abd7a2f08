//! A call that a driver refused, as an error of a board. Refuses to guess: every error names the call and the driver's own words.

use crate::board::BoardError;
use std::fmt;

/// What a refusal means for the board.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Not enough memory.
    Memory,
    /// A kernel did what it must not.
    Fault,
    /// A launch that the driver does not admit.
    Launch,
    /// An image for another target, or none.
    Image,
    /// No such symbol.
    Missing,
    /// Anything else: the board is not to be trusted any more.
    Lost,
}

/// A call that a driver refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The call.
    pub call: &'static str,
    /// Name and words of the driver's error.
    pub words: String,
    /// What it means.
    pub class: Class,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}: {}", self.call, self.words)
    }
}

impl Refused {
    /// The error of a board: what happened while `kernel` was the last one launched.
    pub fn of(self, kernel: &str) -> BoardError {
        let text = self.to_string();
        let kernel = kernel.to_string();
        match self.class {
            // Drivers tell the kind of fault and not its address.
            Class::Fault => {
                BoardError::Fault { address: 0, kernel, detail: format!("{text}; the driver names no address") }
            }
            Class::Launch => BoardError::Launch { kernel, why: text },
            _ => BoardError::Lost { why: format!("{text}; last launch: {kernel}") },
        }
    }

    /// The error of an allocation of `need` bytes, of which `free` are there.
    pub fn of_memory(self, need: usize, free: u64) -> BoardError {
        match self.class {
            Class::Memory => BoardError::OutOfMemory { need: need as u64, free },
            Class::Lost => self.lost(),
            _ => {
                let (what, need) = ("an allocation".into(), format!("{need} bytes"));
                BoardError::Refused { what, need, have: self.to_string() }
            }
        }
    }

    /// The board is gone.
    pub fn lost(self) -> BoardError {
        BoardError::Lost { why: self.to_string() }
    }
}
