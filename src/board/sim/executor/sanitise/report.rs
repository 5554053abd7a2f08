//! Findings in words: which thread did what to which byte of which argument. Refuses to decide whether there is one.
#![allow(unsafe_code)]

use super::super::block::Engine;
use super::Sanitiser;
use super::access::Act;
use super::order::Who;
use super::region::{Region, state};
use crate::board::FindingKind;

impl Sanitiser {
    /// An access outside every region: a lane's own stack and the library's globals are its own.
    #[cold]
    pub fn elsewhere(&mut self, e: &mut Engine, address: u64, bytes: u64, act: Act, pc: u64) {
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
    pub fn refuse(&mut self, e: &mut Engine, offset: u64, bytes: u64, act: Act, pc: u64) {
        let r = self.hit();
        let states = &r.state[offset as usize..(offset + bytes) as usize];
        let bad = |bit: u8| states.iter().position(|s| s & bit == 0).map(|i| offset + i as u64);
        let (kind, at, what) = if let Some(at) = bad(state::KNOWN) {
            (FindingKind::OutOfRange, at, "outside every argument")
        } else if let Some(at) = bad(state::WRITABLE).filter(|_| act != Act::Read) {
            (FindingKind::ReadOnly, at, "read-only")
        } else if let Some(at) = bad(state::DEFINED) {
            (FindingKind::Uninitialised, at, "never written")
        } else {
            // An atomic defines what it writes, so its own first look at undefined bytes shows only in what was seen before.
            (FindingKind::Uninitialised, offset, "never written before")
        };
        let detail = format!("{} {} {bytes} bytes; {what}: {}", thread(e), act.verb(), place_in(r, at));
        self.report(e, kind, pc, detail);
    }

    /// Two accesses that nothing orders.
    #[cold]
    pub fn race(&mut self, e: &mut Engine, offset: u64, bytes: u64, act: Act, rival: Who, pc: u64) {
        let r = self.hit();
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
