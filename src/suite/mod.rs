//! Suite files, expansion, filters, case ids. Refuses to know what an op computes.
//!
//! A suite file is TOML: a `[suite]` table and `[[case]]` blocks whose keys take a value or a list of alternatives, which
//! multiply. Everything is checked here, before anything runs, and every complaint names file, line and the nearest valid word.

mod bars;
mod error;
mod expand;
mod file;
mod filter;
mod id;
mod select;
mod values;

pub use bars::{FIXED_BARS, LIMIT_BARS};
pub use error::SuiteError;
pub(crate) use error::nearest;
pub use expand::MAX_CASES;
pub use filter::Filter;
pub use id::{case_id, find as find_op, param_text, parse_id};
pub use select::{Selection, Shard, embedded_suites, plan, plan_with};
pub use values::kind_text;

use crate::judge::spec::BarLimits;
use crate::ops::{Contract, Params};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The ops a suite may name: [`crate::ops::REGISTRY`], or a test's own.
pub type Ops<'a> = &'a [&'static dyn Contract];

/// One case: plain data that names everything needed to run it again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Case {
    /// Place in the plan.
    pub index: u64,
    /// `op/key=value,...`: keys in contract order, defaults left out. Common keys (`place`) come last.
    pub id: String,
    /// Suite it came from.
    pub suite: String,
    /// Op.
    pub op: String,
    /// Complete parameters.
    pub params: Params,
    /// How buffers are placed.
    pub place: Placement,
    /// Bar limits per output name; the key `*` holds for every output.
    pub limits: BTreeMap<String, BarLimits>,
    /// Seed of the run.
    pub seed: u64,
}

impl Case {
    /// Limits for an output; `*` holds for all, the output's own go first.
    pub fn limits_of(&self, output: &str) -> BarLimits {
        let mut limits = self.limits.get("*").cloned().unwrap_or_default();
        limits.extend(self.limits.get(output).into_iter().flatten().map(|(bar, limit)| (bar.clone(), *limit)));
        limits
    }
}

/// The common key `place`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Placement {
    /// Guard bytes on both sides.
    #[default]
    Guarded,
    /// Every buffer ends against an unmapped page; guard bytes before it. Boards that cannot seal memory report NOT-RUN.
    Flush,
}

impl Placement {
    /// Words of the key `place`; the first is the default.
    pub const WORDS: [&'static str; 2] = ["guarded", "flush"];

    /// The word of this placement.
    pub fn name(self) -> &'static str {
        match self {
            Self::Guarded => "guarded",
            Self::Flush => "flush",
        }
    }

    /// The placement of that word, if there is one.
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "guarded" => Some(Self::Guarded),
            "flush" => Some(Self::Flush),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
