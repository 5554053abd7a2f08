//! The result model of the ladder: what `ladder.jsonl` and `ladder.json` speak. Refuses to compute.

use crate::record::{BoardInfo, Tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of the documents that this module describes.
pub const SCHEMA: &str = "assay-ladder/1";

/// What became of a rung.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// The gate went red.
    Killed,
    /// The gate stayed green.
    Survived,
    /// Its code is the control's, or a reason says why it cannot differ.
    Equivalent,
    /// It does not compile.
    BuildBroken,
    /// Its anchor no longer matches the source.
    Stale,
    /// No case of the gate launches a kernel of the edited file.
    Unreached,
    /// The board lacks what would show it.
    OutOfReach,
}

/// What killed a mutant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Kill {
    /// A bar, `crash` or `hang`; `harness` for a host fault that showed in counts.
    pub by: String,
    /// Case.
    pub case: String,
    /// Output it is about; empty for the whole case.
    pub on: String,
    /// The figure; `null` for what has none.
    pub figure: Option<f64>,
    /// The limit.
    pub limit: Option<f64>,
    /// Figure over limit; `null` where the limit is 0 or there is none.
    pub margin: Option<f64>,
    /// What was seen, one sentence.
    pub detail: String,
}

/// The bar that came nearest to seeing a survivor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Near {
    /// Case.
    pub case: String,
    /// Bar.
    pub bar: String,
    /// Output.
    pub on: String,
    /// Figure.
    pub figure: f64,
    /// Limit.
    pub limit: f64,
    /// Figure over limit.
    pub margin: f64,
}

/// Result of one rung.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RungRecord {
    /// Id.
    pub id: String,
    /// `named`, `generated`, `host` or `control`.
    pub origin: String,
    /// Operator that made it.
    pub operator: String,
    /// Fault class, 1 to 20.
    pub class: Option<u8>,
    /// Ops whose cases the gate ran.
    pub ops: Vec<String>,
    /// Why somebody would make this fault.
    pub why: String,
    /// Edited file, below the kernel folder; empty for host faults.
    pub file: String,
    /// Line of the first edit.
    pub line: u64,
    /// The edit as a diff.
    pub diff: String,
    /// State.
    pub state: State,
    /// Why it is not scored, or what the compiler said.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reason: Option<String>,
    /// What killed it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub kill: Option<Kill>,
    /// Every bar that failed in the cases that ran.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub bars: Vec<String>,
    /// Killers that the ladder file expects; empty: any.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub expected: Vec<String>,
    /// Nearest miss of a survivor.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub nearest: Option<Near>,
    /// Cases that the gate ran.
    pub cases: u64,
    /// Assertions that the gate judged.
    pub assertions: u64,
    /// Milliseconds to build.
    pub build_ms: f64,
    /// Milliseconds of the gate.
    pub gate_ms: f64,
}

/// A pass of the unmutated kernels over the gate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ControlArm {
    /// `before` or `after` the mutants.
    pub when: String,
    /// Cases that passed.
    pub cases: u64,
    /// Cases that the simulator leaves to hardware: not part of the gate.
    pub left_out: u64,
    /// Assertions judged.
    pub assertions: u64,
    /// Canaries refused.
    pub canaries: u64,
    /// Why it is not green; empty when it is.
    pub failures: Vec<String>,
    /// Milliseconds.
    pub wall_ms: f64,
}

/// First line of `ladder.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Header {
    /// [`SCHEMA`].
    pub schema: String,
    /// Who ran.
    pub tool: Tool,
    /// On what.
    pub board: BoardInfo,
    /// Command line.
    pub command: Vec<String>,
    /// `default` or `smoke`.
    pub lane: String,
    /// Every bar of every case was judged.
    pub all_bars: bool,
    /// Percent that the score must reach.
    pub min_score: f64,
    /// sha256 over all that a resume must match.
    pub plan_hash: String,
    /// Every planned rung, in order: fixed before anything is built.
    pub rungs: Vec<String>,
    /// sha256 of every source before the first mutant.
    pub sources: BTreeMap<String, String>,
    /// Compiler: path, version line, sha256.
    pub compiler: BTreeMap<String, String>,
    /// Commit that assay was built from.
    pub tree: String,
    /// Unix time of the start, seconds.
    pub started: u64,
}

/// Last line of a ladder that came to its end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct End {
    /// sha256 of every source after the last mutant.
    pub sources: BTreeMap<String, String>,
    /// Sources, scratch copies or references that no longer have their hash; empty when all is well.
    pub changed: Vec<String>,
    /// Wall time of this process, milliseconds.
    pub wall_ms: f64,
    /// Workers.
    pub jobs: u64,
}

/// One line of `ladder.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "t", rename_all = "snake_case")]
pub enum Line {
    /// First line.
    Header(Box<Header>),
    /// A pass of the unmutated kernels; the last of each kind counts.
    Control(ControlArm),
    /// A rung; the first of an id counts.
    Rung(Box<RungRecord>),
    /// A finding about the run: `resumed`, `interrupted`.
    Note {
        /// Kind.
        kind: String,
        /// One sentence.
        text: String,
    },
    /// Last line.
    End(End),
}

/// Rungs by state, and the score.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Tally {
    /// All.
    pub all: u64,
    /// Killed by a bar.
    pub killed_by_bar: u64,
    /// Killed by a crash.
    pub killed_by_crash: u64,
    /// Killed by a hang.
    pub killed_by_hang: u64,
    /// Survived.
    pub survived: u64,
    /// Unreached: scored as not killed.
    pub unreached: u64,
    /// Equivalent: not scored.
    pub equivalent: u64,
    /// Build-broken: not scored.
    pub build_broken: u64,
    /// Out of reach: not scored.
    pub out_of_reach: u64,
    /// Stale: not scored, and fails the run.
    pub stale: u64,
    /// Killed of 100 scored; `null` when nothing is scored.
    pub score: Option<f64>,
    /// Killed of 100 of all, nothing left out.
    pub raw: Option<f64>,
}

/// Kills of one bar.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BarKills {
    /// Mutants that it killed first.
    pub killed: u64,
    /// Mutants that failed it in any case that ran.
    pub failed: u64,
    /// Mutants that failed no other bar; says something with `--all-bars` only.
    pub alone: u64,
}

/// `ladder.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LadderReport {
    /// [`SCHEMA`].
    pub schema: String,
    /// Who ran.
    pub tool: Tool,
    /// On what.
    pub board: BoardInfo,
    /// `default` or `smoke`.
    pub lane: String,
    /// Every bar of every case was judged.
    pub all_bars: bool,
    /// Exit code of the run.
    pub exit_code: u8,
    /// Why the exit code is not 0, the first that holds first.
    pub problems: Vec<String>,
    /// Percent that the score must reach.
    pub min_score: f64,
    /// Source rungs, named and generated.
    pub total: Tally,
    /// Faults of the harness.
    pub host: Tally,
    /// Per op; a rung counts for every op it concerns.
    pub by_op: BTreeMap<String, Tally>,
    /// Per fault class, `-` without one.
    pub by_class: BTreeMap<String, Tally>,
    /// Per operator.
    pub by_operator: BTreeMap<String, Tally>,
    /// Per bar, `crash` and `hang`.
    pub by_bar: BTreeMap<String, BarKills>,
    /// Percent of the generated rungs that are not scored.
    pub left_out: Option<f64>,
    /// Passes of the unmutated kernels.
    pub control_arms: Vec<ControlArm>,
    /// Control rungs.
    pub controls: Vec<RungRecord>,
    /// sha256 of every source before and after.
    pub sources_before: BTreeMap<String, String>,
    /// The same after the last mutant; empty when the ladder was cut.
    pub sources_after: BTreeMap<String, String>,
    /// Planned rungs without a result: the ladder was cut.
    pub missing: u64,
    /// Findings about the run.
    pub notes: Vec<String>,
    /// Commit that assay was built from.
    pub tree: String,
    /// Compiler.
    pub compiler: BTreeMap<String, String>,
    /// Wall time of the last process, milliseconds.
    pub wall_ms: f64,
    /// Every rung, survivors first.
    pub rungs: Vec<RungRecord>,
}
