//! Right answers in other orders: rms_norm and matmul_bt evaluated with their sums re-ordered ten ways. A bar that fails one of
//! them, or a canary that one of them blinds, is wrong. For tests only; refuses to be a reference.

use super::numerics::norm::scale;
use super::{Inputs, Params, Plan};
use crate::tensor::codec;

/// An order of additions in f32; each keeps the depth of a tree or of blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// `n` strided partials in ascending order, then a binary tree.
    Strided(usize),
    /// As `Strided`, terms taken from the last to the first.
    Backwards(usize),
    /// Blocks of `n` successive terms, then the block sums in ascending order.
    Blocks(usize),
    /// `n` contiguous runs, then a binary tree.
    Runs(usize),
    /// Halves, recursively.
    Pairwise,
}

/// The ten orders.
pub const ORDERS: [Order; 10] = [
    Order::Strided(32),
    Order::Strided(64),
    Order::Strided(128),
    Order::Strided(512),
    Order::Strided(1024),
    Order::Backwards(64),
    Order::Backwards(256),
    Order::Blocks(16),
    Order::Runs(64),
    Order::Pairwise,
];

/// Sum of terms in that order, from +0.
pub fn sum(terms: &[f32], order: Order) -> f32 {
    let run = |terms: &[f32]| terms.iter().fold(0f32, |acc, t| acc + t);
    match order {
        Order::Strided(n) => {
            tree((0..n).map(|t| terms.iter().skip(t).step_by(n).fold(0f32, |acc, t| acc + t)).collect())
        }
        Order::Backwards(n) => sum(&terms.iter().rev().copied().collect::<Vec<_>>(), Order::Strided(n)),
        Order::Blocks(n) => terms.chunks(n).map(run).fold(0f32, |acc, s| acc + s),
        Order::Runs(n) => tree(terms.chunks(terms.len().div_ceil(n).max(1)).map(run).collect()),
        Order::Pairwise => tree(terms.to_vec()),
    }
}

/// Binary tree over the values: neighbours are added until one is left.
fn tree(mut values: Vec<f32>) -> f32 {
    while values.len() > 1 {
        values = values.chunks(2).map(|c| c.iter().fold(0f32, |acc, v| acc + v)).collect();
    }
    values.first().copied().unwrap_or(0.0)
}

/// Outputs of rms_norm, as its reference gives them, with every sum of squares in `order`.
pub fn rms_norm(params: &Params, plan: &Plan, inputs: &Inputs, order: Order) -> Vec<Vec<u8>> {
    let (eps, gemma, cols) = (params.real("eps") as f32, params.flag("gemma"), params.size("cols"));
    let w = inputs.f32(plan, "w");
    let mut v = inputs.f32(plan, "x");
    if let Some(arg) = plan.args.iter().find(|a| a.name == "residual") {
        v.iter_mut().zip(inputs.f32(plan, "residual")).for_each(|(v, r)| *v += r);
        if params.word("path") == "rounded_sum" {
            v = codec::decode_f32(arg.view.dtype, &codec::encode_f32(arg.view.dtype, &v));
        }
    }
    let mut out = vec![0f32; v.len()];
    for (row, out) in v.chunks_exact(cols).zip(out.chunks_exact_mut(cols)) {
        let squares: Vec<f32> = row.iter().map(|v| v * v).collect();
        let inv = 1.0 / (sum(&squares, order) / cols as f32 + eps).sqrt();
        scale(row, inv, &w, gemma, out);
    }
    let values = |name: &str| if name == "residual" { &v } else { &out };
    plan.outputs().map(|(_, arg, _)| codec::encode_f32(arg.view.dtype, values(arg.name))).collect()
}

/// The output of matmul_bt, as its reference gives it, with every dot product in `order`.
pub fn matmul_bt(params: &Params, plan: &Plan, inputs: &Inputs, order: Order) -> Vec<Vec<u8>> {
    let (a, b, k) = (inputs.f32(plan, "a"), inputs.f32(plan, "b"), params.size("k"));
    let row = |m: &[f32], i: usize| m[i * k..(i + 1) * k].to_vec();
    let dot = |i: usize, j: usize| {
        let terms: Vec<f32> = row(&a, i).iter().zip(row(&b, j)).map(|(x, y)| x * y).collect();
        sum(&terms, order)
    };
    let n = params.size("n");
    let out: Vec<f32> = (0..params.size("m") * n).map(|i| dot(i / n, i % n)).collect();
    vec![codec::encode_f32(params.dtype("out"), &out)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge;
    use crate::judge::spec::{BarLimits, Flush, Output};
    use crate::ops::Contract;
    use crate::ops::elementwise::testing::{inputs, suite_cases};
    use crate::ops::gemm::matmul_bt::MatmulBt;
    use crate::ops::norm::{fused_norm_rope::FusedNormRope, rms_norm::RmsNorm};
    use crate::ops::rope::rope_from_cache::RopeFromCache;
    use crate::record::Tier;

    #[test]
    fn every_order_adds_every_term_once() {
        for n in [0, 1, 2, 63, 64, 65, 1000, 3001] {
            let terms: Vec<f32> = (1..=n).map(|i| i as f32).collect();
            for order in ORDERS {
                assert_eq!(sum(&terms, order), (n * (n + 1) / 2) as f32, "{order:?} {n}");
            }
        }
    }

    #[test]
    fn the_orders_differ_in_bits_where_rounding_happens() {
        let noise = |i: usize| ((i * 7919 % 10007) as f32 - 5003.5) / 911.0;
        let terms: Vec<f32> = (0..30000).map(noise).collect();
        let bits = |order: Order| terms.chunks(3000).map(|t| sum(t, order).to_bits()).collect::<Vec<_>>();
        let all: Vec<Vec<u32>> = ORDERS.iter().map(|o| bits(*o)).collect();
        for (i, one) in all.iter().enumerate() {
            assert!(!all[..i].contains(one), "{:?}", ORDERS[i]);
        }
    }

    /// Judges device bytes on every suite case of `op`: all bars must pass and no canary be accepted.
    fn judge_suite(op: &dyn Contract, device: impl Fn(&Params, &Plan, &Inputs) -> Vec<Vec<u8>>) {
        let mut canaries = 0;
        for p in suite_cases(op) {
            let plan = op.plan(&p).expect("legal");
            let x = inputs(&plan, &format!("{p:?}"));
            let (device, reference) = (device(&p, &plan, &x), op.reference(&p, &plan, &x));
            let oracles = op.oracle(&p, &plan, &x, op.paths(&p)[0]);
            for (i, (_, arg, spec)) in plan.outputs().enumerate() {
                let out = Output {
                    name: arg.name,
                    dtype: arg.view.dtype,
                    shape: &arg.view.shape,
                    spec,
                    device: &device[i],
                    reference: &reference[i],
                    oracle: &oracles[i],
                    other_paths: &[],
                    limits: &BarLimits::new(),
                    flush: Flush::default(),
                };
                let judged = judge::output(&out, Tier::Device);
                let failed: Vec<_> = judged.assertions.iter().filter(|a| !a.pass).collect();
                assert!(failed.is_empty() && judged.errors.is_empty(), "{p:?}: {failed:?} {:?}", judged.errors);
                let flock = judge::canary(&out, &judged);
                assert!(flock.errors.is_empty(), "{p:?}: {:?}", flock.errors);
                canaries += flock.canaries.refused;
            }
        }
        assert!(canaries > 100, "{canaries} canaries");
    }

    #[test]
    fn the_reference_passes_every_bar_and_blinds_no_canary() {
        let ops: [&dyn Contract; 4] = [&RmsNorm, &FusedNormRope, &RopeFromCache, &MatmulBt];
        for op in ops {
            judge_suite(op, |p, plan, x| op.reference(p, plan, x));
        }
    }

    #[test]
    fn rms_norm_passes_every_bar_and_blinds_no_canary_in_ten_orders() {
        for order in ORDERS {
            judge_suite(&RmsNorm, |p, plan, x| rms_norm(p, plan, x, order));
        }
    }

    #[test]
    fn matmul_bt_passes_every_bar_and_blinds_no_canary_in_ten_orders() {
        for order in ORDERS {
            judge_suite(&MatmulBt, |p, plan, x| matmul_bt(p, plan, x, order));
        }
    }
}
