//! Test support: parameters by hand or from the embedded suite, generated inputs, and the worst ratio of error to bound.

use crate::fixture::{Key, generate};
use crate::judge::spec::Oracle;
use crate::ops::{Contract, Inputs, Params, Plan, Value};
use crate::tensor::{DType, codec};

/// Complete parameters: the given ones over the defaults, in contract order.
pub fn params(op: &dyn Contract, given: &[(&str, Value)]) -> Params {
    for (k, _) in given {
        assert!(op.params().iter().any(|s| s.name == *k), "{} has no parameter {k}", op.name());
    }
    let value = |spec: &crate::ops::ParamSpec| {
        let own = given.iter().find(|(k, _)| *k == spec.name).map(|(_, v)| v.clone());
        let v = own.or(spec.default_value()).unwrap_or_else(|| panic!("{} needs {}", op.name(), spec.name));
        (spec.name.to_string(), v)
    };
    Params(op.params().iter().map(value).collect())
}

/// A word parameter.
pub fn word(w: &str) -> Value {
    Value::Str(w.to_string())
}

/// Inputs of a plan under a key that depends on the case and argument.
pub fn inputs(plan: &Plan, id: &str) -> Inputs {
    let bytes = |a: &crate::ops::Arg| match &a.fill {
        Some(fill) => generate(fill, a.view.dtype, &a.view.shape, Key::new(7, id, a.name)),
        None => vec![],
    };
    Inputs::new(plan.args.iter().map(bytes).collect())
}

/// Inputs of given f64 values, one list per float input, in plan order.
pub fn given(plan: &Plan, values: &[&[f64]]) -> Inputs {
    let mut next = values.iter();
    let bytes = |a: &crate::ops::Arg| match a.fill {
        Some(_) => codec::encode_f64(a.view.dtype, next.next().expect("a list per input")),
        None => vec![],
    };
    Inputs::new(plan.args.iter().map(bytes).collect())
}

/// Every case of `op` in the embedded suite, expanded the plain way.
pub fn suite_cases(op: &dyn Contract) -> Vec<Params> {
    let text = match op.family() {
        "elementwise" => include_str!("../../../suites/elementwise.toml"),
        "norm" => include_str!("../../../suites/norm.toml"),
        "rope" => include_str!("../../../suites/rope.toml"),
        "gemm" => include_str!("../../../suites/gemm.toml"),
        other => panic!("no suite of family {other}"),
    };
    let doc: toml::Table = text.parse().expect("suite is TOML");
    let mut out = vec![];
    for case in doc["case"].as_array().expect("cases") {
        let case = case.as_table().expect("a table");
        if case["op"].as_str() != Some(op.name()) {
            continue;
        }
        let mut rows: Vec<Vec<(String, Value)>> = vec![vec![]];
        for (key, value) in
            case.iter().filter(|(k, _)| !["op", "place", "bars", "each", "except"].contains(&k.as_str()))
        {
            let single = std::slice::from_ref(value);
            let options = value.as_array().map_or(single, |a| a.as_slice());
            rows = multiply(&rows, &options.iter().map(|v| vec![(key.clone(), scalar(v))]).collect::<Vec<_>>());
        }
        if let Some(each) = case.get("each") {
            let tables = each.as_array().expect("rows").iter().map(|t| t.as_table().expect("a row"));
            let options: Vec<Vec<_>> =
                tables.map(|t| t.iter().map(|(k, v)| (k.clone(), scalar(v))).collect()).collect();
            rows = multiply(&rows, &options);
        }
        out.extend(rows.iter().map(|r| {
            let r: Vec<(&str, Value)> =
                r.iter().filter(|(k, _)| k != "place").map(|(k, v)| (k.as_str(), v.clone())).collect();
            params(op, &r)
        }));
    }
    assert!(!out.is_empty(), "no case of {}", op.name());
    out
}

fn multiply(a: &[Vec<(String, Value)>], b: &[Vec<(String, Value)>]) -> Vec<Vec<(String, Value)>> {
    a.iter().flat_map(|x| b.iter().map(move |y| x.iter().chain(y).cloned().collect())).collect()
}

fn scalar(v: &toml::Value) -> Value {
    match v {
        toml::Value::Boolean(b) => Value::Bool(*b),
        toml::Value::Integer(i) => Value::Int(*i),
        toml::Value::Float(f) => Value::Float(*f),
        toml::Value::String(s) => word(s),
        other => panic!("{other} in a suite"),
    }
}

/// Worst `|r - o| / B` of packed float output bytes against oracle columns, with B = B0 + half a step; classes must agree. Near the
/// overflow threshold either class counts as 0.
pub fn worst_ratio(dtype: DType, out: &[u8], oracle: &Oracle) -> f64 {
    let fmt = dtype.float().expect("float output");
    let got = codec::decode_f32(dtype, out);
    assert_eq!(got.len(), oracle.value.len());
    assert_eq!(got.len(), oracle.bound.len());
    // Infinite where even the class is wrong.
    let one = |r: f64, o: f64, b0: f64| {
        assert!(b0 >= 0.0 && (b0.is_finite() || !o.is_finite()), "bound {b0} at {o}");
        let edge = fmt.max + fmt.ulp(fmt.max) / 2.0;
        let class_alone = |right: bool| if right { 0.0 } else { f64::INFINITY };
        if o.is_nan() || r.is_nan() {
            return class_alone(o.is_nan() && r.is_nan());
        }
        if r.is_infinite() || o.abs() >= edge {
            let over = r.is_infinite() && r.signum() == o.signum() && o.abs() + b0 >= edge;
            return class_alone(over || r.is_finite() && o.abs() - b0 < edge);
        }
        (r - o).abs() / (b0 + fmt.ulp(o.abs() + b0) / 2.0)
    };
    (0..got.len()).fold(0.0, |worst, i| {
        let mut ratio = one(got[i] as f64, oracle.value[i], oracle.bound[i]);
        if let Some(&other) = oracle.other.get(i) {
            ratio = ratio.min(one(got[i] as f64, other, oracle.bound[i]));
        }
        assert!(ratio <= 1.0, "element {i}: {} for {} +- {}", got[i], oracle.value[i], oracle.bound[i]);
        if ratio > worst { ratio } else { worst }
    })
}

/// Every element is a rounding of a value within B0 of its oracle value, or of the second one.
fn check_path(dtype: DType, out: &[u8], oracle: &Oracle) {
    let fmt = dtype.float().expect("float output");
    let got = codec::decode_f32(dtype, out);
    for (i, &r) in got.iter().enumerate() {
        let near = |o: f64| {
            let b = oracle.bound[i];
            let (low, high) = (codec::round_to(o - b, fmt), codec::round_to(o + b, fmt));
            (low..=high).contains(&(r as f64)) || o.is_nan() && r.is_nan()
        };
        let explained = near(oracle.value[i]) || oracle.other.get(i).is_some_and(|&o| near(o));
        assert!(explained, "element {i}: {r} for {} +- {}", oracle.value[i], oracle.bound[i]);
    }
}

/// Largest `(|r - o| - l32 u M) / ulp(o)` over finite elements, the nearer of both oracle values taken.
fn worst_ulp(dtype: DType, out: &[u8], oracle: &Oracle, l32: f64) -> f64 {
    let fmt = dtype.float().expect("float output");
    let got = codec::decode_f32(dtype, out);
    (0..got.len()).fold(0.0, |worst: f64, i| {
        let spared = l32 * crate::ops::bounds::U * oracle.magnitude.get(i).copied().unwrap_or(0.0);
        let error = |o: f64| ((got[i] as f64 - o).abs() - spared).max(0.0);
        let figure = |o: f64| if o.abs() <= fmt.max { error(o) / fmt.ulp(o) } else { 0.0 };
        let other = oracle.other.get(i).map_or(f64::INFINITY, |&o| figure(o));
        let ulp = figure(oracle.value[i]).min(other);
        if ulp.is_finite() { worst.max(ulp) } else { worst }
    })
}

/// Runs every suite case of `op` on the reference tier against the declared path; prints the worst figures and returns the worst
/// ratio of error to bound.
pub fn check_suite(op: &dyn Contract) -> f64 {
    let (mut worst, mut ratio_f32, mut worst_f32) = (0f64, 0f64, 0f64);
    for p in suite_cases(op) {
        let plan = op.plan(&p).unwrap_or_else(|e| panic!("{p:?}: {e}"));
        check_launches(op, &plan);
        let inputs = inputs(&plan, &format!("{p:?}"));
        let outs = op.reference(&p, &plan, &inputs);
        let oracles = op.oracle(&p, &plan, &inputs, op.paths(&p)[0]);
        for ((out, oracle), (_, arg, spec)) in outs.iter().zip(&oracles).zip(plan.outputs()) {
            let dtype = arg.view.dtype;
            let ratio = worst_ratio(dtype, out, oracle);
            worst = worst.max(ratio);
            if dtype == DType::F32 && oracle.bound.iter().any(|b| *b > 0.0) {
                ratio_f32 = ratio_f32.max(ratio);
            }
            if spec.path {
                check_path(dtype, out, oracle);
            }
            if let (DType::F32, Some(limit)) = (dtype, spec.ulp.l) {
                let ulp = worst_ulp(dtype, out, oracle, spec.ulp.l32);
                assert!(ulp <= limit, "{p:?}: {ulp} ulp");
                worst_f32 = worst_f32.max(ulp);
            }
        }
    }
    println!(
        "{}: worst |r - o| / B = {worst:.3}, of computed f32 {ratio_f32:.3}; f32 error {worst_f32:.3} ulp",
        op.name()
    );
    worst
}

/// Launch arguments have the types of the declared signature.
fn check_launches(op: &dyn Contract, plan: &Plan) {
    let signatures = op.kernels();
    for l in &plan.launches {
        let sig = signatures.iter().find(|s| s.symbol == l.symbol).unwrap_or_else(|| panic!("{} undeclared", l.symbol));
        let types: Vec<_> = l.args.iter().map(|a| a.ktype()).collect();
        assert_eq!(types, sig.params.iter().map(|(_, t)| *t).collect::<Vec<_>>(), "{}", l.symbol);
    }
}

/// The pairs of formats of the arithmetic ops, as parameters.
pub fn arithmetic_pairs() -> Vec<Vec<(&'static str, Value)>> {
    let pairs = super::PAIRS.iter();
    pairs.map(|(from, to)| vec![("dtype", word(from.name())), ("out", word(to.name()))]).collect()
}

/// Runs `op` on 2 rows of 8 arbitrary bit patterns, for each set of further parameters, against the declared path: NaN, infinities,
/// subnormals and all.
pub fn check_random_bits(op: &dyn Contract, variants: &[Vec<(&'static str, Value)>]) {
    use proptest::prelude::*;
    let strategy = (proptest::collection::vec(any::<u32>(), 64), 0..variants.len());
    proptest!(ProptestConfig::with_cases(2000), |((words, variant) in strategy)| {
        let sizes = [("rows", Value::Int(2)), ("cols", Value::Int(8))];
        let p = params(op, &[&variants[variant], &sizes[..]].concat());
        let plan = op.plan(&p).expect("legal");
        let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
        let mut from = 0;
        let filled = plan.args.iter().map(|a| {
            let n = if a.fill.is_some() { a.view.bytes() } else { 0 };
            from += n;
            bytes[from - n..from].to_vec()
        });
        let inputs = Inputs::new(filled.collect());
        let out = &op.reference(&p, &plan, &inputs)[0];
        let oracle = &op.oracle(&p, &plan, &inputs, op.paths(&p)[0])[0];
        let (_, arg, spec) = plan.outputs().next().expect("an output");
        worst_ratio(arg.view.dtype, out, oracle);
        if spec.path {
            check_path(arg.view.dtype, out, oracle);
        }
    });
}
