//! Board ids and what stands behind them. Refuses to fall back from one board to another.

use super::lock::{self, BoardLock};
use super::{Options, RunError, mock};
use crate::board::sim::{SimBoard, profile};
use crate::board::{Board, BoardError, Facts};
use crate::board::{cuda, hip};
use crate::record::BoardInfo;
use crate::survey::attribute;
use crate::survey::model::{Attribute, Fact};
use crate::toolchain::Target;

/// A board id, understood.
pub enum Named {
    /// `mock:SCRIPT`.
    Mock(mock::Script),
    /// `sim:PROFILE`.
    Sim(Facts),
    /// `cuda:INDEX`.
    Cuda(u32, Box<cuda::Identity>),
    /// `hip:INDEX`.
    Hip(u32, Box<hip::Identity>),
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
        Some(("cuda", number)) => {
            let index = index(id, number)?;
            Ok(cuda::identity(index).map_or_else(absent("cuda"), |identity| Named::Cuda(index, Box::new(identity))))
        }
        Some(("hip", number)) => {
            let index = index(id, number)?;
            Ok(hip::identity(index).map_or_else(absent("hip"), |identity| Named::Hip(index, Box::new(identity))))
        }
        _ => Err(RunError::NoSuchBoard(format!(
            "'{id}' names no board; boards are sim:PROFILE, e.g. sim:gfx1151, hip:INDEX and cuda:INDEX, e.g. hip:0"
        ))),
    }
}

fn index(id: &str, number: &str) -> Result<u32, RunError> {
    number.parse().map_err(|_| RunError::NoSuchBoard(format!("'{id}' names no board: its index is a number, e.g. 0")))
}

/// A real board that cannot be had.
fn absent(runtime: &'static str) -> impl FnOnce(BoardError) -> Named {
    move |e| match e {
        BoardError::Lost { why } => Named::Absent(runtime, format!("no device: {why}")),
        e => Named::Absent(runtime, format!("no device: {e}")),
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
            Self::Hip(_, identity) => Some(Target::Amd(identity.arch.clone())),
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
            Self::Hip(_, identity) => lock::take(&identity.uuid).map(Some),
            Self::Mock(_) | Self::Sim(_) | Self::Absent(..) => Ok(None),
        }
    }

    /// Facts of the board.
    pub fn facts(&self) -> Facts {
        match self {
            Self::Mock(_) => mock::facts(),
            Self::Sim(facts) => facts.clone(),
            Self::Cuda(_, identity) => identity.facts.clone(),
            Self::Hip(_, identity) => identity.facts.clone(),
            Self::Absent(..) => Facts { name: "none".into(), arch: "none".into(), wave: 0, ..mock::facts() },
        }
    }

    /// Who the board is, each fact with its source.
    pub fn identity(&self) -> Vec<Fact> {
        let fact = |name: &str, value: String, source: &str| Fact {
            name: name.to_string(),
            value,
            source: source.to_string(),
        };
        let facts = self.facts();
        let mut all = vec![fact("name", facts.name, "runtime"), fact("architecture", facts.arch, "runtime")];
        match self {
            Self::Cuda(_, identity) => {
                all.push(fact("uuid", identity.uuid.clone(), "cuDeviceGetUuid"));
                all.push(fact("driver API", identity.driver.clone(), "cuDriverGetVersion"));
                all.push(fact("multiprocessors", identity.multiprocessors.to_string(), "cuDeviceGetAttribute"));
            }
            Self::Hip(_, identity) => all.extend(identity.describe()),
            _ => all.extend(facts.sources.into_iter().map(|s| fact("source", s, "profile"))),
        }
        all
    }

    /// What the runtime declares, by name.
    pub fn attributes(&self) -> Vec<Attribute> {
        let of = |list: &[(&str, Option<i64>)]| list.iter().map(|(name, value)| attribute(name, *value)).collect();
        match self {
            Self::Cuda(_, identity) => of(&identity.attributes),
            Self::Hip(_, identity) => of(&identity.attributes),
            _ => {
                let f = self.facts();
                of(&[
                    ("Integrated", Some(f.integrated.into())),
                    ("PageableMemoryAccess", Some(f.pageable.into())),
                    ("ManagedMemory", Some(f.managed.into())),
                    ("ConcurrentManagedAccess", Some(f.concurrent_managed.into())),
                ])
            }
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
            Self::Hip(index, _) => {
                let board = hip::open(index).map_err(|e| e.to_string())?;
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
            Self::Hip(..) => ("hip", false),
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
