//! Filters over planned cases. Refuses to match nothing silently.

use super::error::{hint, nearest};
use super::expand::{key_text, knows_key};
use super::values::keys;
use super::{Case, Ops, SuiteError};
use std::collections::BTreeSet;

/// One filter word of the command line.
#[derive(Clone, Debug)]
pub enum Filter {
    /// A part of the case id.
    Substring(String),
    /// `key=value`: an op, a suite, or a parameter, defaults included.
    Key(String, String),
    /// `/regex/` over the case id.
    Regex(regex::Regex),
}

impl Filter {
    /// Reads a filter word: `/regex/`, `key=value`, else a substring.
    ///
    /// # Errors
    /// `SuiteError::Filter` for an empty word, a bad expression, or a key that no op has.
    pub fn parse(ops: Ops, word: &str) -> Result<Self, SuiteError> {
        let bad = |message: String| SuiteError::Filter { filter: word.to_string(), message };
        if word.is_empty() {
            return Err(bad("is empty".to_string()));
        }
        if let Some(inner) = word.strip_prefix('/').and_then(|w| w.strip_suffix('/')).filter(|w| !w.is_empty()) {
            return regex::Regex::new(inner).map(Self::Regex).map_err(|e| bad(e.to_string()));
        }
        let Some((key, value)) = word.split_once('=').filter(|(k, v)| is_key(k) && !has_more_pairs(v)) else {
            return Ok(Self::Substring(word.to_string()));
        };
        if !knows_key(ops, key) {
            let valid: BTreeSet<&str> = ops.iter().flat_map(|op| keys(*op)).chain(["op", "suite"]).collect();
            return Err(bad(format!("no op has a key '{key}'{}", hint(key, valid))));
        }
        Ok(Self::Key(key.to_string(), value.to_string()))
    }

    /// Does a case pass?
    pub fn holds(&self, case: &Case) -> bool {
        match self {
            Self::Substring(s) => case.id.contains(s.as_str()),
            Self::Key(key, value) => key_text(case, key).is_some_and(|text| same_text(&text, value)),
            Self::Regex(r) => r.is_match(&case.id),
        }
    }

    /// Nearest words among what the cases offer, for a filter that matched nothing.
    fn suggestion(&self, cases: &[Case]) -> String {
        let offered: BTreeSet<String> = match self {
            Self::Key(key, _) => cases.iter().filter_map(|c| key_text(c, key)).collect(),
            Self::Substring(_) => cases.iter().flat_map(|c| c.id.split(['/', ',']).map(str::to_string)).collect(),
            Self::Regex(_) => return String::new(),
        };
        let words = offered.iter().map(String::as_str);
        match self {
            Self::Key(_, value) => hint(value, words),
            Self::Substring(s) => {
                let near = nearest(s, words);
                match near.is_empty() {
                    true => "; assay list shows every case".to_string(),
                    false => format!("; did you mean '{}'?", near.join("' or '")),
                }
            }
            Self::Regex(_) => String::new(),
        }
    }
}

/// Keeps the cases that pass every filter.
///
/// # Errors
/// `SuiteError::Filter` for a filter that alone matches nothing, `NoneLeft` when only all together do.
pub(super) fn apply(filters: &[(String, Filter)], cases: Vec<Case>) -> Result<Vec<Case>, SuiteError> {
    for (word, filter) in filters {
        if !cases.iter().any(|c| filter.holds(c)) {
            let message = format!("matches no case{}", filter.suggestion(&cases));
            return Err(SuiteError::Filter { filter: word.clone(), message });
        }
    }
    let left: Vec<Case> = cases.into_iter().filter(|c| filters.iter().all(|(_, f)| f.holds(c))).collect();
    if left.is_empty() {
        let words: Vec<&str> = filters.iter().map(|(w, _)| w.as_str()).collect();
        return Err(SuiteError::NoneLeft(words.join(" ")));
    }
    Ok(left)
}

fn is_key(k: &str) -> bool {
    !k.is_empty() && k.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
}

/// `rows=3,cols` is a piece of an id, not one key.
fn has_more_pairs(v: &str) -> bool {
    !v.starts_with('[') && v.contains(',')
}

/// Equal as text, or as numbers (`eps=1e-6` finds `eps=0.000001`).
fn same_text(text: &str, asked: &str) -> bool {
    text == asked || matches!((text.parse::<f64>(), asked.parse::<f64>()), (Ok(a), Ok(b)) if a == b)
}
