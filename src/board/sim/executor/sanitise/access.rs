//! One access, looked at closely. Refuses to say what is wrong with it: [`super::report`] does.
#![allow(unsafe_code)]

use super::super::lanes;
use super::order::Who;
use super::region::{Region, state};
use super::shadow::{quick, touch};
use super::{Sanitiser, sanitiser};

/// What an access does.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Act {
    Read,
    Write,
    Atomic,
    /// An atomic that does not look at the old value.
    Exchange,
}

impl Act {
    fn atomic(self) -> bool {
        matches!(self, Self::Atomic | Self::Exchange)
    }

    /// State that every byte must have.
    #[inline(always)]
    pub fn needs(self) -> u8 {
        match self {
            Self::Read => state::KNOWN | state::DEFINED,
            Self::Write | Self::Exchange => state::WRITABLE,
            Self::Atomic => state::WRITABLE | state::DEFINED,
        }
    }

    /// In words.
    pub fn verb(self) -> &'static str {
        match self {
            Self::Read => "reads",
            Self::Write => "writes",
            Self::Atomic | Self::Exchange => "updates",
        }
    }
}

/// Checks one access.
///
/// # Safety
/// Device thread only.
#[inline(always)]
pub unsafe fn access(address: u64, bytes: u64, act: Act, pc: u64) {
    // SAFETY: as the caller promises; neither reference outlives the call, and nothing below switches lanes.
    unsafe {
        let s = sanitiser();
        let mut r = s.hit;
        let mut offset = address.wrapping_sub((*r).start);
        if offset >= (*r).bytes || bytes > (*r).bytes - offset {
            match s.locate(address, bytes) {
                Some(found) => {
                    r = found;
                    offset = address - (*r).start;
                }
                None => return s.elsewhere(&mut *lanes::engine(), address, bytes, act, pc),
            }
        }
        let states = (*r).state.as_mut_ptr().add(offset as usize);
        let seen = state::of(states, bytes);
        if act != Act::Read {
            state::define(states, bytes);
        }
        if !seen.all(act.needs()) {
            s.refuse(&mut *lanes::engine(), offset, bytes, act, pc);
        }
        // What nobody may write cannot race: a write there is a finding of its own.
        if act != Act::Read || seen.any(state::WRITABLE) {
            enter(s, r, offset, bytes, act, pc);
        }
    }
}

/// Enters the access into every cell that it touches.
///
/// # Safety
/// As [`access`]; the bytes lie in the region.
#[inline(always)]
unsafe fn enter(s: &mut Sanitiser, r: *mut Region, offset: u64, bytes: u64, act: Act, pc: u64) {
    // SAFETY: as the caller promises; cells cover the region, and an engine is registered.
    unsafe {
        if (offset | bytes) & ((1u64 << (*r).shift) - 1) != 0 {
            (*r).refine(((offset | bytes).trailing_zeros()).min((*r).shift));
            s.show();
        }
        let (first, count) = (offset >> (*r).shift, bytes >> (*r).shift);
        let now = if act.atomic() { s.now().made_atomic() } else { s.now() };
        for i in first..first + count {
            let cell = &mut *(*r).cells.as_mut_ptr().add(i as usize);
            let more = (*r).more.as_mut_ptr().add(i as usize);
            if quick(&s.order, cell, more, now, act, (*r).is_shared()) {
                continue;
            }
            let rival = touch(&s.order, cell, &mut *more, now, act, (*r).is_shared());
            if rival != Who::NOBODY {
                s.race(&mut *lanes::engine(), offset, bytes, act, rival, pc);
                break;
            }
        }
    }
}

impl Sanitiser {
    /// The region of an access, and makes it the one to look at first; of two that take turns, the other comes next.
    #[inline(never)]
    fn locate(&mut self, address: u64, bytes: u64) -> Option<*mut Region> {
        let inside =
            |r: &Region| address >= r.start && address - r.start < r.bytes && bytes <= r.bytes - (address - r.start);
        // SAFETY: the pointers are renewed with every change of the list.
        let found = match inside(unsafe { &*self.before }) {
            true => self.before,
            false => &raw mut *self.regions.iter_mut().find(|r| inside(r))?,
        };
        self.before = std::mem::replace(&mut self.hit, found);
        self.show();
        Some(found)
    }
}
