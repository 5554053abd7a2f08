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
        let n = span.cols.len();
        let step = Step::<V, E, G>::new(v, c, device, first, n);
        let at = span.elements(len);
        // Asked of the whole span at once; only what skipped rows hold does not matter.
        let finite = E::finite(device) && E::finite(&c.reference[at.start * E::SIZE..at.end * E::SIZE]);
        if !finite && c.skipped.is_empty() {
            return None;
        }
        let mut acc = Acc::<V, G>::new(v);
        let mut p = Partial::default();
        for row in span.rows.clone() {
            if c.skips(row) {
                continue;
            }
            let at = row * len + span.cols.start;
            if !(finite || step.finite(at)) || !step.row::<OTHER, ROUND>(&mut acc, at) {
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
        p.counts.seen = p.energy.n;
        p.counts.exact_seen = if c.consts.exact != 0.0 { p.energy.n } else { 0 };
        finish(&mut p, &mut acc, c.round);
        Some(p)
    }
}

/// Moves what the accumulators hold into the partial.
#[inline(always)]
pub fn finish<V: Vector, const N: usize>(p: &mut Partial, acc: &mut Acc<V, N>, round: bool) {
    let differing;
    [p.er2, p.r2, p.ulp, p.score, differing] = acc.totals();
    p.differing = if round { differing as u64 } else { 0 };
    p.bias.add(&acc.take_bias());
}

/// Adds rows of one length.
struct Step<'a, 'c, V: Vector, E, const G: usize> {
    v: V,
    c: &'a Input<'c>,
    device: &'a [u8],
    /// Element that `device` begins with.
    first: usize,
    /// Elements of a row, and how many of them fill all vectors.
    n: usize,
    full: usize,
    /// Lanes that the rest of a row fills.
    rest: [V::F; G],
    format: PhantomData<E>,
}

impl<'a, 'c, V: Vector, E: Elem, const G: usize> Step<'a, 'c, V, E, G> {
    #[inline(always)]
    fn new(v: V, c: &'a Input<'c>, device: &'a [u8], first: usize, n: usize) -> Self {
        let full = n / (LANES * G) * (LANES * G);
        let lane = |at: usize| f64::from_bits(if full + at < n { u64::MAX } else { 0 });
        let rest = std::array::from_fn(|g| v.load(std::array::from_fn(|l| lane(LANES * g + l))));
        Self { v, c, device, first, n, full, rest, format: PhantomData }
    }

    fn finite(&self, at: usize) -> bool {
        let bytes = |from: usize| from * E::SIZE..(from + self.n) * E::SIZE;
        E::finite(&self.device[bytes(at - self.first)]) && E::finite(&self.c.reference[bytes(at)])
    }

    /// Adds the elements from `at` on, all finite; false when any of them is not plainly right.
    #[inline(always)]
    fn row<const OTHER: bool, const ROUND: bool>(&self, acc: &mut Acc<V, G>, at: usize) -> bool {
        let (v, c) = (self.v, self.c);
        // What a declared flush may do to small results is the slow path's to know.
        if c.flush && c.value[at..at + self.n].iter().any(|o| o.abs() < E::MIN_NORMAL && *o != 0.0) {
            return false;
        }
        let (mut fine, mut signs) = (v.bits(u64::MAX), v.splat(0.0));
        let Self { n, full, .. } = *self;
        let columns = Columns::<E> {
            device: &self.device[(at - self.first) * E::SIZE..],
            reference: &c.reference[at * E::SIZE..],
            value: &c.value[at..],
            other: if OTHER { &c.other[at..] } else { &[] },
            bound: &c.bound[at..],
            magnitude: if c.magnitude.is_empty() { &c.bound[at..] } else { &c.magnitude[at..] },
            format: PhantomData,
        };
        let whole = columns.first(full);
        for i in (0..full).step_by(LANES * G) {
            for (g, sums) in acc.sums.iter_mut().enumerate() {
                let x = whole.elements::<V, OTHER>(v, i + LANES * g);
                let flags = sums.add::<E, V, OTHER, ROUND, false>(v, &c.consts, x, fine);
                (fine, signs) = (v.and(fine, flags.all(v)), v.or(signs, flags.signs));
            }
        }
        for (g, sums) in acc.sums.iter_mut().enumerate() {
            let j = full + LANES * g;
            if j < n {
                let x = columns.padded::<V, OTHER>(v, j);
                let flags = sums.add::<E, V, OTHER, ROUND, true>(v, &c.consts, x, self.rest[g]);
                (fine, signs) = (v.and(fine, flags.all(v)), v.or(signs, flags.signs));
            }
        }
        v.all(fine) && v.unsigned(signs)
    }
}

/// The columns from one element on.
#[derive(Clone, Copy)]
struct Columns<'a, E> {
    device: &'a [u8],
    reference: &'a [u8],
    value: &'a [f64],
    other: &'a [f64],
    bound: &'a [f64],
    magnitude: &'a [f64],
    format: PhantomData<E>,
}

impl<E: Elem> Columns<'_, E> {
    /// The first `n` elements: their length known, no load asks for it again.
    #[inline(always)]
    fn first(&self, n: usize) -> Self {
        Self {
            device: &self.device[..n * E::SIZE],
            reference: &self.reference[..n * E::SIZE],
            value: &self.value[..n],
            other: &self.other[..n.min(self.other.len())],
            bound: &self.bound[..n],
            magnitude: &self.magnitude[..n],
            format: PhantomData,
        }
    }

    /// A vector of elements from element `j` on.
    #[inline(always)]
    fn elements<V: Vector, const OTHER: bool>(&self, v: V, j: usize) -> Element<V::F> {
        let four = |x: &[f64]| v.load(x[j..j + LANES].try_into().expect("four values"));
        let o = four(self.value);
        Element {
            d: v.widen(E::load(self.device, j)),
            r: v.widen(E::load(self.reference, j)),
            o,
            other: if OTHER { four(self.other) } else { o },
            b: four(self.bound),
            m: four(self.magnitude),
        }
    }

    /// The same, zeros past the end.
    #[inline(always)]
    fn padded<V: Vector, const OTHER: bool>(&self, v: V, j: usize) -> Element<V::F> {
        if self.device.len() >= (j + LANES) * E::SIZE {
            return self.elements::<V, OTHER>(v, j);
        }
        let four = |x: &[f64]| v.load(std::array::from_fn(|l| x.get(j + l).copied().unwrap_or(0.0)));
        let values = |x: &[u8]| {
            let mut bytes = [0; LANES * size_of::<f32>()];
            bytes.iter_mut().zip(&x[j * E::SIZE..]).for_each(|(to, from)| *to = *from);
            v.widen(E::load(&bytes, 0))
        };
        let o = four(self.value);
        Element {
            d: values(self.device),
            r: values(self.reference),
            o,
            other: if OTHER { four(self.other) } else { o },
            b: four(self.bound),
            m: four(self.magnitude),
        }
    }
}
