//! The JSON documents of the commands besides `report.json`, in its vocabulary, and the schema of them all.

use crate::ladder::record::{LadderReport, Line as LadderLine};
use crate::record::{Assertion, BoardInfo, Line, Planned, Report, SCHEMA, Tool, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// This program, as every document names it.
pub fn tool() -> Tool {
    Tool { name: "assay".to_string(), version: env!("CARGO_PKG_VERSION").to_string() }
}

/// `assay list --json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ListDoc {
    /// [`SCHEMA`].
    pub schema: String,
    /// Who wrote it.
    pub tool: Tool,
    /// Planned cases.
    pub planned: u64,
    /// Every planned case, in order; empty with `--count`.
    pub cases: Vec<Planned>,
}

/// `assay ops --json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OpsDoc {
    /// [`SCHEMA`].
    pub schema: String,
    /// Who wrote it.
    pub tool: Tool,
    /// Every op.
    pub ops: Vec<OpDoc>,
}

/// What an op is, and what a candidate kernel for it must meet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OpDoc {
    /// Name.
    pub op: String,
    /// Family.
    pub family: String,
    /// One line.
    pub summary: String,
    /// Keys of its cases, in the order of case ids.
    pub params: Vec<ParamDoc>,
    /// Kernel symbols with their parameter lists.
    pub kernels: Vec<KernelDoc>,
    /// Named rounding paths; the first is the declared one.
    pub paths: Vec<String>,
    /// Outputs of its first planned case, with their bars.
    pub outputs: Vec<OutputDoc>,
    /// Planned cases of the default suites.
    pub planned: u64,
}

/// A key of an op's cases.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ParamDoc {
    /// Key.
    pub name: String,
    /// Values it admits.
    pub admits: String,
    /// Default; `null` when it must be given.
    pub default: Option<String>,
    /// One line.
    pub doc: String,
}

/// A kernel symbol.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KernelDoc {
    /// `extern "C"` symbol.
    pub symbol: String,
    /// `name: type` in order.
    pub params: Vec<String>,
}

/// An output and its bars.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OutputDoc {
    /// Name.
    pub name: String,
    /// Dtype in the planned case that was looked at.
    pub dtype: String,
    /// `copy`, `rounded` or `integer`.
    pub class: String,
    /// Bars it carries, with the limits that the op declares.
    pub bars: Vec<String>,
}

/// `assay doctor --json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DoctorDoc {
    /// [`SCHEMA`].
    pub schema: String,
    /// Who wrote it.
    pub tool: Tool,
    /// Everything required is there.
    pub ok: bool,
    /// Everything that was checked.
    pub checks: Vec<Check>,
}

/// One thing that `assay doctor` checked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Check {
    /// What.
    pub name: String,
    /// It is as it should be.
    pub ok: bool,
    /// Nothing else works without it.
    pub required: bool,
    /// What was found.
    pub detail: String,
    /// What to do; empty when ok.
    pub remedy: String,
}

/// `assay explain CASE --json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExplainDoc {
    /// [`SCHEMA`].
    pub schema: String,
    /// Who wrote it.
    pub tool: Tool,
    /// On what it ran.
    pub board: BoardInfo,
    /// Case id.
    pub id: String,
    /// Verdict.
    pub verdict: Verdict,
    /// Why, for everything but PASS.
    pub reason: Option<String>,
    /// Failed assertions, else the worst one.
    pub assertions: Vec<Assertion>,
    /// Findings of the simulator.
    pub findings: Vec<String>,
    /// Output that `elements` shows.
    pub output: Option<String>,
    /// Elements around the worst one; empty when only a journal was read.
    pub elements: Vec<Element>,
    /// Index of the worst element among them.
    pub worst: Option<u64>,
    /// Which thread owns the worst element, if one thread owns one element.
    pub lane: Option<String>,
    /// Known faults that the output resembles, best first.
    pub resembles: Vec<Hint>,
    /// Command that runs the case again.
    pub repro: String,
}

/// One element of an output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Element {
    /// Logical flat index.
    pub index: u64,
    /// Unit row.
    pub row: u64,
    /// Column in the row.
    pub col: u64,
    /// The board's value.
    pub got: String,
    /// The reference tier's value.
    pub want: String,
    /// The oracle, before the output rounding.
    pub oracle: String,
    /// Got and want differ.
    pub differs: bool,
}

/// A known fault that explains differing elements.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Hint {
    /// Fault.
    pub fault: String,
    /// Share of the differing elements that it explains, 0 to 1.
    pub share: f64,
}

/// Every document that assay writes as JSON.
#[derive(JsonSchema)]
#[serde(untagged)]
#[allow(dead_code, reason = "only its schema is used")]
enum Document {
    Report(Box<Report>),
    List(ListDoc),
    Ops(OpsDoc),
    Doctor(DoctorDoc),
    Explain(Box<ExplainDoc>),
    Power(Box<super::PowerDoc>),
    JournalLine(Line),
    Ladder(Box<LadderReport>),
    LadderLine(LadderLine),
}

/// JSON schema (2020-12) of every document: `report.json`, a line of `journal.jsonl`, and what each `--json` prints.
pub fn schema() -> serde_json::Value {
    let mut schema = schemars::schema_for!(Document).to_value();
    if let Some(object) = schema.as_object_mut() {
        object.insert("title".to_string(), format!("assay documents, {SCHEMA}").into());
    }
    schema
}
