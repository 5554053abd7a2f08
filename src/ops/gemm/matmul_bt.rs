//! matmul_bt: `a @ b^T`. Refuses f16 outputs and operands of different formats.

use crate::fixture::Data;
use crate::judge::spec::{Exact, Oracle};
use crate::ops::numerics::matmul::{Operands, TILE_K, matmul_bt, oracle};
use crate::ops::{Contract, Illegal, Inputs, KArg, KType, KernelSig, Launch, ParamKind, ParamSpec, Params, Plan};
use crate::ops::{bounds, parts};
use crate::tensor::{View, codec};

/// The contract.
pub struct MatmulBt;

/// Data kinds of a (and of b where both must play along). `overflow` is left out: partial sums would overflow in one order and
/// not in another.
/// Rows of tiles at most in the grid; the kernel walks the rest, so that cases of more than 4096 rows test that walk.
const MAX_ROW_BLOCKS: usize = 256;
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
    "special",
];

const PARAMS: &[ParamSpec] = &[
    ParamSpec::required("dtype", ParamKind::Word(&["f32", "f16", "bf16"]), "format of a and b"),
    ParamSpec::word("data", DATA, "normal", "kind of data"),
    ParamSpec::word("out", &["f32", "bf16"], "f32", "format of the output"),
    ParamSpec::required("m", ParamKind::Int(0, 1 << 20), "rows of a"),
    ParamSpec::required("n", ParamKind::Int(0, 1 << 20), "rows of b"),
    ParamSpec::required("k", ParamKind::Int(0, 65536), "columns of both"),
    ParamSpec::word("layout", &["packed", "strided"], "packed", "strided: rows of a are further apart than k"),
];

const KERNEL: &[(&str, KType)] = &[
    ("a", KType::Ptr),
    ("b", KType::Ptr),
    ("out", KType::Ptr),
    ("m", KType::I64),
    ("n", KType::I64),
    ("k", KType::I64),
    ("a_stride", KType::I64),
];

/// Side of the output tile of a block, and elements of K in its shared memory.
const TILE: usize = TILE_K;

/// Kinds that b shares with a: integers, pairs that cancel between an even and an odd row, and magnitudes whose products must stay
/// in range. Everything else meets a normal b.
fn data_of_b(data: Data) -> Data {
    match data {
        Data::ExactInt | Data::Cancel | Data::LogUniform | Data::Constant => data,
        _ => Data::Normal,
    }
}

impl Contract for MatmulBt {
    fn name(&self) -> &'static str {
        "matmul_bt"
    }

    fn family(&self) -> &'static str {
        "gemm"
    }

    fn summary(&self) -> &'static str {
        "out[i,j] = sum over k of a[i,k] * b[j,k] in f32, rounded once at the store: tiles of 16 products are summed in ascending k from +0 \
         and the tile sums added in ascending order from +0; k = 0 gives zeros"
    }

    fn params(&self) -> &'static [ParamSpec] {
        PARAMS
    }

    fn kernels(&self) -> Vec<KernelSig> {
        let names = ["f32", "f16", "bf16"].iter().flat_map(|d| ["f32", "bf16"].map(|o| format!("matmul_bt_{d}_{o}")));
        names.map(|n| parts::signature(n, KERNEL)).collect()
    }

    fn plan(&self, params: &Params) -> Result<Plan, Illegal> {
        let (m, n, k) = (params.size("m"), params.size("n"), params.size("k"));
        let (dtype, data) = (params.dtype("dtype"), params.data());
        let a = parts::rows(dtype, m, k, params.word("layout") == "strided", 5);
        let a_stride = a.strides[0] as i64;
        let out = View::packed(params.dtype("out"), &[m, n]);
        // Every product and every sum of the declared order is one rounding in units of M.
        let depth = (k.min(TILE_K) + k.div_ceil(TILE_K)) as f64;
        let mut spec = parts::rounded(&out, n, data, 1.0, depth);
        if data == Data::ExactInt {
            spec.exact = Exact::ZeroSignFree;
        }
        if k == 0 && !out.is_empty() {
            spec.degenerate = Some("k = 0: every element is zero");
        }
        let args = vec![
            parts::input("a", a, data, k),
            parts::input("b", View::packed(dtype, &[n, k]), data_of_b(data), k),
            parts::output("out", out, spec),
        ];
        let sizes = [m as i64, n as i64, k as i64, a_stride].map(KArg::I64);
        let list = [KArg::Buf(0), KArg::Buf(1), KArg::Buf(2)].into_iter().chain(sizes).collect();
        let (columns, rows) = (n.div_ceil(TILE), m.div_ceil(TILE));
        let symbol = format!("matmul_bt_{}_{}", params.word("dtype"), params.word("out"));
        let launch = Launch {
            symbol,
            grid: [columns as u32, rows.min(MAX_ROW_BLOCKS) as u32, 1],
            block: [256, 1, 1],
            lds: 0,
            args: list,
        };
        let launches = if m * n == 0 { vec![] } else { vec![launch] };
        // What the kernel does: whole tiles.
        let flops = 2.0 * (rows * columns * k.div_ceil(TILE)) as f64 * (TILE * TILE * TILE) as f64;
        Ok(Plan { args, launches, flops })
    }

    fn reference(&self, params: &Params, plan: &Plan, inputs: &Inputs) -> Vec<Vec<u8>> {
        let (a, b) = (inputs.f32(plan, "a"), inputs.f32(plan, "b"));
        let op = Operands { a: &a, b: &b, k: params.size("k"), n: params.size("n") };
        vec![codec::encode_f32(params.dtype("out"), &matmul_bt(op, 0..params.size("m")))]
    }

    /// B0 is the bound of a sum of k products (the worst case alone for runs of equal terms), M the sum of the absolute products.
    fn oracle(&self, params: &Params, plan: &Plan, inputs: &Inputs, _path: &str) -> Vec<Oracle> {
        let (a, b) = (inputs.f32(plan, "a"), inputs.f32(plan, "b"));
        let k = params.size("k");
        let op = Operands { a: &a, b: &b, k, n: params.size("n") };
        let (value, mut magnitude) = oracle(op, 0..params.size("m"));
        let equal_runs = [Data::Cancel, Data::Constant].contains(&params.data());
        let bound = value.iter().zip(&mut magnitude).map(|(o, s)| {
            if !o.is_finite() {
                *s = 0.0;
                return 0.0;
            }
            if equal_runs { bounds::sum_worst(k, *s) } else { bounds::sum(k, *s, *o) }
        });
        let bound = bound.collect();
        vec![Oracle { value, other: vec![], bound, magnitude }]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::Value;
    use crate::ops::elementwise::testing::{check_suite, given, inputs, params, word, worst_ratio};
    use crate::tensor::DType;
    use proptest::prelude::*;

    fn case(given: &[(&str, Value)], m: i64, n: i64, k: i64) -> (Params, Plan) {
        let sizes = [("m", m), ("n", n), ("k", k)].map(|(name, v)| (name, Value::Int(v)));
        let p = params(&MatmulBt, &given.iter().cloned().chain(sizes).collect::<Vec<_>>());
        let plan = MatmulBt.plan(&p).expect("legal");
        (p, plan)
    }

    #[test]
    fn the_reference_meets_its_bound_on_every_suite_case() {
        assert!(check_suite(&MatmulBt) <= 1.0);
    }

    #[test]
    fn a_narrow_tile_puts_k_times_j_into_every_row() {
        // Tokens 4, N = 40 below a tile of 64: row j of b all j, a all ones (worked out by hand).
        let (p, plan) = case(&[("dtype", word("bf16"))], 4, 40, 64);
        let b: Vec<f64> = (0..40 * 64).map(|i| (i / 64) as f64).collect();
        let out = MatmulBt.reference(&p, &plan, &given(&plan, &[&[1.0; 256], &b])).remove(0);
        for (i, v) in codec::decode_f32(DType::F32, &out).iter().enumerate() {
            assert_eq!(*v, (64 * (i % 40)) as f32);
        }
    }

    #[test]
    fn ones_give_k_exactly_for_every_k_tail() {
        for (m, n, k) in [(1, 32, 1024), (1, 96, 1024), (2, 3, 1824), (1, 1, 31), (1, 1, 33)] {
            let (p, plan) = case(&[("dtype", word("f32")), ("out", word("bf16"))], m, n, k);
            let (a, b) = (vec![1.0; (m * k) as usize], vec![1.0; (n * k) as usize]);
            let out = MatmulBt.reference(&p, &plan, &given(&plan, &[&a, &b])).remove(0);
            assert!(codec::decode_f32(DType::Bf16, &out).iter().all(|v| *v == k as f32), "k {k}");
        }
    }

    #[test]
    fn integers_are_exact_in_every_format() {
        for (dtype, out) in [("f32", "f32"), ("bf16", "f32"), ("f16", "bf16")] {
            let exact = [("dtype", word(dtype)), ("out", word(out)), ("data", word("exact_int"))];
            let (p, plan) = case(&exact, 5, 9, 300);
            assert_eq!(plan.args[2].output.as_ref().expect("output").exact, Exact::ZeroSignFree);
            let inputs = inputs(&plan, "exact");
            let got = MatmulBt.reference(&p, &plan, &inputs).remove(0);
            let o = MatmulBt.oracle(&p, &plan, &inputs, "declared").remove(0);
            let dtype = p.dtype("out");
            let want = codec::decode_f32(dtype, &codec::encode_f64(dtype, &o.value));
            assert_eq!(codec::decode_f32(dtype, &got), want);
        }
    }

    #[test]
    fn no_terms_give_zeros_and_are_declared_degenerate() {
        let (p, plan) = case(&[("dtype", word("f32"))], 3, 5, 0);
        assert_eq!(plan.launches.len(), 1);
        assert!(plan.args[2].output.as_ref().expect("output").degenerate.is_some());
        let inputs = inputs(&plan, "none");
        assert_eq!(MatmulBt.reference(&p, &plan, &inputs)[0], vec![0u8; 60]);
        let o = MatmulBt.oracle(&p, &plan, &inputs, "declared").remove(0);
        assert!(o.value.iter().chain(&o.bound).all(|v| *v == 0.0));
    }

    #[test]
    fn cancelling_data_really_cancels() {
        let (p, plan) = case(&[("dtype", word("f32")), ("data", word("cancel"))], 4, 4, 200);
        let o = MatmulBt.oracle(&p, &plan, &inputs(&plan, "cancel"), "declared").remove(0);
        let small = o.value.iter().zip(&o.magnitude).filter(|(v, m)| v.abs() < 0.01 * **m).count();
        assert!(small >= 8, "{small}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_shape_meets_its_bound(m in 1i64..6, n in 1i64..20, k in 1i64..90, kind in 0usize..DATA.len(), bf16: bool) {
            let dtype = word(if bf16 { "bf16" } else { "f32" });
            let (p, plan) = case(&[("dtype", dtype), ("data", word(DATA[kind]))], m, n, k);
            let inputs = inputs(&plan, "any");
            let out = MatmulBt.reference(&p, &plan, &inputs);
            let o = MatmulBt.oracle(&p, &plan, &inputs, "declared");
            prop_assert!(worst_ratio(DType::F32, &out[0], &o[0]) <= 1.0);
        }
    }
}
