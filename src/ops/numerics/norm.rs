//! RMS normalisation of one row: the f32 reference and the f64 oracle with its bound.

use super::tree;
use crate::ops::bounds::{U, UNDERFLOW};

/// `1 / sqrt(mean(v^2) + eps)` in f32, one rounding per operation; the sum is [`tree::sum_of_squares`].
#[inline(always)]
pub fn inverse_rms(row: &[f32], eps: f32) -> f32 {
    1.0 / (tree::sum_of_squares(row) / row.len() as f32 + eps).sqrt()
}

/// `(v * inv) * w` with `w + 1` in f32 for gemma, elementwise into `out`.
#[inline(always)]
pub fn scale(row: &[f32], inv: f32, w: &[f32], gemma: bool, out: &mut [f32]) {
    for ((o, v), w) in out.iter_mut().zip(row).zip(w) {
        let w = if gemma { w + 1.0 } else { *w };
        *o = (v * inv) * w;
    }
}

/// The oracle of one row, before the output rounding.
#[derive(Clone, Copy, Debug)]
pub struct RowOracle {
    /// `1 / sqrt(mean(v^2) + eps)`.
    inv: f64,
    /// Relative error of every output of the row.
    relative: f64,
    /// The contract adds 1 to the weight.
    gemma: bool,
}

impl RowOracle {
    /// From the row as the contract reads it. `slack` is the sum over its elements of how far `v^2` may be off because an inner
    /// rounding had two legal results; `roundings` counts f32 roundings of the elements themselves before the norm.
    ///
    /// B0 = |o| (q + 6 + gemma + 2 roundings) u + slack and underflow terms, q = min(n/2, 4 sqrt(n) + n/8).
    #[inline(always)]
    pub fn new(row: &[f64], eps: f64, gemma: bool, slack: f64, roundings: f64) -> Self {
        let n = row.len() as f64;
        let mean = tree::sum_of_squares_f64(row) / n + eps;
        let q = (n / 2.0).min(4.0 * n.sqrt() + n / 8.0);
        let steps = q + 6.0 + if gemma { 1.0 } else { 0.0 } + 2.0 * roundings;
        // Squares that underflow lose up to half a tiny step each; half of a relative error of the mean reaches the result.
        let relative = steps * U + (slack / n + UNDERFLOW) / (2.0 * mean);
        Self { inv: 1.0 / mean.sqrt(), relative, gemma }
    }

    /// The output for element `v` under weight `w`.
    #[inline(always)]
    pub fn value(&self, v: f64, w: f64) -> f64 {
        v * self.inv * self.weight(w)
    }

    /// B0 of an output `o` under weight `w`; both products may underflow. 0 where `o` is not finite.
    #[inline(always)]
    pub fn bound(&self, o: f64, w: f64) -> f64 {
        let b = o.abs() * self.relative + UNDERFLOW * (1.0 + self.weight(w).abs());
        if o.is_finite() { b } else { 0.0 }
    }

    #[inline(always)]
    fn weight(&self, w: f64) -> f64 {
        if self.gemma { w + 1.0 } else { w }
    }
}
