//! The fast path: spans in which everything is finite, below overflow and right. Anything else is left to the slow path.

use super::elem::Elem;
use super::lanes::{Acc, Element};
use super::partial::{Partial, worse};
use super::{Input, Span};
use pulp::{Simd, WithSimd};
use std::marker::PhantomData;

/// Judges a span, or says that it needs the slow path.
pub fn span<E: Elem, const N: usize>(c: &Input, span: &Span, device: &[u8], first: usize) -> Option<Partial> {
    let format = PhantomData::<E>;
    match (c.other.is_empty(), c.round) {
        (true, false) => c.arch.dispatch(Fast::<E, N, false, false> { c, span, device, first, format }),
        (true, true) => c.arch.dispatch(Fast::<E, N, false, true> { c, span, device, first, format }),
        (false, false) => c.arch.dispatch(Fast::<E, N, true, false> { c, span, device, first, format }),
        (false, true) => c.arch.dispatch(Fast::<E, N, true, true> { c, span, device, first, format }),
    }
}

struct Fast<'a, 'c, E, const N: usize, const OTHER: bool, const ROUND: bool> {
    c: &'a Input<'c>,
    span: &'a Span,
    device: &'a [u8],
    first: usize,
    format: PhantomData<E>,
}

impl<E: Elem, const N: usize, const OTHER: bool, const ROUND: bool> WithSimd for Fast<'_, '_, E, N, OTHER, ROUND> {
    type Output = Option<Partial>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) -> Option<Partial> {
        let Self { c, span, device, first, format: _ } = self;
        let len = c.layout.row_len;
        let whole = span.cols.len() == len;
        let row_bias = c.row_bias();
        let mut acc = Acc::<N>::new();
        let mut p = Partial::default();
        for row in span.rows.clone() {
            if c.skips(row) {
                continue;
            }
            let at = row * len + span.cols.start;
            let n = span.cols.len();
            if !row_is_fine::<E, N, OTHER, ROUND>(c, &mut acc, at, n, &device[(at - first) * E::SIZE..][..n * E::SIZE])
            {
                return None;
            }
            let energy = acc.end_row(n as u64);
            p.energy.add(&energy);
            if whole {
                p.rows.take(row as u64, &energy, c.row_limit);
                if row_bias {
                    let bias = acc.take_bias();
                    p.rows.take_bias(row as u64, &bias);
                    p.bias.add(&bias);
                }
            }
        }
        finish::<E, N>(&mut p, &mut acc, c);
        Some(p)
    }
}

/// Moves what the accumulators hold into the partial.
#[inline(always)]
pub fn finish<E: Elem, const N: usize>(p: &mut Partial, acc: &mut Acc<N>, c: &Input) {
    p.seen = p.energy.n;
    p.er2 = super::lanes::sum(&acc.er2);
    p.r2 = super::lanes::sum(&acc.r2);
    p.ulp = acc.ulp.iter().fold(0.0, |a, &b| worse(b, a));
    p.score = acc.score.iter().fold(0.0, |a, &b| worse(b, a));
    p.bias.add(&acc.take_bias());
    if c.consts.exact != 0.0 {
        p.exact_seen = p.energy.n;
    }
    p.differing = if c.round { super::lanes::sum(&acc.differ) as u64 } else { 0 };
}

/// Adds the elements `at..at + n`; false when any of them is not plainly right.
#[inline(always)]
fn row_is_fine<E: Elem, const N: usize, const OTHER: bool, const ROUND: bool>(
    c: &Input,
    acc: &mut Acc<N>,
    at: usize,
    n: usize,
    device: &[u8],
) -> bool {
    let reference = &c.reference[at * E::SIZE..(at + n) * E::SIZE];
    if !(E::finite(device) && E::finite(reference)) {
        return false;
    }
    let value = &c.value[at..at + n];
    let bound = &c.bound[at..at + n];
    let other = if OTHER { &c.other[at..at + n] } else { value };
    let magnitude = if c.magnitude.is_empty() { bound } else { &c.magnitude[at..at + n] };
    let k = c.consts;
    // Small flushed results and non-zero oracles below the smallest normal number: the slow path knows what a flush may do.
    let smallest = if c.flush { E::MIN_NORMAL } else { 0.0 };
    let mut local = *acc;
    let mut fine = [true; N];
    let full = n / N * N;
    let mut i = 0;
    while i < full {
        let d: [f64; N] = E::load(device, i);
        let r: [f64; N] = E::load(reference, i);
        let o: &[f64; N] = value[i..i + N].try_into().expect("N values");
        let p: &[f64; N] = other[i..i + N].try_into().expect("N values");
        let b: &[f64; N] = bound[i..i + N].try_into().expect("N values");
        let m: &[f64; N] = magnitude[i..i + N].try_into().expect("N values");
        for l in 0..N {
            let x = Element { d: d[l], r: r[l], o: o[l], other: p[l], b: b[l], m: m[l] };
            let f = local.lane::<E, OTHER, ROUND>(&k, l, x);
            fine[l] &= f.bound & f.exact & f.explained & f.usable & ((o[l].abs() >= smallest) | (o[l] == 0.0));
        }
        i += N;
    }
    for j in full..n {
        let l = j - full;
        let (d, r) = (E::load::<1>(device, j)[0], E::load::<1>(reference, j)[0]);
        let x = Element { d, r, o: value[j], other: other[j], b: bound[j], m: magnitude[j] };
        let f = local.lane::<E, OTHER, ROUND>(&k, l, x);
        fine[l] &= f.bound & f.exact & f.explained & f.usable & ((value[j].abs() >= smallest) | (value[j] == 0.0));
    }
    *acc = local;
    fine.iter().all(|&f| f)
}
