//! The per-element arithmetic of the float bars, written so that the compiler turns it into vectors. No branch depends on data.

use super::elem::{Elem, inverse, larger, power};
use super::partial::{Bias, Energy, RESIDUES};

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

/// One element, everything finite.
#[derive(Clone, Copy)]
pub struct Element {
    /// Device.
    pub d: f64,
    /// Reference.
    pub r: f64,
    /// Oracle.
    pub o: f64,
    /// Second legal pre-rounding value.
    pub other: f64,
    /// B0.
    pub b: f64,
    /// M.
    pub m: f64,
}

/// What a single element says by itself.
#[derive(Clone, Copy)]
pub struct Flags {
    /// The difference to the oracle is within B.
    pub bound: bool,
    /// R's bits where `exact` is asserted.
    pub exact: bool,
    /// The value is what rounding something within the declared error gives.
    pub explained: bool,
    /// The oracle is safely below overflow, and its bounds are usable.
    pub usable: bool,
}

/// Accumulators, one lane per element modulo `N`. The order of every sum is fixed by `N`, never by the machine.
#[derive(Clone, Copy)]
pub struct Acc<const N: usize> {
    /// Sum of `(d-r)^2`.
    pub er2: [f64; N],
    /// Sum of `r^2`.
    pub r2: [f64; N],
    /// Sum of `(d-o)^2` of the row.
    pub eo2: [f64; N],
    /// Sum of `o^2` of the row.
    pub o2: [f64; N],
    /// Sum of `T^2` of the row.
    pub t2: [f64; N],
    /// Largest error in steps.
    pub ulp: [f64; N],
    /// Largest canary score.
    pub score: [f64; N],
    /// Counting elements of `bias`.
    pub bn: [f64; N],
    /// Sum of e.
    pub be: [f64; N],
    /// Sum of sign(o)*e.
    pub bs: [f64; N],
    /// Elements that differ from R.
    pub differ: [f64; N],
}

impl<const N: usize> Acc<N> {
    /// All zero.
    #[inline(always)]
    pub fn new() -> Self {
        let z = [0.0; N];
        Self { er2: z, r2: z, eo2: z, o2: z, t2: z, ulp: z, score: z, bn: z, be: z, bs: z, differ: z }
    }

    /// Adds element `x` in lane `l`.
    #[inline(always)]
    pub fn lane<E: Elem, const OTHER: bool, const ROUND: bool>(&mut self, k: &Consts, l: usize, x: Element) -> Flags {
        let (mut o, mut e) = (x.o, x.d - x.o);
        if OTHER {
            let second = x.d - x.other;
            let nearer = second.abs() < e.abs();
            o = if nearer { x.other } else { o };
            e = if nearer { second } else { e };
        }
        let (er, hi) = (x.d - x.r, o.abs() + x.b);
        let t = x.b + E::ulp(hi) * 0.5;
        let unulp = E::unulp(o);
        self.er2[l] += er * er;
        self.r2[l] += x.r * x.r;
        self.eo2[l] += e * e;
        self.o2[l] += o * o;
        self.t2[l] += t * t;
        let slack = if E::NARROW { k.slack_b * x.b + k.slack_m * x.m } else { k.slack_m * x.m };
        self.ulp[l] = larger((e.abs() - slack) * unulp, self.ulp[l]);
        self.score[l] = larger(x.d.abs() * inverse(power(t)), self.score[l]);
        let mut flags = Flags {
            bound: e.abs() <= k.bound * t,
            exact: true,
            explained: true,
            usable: (hi < E::THRESHOLD) & (x.b >= 0.0) & (slack >= 0.0) & (slack < f64::INFINITY),
        };
        if OTHER {
            flags.usable &= (x.o.abs() + x.b < E::THRESHOLD) & (x.other.abs() + x.b < E::THRESHOLD);
        }
        if ROUND {
            let mut rounded = E::round(o);
            let (low, high) = (E::round(o - x.b), E::round(o + x.b));
            flags.explained = (low <= x.d) & (x.d <= high);
            if OTHER {
                // The nearer of the two need not be the one whose rounding the device has.
                let (a, b) = (E::round(x.o), E::round(x.other));
                rounded = if x.d == a { a } else { rounded };
                rounded = if x.d == b { b } else { rounded };
                let in_o = (E::round(x.o - x.b) <= x.d) & (x.d <= E::round(x.o + x.b));
                let in_other = (E::round(x.other - x.b) <= x.d) & (x.d <= E::round(x.other + x.b));
                flags.explained = in_o | in_other;
            }
            let off = x.d - rounded;
            let sign = |v: f64| 1f64.copysign(v) * k.zero_sign;
            flags.exact = (off * k.exact == 0.0) & (sign(x.d) == sign(rounded));
            self.differ[l] += if off == 0.0 { 0.0 } else { 1.0 };
            if E::NARROW {
                let counts = (o.abs() >= E::MIN_NORMAL) & (rounded != o) & (rounded.abs() < E::MAX);
                let steps = if counts { off * unulp } else { 0.0 };
                self.bn[l] += if counts { 1.0 } else { 0.0 };
                self.be[l] += steps;
                self.bs[l] += steps * 1f64.copysign(o);
            }
        }
        if !E::NARROW {
            self.be[l] += e * unulp;
        }
        flags
    }

    /// Ends a row: its sums over `n` elements, and the accumulators ready for the next.
    #[inline(always)]
    pub fn end_row(&mut self, n: u64) -> Energy {
        let energy = Energy { n, e2: sum(&self.eo2), o2: sum(&self.o2), t2: sum(&self.t2) };
        self.eo2 = [0.0; N];
        self.o2 = [0.0; N];
        self.t2 = [0.0; N];
        energy
    }

    /// Takes the `bias` sums out.
    #[inline(always)]
    pub fn take_bias(&mut self) -> Bias {
        let mut bias = Bias::default();
        for l in 0..N.min(RESIDUES) {
            bias.n[l] = self.bn[l];
            bias.e[l] = self.be[l];
            bias.s[l] = self.bs[l];
        }
        self.bn = [0.0; N];
        self.be = [0.0; N];
        self.bs = [0.0; N];
        bias
    }
}

/// Sum in lane order.
#[inline(always)]
pub fn sum<const N: usize>(v: &[f64; N]) -> f64 {
    v.iter().fold(0.0, |a, b| a + b)
}
