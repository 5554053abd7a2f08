//! Numerics that several ops share: fixed-order sums, the f32 matmul, their f64 oracles and rounding points. Refuses to know
//! tensors, boards and verdicts: slices in, numbers out.
//!
//! Every f32 function here has one documented order of operations, which is the order of our kernels. Vector units may only run
//! independent sums side by side; Rust neither contracts nor reassociates, so the bits do not depend on the instruction set.

pub mod matmul;
pub mod norm;
pub mod rope;
pub mod rounding;
pub mod tree;

/// Half a step of f32 relative to a value in `[1, 2)`: the unit of every a-priori error.
pub const U: f64 = 1.0 / 16777216.0;

/// Smallest positive f32, 2^-149: the step of a result that underflows.
pub const TINY: f64 = f64::from_bits(((1023 - 149) as u64) << 52);
