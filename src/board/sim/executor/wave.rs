//! Wave operations: lanes of a wave that wait at one source site are the active set of the operation there.
//! Refuses to make up a value for a lane that is not active: it reads as poison, and is a finding.

use super::block::{Engine, ranges};
use super::lanes::{Slot, Wait};
use crate::board::FindingKind;

/// What an inactive lane reads as.
const POISON: u64 = u64::MAX;

/// Kinds, as the header numbers them.
mod kind {
    pub const SHFL: u32 = 0;
    pub const UP: u32 = 1;
    pub const DOWN: u32 = 2;
    pub const XOR: u32 = 3;
    pub const BALLOT: u32 = 4;
    pub const ACTIVE: u32 = 5;
    pub const SYNC: u32 = 6;
}

/// Lane that `lane` reads in a shuffle, as HIP defines it.
fn source(kind: u32, lane: i32, arg: i32, width: i32) -> i32 {
    match kind {
        kind::SHFL => (arg & (width - 1)) + (lane & !(width - 1)),
        kind::UP => {
            let from = lane.wrapping_sub(arg);
            if from < (lane & !(width - 1)) { lane } else { from }
        }
        kind::DOWN => {
            let from = lane.wrapping_add(arg);
            if (lane & (width - 1)).wrapping_add(arg) >= width { lane } else { from }
        }
        _ => {
            let from = lane ^ arg;
            if from >= ((lane + width) & !(width - 1)) { lane } else { from }
        }
    }
}

impl Engine {
    /// Fires the operations that whole waves wait at.
    pub fn fire_waves(&mut self, n: usize, divergent: bool) {
        let wave = self.lanes.wave;
        for start in (0..n).step_by(wave) {
            self.fire_wave(start, (start + wave).min(n), divergent);
        }
    }

    fn fire_wave(&mut self, start: usize, end: usize, divergent: bool) {
        let slots: Vec<Slot> = self.lanes.slots[start..end].to_vec();
        let mut sites: Vec<u32> = slots.iter().filter(|s| s.wait == Wait::Wave).map(|s| s.site().id).collect();
        sites.sort_unstable();
        sites.dedup();
        let at = |site: u32| {
            let waits = |s: &Slot| s.wait == Wait::Wave && s.site().id == site;
            slots.iter().enumerate().filter(|(_, s)| waits(s)).fold(0u64, |m, (i, _)| m | 1 << i)
        };
        if sites.len() > 1 && !divergent {
            let place = |site: u32| {
                slots.iter().find(|s| s.wait == Wait::Wave && s.site().id == site).map(|s| s.site().place())
            };
            let (a, b) = (place(sites[0]).unwrap_or_default(), place(sites[1]).unwrap_or_default());
            let (here, there) = (lanes(at(sites[0])), lanes(at(sites[1])));
            let number = start / self.lanes.wave;
            self.find(FindingKind::DivergentWave, &a, || {
                format!("divergent wave operation in wave {number}: lanes {here} wait at {a}, lanes {there} at {b}")
            });
        }
        for site in sites {
            self.fire_site(start, &slots, at(site));
        }
    }

    /// Answers the lanes in `active`, which wait at one site.
    fn fire_site(&mut self, start: usize, slots: &[Slot], active: u64) {
        let live = slots.iter().enumerate().filter(|(_, s)| s.wait != Wait::Done).fold(0u64, |m, (i, _)| m | 1 << i);
        if self.sanitised && slots.iter().any(|s| s.wait == Wait::Wave && s.kind == kind::SYNC) {
            self.sanitised_wave_barrier(start / self.lanes.wave);
        }
        let votes =
            (0..slots.len()).filter(|&i| active >> i & 1 == 1 && slots[i].value != 0).fold(0u64, |m, i| m | 1 << i);
        for i in (0..slots.len()).filter(|&i| active >> i & 1 == 1) {
            let s = &slots[i];
            let value = match s.kind {
                kind::SHFL..=kind::XOR => self.shuffle(slots, i, active),
                kind::BALLOT => votes & s.mask,
                kind::ACTIVE => active,
                _ => 0,
            };
            if s.mask != u64::MAX && (s.mask >> i & 1 == 0 || s.mask & live & !active != 0) {
                let place = s.site().place();
                let (mask, here) = (s.mask, lanes(active));
                self.find(FindingKind::DivergentWave, &place, || {
                    format!("lane {i} gives the mask {mask:#x} at {place}, but lanes {here} are active there")
                });
            }
            let slot = &mut self.lanes.slots[start + i];
            slot.value = value;
            slot.wait = Wait::Ready;
        }
    }

    fn shuffle(&mut self, slots: &[Slot], lane: usize, active: u64) -> u64 {
        let s = &slots[lane];
        let wave = self.lanes.wave as i32;
        if s.width <= 0 || s.width > wave || s.width & (s.width - 1) != 0 {
            let (width, place) = (s.width, s.site().place());
            self.find(FindingKind::DivergentWave, &place, || {
                format!("shuffle width {width} at {place}: a power of two up to the wave of {wave} lanes is needed")
            });
            return POISON;
        }
        let from = source(s.kind, lane as i32, s.arg, s.width);
        match usize::try_from(from).ok().filter(|&f| f < 64 && active >> f & 1 == 1) {
            Some(f) => slots[f].value,
            None => {
                let place = s.site().place();
                self.find(FindingKind::DivergentWave, &place, || {
                    format!(
                        "lane {lane} reads lane {from} at {place}, which is not active there (active: {})",
                        lanes(active)
                    )
                });
                POISON
            }
        }
    }
}

fn lanes(mask: u64) -> String {
    ranges((0..64).filter(|i| mask >> i & 1 == 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shuffles_read_the_lane_that_hip_defines() {
        assert_eq!(source(kind::SHFL, 37, 3, 32), 35);
        assert_eq!(source(kind::SHFL, 37, -1, 64), 63);
        assert_eq!((source(kind::UP, 33, 2, 32), source(kind::UP, 34, 2, 32)), (33, 32));
        assert_eq!((source(kind::DOWN, 30, 1, 32), source(kind::DOWN, 31, 1, 32)), (31, 31));
        assert_eq!((source(kind::XOR, 5, 1, 32), source(kind::XOR, 5, 32, 32)), (4, 5));
    }
}
