//! Figures of the float bars: fixed chunks of 4,096 elements, each judged by one pure function, folded in index order.
//!
//! Refuses to know what a figure is compared with, but for what is decided element by element or row by row.

pub mod elem;
mod fast;
mod fold;
mod lanes;
pub mod partial;
mod slow;
mod vector;

pub use fold::{BarFigure, bars};
pub use lanes::Consts;
pub use partial::Partial;
pub use slow::{Alone, tolerance};

use super::limits::{BIAS_MIN, Limits};
use super::spec::{Exact, Output};
use crate::tensor::DType;
use elem::{Bf16, Elem, F16, F32};
use std::ops::Range;

/// Calls a function that is generic over the format of a float dtype.
macro_rules! by_format {
    ($dtype:expr, $call:ident::<$E:ident>($($arg:expr),*)) => {
        match $dtype {
            DType::F16 => $call::<F16>($($arg),*),
            DType::Bf16 => $call::<Bf16>($($arg),*),
            _ => $call::<F32>($($arg),*),
        }
    };
}

/// Elements of a chunk, at most.
pub const CHUNK: usize = 4096;

/// Bytes of an element, at most.
pub const MAX_SIZE: usize = 4;

/// How an output divides into chunks: whole short rows share one, a long row has several of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Unit rows.
    pub rows: usize,
    /// Elements of a row; not 0.
    pub row_len: usize,
}

impl Layout {
    /// Chunks of one row; 1 where rows share chunks.
    pub fn pieces(&self) -> usize {
        self.row_len.div_ceil(CHUNK)
    }

    /// Chunks.
    pub fn chunks(&self) -> usize {
        if self.row_len > CHUNK { self.rows * self.pieces() } else { self.rows.div_ceil(CHUNK / self.row_len) }
    }

    /// Rows and columns of chunk `i`.
    pub fn chunk(&self, i: usize) -> Span {
        if self.row_len > CHUNK {
            let (row, start) = (i / self.pieces(), i % self.pieces() * CHUNK);
            Span { rows: row..row + 1, cols: start..(start + CHUNK).min(self.row_len) }
        } else {
            let each = CHUNK / self.row_len;
            Span { rows: i * each..((i + 1) * each).min(self.rows), cols: 0..self.row_len }
        }
    }

    /// The chunk that holds element `index`.
    pub fn chunk_of(&self, index: usize) -> usize {
        let (row, col) = (index / self.row_len, index % self.row_len);
        if self.row_len > CHUNK { row * self.pieces() + col / CHUNK } else { row / (CHUNK / self.row_len) }
    }
}

/// Some columns of some neighbouring rows: one row, or whole rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// Rows.
    pub rows: Range<usize>,
    /// Columns.
    pub cols: Range<usize>,
}

impl Span {
    /// Element indices, which have no gap.
    pub fn elements(&self, row_len: usize) -> Range<usize> {
        if self.rows.is_empty() {
            return 0..0;
        }
        self.rows.start * row_len + self.cols.start..(self.rows.end - 1) * row_len + self.cols.end
    }
}

/// What the figures are computed from; lengths are checked before it is made.
#[derive(Clone, Copy)]
pub struct Input<'a> {
    /// Format.
    pub dtype: DType,
    /// Device bytes.
    pub device: &'a [u8],
    /// Reference bytes (the device's again, when the reference itself is judged).
    pub reference: &'a [u8],
    /// `o`.
    pub value: &'a [f64],
    /// Second legal value; empty: none.
    pub other: &'a [f64],
    /// `B0`.
    pub bound: &'a [f64],
    /// `M`; empty: 0.
    pub magnitude: &'a [f64],
    /// Rows left out; empty: none.
    pub skipped: &'a [bool],
    /// Chunks.
    pub layout: Layout,
    /// Constants of the bars.
    pub consts: Consts,
    /// Limit of `row_nmse`.
    pub row_limit: f64,
    /// R is needed: `path` or `exact` is asserted, or the format is narrow.
    pub round: bool,
    /// Non-finite oracle values are declared.
    pub non_finite_declared: bool,
    /// The board flushes subnormal numbers and the contract admits it.
    pub flush: bool,
    /// Vector instructions to use; the figures do not depend on them.
    pub arch: pulp::Arch,
}

impl<'a> Input<'a> {
    /// The columns of `out` with the constants its spec and `limits` ask for. Lengths must have been checked, `row_len` not be 0.
    pub fn new(out: &Output<'a>, limits: &Limits) -> Self {
        let narrow = out.dtype != DType::F32;
        let exact = out.spec.exact != Exact::No;
        Self {
            dtype: out.dtype,
            device: out.device,
            reference: out.reference,
            value: &out.oracle.value,
            other: &out.oracle.other,
            bound: &out.oracle.bound,
            magnitude: &out.oracle.magnitude,
            skipped: &out.spec.skipped_rows,
            layout: Layout { rows: out.oracle.value.len() / out.spec.row_len, row_len: out.spec.row_len },
            consts: Consts {
                slack_b: f64::from(u8::from(narrow)),
                slack_m: if out.oracle.magnitude.is_empty() {
                    0.0
                } else {
                    out.spec.ulp.l32 * crate::tensor::pow2(-24)
                },
                bound: limits.bound,
                exact: f64::from(u8::from(exact)),
                zero_sign: f64::from(u8::from(out.spec.exact == Exact::NonNan)),
            },
            row_limit: limits.row_nmse,
            round: narrow || exact || out.spec.path,
            non_finite_declared: out.spec.non_finite_declared,
            flush: out.flush.inputs || out.flush.outputs,
            arch: pulp::Arch::new(),
        }
    }

    /// Row `row` is left out.
    pub fn skips(&self, row: usize) -> bool {
        self.skipped.get(row).copied().unwrap_or(false)
    }

    /// A row's own mean error is judged too.
    fn row_bias(&self) -> bool {
        self.dtype != DType::F32 && self.layout.row_len as f64 >= BIAS_MIN
    }

    /// Judges a span. `device` holds the bytes of exactly that span, so that a canary needs no copy of the rest.
    #[must_use]
    pub fn span(&self, span: &Span, device: &[u8]) -> Partial {
        let at = span.elements(self.layout.row_len);
        debug_assert_eq!(device.len(), at.len() * self.dtype.size());
        match self.dtype {
            DType::F16 => self.span_of::<F16, 2, 8>(span, device, at.start),
            DType::Bf16 => self.span_of::<Bf16, 2, 8>(span, device, at.start),
            _ => self.span_of::<F32, 1, 4>(span, device, at.start),
        }
    }

    /// `G` vectors, which have `N` lanes.
    fn span_of<E: Elem, const G: usize, const N: usize>(&self, span: &Span, device: &[u8], first: usize) -> Partial {
        fast::span::<E, G>(self, span, device, first).unwrap_or_else(|| slow::span::<E, N>(self, span, device, first))
    }

    /// Judges element `i` as if the device had `d` there, without the sums.
    pub fn alone(&self, i: usize, d: f64) -> Alone {
        by_format!(self.dtype, alone_of::<E>(self, i, d))
    }

    /// Judges chunk `i` of the device's own bytes.
    #[must_use]
    pub fn chunk(&self, i: usize) -> Partial {
        let span = self.layout.chunk(i);
        let at = span.elements(self.layout.row_len);
        let size = self.dtype.size();
        self.span(&span, &self.device[at.start * size..at.end * size])
    }

    /// Partials of every chunk, in order.
    #[must_use]
    pub fn partials(&self) -> Vec<Partial> {
        (0..self.layout.chunks()).map(|i| self.chunk(i)).collect()
    }

    /// Folds partials in index order; rows that span several chunks are judged here.
    #[must_use]
    pub fn fold<'p>(&self, partials: impl IntoIterator<Item = &'p Partial>) -> Partial {
        let pieces = self.layout.pieces();
        let mut total = Partial::default();
        let mut row = Partial::default();
        for (i, p) in partials.into_iter().enumerate() {
            total.add(p);
            if pieces == 1 {
                continue;
            }
            row.energy.add(&p.energy);
            row.bias.add(&p.bias);
            if i % pieces == pieces - 1 {
                let at = (i / pieces) as u64;
                total.rows.take(at, &row.energy, self.row_limit);
                if self.row_bias() {
                    total.rows.take_bias(at, &row.bias);
                }
                row = Partial::default();
            }
        }
        total
    }
}

/// Element `i` of packed bytes of a float dtype.
pub fn get(dtype: DType, bytes: &[u8], i: usize) -> f64 {
    fn of<E: Elem>(bytes: &[u8], i: usize) -> f64 {
        E::get(bytes, i)
    }
    by_format!(dtype, of::<E>(bytes, i))
}

/// `x` rounded once into a float dtype.
pub fn round(dtype: DType, x: f64) -> f64 {
    by_format!(dtype, round_of::<E>(x))
}

fn alone_of<E: Elem>(c: &Input, i: usize, d: f64) -> Alone {
    slow::alone::<E>(c, i, d)
}

fn round_of<E: Elem>(x: f64) -> f64 {
    elem::round_any::<E>(x)
}

/// Step of a float dtype at `x`.
pub fn ulp(dtype: DType, x: f64) -> f64 {
    fn of<E: Elem>(x: f64) -> f64 {
        E::ulp(x)
    }
    by_format!(dtype, of::<E>(x))
}

#[cfg(test)]
mod tests;
