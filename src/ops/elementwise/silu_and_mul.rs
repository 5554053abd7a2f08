//! silu_and_mul: the gated activation of an MLP. Refuses to keep the gate in f32: where it is narrowed is the contract.

use super::{EXTENT, FLOATS, OUT, input, launches, out_dtype, output, signatures, stride, symbol, view};
use crate::fixture::Data;
use crate::judge::spec::{Exact, Oracle};
use crate::ops::{Contract, Illegal, Inputs, KArg, KType, KernelSig, ParamKind, ParamSpec, Params, Plan, bounds};
use crate::tensor::{DType, codec};

/// The contract.
pub struct SiluAndMul;

const PARAMS: &[ParamSpec] = &[
    ParamSpec::required("dtype", FLOATS, "format of x"),
    ParamSpec::word("data", Data::NAMES, "normal", "kind of input data"),
    OUT,
    ParamSpec::required("rows", ParamKind::Int(EXTENT.0, EXTENT.1), "rows"),
    ParamSpec::required("cols", ParamKind::Int(EXTENT.0, EXTENT.1), "columns of the output; x has twice as many"),
    ParamSpec::word("layout", &["packed", "strided_x", "strided_out"], "packed", "which tensor has gaps between rows"),
];

/// Below this the f32 exponential may overflow on some board, which makes the gate -0 instead of a number below 2^-120.
const EXP_OVERFLOW: f64 = -88.0;

impl Contract for SiluAndMul {
    fn name(&self) -> &'static str {
        "silu_and_mul"
    }

    fn family(&self) -> &'static str {
        "elementwise"
    }

    fn summary(&self) -> &'static str {
        "out[r,c] = s * x[r,cols+c] with s = g/(1+exp(-g)), g = x[r,c]: s in f32, then rounded to x's format (not out's) before the \
         multiply; the product in f32, rounded once when stored; g = -Inf gives NaN"
    }

    fn params(&self) -> &'static [ParamSpec] {
        PARAMS
    }

    fn kernels(&self) -> Vec<KernelSig> {
        let i64s = ["rows", "cols", "x_stride", "out_stride"].map(|n| (n, KType::I64));
        signatures("silu_and_mul", &["x", "out"], &i64s)
    }

    fn plan(&self, params: &Params) -> Result<Plan, Illegal> {
        let (from, to) = out_dtype(params)?;
        let (rows, cols, layout) = (params.size("rows"), params.size("cols"), params.word("layout"));
        let x = view(from, rows, 2 * cols, layout == "strided_x");
        // One exponential: 4 ulp.
        let mut out = output(view(to, rows, cols, layout == "strided_out"), Exact::No, 4.0);
        let spec = out.output.as_mut().expect("an output");
        spec.path |= from != DType::F32;
        if params.data() == Data::Subnormal && from != DType::F16 {
            spec.degenerate.get_or_insert("every product underflows to zero");
        }
        let kargs = vec![
            KArg::Buf(0),
            KArg::Buf(1),
            KArg::I64(rows as i64),
            KArg::I64(cols as i64),
            stride(&x),
            stride(&out.view),
        ];
        let launches = launches(symbol("silu_and_mul", from, to), rows * cols, kargs);
        let args = vec![input("x", x, params.data(), 1, to), out];
        Ok(Plan { args, launches, flops: 10.0 * (rows * cols) as f64 })
    }

    fn reference(&self, _params: &Params, plan: &Plan, inputs: &Inputs) -> Vec<Vec<u8>> {
        let from = plan.args[0].view.dtype;
        let gate = |g: f32| narrowed(from, g / (1.0 + libm::expf(-g)));
        let out: Vec<f32> = pairs(plan, inputs).map(|(g, y)| gate(g) * y).collect();
        vec![codec::encode_f32(plan.args[1].view.dtype, &out)]
    }

    /// `narrowed`: the gate rounded from f64 to x's format, times y. Its second value stands for the other neighbour where the gate
    /// lies within its error of a midpoint, and for -0 where the exponential may overflow. `kept_f32`: the gate not rounded.
    fn oracle(&self, _params: &Params, plan: &Plan, inputs: &Inputs, path: &str) -> Vec<Oracle> {
        let from = if path == "kept_f32" { DType::F32 } else { plan.args[0].view.dtype };
        let wide = plan.args[1].view.dtype == DType::F32;
        let n = plan.args[1].view.len();
        let (mut value, mut other, mut bound) = (Vec::with_capacity(n), Vec::with_capacity(n), Vec::with_capacity(n));
        for (g, y) in pairs(plan, inputs) {
            let (s, second, error) = gate(from, g as f64);
            let (o, y) = (s * y as f64, y as f64);
            let product = bounds::one_operation(o, wide);
            value.push(o);
            other.push(second * y);
            bound.push(if o.is_finite() { error * y.abs() + product } else { 0.0 });
        }
        vec![Oracle { value, other, bound, magnitude: vec![] }]
    }

    fn paths(&self, params: &Params) -> &'static [&'static str] {
        if params.dtype("dtype") == DType::F32 { &["narrowed"] } else { &["narrowed", "kept_f32"] }
    }
}

/// Gate and factor of every output element.
fn pairs(plan: &Plan, inputs: &Inputs) -> impl Iterator<Item = (f32, f32)> {
    let (x, cols) = (inputs.f32(plan, "x"), plan.args[1].view.shape[1]);
    (0..plan.args[1].view.len()).map(move |i| {
        let at = i / cols * 2 * cols + i % cols;
        (x[at], x[at + cols])
    })
}

/// `s` as x's format holds it.
fn narrowed(dtype: DType, s: f32) -> f32 {
    match dtype {
        DType::Bf16 => codec::bf16_to_f32(codec::f32_to_bf16(s)),
        DType::F16 => codec::f16_to_f32(codec::f32_to_f16(s)),
        _ => s,
    }
}

/// The gate along the declared path, its second legal value, and the error left in it: none once it is rounded to a narrow format.
fn gate(dtype: DType, g: f64) -> (f64, f64, f64) {
    let exact = g / (1.0 + libm::exp(-g));
    // The gate is an f32 number: what f32 cannot hold is a zero, which matters when the factor is infinite.
    let exact = if exact as f32 == 0.0 { 0f64.copysign(exact) } else { exact };
    let error = if exact.is_finite() { bounds::silu(exact) } else { 0.0 };
    let overflows = g.is_finite() && g < EXP_OVERFLOW;
    if dtype == DType::F32 {
        return (exact, if overflows { -0.0 } else { exact }, error);
    }
    let fmt = dtype.float().expect("a float");
    let round = |s| codec::round_to(s, fmt);
    let (s, low, high) = (round(exact), round(exact - error), round(exact + error));
    let second = if overflows {
        -0.0
    } else if low != s {
        low
    } else if high != s {
        high
    } else {
        s
    };
    (s, second, 0.0)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{arithmetic_pairs, check_random_bits, check_suite, given, params, word};
    use super::*;
    use crate::ops::Value;

    fn case(dtype: &str, out: &str, cols: i64) -> (Params, Plan) {
        let rows = ("rows", Value::Int(1));
        let p = params(&SiluAndMul, &[("dtype", word(dtype)), ("out", word(out)), rows, ("cols", Value::Int(cols))]);
        let plan = SiluAndMul.plan(&p).expect("legal");
        (p, plan)
    }

    #[test]
    fn the_reference_meets_its_bound_on_every_suite_case() {
        assert!(check_suite(&SiluAndMul) <= 1.0);
    }

    #[test]
    fn the_reference_meets_its_bound_on_any_bits() {
        check_random_bits(&SiluAndMul, &arithmetic_pairs());
    }

    #[test]
    fn the_gate_is_rounded_to_bf16_before_the_multiply() {
        let (p, plan) = case("bf16", "same", 1);
        let x = given(&plan, &[&[1.0, 1.125]]);
        assert_eq!(SiluAndMul.reference(&p, &plan, &x)[0], 0x3f52u16.to_le_bytes());
        let declared = &SiluAndMul.oracle(&p, &plan, &x, "narrowed")[0];
        assert_eq!(codec::f64_to_bf16(declared.value[0]), 0x3f52);
        assert_eq!((declared.other[0], declared.bound[0]), (declared.value[0], 0.0));
        let kept = &SiluAndMul.oracle(&p, &plan, &x, "kept_f32")[0];
        assert_eq!(codec::f64_to_bf16(kept.value[0]), 0x3f53);
    }

    #[test]
    fn the_gate_is_rounded_to_the_format_of_x_and_not_of_the_output() {
        let (p, plan) = case("bf16", "f32", 1);
        let out = SiluAndMul.reference(&p, &plan, &given(&plan, &[&[1.0, 1.125]]));
        // silu(1) = 0.7310586 is 0.73046875 in bf16; times 1.125 exactly 0.82177734375.
        assert_eq!(codec::decode_f32(DType::F32, &out[0]), [0.821_777_34]);
        let (p, plan) = case("f32", "bf16", 1);
        let out = SiluAndMul.reference(&p, &plan, &given(&plan, &[&[1.0, 1.125]]));
        assert_eq!(out[0], 0x3f53u16.to_le_bytes());
    }

    #[test]
    fn extreme_gates_give_their_limits() {
        let (p, plan) = case("f32", "same", 5);
        let x = given(&plan, &[&[f64::INFINITY, f64::NEG_INFINITY, -200.0, 200.0, -0.0, 1.0, 1.0, 3.0, 1.0, 1.0]]);
        let out = codec::decode_f32(DType::F32, &SiluAndMul.reference(&p, &plan, &x)[0]);
        assert_eq!(out[0], f32::INFINITY);
        assert!(out[1].is_nan());
        assert_eq!(out[2..].iter().map(|v| v.to_bits()).collect::<Vec<_>>(), [-0.0f32, 200.0, -0.0].map(f32::to_bits));
    }

    #[test]
    fn a_gate_on_a_midpoint_of_bf16_has_two_legal_values() {
        let mut both = 0;
        for bits in 0x3c00..0x4100u16 {
            let (s, second, _) = gate(DType::Bf16, codec::bf16_to_f32(bits) as f64);
            assert!((s - second).abs() <= s.abs() / 64.0);
            both += (s != second) as u32;
        }
        // Midpoints are 2^15 f32 errors apart: about one gate in two thousand is undecided.
        assert!(both <= 5, "{both}");
    }
}
