use super::*;
use crate::ops::Value;
use crate::ops::elementwise::testing::{check_suite, given, params, word, worst_ratio};
use proptest::prelude::*;

fn case(given: &[(&str, Value)]) -> (Params, Plan) {
    let p = params(&RmsNorm, given);
    let plan = RmsNorm.plan(&p).expect("legal");
    (p, plan)
}

fn sizes(rows: i64, cols: i64) -> [(&'static str, Value); 2] {
    [("rows", Value::Int(rows)), ("cols", Value::Int(cols))]
}

#[test]
fn the_reference_meets_its_bound_on_every_suite_case() {
    assert!(check_suite(&RmsNorm) <= 1.0);
}

#[test]
fn three_and_four_under_weights_two_and_a_half_have_their_golden_values() {
    let [r, c] = sizes(1, 2);
    let (p, plan) = case(&[("dtype", word("f32")), ("eps", Value::Int(0)), r, c]);
    let inputs = given(&plan, &[&[3.0, 4.0], &[2.0, 0.5]]);
    let out = codec::decode_f32(DType::F32, &RmsNorm.reference(&p, &plan, &inputs)[0]);
    assert!((out[0] - 1.697056).abs() < 1e-6 && (out[1] - 0.565685).abs() < 1e-6, "{out:?}");
}

#[test]
fn gemma_adds_one_to_the_weight() {
    let [r, c] = sizes(1, 2);
    let (p, plan) = case(&[("dtype", word("f32")), ("eps", Value::Int(0)), ("gemma", Value::Bool(true)), r, c]);
    let inputs = given(&plan, &[&[3.0, 4.0], &[1.0, -0.5]]);
    let out = codec::decode_f32(DType::F32, &RmsNorm.reference(&p, &plan, &inputs)[0]);
    assert!((out[0] - 1.697056).abs() < 1e-6 && (out[1] - 0.565685).abs() < 1e-6, "{out:?}");
}

#[test]
fn eps_stands_under_the_root_on_the_mean_square() {
    let [r, c] = sizes(1, 2);
    let (p, plan) = case(&[("dtype", word("f32")), ("eps", Value::Float(0.25)), r, c]);
    // mean square 0.75, plus 0.25 is 1: the row comes back.
    let v = 0.75f64.sqrt() as f32 as f64;
    let inputs = given(&plan, &[&[v, -v], &[1.0, 1.0]]);
    let out = codec::decode_f32(DType::F32, &RmsNorm.reference(&p, &plan, &inputs)[0]);
    assert!((out[0] as f64 - v).abs() < 2e-7 && (out[1] as f64 + v).abs() < 2e-7, "{out:?}");
}

/// x + residual = 1 + 2^-9 in the first column is a quarter of a bf16 step above 1.
fn one_and_a_bit(path: &str) -> (f32, Vec<u8>) {
    let [r, c] = sizes(1, 1);
    let out = ("out", word("f32"));
    let (p, plan) = case(&[
        ("dtype", word("bf16")),
        out,
        ("residual", word("bf16")),
        ("path", word(path)),
        ("eps", Value::Float(1.0)),
        r,
        c,
    ]);
    let inputs = given(&plan, &[&[1.0], &[2f64.powi(-9)], &[1.0]]);
    let mut got = RmsNorm.reference(&p, &plan, &inputs);
    let out = codec::decode_f32(DType::F32, &got.pop().expect("out"))[0];
    (out, got.pop().expect("residual"))
}

#[test]
fn the_rounded_sum_is_read_again_and_the_unrounded_one_is_not() {
    let (rounded, kept) = one_and_a_bit("rounded_sum");
    let (unrounded, kept_too) = one_and_a_bit("unrounded_sum");
    assert_eq!((kept.as_slice(), kept_too.as_slice()), (&[0x80, 0x3f][..], &[0x80, 0x3f][..]));
    assert!((rounded - 0.5f32.sqrt()).abs() < 1e-7, "{rounded}");
    let v = 1.0 + 2f64.powi(-9);
    assert!((unrounded as f64 - v / (v * v + 1.0).sqrt()).abs() < 1e-7, "{unrounded}");
}

#[test]
fn the_bar_tells_the_two_sums_apart() {
    let [r, c] = sizes(3, 64);
    let (p, plan) = case(&[("dtype", word("bf16")), ("out", word("f32")), ("residual", word("bf16")), r, c]);
    let inputs = crate::ops::elementwise::testing::inputs(&plan, "two sums");
    let right = RmsNorm.oracle(&p, &plan, &inputs, "rounded_sum").pop().expect("out");
    let wrong = RmsNorm.oracle(&p, &plan, &inputs, "unrounded_sum").pop().expect("out");
    let out = RmsNorm.reference(&p, &plan, &inputs).pop().expect("out");
    assert!(worst_ratio(DType::F32, &out, &right) <= 1.0);
    let far =
        codec::decode_f32(DType::F32, &out).into_iter().zip(&wrong.value).zip(&wrong.bound).filter(|((r, o), b)| {
            let b = **b + DType::F32.float().expect("float").ulp(**o);
            (*r as f64 - **o).abs() > b
        });
    assert!(far.count() > 100);
}

#[test]
fn a_sum_on_a_midpoint_of_the_residual_carries_both_neighbours() {
    let [r, c] = sizes(1, 1);
    let (p, plan) = case(&[("dtype", word("f32")), ("residual", word("bf16")), r, c]);
    // 1 + 2^-8 + 2^-30: above the midpoint, and on it once the sum is an f32.
    let inputs = given(&plan, &[&[2f64.powi(-8) + 2f64.powi(-30)], &[1.0], &[1.0]]);
    let o = RmsNorm.oracle(&p, &plan, &inputs, "rounded_sum");
    assert!(o[1].value[0] != o[1].other[0]);
    let out = RmsNorm.reference(&p, &plan, &inputs);
    assert!(worst_ratio(DType::Bf16, &out[0], &o[0]) <= 1.0);
    assert!(worst_ratio(DType::F32, &out[1], &o[1]) <= 1.0);
}

#[test]
fn illegal_formats_are_refused_with_a_reason() {
    let refuse = |given: &[(&str, Value)]| {
        let sizes = sizes(2, 4);
        let all: Vec<_> = given.iter().cloned().chain(sizes).collect();
        RmsNorm.plan(&params(&RmsNorm, &all)).expect_err("illegal").0
    };
    assert!(refuse(&[("dtype", word("f16"))]).contains("f16"));
    assert!(refuse(&[("dtype", word("f32")), ("path", word("unrounded_sum"))]).contains("residual"));
    let in_place = [("dtype", word("f32")), ("out", word("bf16")), ("in_place", Value::Bool(true))];
    assert!(refuse(&in_place).contains("in place"));
    assert!(refuse(&[("dtype", word("f32")), ("data", word("zero_row")), ("eps", Value::Int(0))]).contains("eps"));
}

#[test]
fn no_rows_launch_nothing() {
    let [r, c] = sizes(0, 128);
    let (_, plan) = case(&[("dtype", word("f32")), r, c]);
    assert!(plan.launches.is_empty());
    assert_eq!(plan.outputs().next().expect("out").2.degenerate, Some("empty"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_row_meets_its_bound(x in prop::collection::vec(-1e4f64..1e4, 1..600), eps in 1e-9f64..1.0, gemma: bool) {
        let n = x.len();
        let [r, c] = sizes(1, n as i64);
        let (p, plan) = case(&[("dtype", word("f32")), ("eps", Value::Float(eps)), ("gemma", Value::Bool(gemma)), r, c]);
        let w: Vec<f64> = x.iter().map(|v| (v * 1.7).sin()).collect();
        let inputs = given(&plan, &[&x, &w]);
        let out = RmsNorm.reference(&p, &plan, &inputs);
        let o = RmsNorm.oracle(&p, &plan, &inputs, "declared");
        prop_assert!(worst_ratio(DType::F32, &out[0], &o[0]) <= 1.0);
    }
}
