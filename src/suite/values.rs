//! TOML values against what a contract admits. Refuses to coerce: a number in quotes is a word.

use super::error::hint;
use crate::ops::{Contract, ParamKind, ParamSpec, Value};
use toml::Spanned;
use toml::de::DeValue;

/// A message with the byte offset it is about.
pub(super) type Fault = (usize, String);

/// The spec of a key: a parameter of the op, or the common key `place`.
pub(super) fn spec_of(op: &dyn Contract, key: &str) -> Option<ParamSpec> {
    if key == PLACE.name { Some(PLACE) } else { op.params().iter().find(|p| p.name == key).copied() }
}

/// The common key `place` as a parameter.
pub(super) const PLACE: ParamSpec =
    ParamSpec::word("place", &super::Placement::WORDS, "guarded", "how buffers lie in device memory");

/// Keys an op's case may have beside `op`, `each`, `except` and `bars`.
pub(super) fn keys(op: &dyn Contract) -> Vec<&'static str> {
    op.params().iter().map(|p| p.name).chain([PLACE.name]).collect()
}

/// One value of `spec`.
pub(super) fn one(spec: &ParamSpec, v: &Spanned<DeValue<'_>>) -> Result<Value, Fault> {
    let at = v.span().start;
    let raw = from_toml(v.get_ref()).ok_or_else(|| (at, wrong_type(spec, v.get_ref().type_str())))?;
    admit(spec, raw).map_err(|message| (at, message))
}

/// A value or a list of alternatives of `spec`.
pub(super) fn alternatives(spec: &ParamSpec, v: &Spanned<DeValue<'_>>) -> Result<Vec<Value>, Fault> {
    let single = match v.get_ref() {
        DeValue::Array(items) if spec.kind == ParamKind::List => {
            !items.is_empty() && items.iter().all(|i| !i.get_ref().is_array())
        }
        other => !other.is_array(),
    };
    if single {
        return Ok(vec![one(spec, v)?]);
    }
    let items = v.get_ref().as_array().expect("not single, so an array");
    if items.is_empty() {
        return Err((v.span().start, format!("'{}' lists no value, so it would plan no case", spec.name)));
    }
    let mut out: Vec<Value> = Vec::with_capacity(items.len());
    for item in items {
        let value = one(spec, item)?;
        if out.iter().any(|seen| same(seen, &value)) {
            let text = super::param_text(&value);
            return Err((item.span().start, format!("'{}' lists {text} twice", spec.name)));
        }
        out.push(value);
    }
    Ok(out)
}

/// Equality of values in which +0 and -0 are different values.
pub(super) fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Float(x), Value::Float(y)) => x.to_bits() == y.to_bits(),
        _ => a == b,
    }
}

fn from_toml(v: &DeValue<'_>) -> Option<Value> {
    match v {
        DeValue::String(s) => Some(Value::Str(s.to_string())),
        DeValue::Integer(i) => i64::from_str_radix(i.as_str(), i.radix()).ok().map(Value::Int),
        DeValue::Float(f) => f.as_str().parse().ok().map(Value::Float),
        DeValue::Boolean(b) => Some(Value::Bool(*b)),
        DeValue::Array(items) => {
            let ints = items.iter().map(|i| match from_toml(i.get_ref()) {
                Some(Value::Int(n)) => Some(n),
                _ => None,
            });
            ints.collect::<Option<Vec<i64>>>().map(Value::List)
        }
        DeValue::Datetime(_) | DeValue::Table(_) => None,
    }
}

/// Checks a raw value against `spec` and normalises it (an integer given for a real becomes one).
pub(super) fn admit(spec: &ParamSpec, raw: Value) -> Result<Value, String> {
    let name = spec.name;
    match (spec.kind, raw) {
        (ParamKind::Word(words), Value::Str(w)) => {
            if words.contains(&w.as_str()) {
                Ok(Value::Str(w))
            } else {
                Err(format!("'{name}' admits no '{w}'{}", hint(&w, words.iter().copied())))
            }
        }
        (ParamKind::Int(lo, hi), Value::Int(i)) if (lo..=hi).contains(&i) => Ok(Value::Int(i)),
        (ParamKind::Int(lo, hi), Value::Int(i)) => Err(format!("'{name}' = {i} is outside {lo}..={hi}")),
        (ParamKind::Real(..), Value::Int(i)) if i.unsigned_abs() > 1 << 53 => {
            Err(format!("'{name}' = {i} has no exact f64; write it as a real number"))
        }
        (ParamKind::Real(..), Value::Int(i)) => admit(spec, Value::Float(i as f64)),
        (ParamKind::Real(lo, hi), Value::Float(x)) => {
            if x.is_finite() && lo <= x && x <= hi {
                Ok(Value::Float(x))
            } else {
                Err(format!("'{name}' = {x} is not a finite number in {lo}..={hi}"))
            }
        }
        (ParamKind::Bool, Value::Bool(b)) => Ok(Value::Bool(b)),
        (ParamKind::List, Value::List(l)) => Ok(Value::List(l)),
        (_, raw) => Err(wrong_type(spec, type_name(&raw))),
    }
}

fn wrong_type(spec: &ParamSpec, got: &str) -> String {
    format!("'{}' takes {}, not {got}", spec.name, kind_text(&spec.kind))
}

fn type_name(v: &Value) -> &'static str {
    match v {
        Value::Bool(_) => "a boolean",
        Value::Int(_) => "an integer",
        Value::Float(_) => "a real number",
        Value::Str(_) => "a word",
        Value::List(_) => "a list",
    }
}

/// What a kind admits, in words.
pub fn kind_text(kind: &ParamKind) -> String {
    match kind {
        ParamKind::Word(words) => format!("one of {}", words.join(", ")),
        ParamKind::Int(lo, hi) if *hi == i64::MAX => format!("an integer >= {lo}"),
        ParamKind::Int(lo, hi) => format!("an integer in {lo}..={hi}"),
        ParamKind::Real(lo, hi) => format!("a real number in {lo:?}..={hi:?}"),
        ParamKind::Bool => "true or false".to_string(),
        ParamKind::List => "a list of integers (a list of lists for alternatives)".to_string(),
    }
}
