//! mul_scalar: a tensor times a number. Refuses to take the number in more precision than f32.

use super::{EXTENT, FLOATS, OUT, input, launches, out_dtype, output, signatures, stride, symbol, view};
use crate::fixture::Data;
use crate::judge::spec::{Exact, Oracle};
use crate::ops::{Contract, Illegal, Inputs, KArg, KType, KernelSig, ParamKind, ParamSpec, Params, Plan, bounds};
use crate::tensor::{DType, codec};

/// The contract.
pub struct MulScalar;

const PARAMS: &[ParamSpec] = &[
    ParamSpec::required("dtype", FLOATS, "format of x"),
    ParamSpec::word("data", Data::NAMES, "normal", "kind of input data"),
    OUT,
    ParamSpec::required("rows", ParamKind::Int(EXTENT.0, EXTENT.1), "rows"),
    ParamSpec::required("cols", ParamKind::Int(EXTENT.0, EXTENT.1), "columns"),
    ParamSpec::real("s", (-1e30, 1e30), 0.7, "factor; narrowed to f32 before anything else"),
    ParamSpec::word("layout", &["packed", "strided_x", "strided_out"], "packed", "which tensor has gaps between rows"),
];

impl Contract for MulScalar {
    fn name(&self) -> &'static str {
        "mul_scalar"
    }

    fn family(&self) -> &'static str {
        "elementwise"
    }

    fn summary(&self) -> &'static str {
        "out[r,c] = x[r,c] * s: s narrowed to f32 first, multiplied in f32, rounded once when stored"
    }

    fn params(&self) -> &'static [ParamSpec] {
        PARAMS
    }

    fn kernels(&self) -> Vec<KernelSig> {
        let mut rest = vec![("s", KType::F32)];
        rest.extend(["rows", "cols", "x_stride", "out_stride"].map(|n| (n, KType::I64)));
        signatures("mul_scalar", &["x", "out"], &rest)
    }

    fn plan(&self, params: &Params) -> Result<Plan, Illegal> {
        let (from, to) = out_dtype(params)?;
        let (rows, cols, layout) = (params.size("rows"), params.size("cols"), params.word("layout"));
        let (data, s) = (params.data(), factor(params));
        let x = view(from, rows, cols, layout == "strided_x");
        // exact_int values are at most 4096, so products with such a factor are whole numbers up to 2^24.
        let whole = s.fract() == 0.0 && s.abs() <= 4096.0;
        let exact = if data == Data::ExactInt && whole { Exact::ZeroSignFree } else { Exact::No };
        let mut out = output(view(to, rows, cols, layout == "strided_out"), exact, 1.0);
        if s == 0.0 {
            out.output.as_mut().expect("an output").degenerate.get_or_insert("the factor is 0");
        }
        let kargs = vec![
            KArg::Buf(0),
            KArg::Buf(1),
            KArg::F32(s),
            KArg::I64(rows as i64),
            KArg::I64(cols as i64),
            stride(&x),
            stride(&out.view),
        ];
        let launches = launches(symbol("mul_scalar", from, to), rows * cols, kargs);
        Ok(Plan { args: vec![input("x", x, data, 0, to), out], launches, flops: (rows * cols) as f64 })
    }

    fn reference(&self, params: &Params, plan: &Plan, inputs: &Inputs) -> Vec<Vec<u8>> {
        let s = factor(params);
        let out: Vec<f32> = inputs.f32(plan, "x").into_iter().map(|x| x * s).collect();
        vec![codec::encode_f32(plan.args[1].view.dtype, &out)]
    }

    /// The product, exact in f64; B0 is the f32 product's rounding where the output is narrower.
    fn oracle(&self, params: &Params, plan: &Plan, inputs: &Inputs, _path: &str) -> Vec<Oracle> {
        let (s, wide) = (factor(params) as f64, plan.args[1].view.dtype == DType::F32);
        let value: Vec<f64> = inputs.f32(plan, "x").into_iter().map(|x| x as f64 * s).collect();
        let bound = value.iter().map(|&o| if wide { 0.0 } else { bounds::one_operation(o, false) }).collect();
        vec![Oracle { value, other: vec![], bound, magnitude: vec![] }]
    }
}

fn factor(params: &Params) -> f32 {
    params.real("s") as f32
}

#[cfg(test)]
mod tests {
    use super::super::testing::{arithmetic_pairs, check_random_bits, check_suite, given, params, word};
    use super::*;
    use crate::ops::Value;

    fn times(dtype: &str, s: f64, x: &[f64]) -> Vec<f32> {
        let n = Value::Int(x.len() as i64);
        let p =
            params(&MulScalar, &[("dtype", word(dtype)), ("rows", Value::Int(1)), ("cols", n), ("s", Value::Float(s))]);
        let plan = MulScalar.plan(&p).expect("legal");
        codec::decode_f32(plan.args[1].view.dtype, &MulScalar.reference(&p, &plan, &given(&plan, &[x]))[0])
    }

    #[test]
    fn the_reference_meets_its_bound_on_every_suite_case() {
        assert!(check_suite(&MulScalar) <= 1.0);
    }

    #[test]
    fn the_reference_meets_its_bound_on_any_bits() {
        check_random_bits(&MulScalar, &arithmetic_pairs());
    }

    #[test]
    fn the_factor_is_narrowed_to_f32_before_the_product() {
        // 0.1 as f32 is 0.100000001490116: times 2^24 + 2 the f64 factor would give another f32.
        let x = 16_777_214.0;
        assert_eq!(times("f32", 0.1, &[x]), [(x * 0.1f32 as f64) as f32]);
        assert_eq!(times("bf16", 0.5, &[3.0, -0.0]), [1.5, 0.0]);
    }

    #[test]
    fn zero_times_infinity_is_nan_and_zero_times_the_rest_is_zero() {
        let out = times("f32", 0.0, &[f64::INFINITY, 5.0]);
        assert!(out[0].is_nan() && out[1] == 0.0);
    }
}
