//! The per-element arithmetic of the float bars, for any number of lanes. No branch depends on data.

use super::elem::{Elem, Lanes};
use super::partial::{Bias, Energy};
use super::vector::Vector;

/// Constants of an output's bars.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Consts {
    /// Factor on B0 in the slack of `ulp`: 1 for narrow formats, else 0.
    pub slack_b: f64,
    /// Factor on M in the slack of `ulp`: `l32 * 2^-24`.
    pub slack_m: f64,
    /// Factor on B.
    pub bound: f64,
    /// 1 where `exact` is asserted, else 0.
    pub exact: f64,
    /// 1 where `exact` tells +0 from -0, else 0.
    pub zero_sign: f64,
}

/// Elements, everything finite.
#[derive(Clone, Copy)]
pub struct Element<F> {
    /// Device.
    pub d: F,
    /// Reference.
    pub r: F,
    /// Oracle.
    pub o: F,
    /// Second legal pre-rounding value.
    pub other: F,
    /// B0.
    pub b: F,
    /// M.
    pub m: F,
}

/// What elements say by themselves, as masks.
#[derive(Clone, Copy)]
pub struct Flags<F> {
    /// The difference to the oracle is within B.
    pub bound: F,
    /// R's bits where `exact` is asserted.
    pub exact: F,
    /// The value is what rounding something within the declared error gives.
    pub explained: F,
    /// The oracle is safely below overflow, and its bounds are finite.
    pub usable: F,
    /// Bounds, for their signs alone: one that is negative is not usable.
    pub signs: F,
}

impl<F: Copy> Flags<F> {
    /// All masks together.
    #[inline(always)]
    pub fn all<V: Vector<F = F>>(&self, v: V) -> F {
        v.and(v.and(self.bound, self.exact), v.and(self.explained, self.usable))
    }
}

/// Sums of one lane, or of one vector of lanes.
#[derive(Clone, Copy)]
pub struct Sums<F> {
    er2: F,
    r2: F,
    eo2: F,
    o2: F,
    t2: F,
    /// Largest error in steps.
    pub ulp: F,
    score: F,
    bn: F,
    be: F,
    bs: F,
    differ: F,
}

impl<F: Copy> Sums<F> {
    /// Adds elements to their lanes; with `PART` to those in `mask` alone, the others' flags then read as set.
    #[inline(always)]
    pub fn add<E: Elem, V: Vector<F = F>, const OTHER: bool, const ROUND: bool, const PART: bool>(
        &mut self,
        v: V,
        k: &Consts,
        x: Element<F>,
        mask: F,
    ) -> Flags<F> {
        let f = Lanes::<E, V>::new(v);
        // No sum is ever -0 and no maximum below 0, so that a zero changes neither.
        let keep = |term: F| if PART { v.and(mask, term) } else { term };
        let (mut o, mut e) = (x.o, v.sub(x.d, x.o));
        if OTHER {
            let second = v.sub(x.d, x.other);
            let nearer = v.lt(v.abs(second), v.abs(e));
            o = v.select(nearer, x.other, o);
            e = v.select(nearer, second, e);
        }
        let (er, size, hi) = (v.sub(x.d, x.r), v.abs(e), v.add(v.abs(o), x.b));
        let t = v.add(x.b, f.half_ulp(hi));
        let unulp = f.unulp(o);
        self.er2 = v.add(self.er2, keep(v.mul(er, er)));
        self.r2 = v.add(self.r2, keep(v.mul(x.r, x.r)));
        self.eo2 = v.add(self.eo2, keep(v.mul(e, e)));
        self.o2 = v.add(self.o2, keep(v.mul(o, o)));
        self.t2 = v.add(self.t2, keep(v.mul(t, t)));
        let mut slack = v.mul(v.splat(k.slack_m), x.m);
        if E::NARROW {
            slack = v.add(slack, v.mul(v.splat(k.slack_b), x.b));
        }
        self.ulp = v.max(keep(v.mul(v.sub(size, slack), unulp)), self.ulp);
        self.score = v.max(keep(v.mul(v.abs(x.d), f.inverse(f.power(t)))), self.score);
        let all = v.bits(u64::MAX);
        let (top, top_slack) = (v.lt(hi, v.splat(E::THRESHOLD)), v.lt(slack, v.splat(f64::INFINITY)));
        let mut flags = Flags {
            bound: v.le(size, v.mul(v.splat(k.bound), t)),
            exact: all,
            explained: all,
            usable: v.and(top, top_slack),
            signs: keep(v.or(x.b, slack)),
        };
        if OTHER {
            for p in [x.o, x.other] {
                flags.usable = v.and(flags.usable, v.lt(v.add(v.abs(p), x.b), v.splat(E::THRESHOLD)));
            }
        }
        if ROUND {
            self.rounded::<E, V, OTHER>(v, k, &x, o, unulp, &mut flags, keep);
        }
        if !E::NARROW {
            self.be = v.add(self.be, keep(v.mul(e, unulp)));
        }
        if PART {
            let or = |flag| v.or(flag, v.andnot(mask, all));
            flags = Flags {
                bound: or(flags.bound),
                exact: or(flags.exact),
                explained: or(flags.explained),
                usable: or(flags.usable),
                signs: flags.signs,
            };
        }
        flags
    }

    /// What depends on R: `path`, `exact` and, for narrow formats, `bias`.
    #[inline(always)]
    #[allow(clippy::too_many_arguments)]
    fn rounded<E: Elem, V: Vector<F = F>, const OTHER: bool>(
        &mut self,
        v: V,
        k: &Consts,
        x: &Element<F>,
        o: F,
        unulp: F,
        flags: &mut Flags<F>,
        keep: impl Fn(F) -> F,
    ) {
        let f = Lanes::<E, V>::new(v);
        let within = |p: F| v.and(v.le(f.round(v.sub(p, x.b)), x.d), v.le(x.d, f.round(v.add(p, x.b))));
        let mut r = f.round(o);
        if OTHER {
            // The nearer of the two need not be the one whose rounding the device has.
            for p in [x.o, x.other] {
                let candidate = f.round(p);
                r = v.select(v.eq(x.d, candidate), candidate, r);
            }
            flags.explained = v.or(within(x.o), within(x.other));
        } else {
            flags.explained = within(o);
        }
        let off = v.sub(x.d, r);
        let (one, zero) = (v.splat(1.0), v.splat(0.0));
        let sign = |p: F| v.mul(v.with_sign(one, p), v.splat(k.zero_sign));
        flags.exact = v.and(v.eq(v.mul(off, v.splat(k.exact)), zero), v.eq(sign(x.d), sign(r)));
        self.differ = v.add(self.differ, keep(v.andnot(v.eq(off, zero), one)));
        if E::NARROW {
            let normal = v.le(v.splat(E::MIN_NORMAL), v.abs(o));
            let counts = keep(v.and(v.andnot(v.eq(r, o), normal), v.lt(v.abs(r), v.splat(E::MAX))));
            let steps = v.and(counts, v.mul(off, unulp));
            self.bn = v.add(self.bn, v.and(counts, one));
            self.be = v.add(self.be, steps);
            self.bs = v.add(self.bs, v.mul(steps, v.with_sign(one, o)));
        }
    }
}

impl Sums<f64> {
    /// Spoils every difference figure of the lane: a result that is not finite where the oracle is.
    pub fn spoil(&mut self) {
        self.er2 = f64::INFINITY;
        self.eo2 = f64::INFINITY;
        self.ulp = f64::INFINITY;
        self.differ += 1.0;
    }
}

/// Accumulators: `N` vectors of lanes, element `i` of a row in lane `i` modulo their number. The order of every sum follows from
/// that number alone, never from the machine.
pub struct Acc<V: Vector, const N: usize> {
    v: V,
    /// The vectors.
    pub sums: [Sums<V::F>; N],
}

impl<V: Vector, const N: usize> Acc<V, N> {
    /// All zero.
    #[inline(always)]
    pub fn new(v: V) -> Self {
        let z = v.splat(0.0);
        let zero = Sums { er2: z, r2: z, eo2: z, o2: z, t2: z, ulp: z, score: z, bn: z, be: z, bs: z, differ: z };
        Self { v, sums: [zero; N] }
    }

    /// Ends a row: its sums over `n` elements, and the accumulators ready for the next.
    #[inline(always)]
    pub fn end_row(&mut self, n: u64) -> Energy {
        let energy = Energy { n, e2: self.sum(|s| s.eo2), o2: self.sum(|s| s.o2), t2: self.sum(|s| s.t2) };
        let zero = self.v.splat(0.0);
        for s in &mut self.sums {
            (s.eo2, s.o2, s.t2) = (zero, zero, zero);
        }
        energy
    }

    /// Takes the `bias` sums out.
    #[inline(always)]
    pub fn take_bias(&mut self) -> Bias {
        let mut bias = Bias::default();
        let zero = self.v.splat(0.0);
        for (i, s) in self.sums.iter_mut().enumerate() {
            let (n, e, t) = (self.v.store(s.bn), self.v.store(s.be), self.v.store(s.bs));
            for l in 0..V::WIDTH {
                let at = i * V::WIDTH + l;
                (bias.n[at], bias.e[at], bias.s[at]) = (n[l], e[l], t[l]);
            }
            (s.bn, s.be, s.bs) = (zero, zero, zero);
        }
        bias
    }

    /// Sums against the reference, and largest figures: `(er2, r2, ulp, score, differing)`.
    #[inline(always)]
    pub fn totals(&self) -> [f64; 5] {
        let worse = super::partial::worse;
        let (ulp, score) = (self.fold(|s| s.ulp, |a, x| worse(x, a)), self.fold(|s| s.score, |a, x| worse(x, a)));
        [self.sum(|s| s.er2), self.sum(|s| s.r2), ulp, score, self.sum(|s| s.differ)]
    }

    /// Sum in lane order.
    #[inline(always)]
    fn sum(&self, column: impl Fn(&Sums<V::F>) -> V::F) -> f64 {
        self.fold(column, |a, x| a + x)
    }

    #[inline(always)]
    fn fold(&self, column: impl Fn(&Sums<V::F>) -> V::F, f: impl Fn(f64, f64) -> f64) -> f64 {
        let mut a = 0.0;
        for s in &self.sums {
            let lanes = self.v.store(column(s));
            for &x in &lanes[..V::WIDTH] {
                a = f(a, x);
            }
        }
        a
    }
}
