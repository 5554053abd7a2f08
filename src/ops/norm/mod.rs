//! Normalisations. Each holds its statistics in f32 and rounds an element once, at the store.

pub mod fused_norm_rope;
pub mod rms_norm;

/// Threads of a block: the width of the sum's tree, a multiple of both wave widths.
const BLOCK: u32 = 256;

/// Blocks at most. A block works through rows `blockIdx, blockIdx + gridDim, ...`, so that no row count meets a launch limit;
/// small enough that the default suites walk more than once.
const MAX_BLOCKS: usize = 512;

/// Data kinds of a normalised input. `overflow` is left out: the sum of squares would overflow f32 before the result does.
const DATA: &[&str] = &[
    "normal",
    "uniform",
    "log_uniform",
    "exact_int",
    "cancel",
    "outlier",
    "row_scaled",
    "all_negative",
    "zero_row",
    "constant",
    "subnormal",
    "ties",
    "special",
];

/// Limit of the ulp bar for f32: a tree reduction.
const TREE_ULPS: f64 = 8.0;
