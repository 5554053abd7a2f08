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
