//! Null candidates: outputs that are wrong in a known way, made from the right one. One definition per fault, for the harness's own
//! discrimination and for the hints about a failure. Pure functions; refuses to judge what it makes.

use super::canary::tail_len;
use super::exact::integer;
use super::figures;
use super::spec::Class;
use crate::tensor::{DType, codec};
use rand_core::Rng;
use std::ops::Range;

/// A right output, and what a wrong one may be made of.
#[derive(Clone, Copy)]
pub struct Right<'a> {
    /// Element type.
    pub dtype: DType,
    /// Class.
    pub class: Class,
    /// Packed bytes.
    pub bytes: &'a [u8],
    /// Elements of a unit row; not 0.
    pub row_len: usize,
    /// Rows that the op must not write; empty: none.
    pub skipped: &'a [bool],
    /// Value before the output rounding; empty: unknown.
    pub oracle: &'a [f64],
    /// An input of the same dtype with at least as many elements.
    pub input: Option<&'a [u8]>,
}

/// A fault.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Null {
    /// Every element is 0.
    Zeros,
    /// An input is copied through.
    Copied,
    /// Every row holds the row before, the first one the last.
    RowsShifted,
    /// The last row is 0.
    LastRowLost,
    /// The last columns of every row are 0.
    TailLost,
    /// Two rows have changed places.
    RowsExchanged,
    /// One element has the other sign.
    SignFlipped,
    /// One element is off by so many steps of its format, away from zero.
    Steps(u64),
    /// Every result is truncated instead of rounded.
    Truncated,
    /// Every element is multiplied by a factor.
    Scaled(f64),
    /// One element is NaN.
    Nan,
}

/// What a fault makes of an output.
#[derive(Clone, Debug, PartialEq)]
pub enum Candidate {
    /// Wrong bytes, and the elements among which they differ from the right ones.
    Wrong(Vec<u8>, Range<usize>),
    /// The right output again.
    Immaterial,
    /// The fault cannot happen here, and why.
    Inapplicable(&'static str),
}

/// Every fault that has no size.
pub const PLAIN: [Null; 9] = [
    Null::Zeros,
    Null::Copied,
    Null::RowsShifted,
    Null::LastRowLost,
    Null::TailLost,
    Null::RowsExchanged,
    Null::SignFlipped,
    Null::Truncated,
    Null::Nan,
];

/// Factors by which a whole output is off.
pub const FACTORS: [f64; 4] = [1.0001, 1.001, 1.01, 1.1];

/// Steps by which one element is off: powers of two, up to a factor of two in its value (integers: up to 256).
pub fn steps(dtype: DType) -> impl Iterator<Item = u64> {
    let most = dtype.float().map_or(8, |f| f.p as u32 - 1);
    (0..=most).map(|e| 1 << e)
}

impl Null {
    /// The fault's kind, whatever its size.
    pub fn kind(self) -> &'static str {
        match self {
            Self::Zeros => "zeros",
            Self::Copied => "input_copied",
            Self::RowsShifted => "rows_shifted",
            Self::LastRowLost => "last_row_lost",
            Self::TailLost => "tail_lost",
            Self::RowsExchanged => "rows_exchanged",
            Self::SignFlipped => "sign_flipped",
            Self::Steps(_) => "steps",
            Self::Truncated => "truncated",
            Self::Scaled(_) => "scaled",
            Self::Nan => "nan",
        }
    }

    /// The fault in words.
    pub fn words(self) -> String {
        match self {
            Self::Zeros => "zeroed: the element is 0".into(),
            Self::Copied => "an input copied through".into(),
            Self::RowsShifted => "row shift: holds the row before".into(),
            Self::LastRowLost => "last row lost".into(),
            Self::TailLost => "tail lost".into(),
            Self::RowsExchanged => "two rows exchanged".into(),
            Self::SignFlipped => "sign flipped".into(),
            Self::Steps(k) => format!("one element off by {k} steps of its format"),
            Self::Truncated => "truncated instead of rounded: one step toward zero".into(),
            Self::Scaled(factor) => format!("scaled by {factor:.4}"),
            Self::Nan => "NaN where a number belongs".into(),
        }
    }

    /// Bits of element `i` as this fault leaves it, wherever the fault strikes; `None` where there is nothing it could hold.
    pub fn element(self, right: &Right, i: usize) -> Option<u64> {
        let own = right.element(i)?;
        let size = right.dtype.size();
        let float = right.dtype.float().is_some();
        let encoded = |x: f64| {
            let mut bytes = [0; 8];
            codec::put_f64(right.dtype, x, &mut bytes[..size]);
            u64::from_le_bytes(bytes)
        };
        match self {
            Self::Zeros | Self::LastRowLost | Self::TailLost => Some(0),
            Self::Copied => right.input?.get(i * size..(i + 1) * size).map(le),
            Self::RowsShifted => {
                let n = right.len();
                right.element((i + n - right.row_len.min(n)) % n)
            }
            Self::RowsExchanged => None,
            Self::SignFlipped if float => Some(own ^ 1 << (8 * size - 1)),
            Self::SignFlipped => Some(own.wrapping_neg()),
            Self::Steps(k) => Some(own.wrapping_add(k)),
            Self::Truncated => Some(own - u64::from(right.rounded_up(i))),
            Self::Scaled(factor) => float.then(|| encoded(right.value(i) * factor)),
            Self::Nan => float.then(|| encoded(f64::NAN)),
        }
    }

    /// The wrong output.
    pub fn apply(self, right: &Right) -> Candidate {
        if let Some(why) = self.inapplicable(right) {
            return Candidate::Inapplicable(why);
        }
        let (n, len) = (right.len(), right.row_len);
        match self {
            Self::Zeros | Self::Copied | Self::RowsShifted | Self::Truncated | Self::Scaled(_) => {
                self.over(right, 0..n)
            }
            Self::LastRowLost => match right.rows().next_back() {
                Some(row) => self.over(right, row * len..(row + 1) * len),
                None => Candidate::Immaterial,
            },
            Self::TailLost => {
                let tail = tail_len(len).min(len);
                self.over(right, (0..n).filter(|i| i % len >= len - tail))
            }
            Self::RowsExchanged => exchanged(right),
            Self::SignFlipped | Self::Steps(_) => self.at(right, right.place(|x| x.is_finite() && x != 0.0)),
            Self::Nan => self.at(right, right.place(|x| x.is_finite())),
        }
    }

    /// Why the fault cannot happen to an output, whatever it holds.
    fn inapplicable(self, right: &Right) -> Option<&'static str> {
        let float = right.dtype.float().is_some();
        match self {
            _ if right.is_empty() || right.rows().next().is_none() => Some("nothing is written"),
            Self::Copied if right.input.is_none() => Some("no input has its element type and size"),
            Self::RowsShifted | Self::RowsExchanged if right.rows().nth(1).is_none() => Some("it has one row"),
            Self::Truncated if right.class != Class::Rounded => Some("nothing is rounded"),
            Self::Nan | Self::Scaled(_) if !float => Some("it holds integers"),
            _ => None,
        }
    }

    fn at(self, right: &Right, place: Option<usize>) -> Candidate {
        place.map_or(Candidate::Immaterial, |i| self.over(right, i..i + 1))
    }

    fn over(self, right: &Right, elements: impl Iterator<Item = usize>) -> Candidate {
        let size = right.dtype.size();
        let mut bytes = right.bytes.to_vec();
        let mut struck: Option<Range<usize>> = None;
        for i in elements.filter(|i| !right.skips(i / right.row_len)) {
            if let Some(new) = self.element(right, i) {
                bytes[i * size..(i + 1) * size].copy_from_slice(&new.to_le_bytes()[..size]);
                struck = Some(struck.map_or(i, |s| s.start)..i + 1);
            }
        }
        right.candidate(bytes, struck.unwrap_or(0..0))
    }
}

/// A copy in which each element that is a number is one step nearer zero with probability `rate`.
pub fn nudged(right: &Right, rate: f64, rng: &mut impl Rng) -> Vec<u8> {
    let size = right.dtype.size();
    let mut bytes = right.bytes.to_vec();
    for i in 0..right.len() {
        let x = right.value(i);
        let hit = (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        if hit < rate && x.is_finite() && x != 0.0 && !right.skips(i / right.row_len) {
            let nearer = le(&bytes[i * size..(i + 1) * size]) - 1;
            bytes[i * size..(i + 1) * size].copy_from_slice(&nearer.to_le_bytes()[..size]);
        }
    }
    bytes
}

impl Right<'_> {
    /// No element.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Elements.
    pub fn len(&self) -> usize {
        self.bytes.len() / self.dtype.size()
    }

    fn element(&self, i: usize) -> Option<u64> {
        let size = self.dtype.size();
        self.bytes.get(i * size..(i + 1) * size).map(le)
    }

    /// Value of element `i`.
    pub fn value(&self, i: usize) -> f64 {
        value(self.dtype, self.bytes, i)
    }

    fn skips(&self, row: usize) -> bool {
        self.skipped.get(row).copied().unwrap_or(false)
    }

    /// Rows that the op writes.
    fn rows(&self) -> impl DoubleEndedIterator<Item = usize> {
        (0..self.len() / self.row_len).filter(|&row| !self.skips(row))
    }

    /// Was the result rounded away from zero, so that truncation gives the neighbour? Where the oracle is unknown: it may have been.
    fn rounded_up(&self, i: usize) -> bool {
        let r = self.value(i);
        match self.oracle.get(i) {
            Some(o) => r.abs() > o.abs() && o.is_finite(),
            None => r != 0.0 && r.is_finite(),
        }
    }

    /// The element that a fault of one element strikes: a written one whose value fits, the first from the middle on.
    pub fn place(&self, fits: impl Fn(f64) -> bool) -> Option<usize> {
        let n = self.len();
        (n / 2..n).chain(0..n / 2).find(|&i| !self.skips(i / self.row_len) && fits(self.value(i)))
    }

    /// What these bytes are beside the right ones, of which they can differ among `struck`.
    fn candidate(&self, bytes: Vec<u8>, struck: Range<usize>) -> Candidate {
        let differs = |i: &usize| !self.skips(i / self.row_len) && !self.equal(&bytes, *i);
        match (struck.clone().find(differs), struck.clone().rfind(differs)) {
            (Some(first), Some(last)) => Candidate::Wrong(bytes, first..last + 1),
            _ => Candidate::Immaterial,
        }
    }

    /// Equal as the output's class has it: rounded results by value, everything else by bits; a NaN equals a NaN.
    fn equal(&self, bytes: &[u8], i: usize) -> bool {
        let size = self.dtype.size();
        let at = i * size..(i + 1) * size;
        if bytes[at.clone()] == self.bytes[at] {
            return true;
        }
        let (a, b) = (value(self.dtype, bytes, i), self.value(i));
        self.class == Class::Rounded && (a == b || (a.is_nan() && b.is_nan()))
    }
}

/// The first written row and the last one that differs from it, exchanged.
fn exchanged(right: &Right) -> Candidate {
    let row = right.row_len * right.dtype.size();
    let bytes = |i: usize| &right.bytes[i * row..(i + 1) * row];
    let Some(first) = right.rows().next() else { return Candidate::Immaterial };
    let Some(last) = right.rows().rfind(|&i| bytes(i) != bytes(first)) else { return Candidate::Immaterial };
    let mut out = right.bytes.to_vec();
    out[first * row..(first + 1) * row].copy_from_slice(bytes(last));
    out[last * row..(last + 1) * row].copy_from_slice(bytes(first));
    right.candidate(out, 0..right.len())
}

fn value(dtype: DType, bytes: &[u8], i: usize) -> f64 {
    match dtype.float() {
        Some(_) => figures::get(dtype, bytes, i),
        None => integer(dtype, bytes, i) as f64,
    }
}

/// Little-endian bytes as a number.
fn le(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |n, b| n << 8 | u64::from(*b))
}

#[cfg(test)]
mod tests;
