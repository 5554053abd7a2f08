//! The fast path: spans in which everything is finite, below overflow and right. Anything else is left to the slow path.

use super::elem::Elem;
use super::lanes::{Acc, Element};
use super::partial::Partial;
use super::vector::{LANES, Vector};
use super::{Input, Span};
use pulp::NullaryFnOnce;
use std::marker::PhantomData;

/// Judges a span, or says that it needs the slow path.
pub fn span<E: Elem, const G: usize>(c: &Input, span: &Span, device: &[u8], first: usize) -> Option<Partial> {
    match (c.other.is_empty(), c.round) {
        (true, false) => dispatch::<E, G, false, false>(c, span, device, first),
        (true, true) => dispatch::<E, G, false, true>(c, span, device, first),
        (false, false) => dispatch::<E, G, true, false>(c, span, device, first),
        (false, true) => dispatch::<E, G, true, true>(c, span, device, first),
    }
}

fn dispatch<E: Elem, const G: usize, const OTHER: bool, const ROUND: bool>(
    c: &Input,
    span: &Span,
    device: &[u8],
    first: usize,
) -> Option<Partial> {
    // Lanes wider than AVX2's would change the order of the sums.
    #[cfg(target_arch = "x86_64")]
    if let pulp::Arch::V3(v) = c.arch {
        v.vectorize(Fast::<_, E, G, OTHER, ROUND> { v, c, span, device, first, format: PhantomData })
    } else {
        let v = pulp::x86::V1::try_new().expect("SSE2 is part of x86-64");
        v.vectorize(Fast::<_, E, G, OTHER, ROUND> { v, c, span, device, first, format: PhantomData })
    }
    #[cfg(not(target_arch = "x86_64"))]
    Fast::<_, E, G, OTHER, ROUND> { v: super::vector::Four, c, span, device, first, format: PhantomData }.call()
}

struct Fast<'a, 'c, V, E, const G: usize, const OTHER: bool, const ROUND: bool> {
    v: V,
    c: &'a Input<'c>,
    span: &'a Span,
    device: &'a [u8],
    first: usize,
    format: PhantomData<E>,
}

impl<V: Vector, E: Elem, const G: usize, const OTHER: bool, const ROUND: bool> NullaryFnOnce
    for Fast<'_, '_, V, E, G, OTHER, ROUND>
{
    type Output = Option<Partial>;

    #[inline(always)]
    fn call(self) -> Option<Partial> {
        let Self { v, c, span, device, first, format: _ } = self;
        let len = c.layout.row_len;
        let whole = span.cols.len() == len;
        let row_bias = c.row_bias();
        let mut acc = Acc::<G>::new();
        let mut p = Partial::default();
        for row in span.rows.clone() {
            if c.skips(row) {
                continue;
            }
            let (at, n) = (row * len + span.cols.start, span.cols.len());
            let bytes = &device[(at - first) * E::SIZE..][..n * E::SIZE];
            if !row_is_fine::<V, E, G, OTHER, ROUND>(v, c, &mut acc, at, n, bytes) {
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
        p.seen = p.energy.n;
        p.exact_seen = if c.consts.exact != 0.0 { p.energy.n } else { 0 };
        finish(&mut p, &mut acc, c.round);
        Some(p)
    }
}

/// Moves what the accumulators hold into the partial.
pub fn finish<const G: usize>(p: &mut Partial, acc: &mut Acc<G>, round: bool) {
    let differing;
    [p.er2, p.r2, p.ulp, p.score, differing] = acc.totals();
    p.differing = if round { differing as u64 } else { 0 };
    p.bias.add(&acc.take_bias());
}

/// Adds the elements `at..at + n`; false when any of them is not plainly right.
#[inline(always)]
fn row_is_fine<V: Vector, E: Elem, const G: usize, const OTHER: bool, const ROUND: bool>(
    v: V,
    c: &Input,
    acc: &mut Acc<G>,
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
    // What a declared flush may do to small results is the slow path's to know.
    if c.flush && value.iter().any(|o| o.abs() < E::MIN_NORMAL && *o != 0.0) {
        return false;
    }
    let k = c.consts;
    let full = n / (LANES * G) * (LANES * G);
    let mut fine = v.bits(u64::MAX);
    if full > 0 {
        let mut sums: [_; G] = std::array::from_fn(|g| acc.load(v, g));
        for i in (0..full).step_by(LANES * G) {
            for (g, sums) in sums.iter_mut().enumerate() {
                let j = i + LANES * g;
                let four = |x: &[f64]| v.load(x[j..j + LANES].try_into().expect("four values"));
                let o = four(value);
                let x = Element {
                    d: v.widen(E::load(device, j)),
                    r: v.widen(E::load(reference, j)),
                    o,
                    other: if OTHER { four(other) } else { o },
                    b: four(bound),
                    m: four(magnitude),
                };
                let f = sums.add::<E, V, OTHER, ROUND>(v, &k, x);
                fine = v.and(fine, v.and(v.and(f.bound, f.exact), v.and(f.explained, f.usable)));
            }
        }
        for (g, sums) in sums.iter().enumerate() {
            acc.store(v, g, sums);
        }
    }
    let mut rest = u64::MAX;
    for j in full..n {
        let (d, r) = (E::get(device, j), E::get(reference, j));
        let x = Element { d, r, o: value[j], other: other[j], b: bound[j], m: magnitude[j] };
        let f = acc.one::<E, OTHER, ROUND>(&k, j - full, x);
        rest &= f.bound.to_bits() & f.exact.to_bits() & f.explained.to_bits() & f.usable.to_bits();
    }
    v.all(fine) && rest == u64::MAX
}
