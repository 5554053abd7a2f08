//! The per-element arithmetic of the float bars, for any number of lanes. No branch depends on data.

use super::elem::{Elem, Lanes};
use super::partial::{Bias, Energy, RESIDUES};
use super::vector::{LANES, Scalar, Vector};

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
    /// The oracle is safely below overflow, and its bounds are usable.
    pub usable: F,
}

/// Sums of one lane, or of one vector of lanes.
#[derive(Clone, Copy)]
pub struct Sums<F> {
    er2: F,
    r2: F,
    eo2: F,
    o2: F,
    t2: F,
    ulp: F,
    score: F,
    bn: F,
    be: F,
    bs: F,
    differ: F,
}

impl<F: Copy> Sums<F> {
    /// Adds elements to their lanes.
    #[inline(always)]
    pub fn add<E: Elem, V: Vector<F = F>, const OTHER: bool, const ROUND: bool>(
        &mut self,
        v: V,
        k: &Consts,
        x: Element<F>,
    ) -> Flags<F> {
        let f = Lanes::<E, V>::new(v);
        let (mut o, mut e) = (x.o, v.sub(x.d, x.o));
        if OTHER {
            let second = v.sub(x.d, x.other);
            let nearer = v.lt(v.abs(second), v.abs(e));
            o = v.select(nearer, x.other, o);
            e = v.select(nearer, second, e);
        }
        let (er, size, hi) = (v.sub(x.d, x.r), v.abs(e), v.add(v.abs(o), x.b));
        let t = v.add(x.b, v.mul(f.ulp(hi), v.splat(0.5)));
        let unulp = f.unulp(o);
        self.er2 = v.add(self.er2, v.mul(er, er));
        self.r2 = v.add(self.r2, v.mul(x.r, x.r));
        self.eo2 = v.add(self.eo2, v.mul(e, e));
        self.o2 = v.add(self.o2, v.mul(o, o));
        self.t2 = v.add(self.t2, v.mul(t, t));
        let mut slack = v.mul(v.splat(k.slack_m), x.m);
        if E::NARROW {
            slack = v.add(slack, v.mul(v.splat(k.slack_b), x.b));
        }
        self.ulp = v.max(v.mul(v.sub(size, slack), unulp), self.ulp);
        self.score = v.max(v.mul(v.abs(x.d), f.inverse(f.power(t))), self.score);
        let all = v.bits(u64::MAX);
        let zero = v.splat(0.0);
        let (top, top_slack) = (v.lt(hi, v.splat(E::THRESHOLD)), v.lt(slack, v.splat(f64::INFINITY)));
        let mut flags = Flags {
            bound: v.le(size, v.mul(v.splat(k.bound), t)),
            exact: all,
            explained: all,
            usable: v.and(v.and(top, v.le(zero, x.b)), v.and(v.le(zero, slack), top_slack)),
        };
        if OTHER {
            for p in [x.o, x.other] {
                flags.usable = v.and(flags.usable, v.lt(v.add(v.abs(p), x.b), v.splat(E::THRESHOLD)));
            }
        }
        if ROUND {
            self.rounded::<E, V, OTHER>(v, k, &x, o, unulp, &mut flags);
        }
        if !E::NARROW {
            self.be = v.add(self.be, v.mul(e, unulp));
        }
        flags
    }

    /// What depends on R: `path`, `exact` and, for narrow formats, `bias`.
    #[inline(always)]
    fn rounded<E: Elem, V: Vector<F = F>, const OTHER: bool>(
        &mut self,
        v: V,
        k: &Consts,
        x: &Element<F>,
        o: F,
        unulp: F,
        flags: &mut Flags<F>,
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
        self.differ = v.add(self.differ, v.andnot(v.eq(off, zero), one));
        if E::NARROW {
            let normal = v.le(v.splat(E::MIN_NORMAL), v.abs(o));
            let counts = v.and(v.andnot(v.eq(r, o), normal), v.lt(v.abs(r), v.splat(E::MAX)));
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

const ZERO: Sums<f64> = Sums {
    er2: 0.0,
    r2: 0.0,
    eo2: 0.0,
    o2: 0.0,
    t2: 0.0,
    ulp: 0.0,
    score: 0.0,
    bn: 0.0,
    be: 0.0,
    bs: 0.0,
    differ: 0.0,
};

/// Accumulators: `G` vectors of lanes, element `i` of a row in lane `i` modulo `4 G`. The order of every sum follows from `G`
/// alone, never from the machine.
#[derive(Clone, Copy)]
pub struct Acc<const G: usize> {
    /// Lanes of each vector.
    pub lanes: [[Sums<f64>; LANES]; G],
}

impl<const G: usize> Acc<G> {
    /// All zero.
    #[inline(always)]
    pub fn new() -> Self {
        Self { lanes: [[ZERO; LANES]; G] }
    }

    /// Adds one element in lane `l`.
    #[inline(always)]
    pub fn one<E: Elem, const OTHER: bool, const ROUND: bool>(
        &mut self,
        k: &Consts,
        l: usize,
        x: Element<f64>,
    ) -> Flags<f64> {
        self.lanes[l / LANES][l % LANES].add::<E, Scalar, OTHER, ROUND>(Scalar, k, x)
    }

    /// Vector `g` as the machine's lanes.
    #[inline(always)]
    pub fn load<V: Vector>(&self, v: V, g: usize) -> Sums<V::F> {
        let get = |f: fn(&Sums<f64>) -> f64| v.load(std::array::from_fn(|l| f(&self.lanes[g][l])));
        Sums {
            er2: get(|s| s.er2),
            r2: get(|s| s.r2),
            eo2: get(|s| s.eo2),
            o2: get(|s| s.o2),
            t2: get(|s| s.t2),
            ulp: get(|s| s.ulp),
            score: get(|s| s.score),
            bn: get(|s| s.bn),
            be: get(|s| s.be),
            bs: get(|s| s.bs),
            differ: get(|s| s.differ),
        }
    }

    /// Puts vector `g` back.
    #[inline(always)]
    pub fn store<V: Vector>(&mut self, v: V, g: usize, s: &Sums<V::F>) {
        let columns = [s.er2, s.r2, s.eo2, s.o2, s.t2, s.ulp, s.score, s.bn, s.be, s.bs, s.differ].map(|c| v.store(c));
        let [er2, r2, eo2, o2, t2, ulp, score, bn, be, bs, differ] = columns;
        self.lanes[g] = std::array::from_fn(|l| Sums {
            er2: er2[l],
            r2: r2[l],
            eo2: eo2[l],
            o2: o2[l],
            t2: t2[l],
            ulp: ulp[l],
            score: score[l],
            bn: bn[l],
            be: be[l],
            bs: bs[l],
            differ: differ[l],
        });
    }

    /// Ends a row: its sums over `n` elements, and the accumulators ready for the next.
    #[inline(always)]
    pub fn end_row(&mut self, n: u64) -> Energy {
        let energy = Energy { n, e2: self.sum(|s| s.eo2), o2: self.sum(|s| s.o2), t2: self.sum(|s| s.t2) };
        for s in self.lanes.as_flattened_mut() {
            (s.eo2, s.o2, s.t2) = (0.0, 0.0, 0.0);
        }
        energy
    }

    /// Takes the `bias` sums out.
    #[inline(always)]
    pub fn take_bias(&mut self) -> Bias {
        let mut bias = Bias::default();
        for (l, s) in self.lanes.as_flattened_mut().iter_mut().take(RESIDUES).enumerate() {
            (bias.n[l], bias.e[l], bias.s[l]) = (s.bn, s.be, s.bs);
            (s.bn, s.be, s.bs) = (0.0, 0.0, 0.0);
        }
        bias
    }

    /// Sums against the reference, and largest figures: `(er2, r2, ulp, score, differing)`.
    pub fn totals(&self) -> [f64; 5] {
        let most = |f: fn(&Sums<f64>) -> f64| {
            self.lanes.as_flattened().iter().fold(0.0, |a, s| super::partial::worse(f(s), a))
        };
        [self.sum(|s| s.er2), self.sum(|s| s.r2), most(|s| s.ulp), most(|s| s.score), self.sum(|s| s.differ)]
    }

    /// Sum in lane order.
    #[inline(always)]
    fn sum(&self, f: fn(&Sums<f64>) -> f64) -> f64 {
        self.lanes.as_flattened().iter().fold(0.0, |a, s| a + f(s))
    }
}
