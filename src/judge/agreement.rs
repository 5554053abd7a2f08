//! `repeat` and `schedule`: do launches agree, and if not, is it the poison, the order of threads, or chance?
//!
//! A pure function over snapshots: it names at most two more launches that would tell, and one bar that fails.

use super::runtime::{ByteMap, Order, Runtime, Snapshot, counted, element_place};
use super::spec::Determinism;
use crate::fixture::place::Poison;
use crate::record::Absent;

/// A launch that would attribute a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Image to start from.
    pub poison: Poison,
    /// Order of threads.
    pub order: Order,
}

/// Why launches differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cause {
    /// The same launch twice gave different bytes.
    Chance,
    /// The order of threads decides.
    Order,
    /// What the buffers held before decides.
    Poison,
}

/// Launches (two at most) that would attribute the differences between these; empty when all agree or nothing is left to learn.
#[must_use]
pub fn wanted(buffers: &[ByteMap], launches: &[Snapshot]) -> Vec<Wanted> {
    let Some(first) = launches.first() else { return Vec::new() };
    let mut out = Vec::new();
    let known = |w: Wanted, from: usize| launches[from..].iter().any(|l| l.poison == w.poison && l.order == w.order);
    for b in buffers.iter().filter(|b| b.determinism == Determinism::Bytes) {
        for l in launches.iter().filter(|l| !same(b, first, l)) {
            let again = Wanted { poison: first.poison, order: first.order };
            if !known(again, 1) && !out.contains(&again) {
                out.push(again);
            }
            let swapped = Wanted { poison: l.poison, order: first.order };
            if l.poison != first.poison && !known(swapped, 0) && !out.contains(&swapped) {
                out.push(swapped);
            }
        }
    }
    out
}

/// The assertions `repeat` and, where launches ran in stated orders, `schedule`. Of a difference only one of the two fails.
pub fn agreement(buffers: &[ByteMap], launches: &[Snapshot]) -> Runtime {
    let mut out = Runtime::default();
    let ordered = launches.iter().any(|l| l.order != launches[0].order);
    for b in buffers {
        let bytes: u64 = b.written.iter().map(|r| r.bytes.len() as u64).sum();
        if bytes == 0 {
            continue;
        }
        if b.determinism != Determinism::Bytes || launches.len() < 2 {
            let why = if launches.len() < 2 {
                "one launch only"
            } else {
                "float atomics: every launch is judged by its bars"
            };
            for bar in ["repeat", "schedule"] {
                out.absent.push(Absent { bar: bar.into(), on: b.name.into(), why: why.into() });
            }
            continue;
        }
        one(b, bytes, ordered, launches, &mut out);
    }
    out
}

fn one(b: &ByteMap, bytes: u64, ordered: bool, launches: &[Snapshot], out: &mut Runtime) {
    let seen = bytes * (launches.len() as u64 - 1);
    let cause = attribute(b, launches);
    let differing = launches.iter().enumerate().skip(1).find(|(_, l)| !same(b, &launches[0], l));
    let fails = |bar| {
        matches!((bar, cause), ("schedule", Some(Cause::Order)) | ("repeat", Some(Cause::Chance | Cause::Poison)))
    };
    for bar in ["repeat", "schedule"] {
        if bar == "schedule" && !ordered {
            let why = "the board has one order of threads".into();
            out.absent.push(Absent { bar: bar.into(), on: b.name.into(), why });
            continue;
        }
        let (mut wrong, mut worst, mut note) = (0, None, None);
        if fails(bar)
            && let Some((i, l)) = differing
        {
            let (count, place) = difference(b, &launches[0], l);
            (wrong, worst) = (count.max(1), place);
            note = cause.map(|c| format!("launch {i} differs from launch 0: {}", c.words()));
        }
        out.assertions.push(counted(bar, b.name, wrong, seen, worst, note));
    }
}

impl Cause {
    fn words(self) -> &'static str {
        match self {
            Cause::Chance => "identical launches differ (race, uninitialised data)",
            Cause::Order => "the result depends on the order of threads (missing barrier, race)",
            Cause::Poison => "the result depends on what the buffers held before (read before write)",
        }
    }
}

/// Why the launches differ, from what is known; `None` when they agree.
fn attribute(b: &ByteMap, launches: &[Snapshot]) -> Option<Cause> {
    let first = &launches[0];
    let differs: Vec<&Snapshot> = launches.iter().filter(|l| !same(b, first, l)).collect();
    if differs.is_empty() {
        return None;
    }
    let twin = |x: &Snapshot, y: &Snapshot| x.poison == y.poison && x.order == y.order;
    let chance = launches.iter().enumerate().any(|(i, x)| launches[..i].iter().any(|y| twin(x, y) && !same(b, x, y)));
    if chance {
        return Some(Cause::Chance);
    }
    if differs.iter().any(|l| l.poison == first.poison) {
        return Some(Cause::Order);
    }
    if differs.iter().any(|l| l.order == first.order) {
        return Some(Cause::Poison);
    }
    // Both changed at once: with the other poison in the first order known to agree, it is the order.
    let poison_agrees = launches.iter().any(|l| l.poison != first.poison && l.order == first.order);
    Some(if poison_agrees { Cause::Order } else { Cause::Chance })
}

fn same(b: &ByteMap, x: &Snapshot, y: &Snapshot) -> bool {
    b.written.iter().all(|r| x.after[r.bytes.clone()] == y.after[r.bytes.clone()])
}

/// Bytes that differ, and the element of the first.
fn difference(b: &ByteMap, x: &Snapshot, y: &Snapshot) -> (u64, Option<crate::record::Worst>) {
    let (mut count, mut place) = (0, None);
    for run in &b.written {
        if x.after[run.bytes.clone()] == y.after[run.bytes.clone()] {
            continue;
        }
        for at in run.bytes.clone().filter(|&at| x.after[at] != y.after[at]) {
            count += 1;
            place.get_or_insert_with(|| element_place(b, run, at, y.after, x.after));
        }
    }
    (count, place)
}
