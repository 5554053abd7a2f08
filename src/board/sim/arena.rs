//! Device memory as the worker sees it: a sparse memory file, an address range, and which parts of it are taken.
//! Refuses to map anything; that is the board's decision.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Mutex;

/// Page size; allocations are whole pages with an unmapped page between them.
pub const PAGE: u64 = 4096;
/// Address space of one segment.
pub const SPAN: u64 = 1 << 40;
/// First address of the first segment: below every library and above every ordinary heap.
const BASE: u64 = 1 << 44;
/// Segments that can be live in one process.
const SLOTS: usize = 48;

static TAKEN: Mutex<[bool; SLOTS]> = Mutex::new([false; SLOTS]);

/// A memory file and its address range.
#[derive(Debug)]
pub struct Segment {
    /// The file.
    pub file: OwnedFd,
    /// Address of its first byte, in the executor and, where mapped, in the worker.
    pub base: u64,
    slot: usize,
    free: BTreeMap<u64, u64>,
}

impl Segment {
    /// An empty segment.
    ///
    /// # Errors
    /// When the system gives no memory file of that size (RLIMIT_FSIZE), or all address ranges are in use.
    pub fn new(name: &str) -> io::Result<Self> {
        let file = memory_file(name)?;
        rustix::fs::ftruncate(&file, SPAN)?;
        let mut taken = TAKEN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let slot =
            taken.iter().position(|t| !t).ok_or_else(|| io::Error::other("too many simulated boards at once"))?;
        taken[slot] = true;
        Ok(Self { file, base: BASE + slot as u64 * SPAN, slot, free: BTreeMap::from([(0, SPAN)]) })
    }

    /// Takes `bytes` (whole pages) and returns their address; an unmapped page stays on either side.
    pub fn take(&mut self, bytes: u64) -> Option<u64> {
        let need = bytes + PAGE;
        let (&start, &size) = self.free.iter().find(|&(&start, &size)| size >= need + u64::from(start == 0) * PAGE)?;
        // The first page of the segment stays unmapped.
        let at = if start == 0 { PAGE } else { start };
        self.free.remove(&start);
        if at > start {
            self.free.insert(start, at - start);
        }
        if start + size > at + need {
            self.free.insert(at + need, start + size - at - need);
        }
        Some(self.base + at)
    }

    /// Gives back what [`Segment::take`] returned.
    pub fn give(&mut self, address: u64, bytes: u64) {
        let (mut start, mut size) = (address - self.base, bytes + PAGE);
        if let Some((&s, &n)) = self.free.range(..start).next_back().filter(|&(&s, &n)| s + n == start) {
            self.free.remove(&s);
            (start, size) = (s, n + size);
        }
        if let Some(n) = self.free.remove(&(start + size)) {
            size += n;
        }
        self.free.insert(start, size);
    }

    /// Offset of an address in the file.
    pub fn offset(&self, address: u64) -> u64 {
        address - self.base
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        TAKEN.lock().unwrap_or_else(std::sync::PoisonError::into_inner)[self.slot] = false;
    }
}

/// An empty memory file that no other child process inherits.
///
/// # Errors
/// As `memfd_create`.
pub fn memory_file(name: &str) -> io::Result<OwnedFd> {
    Ok(rustix::fs::memfd_create(name, rustix::fs::MemfdFlags::CLOEXEC)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_given_back_are_whole_again_and_never_touch() {
        let mut s = Segment::new("test").expect("segment");
        let a = s.take(PAGE).expect("room");
        let b = s.take(3 * PAGE).expect("room");
        assert!(a >= s.base + PAGE && b >= a + 2 * PAGE);
        s.give(a, PAGE);
        s.give(b, 3 * PAGE);
        let total: u64 = s.free.values().sum();
        assert_eq!(total, SPAN);
        assert_eq!(s.take(2 * PAGE).expect("room"), a);
    }
}
