//! add: the sum of two tensors of one format. Refuses broadcasts other than of one row.

use super::{EXTENT, FLOATS, OUT, input, launches, out_dtype, output, signatures, stride, symbol, view};
use crate::fixture::Data;
use crate::judge::spec::{Exact, Oracle};
use crate::ops::{Contract, Illegal, Inputs, KArg, KType, KernelSig, ParamKind, ParamSpec, Params, Plan, Role, bounds};
use crate::tensor::{DType, View, codec};

/// The contract.
pub struct Add;

const PARAMS: &[ParamSpec] = &[
    ParamSpec::required("dtype", FLOATS, "format of a and b"),
    ParamSpec::word("data", Data::NAMES, "normal", "kind of input data"),
    OUT,
    ParamSpec::required("rows", ParamKind::Int(EXTENT.0, EXTENT.1), "rows"),
    ParamSpec::required("cols", ParamKind::Int(EXTENT.0, EXTENT.1), "columns"),
    ParamSpec::word("b", &["full", "row"], "full", "b has a's shape, or is one row that is added to every row"),
    ParamSpec::word(
        "layout",
        &["packed", "strided_a", "strided_b", "strided_out"],
        "packed",
        "which tensor has gaps between rows",
    ),
    ParamSpec::flag("in_place", "the output is written over a"),
];

impl Contract for Add {
    fn name(&self) -> &'static str {
        "add"
    }

    fn family(&self) -> &'static str {
        "elementwise"
    }

    fn summary(&self) -> &'static str {
        "out[r,c] = a[r,c] + b[r,c], or + b[c] when b is one row: added in f32, rounded once when stored; out may be a"
    }

    fn params(&self) -> &'static [ParamSpec] {
        PARAMS
    }

    fn kernels(&self) -> Vec<KernelSig> {
        let i64s = ["rows", "cols", "a_stride", "b_stride", "out_stride"].map(|n| (n, KType::I64));
        signatures("add", &["a", "b", "out"], &i64s)
    }

    fn plan(&self, params: &Params) -> Result<Plan, Illegal> {
        let (from, to) = out_dtype(params)?;
        let (rows, cols, layout) = (params.size("rows"), params.size("cols"), params.word("layout"));
        let (row, in_place) = (params.word("b") == "row", params.flag("in_place"));
        if row && layout == "strided_b" {
            return Err(Illegal(
                "b is one row and has no row stride: take another layout than 'strided_b'".to_string(),
            ));
        }
        if in_place && (from != to || layout == "strided_out") {
            return Err(Illegal(
                "in place, a's format and layout are the output's: leave out 'out' and 'strided_out'".to_string(),
            ));
        }
        let data = params.data();
        let exact = if data == Data::ExactInt { Exact::ZeroSignFree } else { Exact::No };
        let mut a = input("a", view(from, rows, cols, layout == "strided_a"), data, 0, to);
        let b = if row { View::packed(from, &[cols]) } else { view(from, rows, cols, layout == "strided_b") };
        let b_stride = if row { KArg::I64(0) } else { stride(&b) };
        let out = output(view(to, rows, cols, layout == "strided_out"), exact, 1.0);
        let (a_stride, out_stride) = (stride(&a.view), stride(if in_place { &a.view } else { &out.view }));
        let target = if in_place { 0 } else { 2 };
        let kargs = vec![
            KArg::Buf(0),
            KArg::Buf(1),
            KArg::Buf(target),
            KArg::I64(rows as i64),
            KArg::I64(cols as i64),
            a_stride,
            b_stride,
            out_stride,
        ];
        let launches = launches(symbol("add", from, to), rows * cols, kargs);
        let b = input("b", b, data, 0, to);
        let args = if in_place {
            (a.role, a.output) = (Role::InOut, out.output);
            vec![a, b]
        } else {
            vec![a, b, out]
        };
        Ok(Plan { args, launches, flops: (rows * cols) as f64 })
    }

    fn reference(&self, params: &Params, plan: &Plan, inputs: &Inputs) -> Vec<Vec<u8>> {
        let (a, b) = (inputs.f32(plan, "a"), inputs.f32(plan, "b"));
        let out: Vec<f32> = a.iter().zip(b.iter().cycle()).map(|(a, b)| a + b).collect();
        vec![codec::encode_f32(target_dtype(params), &out)]
    }

    /// The f64 sum; B0 is the f32 sum's rounding where the output is narrower.
    fn oracle(&self, params: &Params, plan: &Plan, inputs: &Inputs, _path: &str) -> Vec<Oracle> {
        let (a, b) = (inputs.f32(plan, "a"), inputs.f32(plan, "b"));
        let wide = target_dtype(params) == DType::F32;
        let value: Vec<f64> = a.iter().zip(b.iter().cycle()).map(|(&a, &b)| a as f64 + b as f64).collect();
        let bound = value.iter().map(|&o| bounds::one_operation(o, wide)).collect();
        vec![Oracle { value, other: vec![], bound, magnitude: vec![] }]
    }
}

fn target_dtype(params: &Params) -> DType {
    out_dtype(params).expect("planned before").1
}

#[cfg(test)]
mod tests {
    use super::super::testing::{arithmetic_pairs, check_random_bits, check_suite, given, params, word};
    use super::*;
    use crate::ops::Value;

    #[test]
    fn the_reference_meets_its_bound_on_every_suite_case() {
        assert!(check_suite(&Add) <= 1.0);
    }

    #[test]
    fn the_reference_meets_its_bound_on_any_bits() {
        check_random_bits(&Add, &arithmetic_pairs());
    }

    #[test]
    fn one_row_is_added_to_every_row() {
        let p = params(
            &Add,
            &[("dtype", word("f32")), ("rows", Value::Int(2)), ("cols", Value::Int(3)), ("b", word("row"))],
        );
        let plan = Add.plan(&p).expect("legal");
        let x = given(&plan, &[&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[10.0, 20.0, -3.0]]);
        let out = codec::decode_f32(DType::F32, &Add.reference(&p, &plan, &x)[0]);
        assert_eq!(out, [11.0, 22.0, 0.0, 14.0, 25.0, 3.0]);
    }

    #[test]
    fn a_bf16_sum_is_rounded_once_when_stored() {
        let p = params(&Add, &[("dtype", word("bf16")), ("rows", Value::Int(1)), ("cols", Value::Int(4))]);
        let plan = Add.plan(&p).expect("legal");
        // 16 + 0.0625: a bf16 step is 0.125 there, so this is a tie that goes to even.
        let x = given(&plan, &[&[16.0, 16.125, 1.0, f64::INFINITY], &[0.0625, 0.0625, -1.0, f64::NEG_INFINITY]]);
        let out = codec::decode_f32(DType::Bf16, &Add.reference(&p, &plan, &x)[0]);
        assert_eq!(out[..3], [16.0, 16.25, 0.0]);
        assert!(out[3].is_nan());
    }

    #[test]
    fn in_place_the_output_is_a_itself() {
        let one = [
            ("dtype", word("bf16")),
            ("rows", Value::Int(1)),
            ("cols", Value::Int(4)),
            ("in_place", Value::Bool(true)),
        ];
        let plan = Add.plan(&params(&Add, &one)).expect("legal");
        assert_eq!((plan.args.len(), plan.args[0].role), (2, Role::InOut));
        assert_eq!(plan.launches[0].args[2], KArg::Buf(0));
        assert_eq!(plan.outputs().count(), 1);
    }

    #[test]
    fn an_f16_output_is_refused_with_what_to_do() {
        let p = params(&Add, &[("dtype", word("f16")), ("rows", Value::Int(1)), ("cols", Value::Int(1))]);
        assert!(Add.plan(&p).expect_err("illegal").0.contains("set out = 'f32' or 'bf16'"));
    }
}
