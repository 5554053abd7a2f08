//! Matrix products.

pub mod matmul_bt;
