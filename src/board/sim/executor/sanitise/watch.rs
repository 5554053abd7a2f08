//! What a library's own hooks see: the region that was hit last and the clock, as plain words (`assay/watch.h`).
//! Refuses to be true on its own: whoever changes either shows it again.
#![allow(unsafe_code)]

use super::Sanitiser;
use super::order::{Order, Who};
use super::region::Cell;

/// `AssayWatch` of the header.
#[repr(C)]
pub struct Watch {
    start: u64,
    bytes: u64,
    states: *mut u8,
    cells: *mut Cell,
    cell_bytes: u64,
    /// The running lane, now.
    pub now: Who,
    past: Who,
    rivals: u64,
    pairs: [(u64, u64); 2],
}

impl Default for Watch {
    /// Shows nothing, so that every access takes a closer look.
    fn default() -> Self {
        let (states, cells) = (std::ptr::null_mut(), std::ptr::null_mut());
        let (now, past) = (Who::NOBODY, Who::NOBODY);
        Self { start: 0, bytes: 0, states, cells, cell_bytes: 0, now, past, rivals: u64::MAX, pairs: [(0, 1); 2] }
    }
}

impl Sanitiser {
    /// Shows the library the region that was hit last, and the clock.
    pub fn show(&mut self) {
        // SAFETY: `aim` follows every change of the list of regions; the watch is that of a loaded library, or our own.
        let (r, watch) = unsafe { (&mut *self.hit, &mut *self.watch) };
        *watch = Watch {
            start: r.start,
            bytes: r.bytes,
            states: r.state.as_mut_ptr(),
            cells: r.cells.as_mut_ptr(),
            cell_bytes: 1 << r.shift,
            now: watch.now,
            past: self.order.past(r.is_shared()),
            rivals: Order::RIVALS,
            pairs: self.order.pairs(),
        };
    }
}
