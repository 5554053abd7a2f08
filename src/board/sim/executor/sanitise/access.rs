//! The hooks of instrumented code: one access each.
#![allow(unsafe_code)]

use super::super::block::Engine;
use super::super::lanes;
use super::order::{Order, Who};
use super::region::{Cell, More, Region, state};
use super::{Sanitiser, sanitiser};
use crate::board::FindingKind;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Act {
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

    fn verb(self) -> &'static str {
        match self {
            Self::Read => "reads",
            Self::Write => "writes",
            Self::Atomic | Self::Exchange => "updates",
        }
    }
}

/// A read of `N` bytes.
pub unsafe extern "C" fn read<const N: u64>(address: u64, _: u64, pc: u64) {
    // SAFETY: instrumented code runs on the device thread only.
    unsafe { access(address, N, Act::Read, pc) }
}

/// A write of `N` bytes.
pub unsafe extern "C" fn write<const N: u64>(address: u64, _: u64, pc: u64) {
    // SAFETY: as for `read`.
    unsafe { access(address, N, Act::Write, pc) }
}

/// A read-modify-write, announced by our header; bit 63 of `bytes` says that the old value does not matter.
pub unsafe extern "C" fn atomic(address: u64, bytes: u64, pc: u64) {
    let act = if bytes >> 63 == 0 { Act::Atomic } else { Act::Exchange };
    // SAFETY: as for `read`.
    unsafe {
        access(address, bytes & (u64::MAX >> 1), act, pc);
        let s = sanitiser();
        s.order.synchronise(address, s.now.lane());
    }
}

/// `__threadfence`.
pub unsafe extern "C" fn fence() {
    // SAFETY: as for `read`.
    unsafe { sanitiser().order.fence() }
}

/// A read, or with bit 63 of `bytes` a write, of any length.
pub unsafe extern "C" fn range(address: u64, bytes: u64, pc: u64) {
    let act = if bytes >> 63 == 0 { Act::Read } else { Act::Write };
    // SAFETY: as for `read`.
    unsafe { access(address, bytes & (u64::MAX >> 1), act, pc) }
}

/// `memcpy` (0), `memmove` (1) and `memset` (2) of instrumented code.
pub unsafe extern "C" fn memory(to: *mut u8, from: u64, bytes: usize, which: u32, pc: u64) -> *mut u8 {
    // SAFETY: the arguments are those of the C function, whose promises the kernel makes; the accesses are checked first.
    unsafe {
        if which != 2 {
            access(from, bytes as u64, Act::Read, pc);
        }
        access(to as u64, bytes as u64, Act::Write, pc);
        match which {
            2 => std::ptr::write_bytes(to, from as u8, bytes),
            _ => std::ptr::copy(from as *const u8, to, bytes),
        }
    }
    to
}

/// Checks one access.
///
/// # Safety
/// Device thread only.
#[inline(always)]
unsafe fn access(address: u64, bytes: u64, act: Act, pc: u64) {
    // SAFETY: as the caller promises; neither reference outlives the call, and nothing below switches lanes.
    unsafe {
        let s = sanitiser();
        let mut r = s.regions.as_mut_ptr().add(s.last);
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
        if !permitted((*r).state.as_mut_ptr().add(offset as usize), bytes, act) {
            s.refuse(&mut *lanes::engine(), offset, bytes, act, pc);
        }
        if (offset | bytes) & ((1u64 << (*r).shift) - 1) != 0 {
            (*r).refine(((offset | bytes).trailing_zeros()).min((*r).shift));
        }
        let (first, count) = (offset >> (*r).shift, bytes >> (*r).shift);
        let now = if act.atomic() { s.now.made_atomic() } else { s.now };
        for i in first..first + count {
            let cell = &mut *(*r).cells.as_mut_ptr().add(i as usize);
            let more = (*r).more.as_mut_ptr().add(i as usize);
            if quick(&s.order, cell, more, now, act, (*r).is_shared()) {
                continue;
            }
            let more = &mut *more;
            let rival = touch(&s.order, cell, more, now, act, (*r).is_shared());
            if rival != Who::NOBODY {
                s.race(&mut *lanes::engine(), offset, bytes, act, rival, pc);
                break;
            }
        }
    }
}

/// Are all bytes open to this access? Marks written ones as defined.
///
/// # Safety
/// `states` points at `bytes` states.
#[inline(always)]
unsafe fn permitted(states: *mut u8, bytes: u64, act: Act) -> bool {
    let need = match act {
        Act::Read => state::KNOWN | state::DEFINED,
        Act::Write | Act::Exchange => state::WRITABLE,
        Act::Atomic => state::WRITABLE | state::DEFINED,
    };
    let mut all = u8::MAX;
    for i in 0..bytes as usize {
        // SAFETY: as the caller promises.
        unsafe {
            let s = states.add(i);
            all &= *s;
            if act != Act::Read {
                // Only writable bytes become defined.
                *s |= (*s & state::WRITABLE) << 1;
            }
        }
    }
    all & need == need
}

/// Enters an access that can race with nothing in the cell, as nearly all do; false, and nothing done, when it takes a closer look.
///
/// # Safety
/// `more` is the cell's own; it is looked at only where the cell says that it counts.
#[inline(always)]
unsafe fn quick(order: &Order, c: &mut Cell, more: *mut More, now: Who, act: Act, shared: bool) -> bool {
    // Before the launch, by this lane, before the block's last barrier, or in the shared memory of another block.
    let past = |then: Who| {
        !then.same_launch(now)
            || then.same_lane(now)
            || if then.same_block(now) { order.before_barrier(then) } else { shared }
    };
    if !past(c.write) {
        return false;
    }
    if c.read.more() && c.read.same_launch(now) && (!shared || c.read.same_block(now)) {
        // SAFETY: as the caller promises.
        let m = unsafe { &*more };
        if m.far != Who::NOBODY {
            return false;
        }
        if !past(m.other) {
            // Two readers of this very moment are enough for any write to come, if they stand for this one too.
            return act == Act::Read && order.stand_for(c.read, m.other, now);
        }
    }
    if !past(c.read) {
        return false;
    }
    if act == Act::Read {
        c.read = now.with_more(false);
    } else {
        c.write = now;
    }
    true
}

/// Enters an access into a cell that others touched; the access it races with, or nobody.
#[inline(never)]
fn touch(order: &Order, c: &mut Cell, m: &mut More, now: Who, act: Act, shared: bool) -> Who {
    if shared {
        // Shared memory of another block is other memory.
        for then in [&mut c.write, &mut c.read] {
            if !then.same_block(now) {
                *then = Who::NOBODY;
            }
        }
    }
    if !(c.read.more() && c.read.same_launch(now)) {
        *m = More::default();
    }
    let mut rival = Who::NOBODY;
    let counts = |then: Who| then.same_launch(now) && !then.same_lane(now);
    let mut check = |then: Who| {
        if counts(then) && order.races(then, now) {
            rival = then;
        }
    };
    check(c.write);
    if act != Act::Read {
        check(c.read);
        check(m.other);
    }
    // A far read does not race with a read.
    if act != Act::Read || m.far.atomic() {
        check(m.far);
    }
    if act == Act::Read {
        if c.read.same_block(now) {
            if !c.read.same_lane(now) {
                m.other = c.read;
            }
        } else {
            if c.read.same_launch(now) && !m.far.atomic() {
                m.far = c.read;
            }
            m.other = Who::NOBODY;
        }
        c.read = now;
    } else {
        if c.write.atomic() && c.write.same_launch(now) && !c.write.same_block(now) {
            m.far = c.write;
        }
        c.write = now;
    }
    let kept = *m != More::default();
    if kept && !c.read.same_launch(now) {
        // Nobody read this cell yet: the access itself, entered as a read too, carries the mark.
        c.read = now;
    }
    c.read = c.read.with_more(kept);
    rival
}

impl Sanitiser {
    /// The region of an access, and makes it the one to look at first.
    #[inline(never)]
    fn locate(&mut self, address: u64, bytes: u64) -> Option<*mut Region> {
        let inside =
            |r: &Region| address >= r.start && address - r.start < r.bytes && bytes <= r.bytes - (address - r.start);
        self.last = self.regions.iter().position(inside)?;
        Some(&raw mut self.regions[self.last])
    }

    /// An access outside every region: a lane's own stack and the library's globals are its own.
    #[cold]
    fn elsewhere(&mut self, e: &mut Engine, address: u64, bytes: u64, act: Act, pc: u64) {
        if !self.on || bytes == 0 {
            return;
        }
        let inside = |r: &std::ops::Range<u64>| address >= r.start && address.saturating_add(bytes) <= r.end;
        if inside(&self.image) || inside(&self.stack) || e.lanes.stack().is_some_and(|r| inside(&r)) {
            return;
        }
        let who = thread(e);
        let near = self.regions.iter().filter(|r| r.bytes > 0).min_by_key(|r| {
            if address < r.start { r.start - address } else { (address + 1).saturating_sub(r.start + r.bytes) }
        });
        let near = match near {
            Some(r) if address >= r.start && address < r.start + r.bytes => place_in(r, address - r.start),
            Some(r) if r.is_shared() && address >= r.start && address - r.start < 1 << 20 => {
                format!("{} bytes past shared memory", address - r.start - r.bytes)
            }
            _ => "in no buffer that was declared".into(),
        };
        let detail = format!("{who} {} {bytes} bytes at {address:#x}: {near}", act.verb());
        self.report(e, FindingKind::OutOfRange, pc, detail);
    }

    /// An access that the state of some byte forbids.
    #[cold]
    fn refuse(&mut self, e: &mut Engine, offset: u64, bytes: u64, act: Act, pc: u64) {
        let r = &self.regions[self.last];
        let states = &r.state[offset as usize..(offset + bytes) as usize];
        let bad = |bit: u8| states.iter().position(|s| s & bit == 0).map(|i| offset + i as u64);
        let (kind, at, what) = if let Some(at) = bad(state::KNOWN) {
            (FindingKind::OutOfRange, at, "outside every argument")
        } else if let Some(at) = bad(state::WRITABLE).filter(|_| act != Act::Read) {
            (FindingKind::ReadOnly, at, "read-only")
        } else if let Some(at) = bad(state::DEFINED) {
            (FindingKind::Uninitialised, at, "never written")
        } else {
            // An atomic defines what it writes, so its own first look at undefined bytes shows only in `permitted`.
            (FindingKind::Uninitialised, offset, "never written before")
        };
        let detail = format!("{} {} {bytes} bytes; {what}: {}", thread(e), act.verb(), place_in(r, at));
        self.report(e, kind, pc, detail);
    }

    /// Two accesses that nothing orders.
    #[cold]
    fn race(&mut self, e: &mut Engine, offset: u64, bytes: u64, act: Act, rival: Who, pc: u64) {
        let r = &self.regions[self.last];
        let lane = e.ids.get(rival.lane() as usize).copied().unwrap_or_default();
        let [gx, gy, _] = e.grid.map(u64::from);
        let b = rival.block();
        let block = [b % gx, b / gx % gy, b / (gx * gy)];
        let detail = format!(
            "{} {} {bytes} bytes, {}, which thread {lane:?} of block {block:?} {}accessed with nothing in between that orders the two",
            thread(e),
            act.verb(),
            place_in(r, offset),
            if rival.atomic() { "atomically " } else { "" },
        );
        self.report(e, FindingKind::Race, pc, detail);
    }
}

/// The running thread.
fn thread(e: &Engine) -> String {
    let id = e.ids.get(e.lanes.current as usize).copied().unwrap_or_default();
    // SAFETY: a launch is running.
    let block = unsafe { *e.state.block };
    format!("thread {id:?} of block {block:?}")
}

/// Where an offset of a region lies among its extents.
fn place_in(r: &Region, offset: u64) -> String {
    match r.nearest(offset) {
        Some(x) if offset < x.start => format!("{} bytes before '{}'", x.start - offset, x.name),
        Some(x) if offset >= x.end => {
            format!("byte {} of '{}', which has {}", offset - x.start, x.name, x.end - x.start)
        }
        Some(x) => format!("byte {} of '{}'", offset - x.start, x.name),
        None => format!("byte {offset} of memory without arguments"),
    }
}
