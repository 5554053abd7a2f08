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
            let r: Vec<(&str, Value)> = r.iter().map(|(k, v)| (k.as_str(), v.clone())).collect();
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
    let one = |r: f64, o: f64, b0: f64| {
        if o.is_nan() {
            assert!(r.is_nan(), "{r} for NaN");
            return 0.0;
        }
        assert!(b0 >= 0.0 && (b0.is_finite() || !o.is_finite()), "bound {b0} at {o}");
        let edge = fmt.max + fmt.ulp(fmt.max) / 2.0;
        if r.is_infinite() || o.abs() >= edge {
            let over = r.is_infinite() && r.signum() == o.signum() && o.abs() + b0 >= edge;
            let under = r.is_finite() && o.abs() - b0 < edge;
            assert!(over || under, "{r} for {o}");
            return 0.0;
        }
        let bound = b0 + fmt.ulp(o.abs() + b0) / 2.0;
        (r - o).abs() / bound
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

/// Runs every suite case of `op` on the reference tier against the declared path; prints and returns the worst ratio.
pub fn check_suite(op: &dyn Contract) -> f64 {
    let mut worst = 0f64;
    for p in suite_cases(op) {
        let plan = op.plan(&p).unwrap_or_else(|e| panic!("{p:?}: {e}"));
        let symbols: Vec<_> = op.kernels();
        for l in &plan.launches {
            let sig =
                symbols.iter().find(|s| s.symbol == l.symbol).unwrap_or_else(|| panic!("{} undeclared", l.symbol));
            let types: Vec<_> = l.args.iter().map(|a| a.ktype()).collect();
            assert_eq!(types, sig.params.iter().map(|(_, t)| *t).collect::<Vec<_>>(), "{}", l.symbol);
        }
        let inputs = inputs(&plan, &format!("{p:?}"));
        let outs = op.reference(&p, &plan, &inputs);
        let oracles = op.oracle(&p, &plan, &inputs, op.paths(&p)[0]);
        for ((out, oracle), (_, arg, _)) in outs.iter().zip(&oracles).zip(plan.outputs()) {
            worst = worst.max(worst_ratio(arg.view.dtype, out, oracle));
        }
    }
    println!("{}: worst |r - o| / B = {worst:.3}", op.name());
    worst
}
