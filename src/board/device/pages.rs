//! Device memory mapped piece by piece, so that any piece can be taken away and a kernel that touches it faults. Refuses to map a
//! piece that is sealed.

use super::{Driver, Handle, Refused};
use std::ops::Range;

/// A reserved range of addresses with memory of its own behind every piece.
pub struct Pages {
    /// First address.
    pub address: u64,
    piece: usize,
    handles: Vec<Handle>,
    mapped: Vec<bool>,
    sealed: Vec<Range<usize>>,
}

impl Pages {
    /// `bytes` of memory, rounded up to whole pieces of `piece` bytes, all of it mapped.
    ///
    /// # Errors
    /// When there is not that much.
    pub fn new(driver: &impl Driver, piece: usize, bytes: usize) -> Result<Self, Refused> {
        let pieces = bytes.div_ceil(piece).max(1);
        let address = driver.reserve(pieces * piece)?;
        let mut pages = Self { address, piece, handles: vec![], mapped: vec![false; pieces], sealed: vec![] };
        for i in 0..pieces {
            let made = driver.piece(piece).and_then(|handle| {
                pages.handles.push(handle);
                pages.map(driver, i)
            });
            if let Err(e) = made {
                pages.free(driver);
                return Err(e);
            }
        }
        Ok(pages)
    }

    fn at(&self, i: usize) -> u64 {
        self.address + (i * self.piece) as u64
    }

    fn map(&mut self, driver: &impl Driver, i: usize) -> Result<(), Refused> {
        // SAFETY: the addresses are reserved by us and not mapped; the handle is live.
        unsafe { driver.map(self.at(i), self.piece, self.handles[i]) }?;
        self.mapped[i] = true;
        Ok(())
    }

    fn unmap(&mut self, driver: &impl Driver, i: usize) -> Result<(), Refused> {
        // SAFETY: mapped by `map`; the queue is idle, as the callers promise.
        unsafe { driver.unmap(self.at(i), self.piece) }?;
        self.mapped[i] = false;
        Ok(())
    }

    /// Takes exactly these ranges away; all others are there again. The ranges are whole pieces; the queue must be idle.
    ///
    /// # Errors
    /// When the driver refuses.
    pub fn seal(&mut self, driver: &impl Driver, ranges: &[Range<usize>]) -> Result<(), Refused> {
        for i in 0..self.mapped.len() {
            let bytes = i * self.piece..(i + 1) * self.piece;
            let wanted = !ranges.iter().any(|r| r.start <= bytes.start && bytes.end <= r.end);
            match (self.mapped[i], wanted) {
                (true, false) => self.unmap(driver, i)?,
                (false, true) => self.map(driver, i)?,
                _ => {}
            }
        }
        self.sealed = ranges.to_vec();
        Ok(())
    }

    /// The parts of a byte range that are there.
    pub fn open(&self, range: Range<usize>) -> Vec<Range<usize>> {
        let mut open = vec![range];
        for sealed in &self.sealed {
            let cut = |r: Range<usize>| [r.start..r.end.min(sealed.start), r.start.max(sealed.end)..r.end];
            open = open.into_iter().flat_map(cut).filter(|r| r.start < r.end).collect();
        }
        open
    }

    /// Gives everything back.
    pub fn free(mut self, driver: &impl Driver) {
        for i in 0..self.mapped.len() {
            if self.mapped[i] {
                // A failure leaks, which is all that could be done.
                let _ = self.unmap(driver, i);
            }
        }
        // SAFETY: each piece was made once and the range reserved once; nothing is mapped any more.
        unsafe {
            self.handles.iter().for_each(|handle| driver.drop_piece(*handle));
            driver.unreserve(self.address, self.mapped.len() * self.piece);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sealed_is_cut_out() {
        let sealed = vec![10..20, 30..40];
        let pages = Pages { address: 0, piece: 10, handles: vec![], mapped: vec![], sealed };
        assert_eq!(pages.open(0..50), [0..10, 20..30, 40..50]);
        assert!(pages.open(12..18).is_empty());
        assert_eq!(pages.open(5..35), [5..10, 20..30]);
    }
}
