//! The engine: what is launched now, in which order its blocks and lanes run, and what was seen of them.
//! Refuses launches beyond the profile's facts.
#![allow(unsafe_code)]

use super::lanes::Lanes;
use super::library::State;
use super::memory::Status;
use crate::board::{Facts, Finding, FindingKind, ThreadOrder};

/// State of the executor's only device thread.
pub struct Engine {
    pub facts: Facts,
    pub status: *mut Status,
    /// Launch of the batch that runs or ran last.
    pub index: u32,
    /// A kernel is running.
    pub running: bool,
    pub kernel: String,
    pub state: State,
    pub packed: Vec<u64>,
    pub grid: [u32; 3],
    order: Option<([u32; 3], ThreadOrder)>,
    /// Lane numbers in the order they run.
    pub sequence: Vec<u32>,
    /// Thread index per lane number.
    pub ids: Vec<[u32; 3]>,
    /// Thread indices in the order they run.
    pub list: Vec<[u32; 3]>,
    pub lanes: Lanes,
    pub findings: Vec<Finding>,
    /// The launch that runs is a sanitised one.
    pub sanitised: bool,
}

impl Engine {
    /// The engine of this process; it is never dropped, as suspended coroutines must not be.
    pub fn new(facts: Facts, status: *mut Status) -> *mut Self {
        let state = State::none();
        let lanes = Lanes::new(facts.wave);
        let engine = Box::into_raw(Box::new(Self {
            facts,
            status,
            index: u32::MAX,
            running: false,
            kernel: String::new(),
            state,
            packed: Vec::new(),
            grid: [0; 3],
            order: None,
            sequence: Vec::new(),
            ids: Vec::new(),
            list: Vec::new(),
            lanes,
            findings: Vec::new(),
            sanitised: false,
        }));
        super::lanes::register(engine);
        engine
    }

    /// Forgets the launches of the last batch.
    pub fn begin_batch(&mut self) {
        self.index = u32::MAX;
        self.note(0);
    }

    /// Notes where we are, for the worker.
    pub fn note(&mut self, block: u64) {
        // SAFETY: the page stays mapped as long as the process lives.
        unsafe { self.status.write_volatile(Status { launch: self.index.into(), block }) };
    }

    /// Launch, block and thread, while a kernel runs.
    pub fn position(&self) -> Option<(u32, [u32; 3], [u32; 3])> {
        // SAFETY: while a kernel runs, its library's state is valid.
        self.running.then(|| unsafe { (self.index, *self.state.block, *self.state.thread) })
    }

    /// Sets up the lanes of a block of this shape.
    pub fn arrange(&mut self, block: [u32; 3], order: ThreadOrder) {
        if self.order == Some((block, order)) {
            return;
        }
        let [x, y, z] = block;
        self.ids.clear();
        self.ids.extend((0..z).flat_map(|k| (0..y).flat_map(move |j| (0..x).map(move |i| [i, j, k]))));
        let n = self.ids.len() as u64;
        self.sequence.clear();
        match order {
            ThreadOrder::Ascending => self.sequence.extend(0..n as u32),
            ThreadOrder::Descending => self.sequence.extend((0..n as u32).rev()),
            ThreadOrder::Shuffled => {
                self.sequence.extend(0..n as u32);
                let mut random = 0x9e37_79b9_7f4a_7c15u64;
                for i in (1..self.sequence.len()).rev() {
                    random ^= random << 13;
                    random ^= random >> 7;
                    random ^= random << 17;
                    self.sequence.swap(i, (random % (i as u64 + 1)) as usize);
                }
            }
        }
        self.list.clear();
        self.list.extend(self.sequence.iter().map(|&lane| self.ids[lane as usize]));
        self.order = Some((block, order));
    }

    /// Records a finding; of those of one kind at one place only the first is detailed.
    pub fn find(&mut self, kind: FindingKind, place: &str, detail: impl FnOnce() -> String) {
        if let Some(f) = self.findings.iter_mut().find(|f| f.kind == kind && f.place == place) {
            f.count += 1;
            return;
        }
        let (kernel, place) = (self.kernel.clone(), place.to_string());
        self.findings.push(Finding { kind, kernel, place, detail: detail(), count: 1 });
    }
}

/// Blocks of a launch in a stated order.
pub struct Blocks {
    count: u64,
    start: u64,
    step: u64,
}

impl Blocks {
    /// `count` blocks.
    pub fn new(count: u64, order: ThreadOrder) -> Self {
        let (start, step) = match order {
            ThreadOrder::Ascending => (0, 1),
            ThreadOrder::Descending => (count - 1, count - 1),
            ThreadOrder::Shuffled => {
                // A stride near the golden section that shares no factor with the count visits every block once.
                let mut step = ((count as f64 * 0.618_033_988_75) as u64).max(1);
                while gcd(step, count) != 1 {
                    step += 1;
                }
                (count / 3, step)
            }
        };
        Self { count, start, step: step.max(1) }
    }

    /// Linear number of the `i`-th block.
    pub fn at(&self, i: u64) -> u64 {
        ((u128::from(self.start) + u128::from(i) * u128::from(self.step)) % u128::from(self.count)) as u64
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// `0-3, 7` for a rising list of lane numbers.
pub fn ranges(lanes: impl IntoIterator<Item = u32>) -> String {
    let mut parts: Vec<(u32, u32)> = Vec::new();
    for lane in lanes {
        match parts.last_mut() {
            Some((_, end)) if *end + 1 == lane => *end = lane,
            _ => parts.push((lane, lane)),
        }
    }
    let text = |&(a, b): &(u32, u32)| if a == b { a.to_string() } else { format!("{a}-{b}") };
    parts.iter().map(text).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_order_visits_every_block_once() {
        for count in [1u64, 2, 3, 7, 64, 100, 1001] {
            for order in [ThreadOrder::Ascending, ThreadOrder::Descending, ThreadOrder::Shuffled] {
                let blocks = Blocks::new(count, order);
                let mut seen: Vec<u64> = (0..count).map(|i| blocks.at(i)).collect();
                assert!(order != ThreadOrder::Descending || seen[0] == count - 1);
                seen.sort_unstable();
                assert_eq!(seen, (0..count).collect::<Vec<_>>(), "{count} {order:?}");
            }
        }
    }

    #[test]
    fn lane_ranges_read_as_ranges() {
        assert_eq!(ranges([0, 1, 2, 5, 7, 8]), "0-2, 5, 7-8");
    }
}
