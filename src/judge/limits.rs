//! Limits of the bars: derived from dtype and op, then tightened or visibly loosened by a suite.

use super::error::JudgeError;
use super::spec::{BarLimits, OutputSpec};
use crate::tensor::DType;

/// Whole-output and row NMSE of the field.
pub const NMSE: f64 = 5e-4;
/// Largest mean rounding error, in steps of the format.
pub const BIAS: f64 = 0.05;
/// Half a step of a narrow format, plus room for the f64 arithmetic of the judge.
pub const NARROW_ULP: f64 = 0.51;
/// Counting elements below which a mean says nothing.
pub const BIAS_MIN: f64 = 256.0;

/// Limits of one output.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// `nmse`, against the reference and against the oracle.
    pub nmse: f64,
    /// `row_nmse`.
    pub row_nmse: f64,
    /// `ulp`: steps left after the declared error is taken off. `None`: reported only.
    pub ulp: Option<f64>,
    /// `bound`: factor on B (1; a suite may tighten it).
    pub bound: f64,
    /// `bias`.
    pub bias: f64,
}

impl Limits {
    /// The limits that follow from format and op alone. `dtype` must be a float.
    pub fn derived(dtype: DType, spec: &OutputSpec) -> Self {
        let (row_nmse, ulp) = match dtype {
            DType::F16 => (1e-6, Some(NARROW_ULP)),
            DType::Bf16 => (6e-5, Some(NARROW_ULP)),
            _ => (1e-9, spec.ulp.l),
        };
        Self { nmse: NMSE, row_nmse, ulp, bound: 1.0, bias: BIAS }
    }

    /// The limits with a suite's overrides.
    ///
    /// # Errors
    /// A limit that is NaN, negative or infinite, or that names a bar without a limit.
    pub fn with(self, on: &str, given: &BarLimits) -> Result<Self, JudgeError> {
        let mut out = self;
        for (bar, &value) in given {
            if !(value.is_finite() && value >= 0.0) {
                return Err(JudgeError::BadLimit { on: on.into(), bar: bar.clone(), value });
            }
            match bar.as_str() {
                "nmse" => out.nmse = value,
                "row_nmse" => out.row_nmse = value,
                "ulp" => out.ulp = Some(value),
                "bound" => out.bound = value,
                "bias" => out.bias = value,
                _ => return Err(JudgeError::UnknownLimit { on: on.into(), bar: bar.clone() }),
            }
        }
        Ok(out)
    }

    /// The mark that a limit looser than the derived one carries in every report.
    pub fn loosened(derived: f64, used: f64) -> Option<String> {
        (used > derived).then(|| format!("loosened from {derived:e} to {used:e}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::spec::{Class, Determinism, Exact, UlpLimit};

    fn spec() -> OutputSpec {
        OutputSpec {
            class: Class::Rounded,
            row_len: 4,
            skipped_rows: vec![],
            determinism: Determinism::Bytes,
            exact: Exact::No,
            ulp: UlpLimit { l: Some(1.0), l32: 0.0 },
            path: false,
            non_finite_declared: false,
            degenerate: None,
        }
    }

    #[test]
    fn limits_that_are_no_limits_are_refused() {
        let derived = Limits::derived(DType::F32, &spec());
        for bad in [f64::NAN, -1.0, f64::INFINITY, f64::NEG_INFINITY, -1e-300] {
            let given = BarLimits::from([("ulp".into(), bad)]);
            assert!(matches!(derived.with("y", &given), Err(JudgeError::BadLimit { .. })), "{bad}");
        }
        let given = BarLimits::from([("upl".into(), 1.0)]);
        assert!(matches!(derived.with("y", &given), Err(JudgeError::UnknownLimit { .. })));
    }

    #[test]
    fn a_looser_limit_is_marked_and_a_tighter_one_is_not() {
        assert_eq!(Limits::loosened(5e-4, 1e-2).as_deref(), Some("loosened from 5e-4 to 1e-2"));
        assert_eq!(Limits::loosened(5e-4, 5e-4), None);
        assert_eq!(Limits::loosened(5e-4, 1e-9), None);
    }

    #[test]
    fn each_format_has_its_own_row_limit() {
        let row = |d| Limits::derived(d, &spec()).row_nmse;
        assert_eq!((row(DType::F32), row(DType::F16), row(DType::Bf16)), (1e-9, 1e-6, 6e-5));
    }
}
