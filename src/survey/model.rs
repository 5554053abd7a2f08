//! The document that a survey writes. Plain data.

use crate::record::{BoardInfo, Tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A fact with its source.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Fact {
    /// What.
    pub name: String,
    /// Its value, or `unknown`.
    pub value: String,
    /// Which call, file or kernel says so.
    pub source: String,
}

/// One attribute of the runtime, as declared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Attribute {
    /// Name without the vendor's prefix.
    pub name: String,
    /// Value; `null` where the runtime does not know it.
    pub value: Option<i64>,
}

/// What a probe saw.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Seen {
    /// Every byte was right.
    Works,
    /// The runtime refused, before anything was touched.
    Refused,
    /// It went through and bytes were wrong.
    WrongData,
    /// A fault, on the device or on the host.
    Faults,
    /// It did not end by its deadline.
    Hangs,
    /// The probe itself failed; nothing is known of the board.
    Inconclusive,
}

/// The result of one probe.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Probe {
    /// What was seen.
    pub seen: Seen,
    /// Bytes compared.
    pub bytes: u64,
    /// What happened, where it is not plain `works`.
    pub detail: String,
    /// Does the host use the address that kernels use? `null` where there is no host address.
    pub same_address: Option<bool>,
    /// Time of the kernel, microseconds; `null` where none ran.
    pub kernel_us: Option<f64>,
}

/// May the *host* dereference memory of this kind?
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostReach {
    /// What the runtime declares; `null` where it declares nothing.
    pub declared: Option<bool>,
    /// A kernel wrote, the host read.
    pub reads: Probe,
    /// The host wrote, a kernel copied it to device memory.
    pub writes: Probe,
}

/// May a *kernel* dereference memory of this kind?
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DeviceReach {
    /// What the runtime declares.
    pub declared: bool,
    /// A kernel copied it to device memory after a copy of the runtime filled it.
    pub reads: Probe,
    /// The same from a pointer into its middle.
    pub reads_middle: Probe,
    /// Time of that kernel over its time on device memory; `null` where one of them did not work.
    pub slower: Option<f64>,
}

/// One kind of memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryKind {
    /// `device`, `managed`, `pinned`, `registered`, `mapped_file`, `pageable`.
    pub kind: String,
    /// The first question.
    pub host: HostReach,
    /// The second question.
    pub device: DeviceReach,
    /// Declared and observed that contradict each other, one sentence each.
    pub findings: Vec<String>,
}

/// What follows for allocations and for the reference tier.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Policy {
    /// The runtime could give managed memory that both sides use at the same time.
    pub managed_capable: bool,
    /// Device allocations are made as managed memory.
    pub managed_alloc: bool,
    /// The host may dereference device allocations, by the attributes.
    pub unified: bool,
    /// A kernel may dereference ordinary host memory, by the attributes.
    pub host_memory_on_device: bool,
    /// The reference tier may serve ops of this board: what the attributes say *and* what was observed.
    pub reference_tier: bool,
    /// Why, or why not.
    pub why: String,
}

/// When a launch is seen to be done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Drain {
    /// Before the wait the host saw the old value, after it the new one.
    Shown {
        /// Rounds of the spinning kernel that it took.
        rounds: u64,
    },
    /// The old value was never seen before the wait, up to the longest kernel tried.
    NotShown {
        /// Why.
        why: String,
    },
    /// After the wait the host did not see the new value.
    Broken {
        /// What it saw.
        why: String,
    },
}

/// A survey of one board.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Survey {
    /// Schema.
    pub schema: String,
    /// Who surveyed.
    pub tool: Tool,
    /// What.
    pub board: BoardInfo,
    /// Unix time, seconds.
    pub at: u64,
    /// Command line, redacted.
    pub command: Vec<String>,
    /// Who the board is.
    pub identity: Vec<Fact>,
    /// What the runtime declares.
    pub attributes: Vec<Attribute>,
    /// What it can do.
    pub capabilities: Vec<Fact>,
    /// Which memory each side reaches.
    pub memory: Vec<MemoryKind>,
    /// What follows.
    pub policy: Policy,
    /// Asynchronous completion.
    pub drain: Drain,
    /// Environment variables that change what runs, as set.
    pub environment: Vec<Fact>,
    /// False when such a variable makes the board pretend to be another.
    pub conforming: bool,
    /// Contradictions and whatever else a reader must know, one sentence each.
    pub findings: Vec<String>,
}
