//! Typed parameters of a case.

use serde::de::{self, Deserializer};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A parameter value.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Value {
    /// true or false.
    Bool(bool),
    /// Integer.
    Int(i64),
    /// Real number.
    Float(f64),
    /// Word.
    Str(String),
    /// List of integers.
    List(Vec<i64>),
}

/// By hand: serde's way for untagged enums keeps a copy of the value and builds an error for every variant it tries, for each
/// parameter of each case that a worker is handed.
impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor)
    }
}

struct ValueVisitor;

impl<'de> de::Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("true, false, a number, a word or a list of integers")
    }

    fn visit_bool<E>(self, b: bool) -> Result<Value, E> {
        Ok(Value::Bool(b))
    }

    fn visit_i64<E>(self, i: i64) -> Result<Value, E> {
        Ok(Value::Int(i))
    }

    fn visit_u64<E: de::Error>(self, i: u64) -> Result<Value, E> {
        i64::try_from(i).map(Value::Int).map_err(E::custom)
    }

    fn visit_f64<E>(self, x: f64) -> Result<Value, E> {
        Ok(Value::Float(x))
    }

    fn visit_str<E>(self, s: &str) -> Result<Value, E> {
        Ok(Value::Str(s.to_string()))
    }

    fn visit_seq<A: de::SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::with_capacity(items.size_hint().unwrap_or(0));
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Value::List(list))
    }
}

/// The values a parameter admits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ParamKind {
    /// One of these words. Dtype, data kinds and styles are words too.
    Word(&'static [&'static str]),
    /// An integer in this inclusive range.
    Int(i64, i64),
    /// A finite real number in this inclusive range.
    Real(f64, f64),
    /// true or false.
    Bool,
    /// A list of integers.
    List,
}

/// The default of a parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Default {
    /// Must be given.
    Required,
    /// A word.
    Word(&'static str),
    /// An integer.
    Int(i64),
    /// A real number.
    Real(f64),
    /// A boolean.
    Bool(bool),
}

/// Declaration of one parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ParamSpec {
    /// Key in suites and case ids.
    pub name: &'static str,
    /// Admitted values.
    pub kind: ParamKind,
    /// Default; a parameter at its default is left out of the case id.
    pub default: Default,
    /// One line for `assay ops show`.
    pub doc: &'static str,
}

impl ParamSpec {
    /// A parameter that every case must give.
    pub const fn required(name: &'static str, kind: ParamKind, doc: &'static str) -> Self {
        Self { name, kind, default: Default::Required, doc }
    }

    /// A word with a default.
    pub const fn word(
        name: &'static str,
        words: &'static [&'static str],
        default: &'static str,
        doc: &'static str,
    ) -> Self {
        Self { name, kind: ParamKind::Word(words), default: Default::Word(default), doc }
    }

    /// An integer with a default.
    pub const fn int(name: &'static str, range: (i64, i64), default: i64, doc: &'static str) -> Self {
        Self { name, kind: ParamKind::Int(range.0, range.1), default: Default::Int(default), doc }
    }

    /// A real number with a default.
    pub const fn real(name: &'static str, range: (f64, f64), default: f64, doc: &'static str) -> Self {
        Self { name, kind: ParamKind::Real(range.0, range.1), default: Default::Real(default), doc }
    }

    /// A boolean that is false by default.
    pub const fn flag(name: &'static str, doc: &'static str) -> Self {
        Self { name, kind: ParamKind::Bool, default: Default::Bool(false), doc }
    }

    /// The default as a value, if there is one.
    pub fn default_value(&self) -> Option<Value> {
        match self.default {
            Default::Required => None,
            Default::Word(w) => Some(Value::Str(w.to_string())),
            Default::Int(i) => Some(Value::Int(i)),
            Default::Real(r) => Some(Value::Float(r)),
            Default::Bool(b) => Some(Value::Bool(b)),
        }
    }
}

/// Why parameters cannot be planned.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{0}")]
pub struct Illegal(pub String);

/// Parameter values of one case, complete (defaults filled in), in contract order.
///
/// Built by `suite`, which checks every value against its [`ParamSpec`]; the getters therefore only fail on a contract that
/// asks for a parameter it did not declare.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Params(pub Vec<(String, Value)>);

impl Params {
    /// The value under `name`.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.iter().find(|(k, _)| k == name).map(|(_, v)| v)
    }

    /// An integer parameter.
    ///
    /// # Panics
    /// When the contract declares no such integer.
    pub fn int(&self, name: &str) -> i64 {
        match self.get(name) {
            Some(Value::Int(i)) => *i,
            other => panic!("contract reads integer '{name}' but has {other:?}"),
        }
    }

    /// A non-negative integer parameter.
    ///
    /// # Panics
    /// As [`Params::int`], or when it is negative.
    pub fn size(&self, name: &str) -> usize {
        usize::try_from(self.int(name)).unwrap_or_else(|_| panic!("contract admits a negative '{name}'"))
    }

    /// A real parameter.
    ///
    /// # Panics
    /// When the contract declares no such number.
    pub fn real(&self, name: &str) -> f64 {
        match self.get(name) {
            Some(Value::Float(x)) => *x,
            Some(Value::Int(i)) => *i as f64,
            other => panic!("contract reads real '{name}' but has {other:?}"),
        }
    }

    /// A word parameter.
    ///
    /// # Panics
    /// When the contract declares no such word.
    pub fn word(&self, name: &str) -> &str {
        match self.get(name) {
            Some(Value::Str(s)) => s,
            other => panic!("contract reads word '{name}' but has {other:?}"),
        }
    }

    /// A boolean parameter.
    ///
    /// # Panics
    /// When the contract declares no such boolean.
    pub fn flag(&self, name: &str) -> bool {
        match self.get(name) {
            Some(Value::Bool(b)) => *b,
            other => panic!("contract reads flag '{name}' but has {other:?}"),
        }
    }

    /// A dtype parameter.
    ///
    /// # Panics
    /// When the word is no dtype.
    pub fn dtype(&self, name: &str) -> crate::tensor::DType {
        crate::tensor::DType::parse(self.word(name)).unwrap_or_else(|| panic!("'{name}' is no dtype"))
    }

    /// The `data` parameter.
    ///
    /// # Panics
    /// When the word is no kind of data.
    pub fn data(&self) -> crate::fixture::Data {
        crate::fixture::Data::parse(self.word("data")).unwrap_or_else(|| panic!("'data' is no kind of data"))
    }

    /// A list parameter.
    ///
    /// # Panics
    /// When the contract declares no such list.
    pub fn list(&self, name: &str) -> &[i64] {
        match self.get(name) {
            Some(Value::List(l)) => l,
            other => panic!("contract reads list '{name}' but has {other:?}"),
        }
    }
}
