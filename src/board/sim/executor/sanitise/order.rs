//! Which of two accesses came first, as far as barriers and fences say so.
//! Refuses to count the simulator's own order, which no board promises.
//!
//! An access is one word: launch stamp (11 bits), block (24), lane (10), time (16), two marks of its cell, atomic (1).
//! The time of a block goes up at every barrier.

use std::collections::HashMap;

const STAMP: u32 = 53;
const BLOCK: u32 = 29;
const LANE: u32 = 19;
const TIME: u32 = 3;
const LAST_STAMP: u64 = (1 << 11) - 1;
const LAST_TIME: u64 = (1 << 16) - 1;

/// Who accessed a byte, and when.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Who(pub u64);

impl Who {
    /// Nobody.
    pub const NOBODY: Self = Self(0);

    /// Its block, modulo 2^24.
    pub fn block(self) -> u64 {
        self.0 >> BLOCK & 0xff_ffff
    }
    /// Its lane.
    pub fn lane(self) -> u64 {
        self.0 >> LANE & 0x3ff
    }
    fn time(self) -> u64 {
        self.0 >> TIME & LAST_TIME
    }
    /// The cell holds more about this launch than its two words.
    pub fn more(self) -> bool {
        self.0 & 2 != 0
    }
    /// With that mark.
    pub fn with_more(self, more: bool) -> Self {
        Self(self.0 & !2 | u64::from(more) << 1)
    }
    /// The same access as an atomic one.
    #[inline(always)]
    pub fn made_atomic(self) -> Self {
        Self(self.0 | 1)
    }
    /// It was a read-modify-write.
    pub fn atomic(self) -> bool {
        self.0 & 1 != 0
    }
    /// Same launch.
    #[inline(always)]
    pub fn same_launch(self, other: Self) -> bool {
        self.0 >> STAMP == other.0 >> STAMP
    }
    /// Same launch and block.
    #[inline(always)]
    pub fn same_block(self, other: Self) -> bool {
        (self.0 ^ other.0) >> BLOCK == 0
    }
    /// Same launch, block and lane.
    #[inline(always)]
    pub fn same_lane(self, other: Self) -> bool {
        (self.0 ^ other.0) >> LANE == 0
    }
}

/// A fence of a block and an atomic after it: what the block did until `time` is released at the address.
#[derive(Clone, Copy)]
struct Release {
    block: u64,
    time: u64,
}

/// An atomic of the running block at an address where others released.
#[derive(Clone, Copy)]
struct Acquire {
    address: u64,
    lane: u64,
    time: u64,
}

/// Clocks of the running launch and block.
#[derive(Default)]
pub struct Order {
    stamp: u64,
    block: u64,
    base: u64,
    time: u64,
    /// Time of the last barrier of the block.
    barrier: u64,
    /// Per wave, time of its last wave barrier.
    waves: Vec<u64>,
    /// Lanes of a wave, a power of two.
    pub wave: u64,
    fenced: Option<u64>,
    releases: HashMap<u64, Vec<Release>>,
    acquires: Vec<Acquire>,
    wrapped: bool,
}

impl Order {
    /// A new launch: nothing before it can race.
    pub fn begin_launch(&mut self) {
        self.wrapped |= self.stamp == LAST_STAMP;
        self.stamp = if self.wrapped { 1 } else { self.stamp + 1 };
        self.releases.clear();
    }

    /// Stamps began anew since this was asked last, so old words mean nothing.
    pub fn wrapped(&mut self) -> bool {
        std::mem::take(&mut self.wrapped)
    }

    /// A new block.
    pub fn begin_block(&mut self, block: u64) {
        self.block = block & 0xff_ffff;
        self.base = self.stamp << STAMP | self.block << BLOCK;
        (self.time, self.barrier, self.fenced) = (0, 0, None);
        self.waves.clear();
        self.acquires.clear();
    }

    fn tick(&mut self) -> u64 {
        self.time += 1;
        if self.time > LAST_TIME {
            // What came before so many barriers is forgotten: a new stamp, as for a new launch.
            self.begin_launch();
            self.base = self.stamp << STAMP | self.block << BLOCK;
            (self.time, self.barrier) = (1, 1);
            self.waves.clear();
        }
        self.time
    }

    /// A barrier of the block.
    pub fn barrier(&mut self) {
        self.barrier = self.tick();
    }

    /// A barrier of one wave.
    pub fn wave_barrier(&mut self, wave: usize) {
        let time = self.tick();
        if self.waves.len() <= wave {
            self.waves.resize(wave + 1, 0);
        }
        self.waves[wave] = time;
    }

    /// The running lane, now.
    #[inline(always)]
    pub fn now(&self, lane: u32) -> Who {
        Who(self.base | u64::from(lane) << LANE | self.time << TIME)
    }

    /// An access of the running block came before its last barrier.
    #[inline(always)]
    pub fn before_barrier(&self, then: Who) -> bool {
        then.time() < self.barrier
    }

    /// Two reads of the running block make a third one redundant: they are of the same moment, and whatever wave barrier
    /// orders both of them before a later write orders the third as well.
    #[inline(always)]
    pub fn stand_for(&self, a: Who, b: Who, now: Who) -> bool {
        let wave = |w: Who| w.lane() >> self.wave.trailing_zeros();
        let same_moment = a.same_block(now) && b.same_block(now) && a.time() == now.time() && b.time() == now.time();
        same_moment && (wave(a) != wave(b) || wave(a) == wave(now))
    }

    /// Nothing orders `then` before `now`, which are by different lanes.
    #[inline]
    pub fn races(&self, then: Who, now: Who) -> bool {
        if !then.same_launch(now) || then.same_lane(now) || (then.atomic() && now.atomic()) {
            return false;
        }
        if then.same_block(now) {
            let wave = now.lane() / self.wave;
            let wave_time = self.waves.get(wave as usize).copied().unwrap_or(0);
            return !(then.time() < self.barrier || (then.lane() / self.wave == wave && then.time() < wave_time));
        }
        !self.acquired(then, now)
    }

    /// `then`'s block released it and the running block has acquired that.
    #[cold]
    fn acquired(&self, then: Who, now: Who) -> bool {
        self.acquires.iter().any(|a| {
            let seen = a.lane == now.lane() || a.time < self.barrier;
            let released = |r: &Release| r.block == then.block() && then.time() <= r.time;
            seen && self.releases.get(&a.address).is_some_and(|list| list.iter().any(released))
        })
    }

    /// `__threadfence` by the running block.
    pub fn fence(&mut self) {
        self.fenced = Some(self.time);
    }

    /// An atomic at `address`: acquires what other blocks released there, and releases what was fenced.
    pub fn synchronise(&mut self, address: u64, lane: u64) {
        let (block, time) = (self.block, self.time);
        let list = self.releases.entry(address).or_default();
        if list.iter().any(|r| r.block != block)
            && !self.acquires.iter().any(|a| a.address == address && a.lane == lane)
        {
            self.acquires.push(Acquire { address, lane, time });
        }
        if let Some(fenced) = self.fenced {
            match list.iter_mut().find(|r| r.block == block) {
                Some(r) => r.time = fenced,
                None => list.push(Release { block, time: fenced }),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order() -> Order {
        let mut o = Order { wave: 32, ..Order::default() };
        o.begin_launch();
        o.begin_block(0);
        o
    }

    #[test]
    fn lanes_of_a_block_race_until_a_barrier() {
        let mut o = order();
        let then = o.now(1);
        assert!(o.races(then, o.now(2)) && !o.races(then, o.now(1)));
        o.barrier();
        assert!(!o.races(then, o.now(2)));
    }

    #[test]
    fn a_wave_barrier_orders_its_own_wave_only() {
        let mut o = order();
        let then = o.now(1);
        o.wave_barrier(0);
        assert!(!o.races(then, o.now(2)) && o.races(then, o.now(40)));
    }

    #[test]
    fn blocks_race_whatever_barriers_they_pass_unless_fence_and_atomic_join_them() {
        let mut o = order();
        let then = o.now(0);
        o.barrier();
        o.fence();
        o.synchronise(64, 0);
        let late = o.now(0);
        o.begin_block(1);
        assert!(o.races(then, o.now(0)));
        o.synchronise(64, 3);
        assert!(!o.races(then, o.now(3)) && o.races(then, o.now(4)));
        o.barrier();
        assert!(!o.races(then, o.now(4)));
        assert!(!o.races(late, o.now(4)), "the fence covers its own moment");
    }

    #[test]
    fn two_readers_stand_for_a_third_only_if_no_wave_barrier_could_tell_them_apart() {
        let mut o = order();
        let (a, b, far) = (o.now(1), o.now(2), o.now(40));
        assert!(o.stand_for(a, b, o.now(3)) && !o.stand_for(a, b, far) && o.stand_for(a, far, o.now(70)));
        o.barrier();
        assert!(!o.stand_for(a, b, o.now(3)));
    }

    #[test]
    fn atomics_race_with_plain_accesses_only() {
        let o = order();
        assert!(!o.races(o.now(1).made_atomic(), o.now(2).made_atomic()) && o.races(o.now(1).made_atomic(), o.now(2)));
    }
}
