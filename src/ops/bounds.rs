//! A-priori error bounds before the output rounding (`B0`), shared by ops. Refuses to be tuned: each follows from the count of
//! roundings on the declared path, and each op's tests show the worst ratio over its suite.
//!
//! Arithmetic is f32 to nearest even, without contraction; contraction only removes roundings.

use crate::tensor::pow2;

/// Unit roundoff of f32, 2^-24.
pub const U: f64 = 1.0 / 16_777_216.0;

/// Half a subnormal step of f32: what one product or quotient loses below the normal range. Sums lose nothing there.
pub const UNDERFLOW: f64 = f64::from_bits((1023 - 150) << 52);

/// Ulps that a device's `expf` may err.
pub const EXP_ULPS: f64 = 2.0;

/// `n / (1 - n*u)`: first-order growth of `n` roundings, with all higher orders. Only for `n*u < 0.1`; longer sums are tiled.
pub fn growth(n: usize) -> f64 {
    let n = n as f64;
    debug_assert!(n * U < 0.1, "{n} terms are too many for one sum");
    n / (1.0 - n * U)
}

/// Sum of `n` f32 terms in any order, a product each or not: `magnitude` is the sum of the absolute terms, `o` the sum.
/// The smaller of the worst case and a probabilistic bound; terms must not be long runs of equal values that cancel (there use
/// [`sum_worst`]).
pub fn sum(n: usize, magnitude: f64, o: f64) -> f64 {
    let walk = 8.0 * (n as f64).sqrt() * magnitude + n as f64 * o.abs();
    U * (growth(n) * magnitude).min(walk) + n as f64 * pow2(-149)
}

/// Sum of `n` f32 terms in any order, in the worst case.
pub fn sum_worst(n: usize, magnitude: f64) -> f64 {
    U * growth(n) * magnitude + n as f64 * pow2(-149)
}

/// Sum of `n` f32 terms by 256 strided partials and a binary tree: no term passes through more than `ceil(n/256) + 9` roundings.
pub fn sum_tree(n: usize, magnitude: f64) -> f64 {
    U * growth(n.div_ceil(256) + 9) * magnitude + n as f64 * pow2(-149)
}

/// One f32 sum or product `o` (given in f64) before its store: nothing where f32 holds it exactly; else its own rounding when the
/// output is narrower, and only the oracle's when the store is that rounding.
pub fn one_operation(o: f64, f32_output: bool) -> f64 {
    if !o.is_finite() || (o as f32) as f64 == o {
        0.0
    } else if f32_output {
        o.abs() * pow2(-53)
    } else {
        o.abs() * (U + pow2(-53)) + UNDERFLOW
    }
}

/// silu(g) = g/(1+exp(-g)) in f32, before any further rounding: exp, sum and quotient. `silu` is the exact value. For `g >= -88`
/// only; below, the exponential may overflow and the quotient is then -0.
pub fn silu(silu: f64) -> f64 {
    silu.abs() * (2.0 * EXP_ULPS + 2.0) * U + UNDERFLOW
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(i: usize) -> f32 {
        let x = (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        x as f32 / 8_388_608.0 - 1.0
    }

    /// Terms of three characters: random signs, all positive, one cancelling pair about a large rest.
    fn terms(kind: usize, n: usize) -> Vec<f32> {
        (0..n)
            .map(|i| match kind {
                0 => noise(i),
                1 => noise(i).abs() + 0.1,
                _ if i < n / 2 => noise(i) * 1e3,
                _ => -noise(i - n / 2) * 1e3 + noise(i) * 1e-3,
            })
            .collect()
    }

    fn tree(x: &[f32]) -> f32 {
        let mut partial = [0f32; 256];
        for (i, v) in x.iter().enumerate() {
            partial[i % 256] += v;
        }
        let mut half = 128;
        while half > 0 {
            for i in 0..half {
                partial[i] += partial[i + half];
            }
            half /= 2;
        }
        partial[0]
    }

    #[test]
    fn sums_in_every_order_stay_within_their_bounds() {
        let mut worst = [0f64; 3];
        for kind in 0..3 {
            for n in [1, 2, 17, 255, 256, 257, 5120, 16384] {
                let x = terms(kind, n);
                let exact: f64 = x.iter().map(|&v| v as f64).sum();
                let magnitude: f64 = x.iter().map(|&v| v.abs() as f64).sum();
                let sequential = x.iter().fold(0f32, |a, v| a + v) as f64;
                let error = (sequential - exact).abs();
                worst[0] = worst[0].max(error / sum(n, magnitude, exact));
                worst[1] = worst[1].max(error / sum_worst(n, magnitude));
                worst[2] = worst[2].max((tree(&x) as f64 - exact).abs() / sum_tree(n, magnitude));
            }
        }
        println!("worst ratios: sum {:.3}, worst case {:.3}, tree {:.3}", worst[0], worst[1], worst[2]);
        assert!(worst.iter().all(|&w| w <= 1.0), "{worst:?}");
    }

    #[test]
    fn the_growth_of_one_rounding_is_a_little_over_one() {
        assert!(growth(1) > 1.0 && growth(1) < 1.000_001);
        assert_eq!(growth(0), 0.0);
    }

    #[test]
    fn one_operation_is_within_half_a_step_of_f32() {
        for i in 0..100_000 {
            let (a, b) = (noise(i), noise(i + 7_777_777));
            for (exact, got) in [(a as f64 + b as f64, a + b), (a as f64 * b as f64, a * b)] {
                assert!((got as f64 - exact).abs() <= one_operation(exact, false));
            }
        }
        assert_eq!(one_operation(f64::INFINITY, false), 0.0);
    }

    #[test]
    fn silu_in_f32_is_within_its_bound_from_tiny_to_huge_arguments() {
        let mut worst = 0f64;
        for i in 0..400_000 {
            let g = noise(i) * if i % 2 == 0 { 8.0 } else { 88.0 } * if i % 7 == 0 { 1e-6 } else { 1.0 };
            let exact = g as f64 / (1.0 + libm::exp(-g as f64));
            let got = g / (1.0 + libm::expf(-g));
            worst = worst.max((got as f64 - exact).abs() / silu(exact));
        }
        println!("silu: worst ratio {worst:.3}");
        assert!(worst <= 1.0, "{worst}");
    }
}
