//! Which of two accesses came first, as far as barriers and fences say so.
//! Refuses to count the simulator's own order, which no board promises.
//!
//! An access is one word: launch stamp (10 bits), block (24), time (16), lane (10), three marks of its cell, atomic (1).
//! The time of a block goes up at every barrier. Words rise with launches, and within a block with its barriers, so that one
//! comparison says that an access is past.

use std::collections::HashMap;

const STAMP: u32 = 54;
const BLOCK: u32 = 30;
const TIME: u32 = 14;
const LANE: u32 = 4;
const LAST_STAMP: u64 = (1 << 10) - 1;
const LAST_LANE: u64 = (1 << 10) - 1;
const LAST_TIME: u64 = (1 << 16) - 1;
const MARKS: u64 = (1 << LANE) - 1;
/// Marks of a cell's last read: there is more than its two words; and that more is only one other reader of the same moment,
/// in the same wave, or in another one.
const MORE: u64 = 2;
const PAIR_OF_WAVE: u64 = 4;
const PAIR_OF_BLOCK: u64 = 8;

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
        self.0 >> LANE & LAST_LANE
    }
    fn time(self) -> u64 {
        self.0 >> TIME & LAST_TIME
    }
    /// The cell holds more about this launch than its two words.
    pub fn more(self) -> bool {
        self.0 & MORE != 0
    }
    /// Without marks.
    pub fn plain(self) -> Self {
        Self(self.0 & !(MORE | PAIR_OF_WAVE | PAIR_OF_BLOCK))
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
    /// Same launch, block and time.
    #[inline(always)]
    fn same_moment(self, other: Self) -> bool {
        (self.0 ^ other.0) >> TIME == 0
    }
    /// Same launch, block and lane.
    #[inline(always)]
    pub fn same_lane(self, other: Self) -> bool {
        (self.0 ^ other.0) & !(LAST_TIME << TIME | MARKS) == 0
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
    wave: u64,
    /// Bits of a word in which lanes of different waves differ.
    other_waves: u64,
    fenced: Option<u64>,
    releases: HashMap<u64, Vec<Release>>,
    acquires: Vec<Acquire>,
    wrapped: bool,
    /// Words below the first cannot race in a buffer: they are of earlier launches. Words below the second cannot race in
    /// shared memory: they are of earlier launches, of other blocks, or from before the last barrier.
    past: [Who; 2],
}

impl Order {
    /// Waves have this many lanes.
    pub fn set_wave(&mut self, lanes: u32) {
        self.wave = lanes.into();
        self.other_waves = (LAST_LANE & !(self.wave - 1)) << LANE;
    }

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
        self.note_past();
    }

    fn note_past(&mut self) {
        self.past = [Who(self.stamp << STAMP), Who(self.base | self.barrier << TIME)];
    }

    /// Words below it certainly are no rivals of anything that the running block does from now on.
    pub fn past(&self, shared: bool) -> Who {
        self.past[usize::from(shared)]
    }

    /// Bits in which a word differs from that of the running lane unless it is the lane's own, whatever the time, and says all.
    pub const RIVALS: u64 = !(LAST_TIME << TIME | MARKS) | MORE;

    /// Mask, and what is left of two words under it if the first is of this very moment and marked as standing for all readers
    /// of the block; and the same for those of the second's wave.
    pub fn pairs(&self) -> [(u64, u64); 2] {
        let moment = u64::MAX << TIME;
        [(moment | PAIR_OF_BLOCK, PAIR_OF_BLOCK), (moment | self.other_waves | PAIR_OF_WAVE, PAIR_OF_WAVE)]
    }

    fn tick(&mut self) -> u64 {
        self.time += 1;
        if self.time > LAST_TIME {
            // What came before so many barriers is forgotten: a new stamp, as for a new launch.
            self.begin_launch();
            self.base = self.stamp << STAMP | self.block << BLOCK;
            (self.time, self.barrier) = (1, 1);
            self.waves.clear();
            self.note_past();
        }
        self.time
    }

    /// A barrier of the block.
    pub fn barrier(&mut self) {
        self.barrier = self.tick();
        self.note_past();
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

    /// `read` with the marks of a cell that holds these besides.
    pub fn marked(&self, read: Who, other: Who, far: Who) -> Who {
        let mut marks = if other == Who::NOBODY && far == Who::NOBODY { 0 } else { MORE };
        if far == Who::NOBODY && read.same_moment(other) {
            marks |= if self.same_wave(read, other) { PAIR_OF_WAVE } else { PAIR_OF_BLOCK };
        }
        Who(read.plain().0 | marks)
    }

    /// A last read and its other one make a third reader redundant: they are of this very moment, and whatever wave barrier
    /// orders both of them before a later write orders the third as well.
    #[inline(always)]
    pub fn stands_for(&self, read: Who, now: Who) -> bool {
        self.pairs().iter().any(|&(mask, pair)| (read.0 ^ now.0) & mask == pair)
    }

    #[inline(always)]
    fn same_wave(&self, a: Who, b: Who) -> bool {
        (a.0 ^ b.0) & self.other_waves == 0
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
        let mut o = Order::default();
        o.set_wave(32);
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
        let near = o.marked(a, b, Who::NOBODY);
        assert!(o.stands_for(near, o.now(3)) && !o.stands_for(near, far));
        assert!(o.stands_for(o.marked(a, far, Who::NOBODY), o.now(70)));
        assert!(!o.stands_for(o.marked(a, b, far), o.now(3)) && !o.stands_for(a, o.now(3)));
        o.barrier();
        assert!(!o.stands_for(near, o.now(3)));
    }

    #[test]
    fn what_is_past_depends_on_the_memory() {
        let mut o = order();
        let before = o.now(1);
        let past = |o: &Order, then: Who| [false, true].map(|shared| then.0 < o.past(shared).0);
        assert_eq!(past(&o, before), [false, false]);
        o.barrier();
        assert_eq!((past(&o, before), past(&o, o.now(1))), ([false, true], [false, false]));
        o.begin_block(1);
        assert_eq!(past(&o, before), [false, true]);
        o.begin_launch();
        o.begin_block(0);
        assert_eq!(past(&o, before), [true, true]);
    }

    #[test]
    fn a_lane_is_no_rival_of_its_own_whatever_the_time() {
        let mut o = order();
        let before = o.now(7);
        o.wave_barrier(0);
        assert_eq!((before.0 ^ o.now(7).0) & Order::RIVALS, 0);
        assert_ne!((before.0 ^ o.now(6).0) & Order::RIVALS, 0);
        assert_ne!((o.marked(before, o.now(6), Who::NOBODY).0 ^ o.now(7).0) & Order::RIVALS, 0);
    }

    #[test]
    fn atomics_race_with_plain_accesses_only() {
        let o = order();
        assert!(!o.races(o.now(1).made_atomic(), o.now(2).made_atomic()) && o.races(o.now(1).made_atomic(), o.now(2)));
    }
}
