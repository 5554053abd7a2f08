//! cast: a float tensor in another float format. Refuses formats that no inference stack casts between.

use super::{EXTENT, input, launches, narrower, output, signature, stride, view};
use crate::fixture::Data;
use crate::judge::spec::{Exact, Oracle};
use crate::ops::{Contract, Illegal, Inputs, KArg, KType, KernelSig, ParamKind, ParamSpec, Params, Plan};
use crate::tensor::{DType, codec};

/// The contract.
pub struct Cast;

const PAIRS: [(DType, DType); 4] =
    [(DType::F32, DType::Bf16), (DType::Bf16, DType::F32), (DType::F32, DType::F16), (DType::F16, DType::F32)];

const PARAMS: &[ParamSpec] = &[
    ParamSpec::required("dtype", ParamKind::Word(&["f32", "f16", "bf16"]), "format of the input"),
    ParamSpec::required("to", ParamKind::Word(&["f32", "f16", "bf16"]), "format of the output"),
    ParamSpec::word("data", Data::NAMES, "normal", "kind of input data"),
    ParamSpec::required("rows", ParamKind::Int(EXTENT.0, EXTENT.1), "rows"),
    ParamSpec::required("cols", ParamKind::Int(EXTENT.0, EXTENT.1), "columns"),
    ParamSpec::word("layout", &["packed", "strided_in", "strided_out"], "packed", "which tensor has gaps between rows"),
];

impl Contract for Cast {
    fn name(&self) -> &'static str {
        "cast"
    }

    fn family(&self) -> &'static str {
        "elementwise"
    }

    fn summary(&self) -> &'static str {
        "out[r,c] = in[r,c] in another float format: f32 to bf16 or f16 with one round to nearest even (f16 overflow gives \
         infinity), bf16 and f16 to f32 exactly; NaN stays NaN, payload and sign free"
    }

    fn params(&self) -> &'static [ParamSpec] {
        PARAMS
    }

    fn kernels(&self) -> Vec<KernelSig> {
        let i64s = ["rows", "cols", "in_stride", "out_stride"].map(|n| (n, KType::I64));
        PAIRS.iter().map(|(from, to)| signature(format!("cast_{from}_{to}"), &["in", "out"], &i64s)).collect()
    }

    fn plan(&self, params: &Params) -> Result<Plan, Illegal> {
        let (from, to) = (params.dtype("dtype"), params.dtype("to"));
        if !PAIRS.contains(&(from, to)) {
            return Err(Illegal(format!(
                "no cast from {from} to {to}: one of them must be f32 and the other f16 or bf16"
            )));
        }
        let (rows, cols) = (params.size("rows"), params.size("cols"));
        let layout = params.word("layout");
        let source = view(from, rows, cols, layout == "strided_in");
        let target = view(to, rows, cols, layout == "strided_out");
        let args = vec![
            KArg::Buf(0),
            KArg::Buf(1),
            KArg::I64(rows as i64),
            KArg::I64(cols as i64),
            stride(&source),
            stride(&target),
        ];
        let launches = launches(format!("cast_{from}_{to}"), rows * cols, args);
        let args = vec![input("in", source, params.data(), 0, narrower(from, to)), output(target, Exact::NonNan, 0.5)];
        Ok(Plan { args, launches, flops: 0.0 })
    }

    fn reference(&self, _params: &Params, plan: &Plan, inputs: &Inputs) -> Vec<Vec<u8>> {
        vec![codec::encode_f32(plan.args[1].view.dtype, &inputs.f32(plan, "in"))]
    }

    /// The input itself: nothing happens before the output rounding, so B0 = 0.
    fn oracle(&self, _params: &Params, plan: &Plan, inputs: &Inputs, _path: &str) -> Vec<Oracle> {
        let value: Vec<f64> = inputs.f32(plan, "in").into_iter().map(f64::from).collect();
        let bound = vec![0.0; value.len()];
        vec![Oracle { value, other: vec![], bound, magnitude: vec![] }]
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{check_random_bits, check_suite, given, params, word};
    use super::*;
    use crate::ops::Value;

    fn cast(from: &str, to: &str, values: &[f64]) -> Vec<u8> {
        let n = Value::Int(values.len() as i64);
        let p = params(&Cast, &[("dtype", word(from)), ("to", word(to)), ("rows", Value::Int(1)), ("cols", n)]);
        let plan = Cast.plan(&p).expect("legal");
        Cast.reference(&p, &plan, &given(&plan, &[values])).remove(0)
    }

    #[test]
    fn the_reference_meets_its_bound_on_every_suite_case() {
        assert!(check_suite(&Cast) <= 1.0);
    }

    #[test]
    fn the_reference_meets_its_bound_on_any_bits() {
        let variant = |(from, to): &(DType, DType)| vec![("dtype", word(from.name())), ("to", word(to.name()))];
        check_random_bits(&Cast, &PAIRS.iter().map(variant).collect::<Vec<_>>());
    }

    #[test]
    fn halves_of_a_bf16_step_round_to_even_and_specials_survive() {
        let mut x = vec![f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0];
        x.extend((0..16).map(|i| 1.0 + (i as f64 + 0.5) / 128.0));
        let got: Vec<u16> = cast("f32", "bf16", &x).chunks(2).map(|b| u16::from_le_bytes([b[0], b[1]])).collect();
        assert_eq!(got[..4], [0x7f80, 0xff80, 0, 0x8000]);
        let even: Vec<u16> = (0..16).map(|i| 0x3f80 + i + i % 2).collect();
        assert_eq!(got[4..], even);
        assert_eq!(cast("f32", "bf16", &[f64::NAN]), 0x7fc0u16.to_le_bytes());
    }

    #[test]
    fn an_f16_overflows_from_65520_and_keeps_its_subnormals() {
        let got = cast("f32", "f16", &[65519.0, 65520.0, -65520.0, 6e-8, 2.0f64.powi(-25), 2.9e-8]);
        let bits: Vec<u16> = got.chunks(2).map(|b| u16::from_le_bytes([b[0], b[1]])).collect();
        assert_eq!(bits, [0x7bff, 0x7c00, 0xfc00, 1, 0, 0]);
    }

    #[test]
    fn a_pair_without_f32_is_refused_with_a_reason() {
        let one = ("rows", Value::Int(1));
        let p = params(&Cast, &[("dtype", word("bf16")), ("to", word("f16")), one, ("cols", Value::Int(1))]);
        assert!(Cast.plan(&p).expect_err("illegal").0.contains("one of them must be f32"));
    }

    #[test]
    fn a_case_of_no_rows_launches_nothing() {
        let p = params(
            &Cast,
            &[("dtype", word("f32")), ("to", word("bf16")), ("rows", Value::Int(0)), ("cols", Value::Int(9))],
        );
        let plan = Cast.plan(&p).expect("legal");
        assert!(plan.launches.is_empty());
        assert_eq!(plan.args[1].output.as_ref().expect("output").degenerate, Some("empty"));
    }
}
