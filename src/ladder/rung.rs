//! A rung: one deliberate fault, where it comes from and what it needs to show. Plain data; refuses to build and to run.

use serde::Deserialize;
use std::fmt;
use std::ops::Range;

/// Where a rung comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Origin {
    /// A ladder file.
    Named,
    /// An operator over the syntax tree.
    Generated,
    /// A fault in the harness itself.
    Host,
    /// One of the controls of every run.
    Control,
}

/// One replacement of bytes in a source file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// Path below the kernel folder, with `/`.
    pub file: String,
    /// Bytes that are replaced.
    pub span: Range<usize>,
    /// What stands there.
    pub old: String,
    /// What takes its place.
    pub new: String,
}

/// A fact of the board without which the fault cannot show: the rung is out of reach elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Need {
    /// Waves of 64 lanes.
    Wave64,
    /// Element offsets beyond 2^31, that is more memory than 2^31 of the smallest elements.
    LargeOffsets,
}

/// A fault in the harness itself, made without a rebuild.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HostFault {
    /// No kernel is provided for the op.
    ProviderRemoved,
    /// The op's kernel symbol is bound to another one with the same parameters.
    ProviderRepointed,
    /// Outputs are read without waiting for the launches.
    DrainRemoved,
    /// One launch is left out.
    LaunchSkipped,
    /// Inputs are all zero.
    FixtureZeroed,
    /// The bar that sees the sine-term rung is left out.
    BarDropped,
    /// Canaries are accepted unseen.
    CanaryDisarmed,
}

/// What a rung changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Source edits, all applied together; in one file each, not overlapping, in ascending order.
    Source(Vec<Edit>),
    /// The harness.
    Host(HostFault),
}

/// One deliberate fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rung {
    /// Unique name, stable as long as the source is: `sine-term-dropped`, or `rms_norm.hip/relational/row<rows/1`.
    pub id: String,
    /// Where it comes from.
    pub origin: Origin,
    /// The operator that made it; `named`, `host` or `control` otherwise.
    pub operator: String,
    /// Number of its fault class, 1 to 20 (`docs/ladder.md`).
    pub class: Option<u8>,
    /// Ops whose cases must see it. Empty: every op that is built from the edited file.
    pub ops: Vec<String>,
    /// Why somebody would make this fault, with its public source for named rungs.
    pub why: String,
    /// The edit.
    pub fault: Fault,
    /// Bars, or `crash` or `hang`, of which one is expected to see it. Empty: any.
    pub killers: Vec<String>,
    /// What a board must have to show it.
    pub needs: Option<Need>,
    /// Line of the first edit, from 1; 0 for host faults.
    pub line: usize,
}

impl Rung {
    /// Files that it edits.
    pub fn files(&self) -> Vec<&str> {
        match &self.fault {
            Fault::Source(edits) => edits.iter().map(|e| e.file.as_str()).collect(),
            Fault::Host(_) => vec![],
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Self::Named => "named",
            Self::Generated => "generated",
            Self::Host => "host",
            Self::Control => "control",
        })
    }
}
