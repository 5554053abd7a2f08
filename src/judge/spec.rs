//! What an op declares about an output, and what the judge is given. Plain values; limits are carried, not interpreted, by others.

use crate::tensor::DType;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The class of an output: it decides which bars apply (docs/bars.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// Bytes moved: exact.
    Copy,
    /// Float results with rounding.
    Rounded,
    /// Integers: exact.
    Integer,
}

/// How far two launches with the same inputs must agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Determinism {
    /// Byte for byte.
    Bytes,
    /// Verdicts only (float atomics): every launch is judged by the bars.
    None,
}

/// Which bits of a rounded output must equal the oracle's rounding exactly (`exact` bar on top of the class's bars).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exact {
    /// Not asserted.
    No,
    /// Every element that is no NaN has R's bits (casts).
    NonNan,
    /// As `NonNan`, with +0 and -0 equal (`exact_int` fixtures of sums and products).
    ZeroSignFree,
}

/// The `ulp` bar: abs(d-o) <= L*ulp(o) + l32*2^-24*M.
///
/// For f16 and bf16 outputs the judge derives L = 0.51 + B0/ulp(o) per element and ignores `l`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UlpLimit {
    /// L for f32 outputs: 1 for one + - * / sqrt, 4 for one exp, 8 for a tree reduction. `None`: the figure is reported and not asserted.
    pub l: Option<f64>,
    /// Count of f32 roundings in units of M, the magnitude column; 0 when the op cannot cancel (then M counts as 0).
    pub l32: f64,
}

/// Flush-to-zero declared by the board fact and admitted by the contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Flush {
    /// Subnormal inputs may be read as zero.
    pub inputs: bool,
    /// Subnormal results may be stored as zero of the same sign.
    pub outputs: bool,
}

/// Everything an op declares about one output.
#[derive(Clone, Debug)]
pub struct OutputSpec {
    /// Class of the output.
    pub class: Class,
    /// Logical trailing elements that make one unit row (row, token, token x head).
    pub row_len: usize,
    /// Rows the op must not write (skipped slots, out-of-range positions); empty = every row is written. Indexed by unit row.
    pub skipped_rows: Vec<bool>,
    /// Agreement between launches.
    pub determinism: Determinism,
    /// Bit equality with R.
    pub exact: Exact,
    /// The ulp bar.
    pub ulp: UlpLimit,
    /// The op has rounding points before the output's, or a narrow output: the `path` bar applies.
    pub path: bool,
    /// Non-finite oracle values are the declared outcome here (propagation, overflow). When false a non-finite R makes the case ERROR.
    pub non_finite_declared: bool,
    /// Set when no canary can be material by design (zero rows, empty, constant).
    pub degenerate: Option<&'static str>,
}

/// Oracle columns of one output, one entry per logical element in row-major order, skipped rows included.
#[derive(Clone, Debug, Default)]
pub struct Oracle {
    /// `o`: f64 along the declared rounding path, before the output rounding.
    pub value: Vec<f64>,
    /// Second legal pre-rounding value where an inner rounding point lay within its error of a midpoint; equal to `value` elsewhere.
    /// Empty when the op has no inner rounding point.
    pub other: Vec<f64>,
    /// `B0`: a-priori error before the output rounding. Must be finite and >= 0 wherever `value` is finite.
    pub bound: Vec<f64>,
    /// `M`: sum of the absolute terms, for ops that can cancel; empty otherwise.
    pub magnitude: Vec<f64>,
}

/// Overrides of bar limits, by bar name (`ulp`, `nmse`, `row_nmse`, `bias`, `bound`), as a suite gives them.
pub type BarLimits = BTreeMap<String, f64>;

/// One output of one case as the judge sees it: packed logical elements, row-major.
#[derive(Clone, Copy)]
pub struct Output<'a> {
    /// Name of the output argument.
    pub name: &'a str,
    /// Element type.
    pub dtype: DType,
    /// Logical shape.
    pub shape: &'a [usize],
    /// Declared properties.
    pub spec: &'a OutputSpec,
    /// Device bytes of the accepted launch.
    pub device: &'a [u8],
    /// Reference-tier bytes.
    pub reference: &'a [u8],
    /// Oracle columns along the declared path.
    pub oracle: &'a Oracle,
    /// Oracle columns of the op's other named paths, for the report.
    pub other_paths: &'a [(&'static str, Oracle)],
    /// Limits from the suite, already checked to be finite and >= 0.
    pub limits: &'a BarLimits,
    /// Flush-to-zero that the board declares and the contract admits.
    pub flush: Flush,
}
