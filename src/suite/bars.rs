//! Bar limits of a case block. Limits are checked to be usable numbers and are otherwise carried, not interpreted.

use super::error::hint;
use super::values::Fault;
use crate::judge::spec::BarLimits;
use crate::ops::Plan;
use crate::tensor::DType;
use std::collections::{BTreeMap, BTreeSet};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Bars whose limit a suite may set.
pub const LIMIT_BARS: [&str; 5] = ["ulp", "bound", "nmse", "row_nmse", "bias"];

/// Bars that have no limit: they ask for equality.
pub const FIXED_BARS: [&str; 12] = [
    "class",
    "written",
    "guard",
    "untouched",
    "inputs",
    "exact",
    "path",
    "repeat",
    "schedule",
    "memory",
    "native",
    "launches",
];

/// One limit with what it is for: `bars[.OUTPUT][.DTYPE].BAR`.
#[derive(Clone, Debug, PartialEq)]
struct Entry {
    output: Option<String>,
    dtype: Option<DType>,
    bar: String,
    limit: f64,
    at: usize,
}

/// The `bars` table of one block.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct BarSheet {
    entries: Vec<Entry>,
}

impl BarSheet {
    /// Reads the value of the key `bars`.
    pub(super) fn read(v: &Spanned<DeValue<'_>>) -> Result<Self, Fault> {
        let mut sheet = Self::default();
        match v.get_ref() {
            DeValue::Table(t) => sheet.walk(t, None, None)?,
            other => return Err((v.span().start, format!("'bars' is a table of limits, not {}", other.type_str()))),
        }
        // Later entries win in `resolve`: the most specific last, an output before a dtype.
        sheet.entries.sort_by_key(|e| (e.output.is_some(), e.dtype.is_some()));
        Ok(sheet)
    }

    fn walk(&mut self, t: &DeTable<'_>, output: Option<&str>, dtype: Option<DType>) -> Result<(), Fault> {
        for (key, v) in t {
            let (name, at) = (key.get_ref().as_ref(), key.span().start);
            match v.get_ref() {
                DeValue::Table(_) if dtype.is_some() => {
                    return Err((at, format!("'{name}': write bars.OUTPUT.DTYPE.BAR, the dtype last")));
                }
                DeValue::Table(inner) => match DType::parse(name) {
                    Some(d) => self.walk(inner, output, Some(d))?,
                    None if output.is_none() => self.walk(inner, Some(name), None)?,
                    None => {
                        return Err((at, format!("unknown dtype '{name}'{}", hint(name, dtype_names()))));
                    }
                },
                value => {
                    let limit = limit(name, value).map_err(|m| (v.span().start, m))?;
                    check_bar(name).map_err(|m| (at, m))?;
                    let output = output.map(str::to_string);
                    self.entries.push(Entry { output, dtype, bar: name.to_string(), limit, at });
                }
            }
        }
        Ok(())
    }

    /// An entry that names an output no case of the block has; `outputs` are the ones they do have.
    pub(super) fn unknown_output(&self, outputs: &BTreeSet<String>) -> Option<Fault> {
        let entry = self.entries.iter().find(|e| e.output.as_ref().is_some_and(|o| !outputs.contains(o)))?;
        let name = entry.output.as_deref().unwrap_or_default();
        let mut valid: Vec<&str> = LIMIT_BARS.into_iter().chain(dtype_names()).collect();
        valid.extend(outputs.iter().map(String::as_str));
        let hint = hint(name, valid);
        Some((entry.at, format!("no case of this block has an output '{name}'{hint}")))
    }

    /// The limits of each output of a plan, the most specific ones.
    pub(super) fn resolve(&self, plan: &Plan) -> BTreeMap<String, BarLimits> {
        let mut all = BTreeMap::new();
        for (_, arg, _) in plan.outputs() {
            let mut limits = BarLimits::new();
            for e in &self.entries {
                let output = e.output.as_deref().is_none_or(|o| o == arg.name);
                if output && e.dtype.is_none_or(|d| d == arg.view.dtype) {
                    limits.insert(e.bar.clone(), e.limit);
                }
            }
            if !limits.is_empty() {
                all.insert(arg.name.to_string(), limits);
            }
        }
        all
    }
}

fn dtype_names() -> impl Iterator<Item = &'static str> {
    DType::ALL.into_iter().map(DType::name)
}

fn check_bar(name: &str) -> Result<(), String> {
    if LIMIT_BARS.contains(&name) {
        return Ok(());
    }
    if FIXED_BARS.contains(&name) {
        return Err(format!("bar '{name}' asks for equality and has no limit to set"));
    }
    Err(format!("unknown bar '{name}'{}", hint(name, LIMIT_BARS)))
}

/// A usable limit: a finite number >= 0.
fn limit(bar: &str, v: &DeValue<'_>) -> Result<f64, String> {
    let (text, number) = match v {
        DeValue::Float(f) => (f.as_str().to_string(), f.as_str().parse::<f64>().ok()),
        DeValue::Integer(i) => {
            let number = i64::from_str_radix(i.as_str(), i.radix()).ok().map(|n| n as f64);
            (i.as_str().to_string(), number)
        }
        DeValue::String(s) => (format!("\"{s}\""), None),
        other => (format!("a TOML {}", other.type_str()), None),
    };
    match number {
        Some(x) if x.is_finite() && x >= 0.0 => Ok(x.abs()),
        _ => Err(format!("the limit of '{bar}' is {text}; a limit is a finite number >= 0")),
    }
}
