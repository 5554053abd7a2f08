//! Canaries: corrupted copies of an accepted output, each of which the output's own bars must refuse.
//!
//! A canary is tried only where it is *material*: different under the op's own equality, and with some element moved by more
//! than four times its tolerance T. One element that a bar refuses by itself settles it; only where none does are the touched
//! chunks judged again, through the same function, and folded again. Refuses to judge an output that was not accepted.

use super::again::Again;
use super::canary_bits;
use super::error::JudgeError;
use super::figures::{Alone, MAX_SIZE, get, tolerance};
use super::output::{Judged, nothing_to_compare};
use super::spec::{Class, Output};
use crate::record::Canaries;
use crate::tensor::codec::put_f64;
use std::borrow::Cow;
use std::ops::Range;

/// How far a corruption must move an element, in tolerances.
const MATERIAL: f64 = 4.0;
/// Columns of the tail that is lost, at most: one vector of a 16-bit type.
const TAIL: usize = 8;

/// Result of the canaries of one output.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Flock {
    /// Counts.
    pub canaries: Canaries,
    /// Blind gates, or no canary at all.
    pub errors: Vec<JudgeError>,
}

impl Flock {
    pub(super) fn tried(&mut self, on: &str, kind: &'static str, refused: bool, what: impl FnOnce() -> String) {
        self.canaries.run += 1;
        self.canaries.kinds.add(kind, 1);
        if refused {
            self.canaries.refused += 1;
        } else {
            self.canaries.accepted += 1;
            self.canaries.notes.push(format!("{kind} accepted"));
            self.errors.push(JudgeError::BlindGate { on: on.into(), kind, what: what() });
        }
    }

    pub(super) fn not_applicable(&mut self, kind: &'static str, why: &str) {
        self.canaries.not_applicable += 1;
        self.canaries.notes.push(format!("{kind}: {why}"));
    }
}

/// Runs every canary of the output's class. `judged` is the device tier's result for this very `out`; an output that was not
/// accepted gets none, since every copy of it is refused anyway.
pub fn canary(out: &Output, judged: &Judged) -> Flock {
    let mut flock = Flock::default();
    if !judged.accepted() || nothing_to_compare(out).is_some() {
        return flock;
    }
    match out.spec.class {
        Class::Rounded => Rounded(Again::new(out, judged)).run(&mut flock),
        Class::Copy | Class::Integer => canary_bits::run(out, &mut flock),
    }
    if flock.canaries.run == 0 && out.spec.degenerate.is_none() {
        flock.errors.push(JudgeError::NoCanary { on: out.name.into(), why: flock.canaries.notes.join("; ") });
    }
    flock
}

/// The last columns of a row that a lost tail loses: the rest over the vector width, else one vector.
pub(super) fn tail_len(row_len: usize) -> usize {
    match row_len % TAIL {
        0 => TAIL,
        rest => rest,
    }
}

/// Zeroes the bytes of those elements of `at` that lie in `lost`.
pub(super) fn zero(at: &Range<usize>, bytes: &mut [u8], size: usize, lost: Range<usize>) {
    let (from, to) = (lost.start.max(at.start), lost.end.min(at.end));
    if from < to {
        bytes[(from - at.start) * size..(to - at.start) * size].fill(0);
    }
}

struct Rounded<'a>(Again<'a>);

impl Rounded<'_> {
    fn run(&self, flock: &mut Flock) {
        let (len, n, size) = (self.0.input.layout.row_len, self.0.out.oracle.value.len(), self.0.out.dtype.size());
        let material = self.find(MATERIAL);
        let all = 0..self.0.input.layout.chunks();
        match material {
            Some(i) => self.attempt(flock, "zeroed", i, all.clone(), &|at, b| zero(at, b, size, 0..n)),
            None => flock.not_applicable("zeroed", "no element stands out from zero"),
        }
        match material.and_then(|_| self.last_row()) {
            Some(i) => {
                let row = i / len * len..(i / len + 1) * len;
                let touched = self.0.input.layout.chunk_of(row.start)..self.0.input.layout.chunk_of(row.end - 1) + 1;
                self.attempt(flock, "last_row_lost", i, touched, &|at, b| zero(at, b, size, row.clone()));
            }
            None => flock.not_applicable("last_row_lost", "no row stands out from zero"),
        }
        let tail = tail_len(len);
        match material.and_then(|_| self.tail(tail)) {
            Some(i) => self.attempt(flock, "tail_lost", i, all, &|at, b| {
                for row in at.start / len..at.end.div_ceil(len) {
                    zero(at, b, size, (row + 1) * len - tail..(row + 1) * len);
                }
            }),
            None => flock.not_applicable("tail_lost", "no tail stands out from zero"),
        }
        self.swap(flock);
        match material.or_else(|| self.find(MATERIAL / 2.0)) {
            Some(i) => self.one(flock, "sign", i, |b| {
                if let Some(top) = b.last_mut() {
                    *top ^= 0x80;
                }
            }),
            None => flock.not_applicable("sign", "no element is larger than twice its tolerance"),
        }
        self.non_finite(flock);
    }

    /// First element whose magnitude exceeds `times` its tolerance; whole chunks are ruled out by their score.
    fn find(&self, times: f64) -> Option<usize> {
        let hopeful = self.0.partials.iter().enumerate().filter(|(_, p)| p.score.is_nan() || p.score > times);
        hopeful.flat_map(|(c, _)| self.0.elements(c)).find(|&i| self.stands_out(i, times))
    }

    fn value(&self, i: usize) -> f64 {
        get(self.0.out.dtype, self.0.out.device, i)
    }

    /// T, where the element is judged by the difference bars at all.
    fn tolerance(&self, i: usize) -> Option<f64> {
        if self.0.input.skips(i / self.0.input.layout.row_len) || !self.value(i).is_finite() {
            return None;
        }
        tolerance(&self.0.input, i)
    }

    fn stands_out(&self, i: usize, times: f64) -> bool {
        self.tolerance(i).is_some_and(|t| self.value(i).abs() > times * t)
    }

    /// A material element of the last row that has one.
    fn last_row(&self) -> Option<usize> {
        let (len, rows) = (self.0.input.layout.row_len, self.0.input.layout.rows);
        (0..rows).rev().find_map(|row| (row * len..(row + 1) * len).find(|&i| self.stands_out(i, MATERIAL)))
    }

    /// A material element among the last columns.
    fn tail(&self, columns: usize) -> Option<usize> {
        let (len, rows) = (self.0.input.layout.row_len, self.0.input.layout.rows);
        (0..rows).find_map(|row| {
            ((row + 1) * len - columns.min(len)..(row + 1) * len).find(|&i| self.stands_out(i, MATERIAL))
        })
    }

    /// Exchanges two elements of which at least one moves materially.
    fn swap(&self, flock: &mut Flock) {
        let n = self.0.out.oracle.value.len();
        let anchor = (0..n).find(|&i| self.tolerance(i).is_some());
        let moved = |i: usize, j: usize| {
            let (d, to) = (self.value(i), self.value(j));
            self.tolerance(i).filter(|_| to.is_finite()).is_some_and(|t| (d - to).abs() > MATERIAL * t)
        };
        let pair = anchor.and_then(|a| {
            let b = (a + 1..n).find(|&j| self.tolerance(j).is_some() && (moved(a, j) || moved(j, a)))?;
            Some(if moved(a, b) { (a, b) } else { (b, a) })
        });
        let Some((probe, partner)) = pair else {
            return flock.not_applicable("swap", "no two elements differ materially");
        };
        let size = self.0.out.dtype.size();
        let bytes = |i: usize| &self.0.out.device[i * size..(i + 1) * size];
        let chunks = [self.0.input.layout.chunk_of(probe), self.0.input.layout.chunk_of(partner)];
        let touched = chunks[0].min(chunks[1])..chunks[0].max(chunks[1]) + 1;
        self.attempt(flock, "swap", probe, touched, &|at, b| {
            for (to, from) in [(probe, partner), (partner, probe)] {
                if at.contains(&to) {
                    b[(to - at.start) * size..(to - at.start + 1) * size].copy_from_slice(bytes(from));
                }
            }
        });
    }

    /// One NaN and one infinity, each in the last place where neither belongs.
    fn non_finite(&self, flock: &mut Flock) {
        let place = (0..self.0.out.oracle.value.len()).rev().find(|&i| self.tolerance(i).is_some());
        for (kind, value) in [("nan", f64::NAN), ("inf", f64::INFINITY)] {
            match place {
                Some(i) => {
                    let bad = value.copysign(self.value(i));
                    self.one(flock, kind, i, |b| put_f64(self.0.out.dtype, bad, b));
                }
                None => flock.not_applicable(kind, "no element is a finite number by the oracle"),
            }
        }
    }

    /// Corrupts element `i` alone.
    fn one(&self, flock: &mut Flock, kind: &'static str, i: usize, change: impl Fn(&mut [u8])) {
        let (chunk, size) = (self.0.input.layout.chunk_of(i), self.0.out.dtype.size());
        self.attempt(flock, kind, i, chunk..chunk + 1, &|at, b| {
            change(&mut b[(i - at.start) * size..(i - at.start + 1) * size]);
        });
    }

    /// Judges one corrupted copy. `change` edits the bytes of a range of elements; `probe` is an element it moves materially.
    fn attempt(
        &self,
        flock: &mut Flock,
        kind: &'static str,
        probe: usize,
        touched: Range<usize>,
        change: &dyn Fn(&Range<usize>, &mut [u8]),
    ) {
        let size = self.0.out.dtype.size();
        let mut element = [0; MAX_SIZE];
        let element = &mut element[..size];
        element.copy_from_slice(&self.0.out.device[probe * size..(probe + 1) * size]);
        change(&(probe..probe + 1), element);
        let refused = self.refuses(&self.0.input.alone(probe, get(self.0.out.dtype, element, 0)))
            || self.refused_whole(touched, change);
        flock.tried(self.0.out.name, kind, refused, || {
            format!("element {probe} moved by more than {MATERIAL} tolerances")
        });
    }

    /// Judges the touched chunks of a corrupted copy again, and folds again.
    fn refused_whole(&self, touched: Range<usize>, change: &dyn Fn(&Range<usize>, &mut [u8])) -> bool {
        let size = self.0.out.dtype.size();
        let corrupted = |at: Range<usize>| {
            let mut bytes = self.0.out.device[at.start * size..at.end * size].to_vec();
            change(&at, &mut bytes);
            Cow::Owned(bytes)
        };
        !self.0.refusing(touched, &corrupted).is_empty()
    }

    /// An element is refused by a bar that asks something of every element: then so is the whole.
    fn refuses(&self, element: &Alone) -> bool {
        let within = self.0.limits.ulp.is_none_or(|limit| element.ulp <= limit);
        element.wrong || !within || (self.0.out.spec.path && element.unexplained)
    }
}
