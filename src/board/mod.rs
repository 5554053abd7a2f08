//! Boards: anything that can run our kernels, behind one trait. Refuses to retry, to fall back and to judge.

pub mod cuda;
pub mod device;
mod facts;
pub mod hip;
pub mod probe;
pub mod sim;

pub use facts::Facts;

use crate::ops::KType;
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

/// Kind of memory a buffer is allocated as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Device memory.
    Device,
    /// Managed (unified) memory.
    Managed,
    /// Pinned host memory.
    Pinned,
    /// Ordinary host memory, registered with the runtime.
    Registered,
    /// A mapped file.
    MappedFile,
    /// Ordinary pageable host memory.
    Pageable,
}

/// A live allocation of a board. Freed with [`Board::free`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// Board-wide id.
    pub id: u64,
    /// Kind it was allocated as.
    pub kind: Kind,
    /// Bytes.
    pub bytes: usize,
}

/// Host access to an allocation, where the board admits it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostView {
    /// Host address of the first byte.
    pub address: u64,
    /// Bytes.
    pub bytes: usize,
}

/// Why the host may not dereference an allocation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind:?} memory of {board} is not host addressable: {why}")]
pub struct NotAddressable {
    /// Board id.
    pub board: String,
    /// Kind of memory.
    pub kind: Kind,
    /// The fact that says so.
    pub why: String,
}

/// What can go wrong on a board.
#[derive(Clone, Debug, PartialEq, thiserror::Error, Serialize, Deserialize)]
#[serde(tag = "error", rename_all = "snake_case")]
pub enum BoardError {
    /// A request beyond what the board offers.
    #[error("{what}: needs {need}, the board has {have}")]
    Refused {
        /// What was asked for.
        what: String,
        /// How much of it.
        need: String,
        /// What there is.
        have: String,
    },
    /// Not enough memory.
    #[error("out of memory: {need} bytes needed, {free} free")]
    OutOfMemory {
        /// Bytes asked for.
        need: u64,
        /// Bytes free.
        free: u64,
    },
    /// A kernel image that is for another target, or is no image.
    #[error("kernel image for {present}, the board needs {wanted}")]
    BadImage {
        /// Target of the board.
        wanted: String,
        /// What the image holds.
        present: String,
    },
    /// A launch that was refused or failed.
    #[error("launch of {kernel}: {why}")]
    Launch {
        /// Kernel symbol.
        kernel: String,
        /// What happened.
        why: String,
    },
    /// A memory fault in a kernel.
    #[error("memory fault{} in {kernel}: {detail}", at(*address))]
    Fault {
        /// Faulting address; 0 where the board does not tell it.
        address: u64,
        /// Kernel symbol.
        kernel: String,
        /// Lane, block and nearest allocation, as far as the board can tell.
        detail: String,
    },
    /// The device is gone.
    #[error("device lost: {why}")]
    Lost {
        /// What is known of the cause.
        why: String,
    },
    /// No completion by the deadline.
    #[error("no completion within {waited_ms} ms; {state}")]
    Deadline {
        /// Time waited.
        waited_ms: u64,
        /// Last launch and queue state.
        state: String,
    },
    /// A symbol that the runtime library or the kernel image lacks.
    #[error("{library} has no symbol {symbol}")]
    MissingSymbol {
        /// Library or image.
        library: String,
        /// Symbol.
        symbol: String,
    },
}

/// Where a fault was, where the board tells.
fn at(address: u64) -> String {
    if address == 0 { String::new() } else { format!(" at {address:#x}") }
}

/// A point in time by which a wait must end.
#[derive(Clone, Copy, Debug)]
pub struct Deadline(pub Instant);

impl Deadline {
    /// That long from now.
    pub fn after(d: Duration) -> Self {
        Self(Instant::now() + d)
    }

    /// Time left; zero when past.
    pub fn left(self) -> Duration {
        self.0.saturating_duration_since(Instant::now())
    }
}

/// Order in which a simulated board runs blocks, and threads within them. Hardware has its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThreadOrder {
    /// Block 0, thread 0 first.
    Ascending,
    /// Last block, last thread first.
    Descending,
    /// A fixed permutation.
    Shuffled,
}

/// May a kernel read or write a range, and does it hold something?
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Extent {
    /// Name of the argument, for findings.
    pub name: String,
    /// First byte, relative to the buffer of the launch.
    pub start: u64,
    /// One past the last byte.
    pub end: u64,
    /// Kernels may write it.
    pub writable: bool,
    /// It holds defined values before the first launch (else reads of never-written bytes are findings).
    pub initialised: bool,
}

/// How a launch is to be run; a real board ignores `order` and refuses `sanitise`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mode {
    /// Order of blocks and threads.
    pub order: ThreadOrder,
    /// Run the sanitised build, checking every access against these exact extents of `buffer`.
    pub sanitise: bool,
}

/// A kernel argument resolved for one board.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Bound {
    /// Byte `offset` of a buffer.
    Ptr {
        /// Buffer id.
        buffer: u64,
        /// Byte offset.
        offset: u64,
    },
    /// Null pointer.
    Null,
    /// 32-bit signed integer.
    I32(i32),
    /// 64-bit signed integer.
    I64(i64),
    /// binary32.
    F32(f32),
    /// The first `bytes` of this image of a struct or any other type passed by value.
    Raw {
        /// Image, natural layout.
        image: [u8; 32],
        /// Size of the type.
        bytes: u8,
    },
}

impl Bound {
    /// Its type.
    pub fn ktype(self) -> KType {
        match self {
            Self::Ptr { .. } | Self::Null => KType::Ptr,
            Self::I32(_) => KType::I32,
            Self::I64(_) => KType::I64,
            Self::F32(_) => KType::F32,
            Self::Raw { .. } => KType::Raw,
        }
    }
}

/// One kernel launch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LaunchCmd {
    /// Module id, from [`Board::load`].
    pub module: u64,
    /// Kernel symbol.
    pub kernel: String,
    /// Blocks.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: [u32; 3],
    /// Dynamic shared memory, bytes.
    pub lds: u32,
    /// Arguments, checked against the image's own parameter list before launch.
    pub args: Vec<Bound>,
    /// How to run it.
    pub mode: Mode,
}

/// Severity of a finding of the simulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FindingKind {
    /// Access outside every extent.
    OutOfRange,
    /// Read of bytes that nobody wrote.
    Uninitialised,
    /// Write to a read-only extent.
    ReadOnly,
    /// Two threads, no barrier between.
    Race,
    /// Lanes of a block wait at different barriers (the launch was stopped).
    DivergentBarrier,
    /// Lanes returned before a barrier that others reached.
    ExitedBeforeBarrier,
    /// Lanes of a wave wait at different wave operations, or a lane that is not active was read.
    DivergentWave,
}

/// Something the simulator saw a kernel do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// What.
    pub kind: FindingKind,
    /// Kernel symbol.
    pub kernel: String,
    /// `file:line` in the user's source, where known.
    pub place: String,
    /// Both threads, the address, the argument: one sentence.
    pub detail: String,
    /// How often it was seen in the launch (only the first is detailed).
    pub count: u64,
}

/// What a wait brings back.
#[derive(Clone, Debug, Default)]
pub struct Completion {
    /// Time the device worked.
    pub elapsed: Duration,
    /// One entry per `copy_out`, in order.
    pub copied: Vec<Vec<u8>>,
    /// Findings per launch, in order.
    pub findings: Vec<Vec<Finding>>,
    /// Kernel launches that really ran.
    pub launches: u64,
}

/// A kernel image to load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// The built file (shared object, code object, cubin).
    pub path: std::path::PathBuf,
    /// The second, sanitised build, for simulated boards.
    pub sanitised: Option<std::path::PathBuf>,
}

/// A loaded image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Module(pub u64);

/// A board.
pub trait Board: Send {
    /// What the board is and can do.
    fn facts(&self) -> &Facts;

    /// Allocates.
    ///
    /// # Errors
    /// `OutOfMemory`, `Refused` for a kind the board does not have.
    fn alloc(&mut self, kind: Kind, bytes: usize) -> Result<Buffer, BoardError>;

    /// Frees an allocation.
    fn free(&mut self, buffer: Buffer);

    /// Host view of an allocation.
    ///
    /// # Errors
    /// When the board's facts say the host may not dereference it.
    fn host_view(&self, buffer: &Buffer) -> Result<HostView, NotAddressable>;

    /// Device address of an allocation; may differ from the host address.
    fn device_ptr(&self, buffer: &Buffer) -> u64;

    /// Makes byte ranges of a device allocation fault on any access by a kernel (page granularity), for flush placement; an empty
    /// list makes all accessible again.
    ///
    /// # Errors
    /// `Refused` where the board cannot.
    fn seal(&mut self, buffer: &Buffer, ranges: &[std::ops::Range<usize>]) -> Result<(), BoardError>;

    /// Loads a kernel image; the same path is loaded once.
    ///
    /// # Errors
    /// `BadImage`, `MissingSymbol`.
    fn load(&mut self, image: &Image) -> Result<Module, BoardError>;

    /// Declares the exact extents of a buffer that sanitised launches check.
    fn declare(&mut self, buffer: &Buffer, extents: &[Extent]);

    /// Puts a copy to the device into the queue.
    fn copy_in(&mut self, dst: &Buffer, offset: usize, bytes: &std::sync::Arc<Vec<u8>>);

    /// Puts a copy from the device into the queue; the bytes come back in [`Completion::copied`].
    fn copy_out(&mut self, src: &Buffer, offset: usize, bytes: usize);

    /// Puts a launch into the queue.
    fn launch(&mut self, cmd: LaunchCmd);

    /// The only completion: waits until everything in the queue is done. The queue is empty afterwards, also on error.
    ///
    /// # Errors
    /// The first error of any queued command. After `Fault`, `Lost` and `Deadline` a simulated board has already replaced its executor.
    fn wait(&mut self, deadline: Deadline) -> Result<Completion, BoardError>;
}
