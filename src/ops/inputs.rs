//! Generated input contents of a case.

use super::Plan;
use crate::tensor::codec;

/// Packed logical bytes of each argument of a plan (`In` and `InOut`; empty for the others), in plan order.
#[derive(Clone, Debug)]
pub struct Inputs {
    bytes: Vec<Vec<u8>>,
}

impl Inputs {
    /// Wraps packed bytes, one entry per plan argument.
    pub fn new(bytes: Vec<Vec<u8>>) -> Self {
        Self { bytes }
    }

    /// Packed bytes of argument `i`.
    pub fn bytes(&self, i: usize) -> &[u8] {
        &self.bytes[i]
    }

    fn at(&self, plan: &Plan, name: &str) -> usize {
        plan.args.iter().position(|a| a.name == name).unwrap_or_else(|| panic!("plan has no argument '{name}'"))
    }

    /// Argument `name` decoded to f32, row-major.
    ///
    /// # Panics
    /// When the plan has no such float argument.
    pub fn f32(&self, plan: &Plan, name: &str) -> Vec<f32> {
        let i = self.at(plan, name);
        codec::decode_f32(plan.args[i].view.dtype, &self.bytes[i])
    }

    /// Argument `name` decoded to i64, row-major.
    ///
    /// # Panics
    /// When the plan has no such integer argument.
    pub fn i64(&self, plan: &Plan, name: &str) -> Vec<i64> {
        let i = self.at(plan, name);
        codec::decode_i64(plan.args[i].view.dtype, &self.bytes[i])
    }
}
