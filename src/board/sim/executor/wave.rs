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
        let (mut waiting, mut live, mut values) = (0u64, 0u64, [0u64; 64]);
        for (i, s) in self.lanes.slots[start..end].iter().enumerate() {
            live |= u64::from(s.wait != Wait::Done) << i;
            if s.wait == Wait::Wave {
                waiting |= 1 << i;
                values[i] = s.value;
            }
        }
        let mut sites = 0;
        let mut left = waiting;
        while left != 0 {
            // The site that comes first in the source fires first.
            let slots = &self.lanes.slots[start..end];
            let id = |i: usize| slots[i].site().id;
            let site = members(left).map(id).min().unwrap_or_default();
            let active = members(left).filter(|&i| id(i) == site).fold(0u64, |m, i| m | 1 << i);
            left &= !active;
            sites += 1;
            if left != 0 && sites == 1 && !divergent {
                self.diverges(start, active, left);
            }
            self.fire_site(start, active, live, &values);
        }
    }

    #[cold]
    fn diverges(&mut self, start: usize, here: u64, rest: u64) {
        let place = |mask: u64| self.lanes.slots[start + mask.trailing_zeros() as usize].site().place();
        let (a, b, wave) = (place(here), place(rest), start / self.lanes.wave);
        self.find(FindingKind::DivergentWave, &a, || {
            let (here, there) = (lanes(here), lanes(rest));
            format!("divergent wave operation in wave {wave}: lanes {here} wait at {a}, lanes {there} at {b}")
        });
    }

    /// Answers the lanes in `active`, which wait at one site.
    fn fire_site(&mut self, start: usize, active: u64, live: u64, values: &[u64; 64]) {
        let kind = self.lanes.slots[start + active.trailing_zeros() as usize].kind;
        if kind == kind::SYNC && self.sanitised {
            self.sanitised_wave_barrier(start / self.lanes.wave);
        }
        let votes = members(active).filter(|&i| values[i] != 0).fold(0u64, |m, i| m | 1 << i);
        for i in members(active) {
            let s = self.lanes.slots[start + i];
            let value = match kind {
                kind::SHFL..=kind::XOR => self.shuffle(&s, i, active, values),
                kind::BALLOT => votes & s.mask,
                kind::ACTIVE => active,
                _ => 0,
            };
            if s.mask != u64::MAX && (s.mask >> i & 1 == 0 || s.mask & live & !active != 0) {
                self.bad_mask(&s, i, active);
            }
            let slot = &mut self.lanes.slots[start + i];
            slot.value = value;
            slot.wait = Wait::Ready;
        }
    }

    #[cold]
    fn bad_mask(&mut self, s: &Slot, lane: usize, active: u64) {
        let (place, mask) = (s.site().place(), s.mask);
        self.find(FindingKind::DivergentWave, &place, || {
            format!("lane {lane} gives the mask {mask:#x} at {place}, but lanes {} are active there", lanes(active))
        });
    }

    fn shuffle(&mut self, s: &Slot, lane: usize, active: u64, values: &[u64; 64]) -> u64 {
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
            Some(f) => values[f],
            None => {
                let place = s.site().place();
                self.find(FindingKind::DivergentWave, &place, || {
                    let active = lanes(active);
                    format!("lane {lane} reads lane {from} at {place}, which is not active there (active: {active})")
                });
                POISON
            }
        }
    }
}

/// Numbers of the bits that are set.
fn members(mut mask: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let i = mask.trailing_zeros() as usize;
        mask &= mask.wrapping_sub(1);
        (i < 64).then_some(i)
    })
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
