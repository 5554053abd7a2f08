//! Pinned host memory through which copies go: a copy from or to ordinary memory would wait for the device.

use super::{Driver, Refused};

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

// SAFETY: the memory belongs to the staging alone, and is freed once, by whichever thread does.
unsafe impl Send for Staging {}

impl Staging {
    /// Room for `bytes`, good until [`Self::clear`].
    ///
    /// # Errors
    /// When the driver has no more pinned memory.
    pub fn take(&mut self, driver: &impl Driver, bytes: usize) -> Result<*mut u8, Refused> {
        let aligned = bytes.next_multiple_of(256);
        if let Some(chunk) = self.chunks.last_mut().filter(|c| c.bytes - c.used >= aligned) {
            // SAFETY: within the chunk.
            let at = unsafe { chunk.at.add(chunk.used) };
            chunk.used += aligned;
            return Ok(at);
        }
        let size = aligned.max(PIECE).next_power_of_two();
        let at = driver.pinned_alloc(size)?;
        self.chunks.push(Chunk { at, bytes: size, used: aligned });
        Ok(at)
    }

    /// Everything handed out is free again; only the largest chunk is kept.
    pub fn clear(&mut self, driver: &impl Driver) {
        self.chunks.sort_by_key(|c| c.bytes);
        let largest = self.chunks.pop();
        self.free(driver);
        self.chunks.extend(largest.map(|c| Chunk { used: 0, ..c }));
    }

    /// Gives all memory back to the driver.
    pub fn free(&mut self, driver: &impl Driver) {
        for chunk in self.chunks.drain(..) {
            // SAFETY: it came from this driver and is freed once; the queue is done with it.
            unsafe { driver.pinned_free(chunk.at) };
        }
    }
}
