//! The versioned result model: what the journal, the reports and the gate speak. Refuses to compute anything.

mod kinds;

pub use kinds::Kinds;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of every document this module describes.
pub const SCHEMA: &str = "assay/1";

/// Verdict of a case, or of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Ran and is right.
    Pass,
    /// Ran and is wrong.
    Fail,
    /// Could not be judged.
    Error,
    /// Required and did not run.
    NotRun,
    /// A fact of the board declares the unit absent: not required.
    NotApplicable,
    /// A failure under an unexpired waiver.
    Known,
    /// Waived, but passes.
    UnexpectedPass,
    /// Served by the reference tier: judged, but never a device PASS.
    Reference,
}

/// Which tier an assertion is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// The board's output.
    Device,
    /// The reference tier's output (the control arm: host-side assertions).
    Reference,
}

/// The worst place of an assertion.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Worst {
    /// Logical flat index (element), or byte offset for byte bars.
    pub index: u64,
    /// Unit row.
    pub row: u64,
    /// Column in the row.
    pub col: u64,
    /// Value found, decimal.
    pub got: String,
    /// Value wanted, decimal.
    pub want: String,
    /// Bits found.
    pub got_hex: String,
    /// Bits wanted.
    pub want_hex: String,
}

/// One assertion: one bar applied to one output or input of one case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Assertion {
    /// Bar, by its name in docs/bars.md.
    pub bar: String,
    /// Output or input it is about; empty for the whole case.
    pub on: String,
    /// Tier.
    pub tier: Tier,
    /// Passed.
    pub pass: bool,
    /// The figure; `null` when undefined (zero energy), with the reason in `note`.
    pub figure: Option<f64>,
    /// The limit.
    pub limit: Option<f64>,
    /// Elements (or bytes) compared; never 0.
    pub elements: u64,
    /// Worst place, kept for failures and for the bar with the largest figure.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub worst: Option<Worst>,
    /// Remarks: `undefined (zero energy)`, `loosened from X to Y`, the reason of a failure.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub note: Option<String>,
}

/// A bar that does not apply to an output, and why.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Absent {
    /// Bar.
    pub bar: String,
    /// Output.
    pub on: String,
    /// Why.
    pub why: String,
}

/// Canary counts of one case or of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Canaries {
    /// Corrupted copies judged.
    pub run: u64,
    /// Refused by a bar, as they must be.
    pub refused: u64,
    /// Accepted: the gate is blind.
    pub accepted: u64,
    /// Kinds with no material place.
    pub not_applicable: u64,
    /// `kind: why` of the inapplicable and `kind accepted` of the accepted ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Applicable canaries per kind.
    #[serde(default, skip_serializing_if = "Kinds::is_empty")]
    pub kinds: Kinds,
}

/// Elements whose bits differ from the rounding of a named path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PathCount {
    /// Output.
    pub on: String,
    /// Path.
    pub path: String,
    /// Elements that differ and are not explained.
    pub unexplained: u64,
    /// Elements that differ at all.
    pub differing: u64,
}

/// Milliseconds spent on a case.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Timings {
    /// Generating inputs and images.
    pub prepare_ms: f64,
    /// Reference tier and oracle.
    pub reference_ms: f64,
    /// The board, all launches.
    pub board_ms: f64,
    /// Bars and canaries.
    pub judge_ms: f64,
}

/// Result of one case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CaseRecord {
    /// Place in the plan.
    pub index: u64,
    /// Case id: enough to run it again.
    pub id: String,
    /// Suite it came from.
    pub suite: String,
    /// Op.
    pub op: String,
    /// Verdict.
    pub verdict: Verdict,
    /// Why, for everything but PASS.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reason: Option<String>,
    /// Every assertion.
    pub assertions: Vec<Assertion>,
    /// Bars that do not apply.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub absent: Vec<Absent>,
    /// Canary counts.
    pub canaries: Canaries,
    /// Mismatch counts per rounding path.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<PathCount>,
    /// Findings of the simulator, as sentences.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<String>,
    /// Worst assertion: the failed one with the largest figure/limit, else the passed one nearest its limit.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub worst: Option<Assertion>,
    /// Time spent.
    pub timings: Timings,
    /// Command that runs this case again.
    pub repro: String,
}

/// Who wrote a document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Tool {
    /// `assay`.
    pub name: String,
    /// Version of the crate.
    pub version: String,
}

/// The board of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BoardInfo {
    /// Board id: `runtime:index` or `sim:PROFILE`.
    pub id: String,
    /// Marketing or profile name.
    pub name: String,
    /// Architecture.
    pub arch: String,
    /// `sim`, `mock`, `hip`, `cuda`.
    pub runtime: String,
    /// True unless real hardware ran. Such a result is always labelled.
    pub simulated: bool,
    /// Lanes of a wave.
    pub wave: u32,
}

/// Where a result comes from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Provenance {
    /// Commit of the tree assay was built from, or `unknown`.
    pub tree: String,
    /// The tree had uncommitted changes; `null` when unknown.
    pub dirty: Option<bool>,
    /// sha256 of the assay binary.
    pub binary: String,
    /// Kernel symbol -> origin (`embedded` or path) and sha256 of the source it was built from.
    pub kernels: BTreeMap<String, KernelOrigin>,
    /// Compiler: path, version line, sha256, flags.
    pub compiler: BTreeMap<String, String>,
    /// Environment variables that change what runs, and the machine (cpu, cores).
    pub environment: BTreeMap<String, String>,
}

/// Where a kernel came from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KernelOrigin {
    /// `embedded` or the path of the candidate's file.
    pub origin: String,
    /// sha256 of the source file.
    pub sha256: String,
}

/// A planned case, by name only.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Planned {
    /// Case id.
    pub id: String,
    /// Op.
    pub op: String,
    /// Suite.
    pub suite: String,
}

/// First line of a journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunHeader {
    /// [`SCHEMA`].
    pub schema: String,
    /// Who ran.
    pub tool: Tool,
    /// On what.
    pub board: BoardInfo,
    /// Command line.
    pub command: Vec<String>,
    /// Seed of the inputs.
    pub seed: u64,
    /// `i/n`, or `null`.
    pub shard: Option<String>,
    /// sha256 over what must match for a resume: case ids, limits, seed, board id, kernels.
    pub plan_hash: String,
    /// Every planned case, in order.
    pub cases: Vec<Planned>,
    /// Provenance.
    pub provenance: Provenance,
    /// Unix time of the start, seconds.
    pub started: u64,
}

/// One line of `journal.jsonl`. The journal is the event log; every report is a fold over it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "t", rename_all = "snake_case")]
pub enum Line {
    /// First line.
    Header(Box<RunHeader>),
    /// A worker began this case.
    Start {
        /// Place in the plan.
        index: u64,
    },
    /// The result of a case. The first record of an index counts; a later one for the same index replaces it only where it was NOT-RUN.
    Record(Box<CaseRecord>),
    /// A finding about the run itself: exit hang, worker death, wedged board, resumed.
    Note {
        /// `exit_hang`, `worker_died`, `wedged`, `resumed`, `write_failed`, `interrupted`.
        kind: String,
        /// One sentence.
        text: String,
    },
    /// Last line of a run that came to its end.
    End {
        /// Unix time, seconds.
        at: u64,
        /// Wall time of this process, milliseconds.
        wall_ms: u64,
        /// The board was declared wedged, lost or busy (exit 4).
        board_failed: bool,
    },
}

/// Verdict counts. `planned` equals the sum of the others; the tool checks it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Counts {
    /// Planned cases.
    pub planned: u64,
    /// PASS.
    pub pass: u64,
    /// FAIL.
    pub fail: u64,
    /// ERROR.
    pub error: u64,
    /// NOT-RUN that is required.
    pub not_run: u64,
    /// NOT-RUN that is not applicable.
    pub not_applicable: u64,
    /// KNOWN.
    pub known: u64,
    /// UNEXPECTED-PASS.
    pub unexpected_pass: u64,
    /// REFERENCE.
    pub reference: u64,
}

/// Assertion counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AssertionCounts {
    /// Executed.
    pub run: u64,
    /// Passed.
    pub passed: u64,
    /// Failed.
    pub failed: u64,
    /// Elements or bytes compared, all assertions together.
    pub elements: u64,
}

/// One case in `report.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CaseReport {
    /// Case id.
    pub id: String,
    /// Op.
    pub op: String,
    /// Verdict.
    pub verdict: Verdict,
    /// Why, for everything but PASS.
    pub reason: Option<String>,
    /// Every assertion.
    pub assertions: Vec<Assertion>,
    /// Worst assertion.
    pub worst: Option<Assertion>,
    /// Command that runs it again.
    pub repro: String,
}

/// `report.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: String,
    /// Who ran.
    pub tool: Tool,
    /// On what.
    pub board: BoardInfo,
    /// Verdict of the run: PASS, FAIL, ERROR or NOT-RUN.
    pub verdict: Verdict,
    /// Exit code of the run.
    pub exit_code: u8,
    /// Verdict counts.
    pub counts: Counts,
    /// Assertion counts, both tiers.
    pub assertions: AssertionCounts,
    /// Canary counts.
    pub canaries: Canaries,
    /// Assertions of the control arm (host-side only).
    pub control: AssertionCounts,
    /// The journal ends early: the run was cut.
    pub cut: bool,
    /// Findings about the run.
    pub notes: Vec<String>,
    /// Provenance.
    pub provenance: Provenance,
    /// Every planned case, in plan order.
    pub cases: Vec<CaseReport>,
}
