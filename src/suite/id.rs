//! Case ids: `op/key=value,...`, keys in contract order, defaults left out. Formatting and parsing are inverse to each other.

use super::error::hint;
use super::values::{PLACE, admit, keys, same, spec_of};
use super::{Ops, Placement, SuiteError};
use crate::ops::{Contract, ParamKind, ParamSpec, Params, Value};

/// The text of a value as it stands in a case id. Reals print with the fewest digits that read back to the same bits.
pub fn param_text(v: &Value) -> String {
    match v {
        Value::Bool(b) => b.to_string(),
        Value::Int(i) => i.to_string(),
        Value::Float(x) => format!("{x:?}"),
        Value::Str(s) => s.clone(),
        Value::List(l) => format!("[{}]", l.iter().map(i64::to_string).collect::<Vec<_>>().join(",")),
    }
}

/// The id of a case of `op` with complete parameters.
pub fn case_id(op: &dyn Contract, params: &Params, place: Placement) -> String {
    let mut id = String::from(op.name());
    let mut sep = '/';
    for spec in op.params() {
        let Some(value) = params.get(spec.name) else { continue };
        if spec.default_value().is_some_and(|d| same(&d, value)) {
            continue;
        }
        push(&mut id, &mut sep, spec.name, &param_text(value));
    }
    if place != Placement::default() {
        push(&mut id, &mut sep, PLACE.name, place.name());
    }
    id
}

fn push(id: &mut String, sep: &mut char, key: &str, value: &str) {
    id.push(*sep);
    *sep = ',';
    id.push_str(key);
    id.push('=');
    id.push_str(value);
}

/// The op, complete parameters and placement that an id names; keys may come in any order here.
///
/// # Errors
/// `BadId` when op, key or value is unknown, a key is missing or twice there, or the contract declares the parameters illegal.
pub fn parse_id(ops: Ops, id: &str) -> Result<(&'static dyn Contract, Params, Placement), SuiteError> {
    parse(ops, id).map_err(|message| SuiteError::BadId { id: id.to_string(), message })
}

fn parse(ops: Ops, id: &str) -> Result<(&'static dyn Contract, Params, Placement), String> {
    let (name, rest) = id.split_once('/').map_or((id, None), |(n, r)| (n, Some(r)));
    let op = find(ops, name)?;
    let mut given: Vec<(&str, Value)> = Vec::new();
    for pair in rest.map(split_pairs).unwrap_or_default() {
        let (key, text) = pair.split_once('=').ok_or_else(|| format!("'{pair}' is not key=value"))?;
        let spec = spec_of(op, key).ok_or_else(|| format!("{name} has no key '{key}'{}", hint(key, keys(op))))?;
        if given.iter().any(|(k, _)| *k == key) {
            return Err(format!("key '{key}' is there twice"));
        }
        given.push((key, admit(&spec, read(&spec, text))?));
    }
    let take = |key: &str| given.iter().find(|(k, _)| *k == key).map(|(_, v)| v.clone());
    let params = complete(op, take)?;
    let place = match take(PLACE.name) {
        Some(Value::Str(w)) => Placement::parse(&w).ok_or_else(|| format!("no placement '{w}'"))?,
        _ => Placement::default(),
    };
    op.plan(&params).map_err(|why| format!("{name} declares these parameters illegal: {why}"))?;
    Ok((op, params, place))
}

/// The op of that name.
///
/// # Errors
/// A sentence with the nearest names.
pub fn find(ops: Ops, name: &str) -> Result<&'static dyn Contract, String> {
    let known = ops.iter().find(|op| op.name() == name).copied();
    known.ok_or_else(|| format!("unknown op '{name}'{}", hint(name, ops.iter().map(|op| op.name()))))
}

/// Every parameter of `op`: what `take` gives, else the default.
pub(super) fn complete(op: &dyn Contract, take: impl Fn(&str) -> Option<Value>) -> Result<Params, String> {
    let value = |spec: &ParamSpec| {
        let v = take(spec.name).or_else(|| spec.default_value());
        let v = v.ok_or_else(|| format!("{} needs the key '{}' ({})", op.name(), spec.name, spec.doc))?;
        Ok((spec.name.to_string(), v))
    };
    op.params().iter().map(value).collect::<Result<Vec<_>, String>>().map(Params)
}

/// Text to a raw value of the spec's kind; what does not parse stays a word, for `admit` to refuse.
fn read(spec: &ParamSpec, text: &str) -> Value {
    let word = || Value::Str(text.to_string());
    match spec.kind {
        ParamKind::Word(_) => word(),
        ParamKind::Int(..) => text.parse().map_or_else(|_| word(), Value::Int),
        ParamKind::Real(..) => text.parse().map_or_else(|_| word(), Value::Float),
        ParamKind::Bool => text.parse().map_or_else(|_| word(), Value::Bool),
        ParamKind::List => read_list(text).map_or_else(word, Value::List),
    }
}

fn read_list(text: &str) -> Option<Vec<i64>> {
    let inner = text.strip_prefix('[')?.strip_suffix(']')?;
    if inner.is_empty() {
        return Some(Vec::new());
    }
    inner.split(',').map(|n| n.parse().ok()).collect()
}

/// Splits at commas outside brackets.
fn split_pairs(text: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0i32, 0);
    for (i, c) in text.char_indices() {
        match c {
            '[' => depth += 1,
            ']' => depth -= 1,
            ',' if depth <= 0 => {
                parts.push(&text[start..i]);
                start = i + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}
