//! Which of two accesses came first, as far as barriers and fences say so.
//! Refuses to count the simulator's own order, which no board promises.
//!
//! An access is one word: launch stamp (14 bits), block (24), lane (10), time (15), atomic (1). The time of a block goes
//! up at every barrier.

use std::collections::HashMap;

const STAMP: u32 = 50;
const BLOCK: u32 = 26;
const LANE: u32 = 16;
const LAST_STAMP: u64 = (1 << 14) - 1;
const LAST_TIME: u64 = (1 << 15) - 1;

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
        self.0 >> 1 & LAST_TIME
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
    pub wave: u64,
    fenced: Option<u64>,
    releases: HashMap<u64, Vec<Release>>,
    acquires: Vec<Acquire>,
    wrapped: bool,
}

impl Order {
    /// A new launch: nothing before it can race.
    pub fn begin_launch(&mut self) {
        self.wrapped = self.stamp == LAST_STAMP;
        self.stamp = if self.wrapped { 1 } else { self.stamp + 1 };
        self.releases.clear();
    }

    /// Stamps began anew, so old words mean nothing.
    pub fn wrapped(&self) -> bool {
        self.wrapped
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
        // Past the last time every access looks like one of the same moment, which can only add findings; a kernel with
        // 32,767 barriers in a block is outside of what sanitised launches are for.
        self.time = (self.time + 1).min(LAST_TIME);
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
    pub fn now(&self, lane: u32, atomic: bool) -> Who {
        Who(self.base | u64::from(lane) << LANE | self.time << 1 | u64::from(atomic))
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
    pub fn synchronise(&mut self, address: u64, lane: u32) {
        let (block, lane, time) = (self.block, u64::from(lane), self.time);
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
        let then = o.now(1, false);
        assert!(o.races(then, o.now(2, false)) && !o.races(then, o.now(1, false)));
        o.barrier();
        assert!(!o.races(then, o.now(2, false)));
    }

    #[test]
    fn a_wave_barrier_orders_its_own_wave_only() {
        let mut o = order();
        let then = o.now(1, false);
        o.wave_barrier(0);
        assert!(!o.races(then, o.now(2, false)) && o.races(then, o.now(40, false)));
    }

    #[test]
    fn blocks_race_whatever_barriers_they_pass_unless_fence_and_atomic_join_them() {
        let mut o = order();
        let then = o.now(0, false);
        o.barrier();
        o.fence();
        o.synchronise(64, 0);
        let late = o.now(0, false);
        o.begin_block(1);
        assert!(o.races(then, o.now(0, false)));
        o.synchronise(64, 3);
        assert!(!o.races(then, o.now(3, false)) && o.races(then, o.now(4, false)));
        o.barrier();
        assert!(!o.races(then, o.now(4, false)));
        assert!(!o.races(late, o.now(4, false)), "the fence covers its own moment");
    }

    #[test]
    fn atomics_race_with_plain_accesses_only() {
        let o = order();
        assert!(!o.races(o.now(1, true), o.now(2, true)) && o.races(o.now(1, true), o.now(2, false)));
    }
}
