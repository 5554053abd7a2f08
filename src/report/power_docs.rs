//! The document of `assay power`.

use crate::record::Tool;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// `assay power --json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PowerDoc {
    /// `assay/1`.
    pub schema: String,
    /// Who wrote it.
    pub tool: Tool,
    /// Seed of the inputs.
    pub seed: u64,
    /// Planned cases.
    pub planned: u64,
    /// Exit code: 3 for a blind spot that is not declared, a case that could not be measured, or nothing measured.
    pub exit_code: u8,
    /// Wrong outputs judged, each kind of fault once an output.
    pub material: u64,
    /// What is caught, per op and fault.
    pub ops: Vec<OpPowerDoc>,
    /// Faults that no output of an op shows.
    pub blind: Vec<BlindSpotDoc>,
    /// Smallest errors that are refused.
    pub floors: Vec<FloorDoc>,
    /// How often elements must be wrong.
    pub rates: Vec<RateDoc>,
    /// Cases without a measure.
    pub unmeasured: Vec<UnmeasuredDoc>,
    /// Every output.
    pub outputs: Vec<OutputPowerDoc>,
}

/// The faults of an op's outputs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OpPowerDoc {
    /// Op.
    pub op: String,
    /// One entry per kind of fault.
    pub nulls: Vec<NullDoc>,
}

/// One kind of fault in all outputs of an op.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NullDoc {
    /// Kind of the fault.
    pub null: String,
    /// Outputs in which it gives something wrong.
    pub material: u64,
    /// Of those, the ones in which a bar refuses it.
    pub caught: u64,
    /// Outputs in which every bar passes it, by their dtype.
    pub missed: BTreeMap<String, u64>,
    /// Outputs in which it gives the right output.
    pub immaterial: u64,
    /// Outputs in which it cannot happen.
    pub inapplicable: u64,
    /// Why it cannot happen, in the first of them.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub why: Option<String>,
    /// Outputs in which each bar refuses it.
    pub bars: BTreeMap<String, u64>,
}

/// A fault that no output of an op shows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BlindSpotDoc {
    /// Op.
    pub op: String,
    /// Kind of the fault.
    pub null: String,
    /// Why it is not seen.
    pub why: String,
    /// The op declares every such output degenerate.
    pub declared: bool,
}

/// Smallest error that a bar refuses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FloorDoc {
    /// `steps`: one element off; `scaled`: the whole output.
    pub null: String,
    /// Dtype of the output.
    pub dtype: String,
    /// Bar.
    pub bar: String,
    /// Smallest size refused in any output: steps of the format, or a factor.
    pub smallest: f64,
    /// The smallest such error relative to the right value.
    pub relative: f64,
    /// Size from which on the bar refuses it in every output in which it refuses it at all.
    pub largest: f64,
    /// Those outputs.
    pub outputs: u64,
}

/// The rate of elements one step off that a bar refuses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RateDoc {
    /// Op.
    pub op: String,
    /// Case it was measured on.
    pub id: String,
    /// Output.
    pub on: String,
    /// Its dtype.
    pub dtype: String,
    /// Bar.
    pub bar: String,
    /// Share of the elements that are one step nearer zero.
    pub rate: f64,
    /// Trials in which the bar refused the output.
    pub refused: u64,
    /// Trials.
    pub trials: u64,
    /// Chance of being refused: lower end of its 95 % interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// A case that could not be measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UnmeasuredDoc {
    /// Case id.
    pub id: String,
    /// Why.
    pub why: String,
}

/// Every fault in one output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OutputPowerDoc {
    /// Case id.
    pub id: String,
    /// Output.
    pub on: String,
    /// Its dtype.
    pub dtype: String,
    /// Declared: no corruption can show.
    pub degenerate: bool,
    /// One entry per kind of fault.
    pub nulls: Vec<CellDoc>,
}

/// A fault in one output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CellDoc {
    /// Kind of the fault.
    pub null: String,
    /// `caught`, `missed`, `immaterial` or `inapplicable`.
    pub outcome: String,
    /// Why it cannot happen.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub why: Option<String>,
    /// Bars that refuse it, with the smallest size that they refuse where the fault has sizes.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub bars: BTreeMap<String, Option<f64>>,
}
