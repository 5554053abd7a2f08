//! Inner rounding points: the value a contract stores and re-reads, with both neighbours where either is legal.

use crate::tensor::{DType, codec};

/// `x` rounded to nearest even into `dtype`, straight from f64.
pub fn round(dtype: DType, x: f64) -> f64 {
    match dtype {
        DType::F32 => codec::f64_to_f32(x) as f64,
        _ => codec::round_to(x, dtype.float().expect("contracts round into float formats only")),
    }
}

/// The rounding of `x` and the other legal one: they differ where `x` lies within `err` of a midpoint.
pub fn neighbours(dtype: DType, x: f64, err: f64) -> (f64, f64) {
    let first = round(dtype, x);
    if err == 0.0 || !first.is_finite() {
        return (first, first);
    }
    let (low, high) = (round(dtype, x - err), round(dtype, x + err));
    (first, if low != first { low } else { high })
}

/// The error of one f32 operation whose exact result is `x`: zero where `x` is an f32, else half a step.
pub fn f32_error(x: f64) -> f64 {
    if (x as f32) as f64 == x || !x.is_finite() {
        return 0.0;
    }
    DType::F32.float().expect("f32 is a float").ulp(x) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_neighbours_are_carried_only_about_a_midpoint() {
        let mid = 1.0 + 1.0 / 256.0; // between the bf16 values 1 and 1 + 2^-7
        assert_eq!(neighbours(DType::Bf16, mid, 1e-9), (1.0, 1.0078125));
        assert_eq!(neighbours(DType::Bf16, mid + 1e-8, 1e-7), (1.0078125, 1.0));
        assert_eq!(neighbours(DType::Bf16, mid + 1e-6, 1e-7), (1.0078125, 1.0078125));
        assert_eq!(neighbours(DType::Bf16, mid, 0.0), (1.0, 1.0));
    }

    #[test]
    fn an_exact_sum_has_no_error_and_an_inexact_one_half_a_step() {
        assert_eq!(f32_error(1.5), 0.0);
        assert_eq!(f32_error(1.0 + 2f64.powi(-30)), 2f64.powi(-24));
        assert_eq!(f32_error(f64::INFINITY), 0.0);
    }
}
