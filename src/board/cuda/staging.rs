//! Pinned host memory through which copies go: a copy from or to ordinary memory would wait for the device.

use super::call::{Refused, check};
use cudarc::driver::sys;

/// Smallest piece asked of the driver.
const PIECE: usize = 4 << 20;

/// Pinned memory, handed out piece by piece and taken back as a whole.
#[derive(Default)]
pub struct Staging {
    chunks: Vec<Chunk>,
}

struct Chunk {
    at: *mut u8,
    bytes: usize,
    used: usize,
}

// SAFETY: the memory belongs to the staging alone, and is freed once, by whichever thread drops it.
unsafe impl Send for Staging {}

impl Staging {
    /// Room for `bytes`, good until [`Self::clear`].
    ///
    /// # Errors
    /// When the driver has no more pinned memory.
    pub fn take(&mut self, bytes: usize) -> Result<*mut u8, Refused> {
        let aligned = bytes.next_multiple_of(256);
        if let Some(chunk) = self.chunks.last_mut().filter(|c| c.bytes - c.used >= aligned) {
            // SAFETY: within the chunk.
            let at = unsafe { chunk.at.add(chunk.used) };
            chunk.used += aligned;
            return Ok(at);
        }
        let size = aligned.max(PIECE).next_power_of_two();
        let mut at = std::ptr::null_mut();
        // SAFETY: the pointer is to a local; the memory is freed in `free`.
        check("cuMemHostAlloc", unsafe { sys::cuMemHostAlloc(&raw mut at, size, 0) })?;
        self.chunks.push(Chunk { at: at.cast(), bytes: size, used: aligned });
        Ok(at.cast())
    }

    /// Everything handed out is free again; only the largest chunk is kept.
    pub fn clear(&mut self) {
        self.chunks.sort_by_key(|c| c.bytes);
        let largest = self.chunks.pop();
        self.chunks.drain(..).for_each(free);
        self.chunks.extend(largest.map(|c| Chunk { used: 0, ..c }));
    }

    /// Gives all memory back to the driver.
    pub fn free(&mut self) {
        self.chunks.drain(..).for_each(free);
    }
}

fn free(chunk: Chunk) {
    // SAFETY: it came from cuMemHostAlloc and is freed once. A failure leaks it, which is all that could be done.
    let _ = unsafe { sys::cuMemFreeHost(chunk.at.cast()) };
}
