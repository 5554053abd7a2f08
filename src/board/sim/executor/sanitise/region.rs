//! One stretch of memory under watch: what may be done with each byte, and who did what to it last.
//! Refuses to spread: cells are as coarse as the accesses seen so far and become finer when a smaller one comes.
#![allow(unsafe_code)]

use super::order::Who;
use crate::board::Extent;
use std::ops::Range;

/// Bits of a byte's state.
pub mod state {
    /// In an extent.
    pub const KNOWN: u8 = 1;
    /// May be written.
    pub const WRITABLE: u8 = 2;
    /// Holds a defined value.
    pub const DEFINED: u8 = 4;

    /// States past the end of a region, which allow nothing: a look at the widest access never leaves the vector.
    pub const PADDING: usize = 16;

    /// What a stretch of bytes has in common, and what any of it has, in each of as many bytes as `mask` has.
    #[derive(Clone, Copy)]
    pub struct Seen {
        all: u64,
        any: u64,
        mask: u64,
    }

    impl Seen {
        /// Every byte has these bits.
        #[inline(always)]
        pub fn all(self, bits: u8) -> bool {
            let wanted = each(bits) & self.mask;
            self.all & wanted == wanted
        }
        /// Some byte has one of these bits.
        #[inline(always)]
        pub fn any(self, bits: u8) -> bool {
            self.any & each(bits) != 0
        }
    }

    /// These bits in each of eight bytes.
    const fn each(bits: u8) -> u64 {
        bits as u64 * 0x0101_0101_0101_0101
    }

    /// The states of a stretch, as words of at most eight bytes each.
    ///
    /// # Safety
    /// `states` points at `bytes` states.
    #[inline(always)]
    pub unsafe fn of(states: *const u8, bytes: u64) -> Seen {
        let mut seen = Seen { all: u64::MAX, any: 0, mask: 0 };
        // SAFETY: as the caller promises.
        unsafe {
            words(bytes, |at, size| {
                let (word, mask) = (load(states.add(at), size), u64::MAX >> (64 - 8 * size));
                seen.all &= word | !mask;
                seen.any |= word;
                seen.mask |= mask;
            });
        }
        seen
    }

    /// Marks the writable ones of a stretch as defined.
    ///
    /// # Safety
    /// `states` points at `bytes` states.
    #[inline(always)]
    pub unsafe fn define(states: *mut u8, bytes: u64) {
        // SAFETY: as the caller promises; writable bits move to the place of the defined ones of their own bytes.
        unsafe {
            words(bytes, |at, size| {
                let word = load(states.add(at), size);
                store(states.add(at), size, word | (word & each(WRITABLE)) << 1);
            });
        }
    }

    /// Calls with offset and size of each word; nothing is left of the loop where the length is a constant.
    #[inline(always)]
    fn words(bytes: u64, mut each: impl FnMut(usize, u32)) {
        let mut at = 0;
        for size in [8, 4, 2, 1] {
            while bytes - at >= u64::from(size) {
                each(at as usize, size);
                at += u64::from(size);
            }
        }
    }

    #[inline(always)]
    unsafe fn load(at: *const u8, size: u32) -> u64 {
        // SAFETY: the caller has that many bytes there.
        unsafe {
            match size {
                8 => at.cast::<u64>().read_unaligned(),
                4 => at.cast::<u32>().read_unaligned().into(),
                2 => at.cast::<u16>().read_unaligned().into(),
                _ => at.read().into(),
            }
        }
    }

    #[inline(always)]
    unsafe fn store(at: *mut u8, size: u32, word: u64) {
        // SAFETY: the caller has that many bytes there.
        unsafe {
            match size {
                8 => at.cast::<u64>().write_unaligned(word),
                4 => at.cast::<u32>().write_unaligned(word as u32),
                2 => at.cast::<u16>().write_unaligned(word as u16),
                _ => at.write(word as u8),
            }
        }
    }
}

/// Last accesses of the bytes of a cell.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub struct Cell {
    /// Last write or atomic.
    pub write: Who,
    /// Last read. Its mark says that there is a [`More`] for this launch.
    pub read: Who,
}

/// What few cells need: kept apart, so that the common ones stay in cache.
#[derive(Clone, Copy, Default, PartialEq)]
#[repr(C)]
pub struct More {
    /// Last read by another lane of the block of `read`.
    pub other: Who,
    /// A read, or rather an atomic, of another block.
    pub far: Who,
}

/// A watched stretch of memory.
pub struct Region {
    pub start: u64,
    pub bytes: u64,
    pub extents: Vec<Extent>,
    /// One a byte, then padding.
    pub state: Vec<u8>,
    pub cells: Vec<Cell>,
    pub more: Vec<More>,
    /// log2 of the bytes of a cell.
    pub shift: u32,
    shared: bool,
    prepared: bool,
    /// Ranges copied to since the state was last brought up to date.
    copied: Vec<Range<u64>>,
    /// A plain launch ran since then, before those copies.
    unseen: bool,
}

impl Region {
    /// A buffer.
    pub fn new(start: u64, bytes: u64, extents: Vec<Extent>) -> Self {
        Self {
            start,
            bytes,
            extents,
            state: Vec::new(),
            cells: Vec::new(),
            more: Vec::new(),
            shift: 2,
            shared: false,
            prepared: false,
            copied: Vec::new(),
            unseen: false,
        }
    }

    /// Shared memory, not placed yet.
    pub fn shared() -> Self {
        Self { shared: true, ..Self::new(0, 0, Vec::new()) }
    }

    /// It is shared memory.
    pub fn is_shared(&self) -> bool {
        self.shared
    }

    /// It has bytes in common with a range.
    pub fn overlaps(&self, address: u64, bytes: u64) -> bool {
        address < self.start + self.bytes && self.start < address + bytes
    }

    /// Bytes were copied in.
    pub fn copied_in(&mut self, address: u64, bytes: u64) {
        if !self.overlaps(address, bytes) {
            return;
        }
        let start = address.max(self.start) - self.start;
        let end = (address + bytes).min(self.start + self.bytes) - self.start;
        let covers = self.extents.iter().all(|e| start <= e.start && e.end <= end);
        if covers {
            self.unseen = false;
            self.copied.clear();
        }
        self.copied.push(start..end);
    }

    /// A launch ran whose writes are not known.
    pub fn unseen_launch(&mut self) {
        self.unseen = true;
        self.copied.clear();
    }

    /// Brings the state up to date for a sanitised launch.
    pub fn prepare(&mut self) {
        if !self.prepared {
            self.state = vec![0; self.bytes as usize + state::PADDING];
            for e in &self.extents {
                let bits = state::KNOWN
                    | if e.writable { state::WRITABLE } else { 0 }
                    | if e.initialised { state::DEFINED } else { 0 };
                self.state[clip(e, self.bytes)].fill(bits);
            }
            self.clear_cells();
            self.prepared = true;
        }
        if std::mem::take(&mut self.unseen) {
            for e in self.extents.iter().filter(|e| e.writable) {
                self.state[clip(e, self.bytes)].iter_mut().for_each(|s| *s |= state::DEFINED);
            }
        }
        for copied in std::mem::take(&mut self.copied) {
            for e in self.extents.iter().filter(|e| !e.initialised) {
                let r = clip(e, self.bytes);
                let (start, end) = (r.start.max(copied.start as usize), r.end.min(copied.end as usize));
                if start < end {
                    self.state[start..end].iter_mut().for_each(|s| *s &= !state::DEFINED);
                }
            }
        }
    }

    /// Puts shared memory where the library has it.
    pub fn place(&mut self, range: Range<u64>) {
        let start = range.start & !255;
        if self.start != start || self.bytes != range.end - start {
            (self.start, self.bytes, self.shift) = (start, range.end - start, 2);
            self.state = vec![0; self.bytes as usize + state::PADDING];
            self.clear_cells();
            self.extents.clear();
        }
    }

    /// Shared memory of a new block: writable in these exact ranges, holding nothing.
    pub fn fresh(&mut self, exact: &[(String, Range<u64>)]) {
        if self.extents.is_empty() {
            self.extents = exact
                .iter()
                .map(|(name, r)| {
                    let (start, end) = (r.start - self.start, r.end - self.start);
                    Extent { name: name.clone(), start, end, writable: true, initialised: false }
                })
                .collect();
        }
        for i in 0..self.extents.len() {
            let r = clip(&self.extents[i], self.bytes);
            self.state[r].fill(state::KNOWN | state::WRITABLE);
        }
    }

    /// Forgets every access.
    pub fn forget(&mut self) {
        self.clear_cells();
    }

    fn clear_cells(&mut self) {
        // Untouched pages of a fresh zeroed vector cost nothing.
        let n = (self.bytes >> self.shift) as usize + 1;
        (self.cells, self.more) = (zeroed(n), zeroed(n));
    }

    /// Makes cells as small as `shift` says; each part keeps the history of the whole.
    #[cold]
    pub fn refine(&mut self, shift: u32) {
        let parts = 1usize << (self.shift - shift);
        self.cells = self.cells.iter().flat_map(|c| std::iter::repeat_n(*c, parts)).collect();
        self.more = self.more.iter().flat_map(|c| std::iter::repeat_n(*c, parts)).collect();
        self.shift = shift;
    }

    /// The extent nearest to an offset.
    pub fn nearest(&self, offset: u64) -> Option<&Extent> {
        let distance =
            |e: &Extent| if offset < e.start { e.start - offset } else { (offset + 1).saturating_sub(e.end) };
        self.extents.iter().min_by_key(|e| distance(e))
    }
}

/// Zeroes from the allocator, which takes them from fresh pages: all-zero is the default of both cell types.
fn zeroed<T: Copy + Default>(n: usize) -> Vec<T> {
    let layout = std::alloc::Layout::array::<T>(n.max(1)).expect("a shadow fits the address space");
    // SAFETY: `Cell` and `More` are made of integers, for which zero bytes are valid; pointer, length and capacity are those
    // of the allocation just made with the layout that a vector of `T` uses.
    unsafe {
        let at = std::alloc::alloc_zeroed(layout);
        if at.is_null() {
            std::alloc::handle_alloc_error(layout);
        }
        Vec::from_raw_parts(at.cast(), n.max(1), n.max(1))
    }
}

fn clip(e: &Extent, bytes: u64) -> Range<usize> {
    e.start.min(bytes) as usize..e.end.min(bytes) as usize
}
