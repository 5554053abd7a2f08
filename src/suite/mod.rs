//! Suite files, expansion, filters, case ids. Refuses to know what an op computes.

use crate::judge::spec::BarLimits;
use crate::ops::Params;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

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
