//! Host accesses to an allocation, reachable or not, in a process that may die of them. Refuses to work in any other process.
#![allow(unsafe_code)]

use super::{Board, Buffer};

/// The word that such a process is started with.
pub const WORD: &str = "__probe";

/// The right to touch what may not be there.
pub struct Expendable(());

impl Expendable {
    /// The right, in a process that was started as a probe.
    pub fn here() -> Option<Self> {
        (std::env::args().nth(1).as_deref() == Some(WORD)).then_some(Self(()))
    }

    /// Reads the first bytes of an allocation as the host.
    pub fn read(&self, board: &dyn Board, buffer: &Buffer, bytes: usize) -> Vec<u8> {
        let from = address(board, buffer) as *const u8;
        // SAFETY: the board's own address of a live allocation that is as long. Where the host cannot reach it the process dies,
        // which is what it is for. Volatile, so that every byte is really read.
        (0..bytes.min(buffer.bytes)).map(|i| unsafe { from.add(i).read_volatile() }).collect()
    }

    /// Writes the first bytes of an allocation as the host.
    pub fn write(&self, board: &dyn Board, buffer: &Buffer, bytes: &[u8]) {
        let to = address(board, buffer) as *mut u8;
        for (i, byte) in bytes.iter().take(buffer.bytes).enumerate() {
            // SAFETY: as for `read`.
            unsafe { to.add(i).write_volatile(*byte) };
        }
    }
}

/// Host address of an allocation; where the board gives none, the one that kernels use.
fn address(board: &dyn Board, buffer: &Buffer) -> u64 {
    board.host_view(buffer).map_or_else(|_| board.device_ptr(buffer), |view| view.address)
}
