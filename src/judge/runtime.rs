//! Run-time bars over the bytes of a case's region: what a launch had to write, may write and must leave alone.
//!
//! Pure functions over images (before) and snapshots (after). Refuses to know ops and boards: a [`ByteMap`] says which bytes are what.

use super::error::JudgeError;
use super::spec::Determinism;
use super::worst::hex;
use crate::fixture::place::Poison;
use crate::record::{Absent, Assertion, Tier, Worst};
use std::ops::Range;

pub use super::agreement::{Wanted, agreement, wanted};

/// Order in which a launch ran blocks and threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The hardware's own.
    Native,
    /// First thread first (simulator).
    Ascending,
    /// Last thread first (simulator).
    Descending,
    /// A fixed permutation (simulator).
    Shuffled,
}

/// One launch of the whole case: the region before and after. Both have the region's size.
#[derive(Clone, Copy, Debug)]
pub struct Snapshot<'a> {
    /// Image it started from.
    pub poison: Poison,
    /// Order of threads.
    pub order: Order,
    /// Bytes before.
    pub before: &'a [u8],
    /// Bytes after.
    pub after: &'a [u8],
}

/// Bytes that hold neighbouring elements of an output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// Bytes in the region.
    pub bytes: Range<usize>,
    /// Logical index of the first element.
    pub element: usize,
}

/// What the bytes of one buffer are. All ranges are in the region.
#[derive(Clone, Debug)]
pub struct ByteMap<'a> {
    /// Argument's name.
    pub name: &'a str,
    /// First byte of the buffer; reported offsets are distances from here, and the note gives the sign.
    pub start: usize,
    /// Guard bytes.
    pub guards: Vec<Range<usize>>,
    /// Bytes of a read-only input.
    pub read_only: Vec<Range<usize>>,
    /// Bytes of an output that the op must not write: gaps, padding, skipped rows.
    pub untouched: Vec<Range<usize>>,
    /// Bytes the op must write.
    pub written: Vec<Run>,
    /// The written bytes hold poison before the launch (`Out`); false for in/out arguments.
    pub poisoned: bool,
    /// Agreement between launches.
    pub determinism: Determinism,
    /// Bytes of an element.
    pub element: usize,
    /// Elements of a unit row.
    pub row_len: usize,
}

/// Assertions, absences and errors of run-time bars.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Runtime {
    /// Assertions.
    pub assertions: Vec<Assertion>,
    /// Bars that do not apply.
    pub absent: Vec<Absent>,
    /// What could not be judged.
    pub errors: Vec<JudgeError>,
}

/// `guard`, `inputs`, `untouched` and `written` of every buffer over all launches.
pub fn integrity(buffers: &[ByteMap], launches: &[Snapshot]) -> Runtime {
    let mut out = Runtime::default();
    for l in launches {
        if l.before.len() != l.after.len() {
            let (got, want) = (l.after.len(), l.before.len());
            out.errors.push(JudgeError::WrongSize { on: "region".into(), who: "device", got, want });
            return out;
        }
    }
    for b in buffers {
        for (bar, ranges) in [("guard", &b.guards), ("inputs", &b.read_only), ("untouched", &b.untouched)] {
            if ranges.iter().any(|r| !r.is_empty()) {
                unchanged(bar, b, ranges, launches, &mut out);
            }
        }
        if b.written.iter().any(|r| !r.bytes.is_empty()) {
            written(b, launches, &mut out);
        }
    }
    out
}

/// An assertion that counts bytes or events, limit 0.
pub(super) fn counted(
    bar: &str,
    on: &str,
    wrong: u64,
    seen: u64,
    worst: Option<Worst>,
    note: Option<String>,
) -> Assertion {
    let figure = wrong as f64;
    Assertion {
        bar: bar.into(),
        on: on.into(),
        tier: Tier::Device,
        pass: figure <= 0.0,
        figure: Some(figure),
        limit: Some(0.0),
        elements: seen,
        worst,
        note,
    }
}

/// Adds an assertion, or the error that it compared nothing.
fn assert(out: &mut Runtime, bar: &'static str, a: Assertion) {
    if a.elements == 0 {
        out.errors.push(JudgeError::Vacuous { on: a.on, bar });
    } else {
        out.assertions.push(a);
    }
}

fn unchanged(bar: &'static str, b: &ByteMap, ranges: &[Range<usize>], launches: &[Snapshot], out: &mut Runtime) {
    let (mut seen, mut wrong, mut first) = (0, 0, None);
    for (i, l) in launches.iter().enumerate() {
        for r in ranges {
            seen += r.len() as u64;
            let (before, after) = (&l.before[r.clone()], &l.after[r.clone()]);
            if before == after {
                continue;
            }
            for (j, (x, y)) in before.iter().zip(after).enumerate() {
                if x != y {
                    wrong += 1;
                    first.get_or_insert((i, r.start + j));
                }
            }
        }
    }
    let (worst, note) = match first {
        Some((i, at)) => {
            let place = byte_place(b, at, launches[i].after[at], launches[i].before[at]);
            (Some(place), Some(format!("launch {i}: byte {} of {} changed", relative(b, at), b.name)))
        }
        None => (None, None),
    };
    assert(out, bar, counted(bar, b.name, wrong, seen, worst, note));
}

/// Offset of a byte from the buffer's first, with a sign.
fn relative(b: &ByteMap, at: usize) -> i64 {
    at as i64 - b.start as i64
}

fn byte_place(b: &ByteMap, at: usize, got: u8, want: u8) -> Worst {
    Worst {
        index: at.abs_diff(b.start) as u64,
        row: 0,
        col: 0,
        got: got.to_string(),
        want: want.to_string(),
        got_hex: hex(&[got]),
        want_hex: hex(&[want]),
    }
}

/// Place of a byte of a written run, as an element of the output.
pub(super) fn element_place(b: &ByteMap, run: &Run, at: usize, got: &[u8], want: &[u8]) -> Worst {
    let index = run.element + (at - run.bytes.start) / b.element;
    let from = at - (at - run.bytes.start) % b.element;
    let (got, want) = (&got[from..from + b.element], &want[from..from + b.element]);
    Worst {
        index: index as u64,
        row: (index / b.row_len.max(1)) as u64,
        col: (index % b.row_len.max(1)) as u64,
        got: format!("{got:02x?}"),
        want: format!("{want:02x?}"),
        got_hex: hex(got),
        want_hex: hex(want),
    }
}

/// A byte that holds poison A after a launch from A and poison B after a launch from B was never written.
fn written(b: &ByteMap, launches: &[Snapshot], out: &mut Runtime) {
    if !b.poisoned {
        let why = "in/out argument: compared whole by its other bars".into();
        out.absent.push(Absent { bar: "written".into(), on: b.name.into(), why });
        return;
    }
    let with = |p| launches.iter().find(|l| l.poison == p);
    let (Some(a), Some(z)) = (with(Poison::A), with(Poison::B)) else {
        out.errors.push(JudgeError::Vacuous { on: b.name.into(), bar: "written" });
        return;
    };
    let (mut seen, mut wrong, mut first) = (0, 0, None);
    // Chance may hit a single poison byte where results differ between launches, but not all bytes of an element.
    let unit = if b.determinism == Determinism::Bytes { 1 } else { b.element };
    for run in &b.written {
        let r = run.bytes.clone();
        seen += r.len() as u64;
        let columns = [&a.before[r.clone()], &a.after[r.clone()], &z.before[r.clone()], &z.after[r.clone()]];
        if !any_poison(columns) {
            continue;
        }
        for j in (0..r.len()).step_by(unit) {
            let held =
                (j..(j + unit).min(r.len())).all(|j| columns[0][j] == columns[1][j] && columns[2][j] == columns[3][j]);
            if held {
                wrong += unit as u64;
                first.get_or_insert((run, r.start + j));
            }
        }
    }
    let place = first.map(|(run, at)| {
        let mut place = element_place(b, run, at, a.after, a.before);
        place.want = "a value".into();
        place.want_hex = "not poison".into();
        place
    });
    let note = first.map(|_| "bytes never written: they hold the poison of both images".to_string());
    assert(out, "written", counted("written", b.name, wrong, seen, place, note));
}

/// Does any byte hold its poison in both snapshots? `[A before, A after, B before, B after]`, equally long.
fn any_poison(c: [&[u8]; 4]) -> bool {
    let mut least = 0xffu8;
    for (((p, d), q), e) in c[0].iter().zip(c[1]).zip(c[2]).zip(c[3]) {
        least = least.min((p ^ d) | (q ^ e));
    }
    least == 0
}

/// `memory`: findings of the sanitised build, as sentences. `checked` counts the accesses (or launches) it looked at.
pub fn memory(findings: &[String], checked: u64) -> Runtime {
    let mut out = Runtime::default();
    if checked == 0 {
        let why = "no launch of the sanitised build".into();
        out.absent.push(Absent { bar: "memory".into(), on: String::new(), why });
        return out;
    }
    assert(&mut out, "memory", counted("memory", "", findings.len() as u64, checked, None, findings.first().cloned()));
    out
}

/// `launches`: kernel launches that ran against those the plan asked for, all launches of the case together.
pub fn launches(planned: u64, ran: u64) -> Runtime {
    let mut out = Runtime::default();
    let note = (planned != ran).then(|| format!("{ran} kernel launches ran, {planned} were planned"));
    // A case of declared size 0 plans none, and that none ran is what it asserts.
    out.assertions.push(counted("launches", "", planned.abs_diff(ran), planned.max(1), None, note));
    out
}

/// What served a call, by the counters of the dispatcher.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Service {
    /// The native-only probe said that the board has the op.
    pub probed_native: bool,
    /// Kernel launches planned and counted on the board.
    pub launches: (u64, u64),
    /// Calls that the reference tier served.
    pub reference_hits: u64,
    /// Calls that the board declined.
    pub declines: u64,
}

/// `native`: the device kernel served the call, and nothing else did.
pub fn native(s: &Service) -> Runtime {
    let moved = s.launches.0 == 0 || s.launches.1 > 0;
    let wrongs = [
        (!s.probed_native, "the native-only probe is false"),
        (!moved, "no kernel launch was counted"),
        (s.reference_hits > 0, "the reference tier served calls"),
        (s.declines > 0, "the board declined calls"),
    ];
    let said: Vec<&str> = wrongs.iter().filter(|w| w.0).map(|w| w.1).collect();
    let note = (!said.is_empty()).then(|| said.join("; "));
    let mut out = Runtime::default();
    out.assertions.push(counted("native", "", said.len() as u64, wrongs.len() as u64, None, note));
    out
}

#[cfg(test)]
mod tests;
