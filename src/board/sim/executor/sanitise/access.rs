//! The hooks of instrumented code: one access each.
#![allow(unsafe_code)]

use super::super::block::Engine;
use super::super::lanes;
use super::order::Who;
use super::region::{Cell, Region, state};
use super::{Sanitiser, sanitiser};
use crate::board::FindingKind;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Act {
    Read,
    Write,
    Atomic,
}

impl Act {
    fn verb(self) -> &'static str {
        match self {
            Self::Read => "reads",
            Self::Write => "writes",
            Self::Atomic => "updates",
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

/// A read-modify-write, announced by our header.
pub unsafe extern "C" fn atomic(address: u64, bytes: u64, pc: u64) {
    // SAFETY: as for `read`.
    unsafe {
        access(address, bytes, Act::Atomic, pc);
        let lane = (*lanes::engine()).lanes.current;
        sanitiser().order.synchronise(address, lane);
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
        let e = lanes::engine();
        let mut r = s.regions.as_mut_ptr().add(s.last);
        let mut offset = address.wrapping_sub((*r).start);
        if offset >= (*r).bytes || bytes > (*r).bytes - offset {
            if !s.on || bytes == 0 {
                return;
            }
            match s.regions.iter().position(|r| {
                address >= r.start && address - r.start < r.bytes && bytes <= r.bytes - (address - r.start)
            }) {
                Some(i) => {
                    s.last = i;
                    r = s.regions.as_mut_ptr().add(i);
                    offset = address - (*r).start;
                }
                None => return s.elsewhere(&mut *e, address, bytes, act, pc),
            }
        }
        let now = s.order.now((*e).lanes.current, act == Act::Atomic);
        if !permitted(&mut *r, offset, bytes, act) {
            s.refuse(&mut *e, offset, bytes, act, pc);
        }
        let mask = (1u64 << (*r).shift) - 1;
        if (offset | bytes) & mask != 0 {
            (*r).refine(((offset | bytes).trailing_zeros()).min((*r).shift));
        }
        let (first, count) = (offset >> (*r).shift, bytes >> (*r).shift);
        for i in first..first + count {
            let cell = (*r).cells.as_mut_ptr().add(i as usize);
            let rival = touch(&s.order, &mut *cell, now, act, (*r).is_shared());
            if rival != Who::NOBODY {
                s.race(&mut *e, offset, bytes, act, rival, pc);
                break;
            }
        }
    }
}

/// Are all bytes open to this access? Marks written ones as defined.
#[inline(always)]
fn permitted(r: &mut Region, offset: u64, bytes: u64, act: Act) -> bool {
    let need = match act {
        Act::Read => state::KNOWN | state::DEFINED,
        Act::Write => state::WRITABLE,
        Act::Atomic => state::WRITABLE | state::DEFINED,
    };
    let states = &mut r.state[offset as usize..(offset + bytes) as usize];
    let mut ok = true;
    for s in states {
        ok &= *s & need == need;
        if act != Act::Read && *s & state::WRITABLE != 0 {
            *s |= state::DEFINED;
        }
    }
    ok
}

/// Enters an access into a cell; the access it races with, or nobody.
#[inline(always)]
fn touch(order: &super::Order, c: &mut Cell, now: Who, act: Act, shared: bool) -> Who {
    let mut rival = Who::NOBODY;
    // Shared memory of another block is other memory.
    let counts = |then: Who| !then.same_lane(now) && then.same_launch(now) && !(shared && !then.same_block(now));
    let mut check = |then: Who| {
        if counts(then) && order.races(then, now) {
            rival = then;
        }
    };
    check(c.far_if(act));
    check(c.write);
    if act != Act::Read {
        check(c.read);
        check(c.other);
    }
    if act == Act::Read {
        if c.read.same_block(now) {
            if !c.read.same_lane(now) {
                c.other = c.read;
            }
        } else {
            if c.read.same_launch(now) && !(c.far.same_launch(now) && c.far.atomic()) {
                c.far = c.read;
            }
            c.other = Who::NOBODY;
        }
        c.read = now;
    } else {
        if c.write.atomic() && c.write.same_launch(now) && !c.write.same_block(now) {
            c.far = c.write;
        }
        c.write = now;
    }
    rival
}

impl Cell {
    /// The far access, where it matters: a far read does not race with a read.
    #[inline(always)]
    fn far_if(&self, act: Act) -> Who {
        if act == Act::Read && !self.far.atomic() { Who::NOBODY } else { self.far }
    }
}

impl Sanitiser {
    /// An access outside every region: a lane's own stack and the library's globals are its own.
    #[cold]
    fn elsewhere(&mut self, e: &mut Engine, address: u64, bytes: u64, act: Act, pc: u64) {
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
