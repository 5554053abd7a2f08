//! Counts by name, of which there are few: a list that is written and read as a map.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Index;

/// A name that this assay knows costs nothing to note.
type Name = Cow<'static, str>;

/// Counts per kind, in the order in which the kinds were met.
#[derive(Clone, Debug, Default)]
pub struct Kinds(Vec<(Name, u64)>);

impl Kinds {
    /// Adds `n` to a kind.
    pub fn add(&mut self, kind: impl Into<Name>, n: u64) {
        let kind = kind.into();
        match self.0.iter_mut().find(|(k, _)| *k == kind) {
            Some((_, count)) => *count += n,
            None => {
                if self.0.is_empty() {
                    self.0.reserve_exact(8);
                }
                self.0.push((kind, n));
            }
        }
    }

    /// Adds the counts of `other`.
    pub fn extend(&mut self, other: &Kinds) {
        other.0.iter().for_each(|(kind, n)| self.add(kind.clone(), *n));
    }

    /// Kinds met.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// No kind was met.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// By name.
    fn sorted(&self) -> BTreeMap<&str, u64> {
        self.0.iter().map(|(kind, n)| (&**kind, *n)).collect()
    }
}

impl Index<&str> for Kinds {
    type Output = u64;

    fn index(&self, kind: &str) -> &u64 {
        self.0.iter().find(|(k, _)| k == kind).map_or(&0, |(_, n)| n)
    }
}

impl PartialEq for Kinds {
    fn eq(&self, other: &Self) -> bool {
        self.sorted() == other.sorted()
    }
}

impl Serialize for Kinds {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.sorted())
    }
}

impl<'de> Deserialize<'de> for Kinds {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let map = BTreeMap::<String, u64>::deserialize(from)?;
        Ok(Self(map.into_iter().map(|(kind, n)| (Cow::Owned(kind), n)).collect()))
    }
}

impl JsonSchema for Kinds {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Kinds".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        BTreeMap::<String, u64>::json_schema(generator)
    }
}
