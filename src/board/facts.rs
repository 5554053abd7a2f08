//! What a board is: data, never decided on by name.

use super::Kind;
use serde::{Deserialize, Serialize};

/// What a host's page is, and a simulated board's.
fn page() -> u32 {
    4096
}

/// Facts of a board. Decisions key on these and never on the architecture string.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Facts {
    /// Marketing or profile name.
    pub name: String,
    /// Architecture, e.g. `gfx1151`; reported only.
    pub arch: String,
    /// Lanes of a wave.
    pub wave: u32,
    /// Threads of a block, at most.
    pub max_threads: u32,
    /// Largest block extent in each dimension.
    pub max_block: [u32; 3],
    /// Largest grid extent in each dimension, blocks.
    pub max_grid: [u64; 3],
    /// Largest grid extent times block extent in each dimension, threads.
    pub max_grid_threads: u64,
    /// Shared memory of a block, bytes.
    pub lds: u32,
    /// Device memory, bytes.
    pub memory: u64,
    /// hipDeviceAttributeIntegrated.
    pub integrated: bool,
    /// hipDeviceAttributePageableMemoryAccess.
    pub pageable: bool,
    /// hipDeviceAttributeManagedMemory.
    pub managed: bool,
    /// hipDeviceAttributeConcurrentManagedAccess.
    pub concurrent_managed: bool,
    /// Kinds whose memory the host can dereference, as observed.
    pub host_reads: Vec<Kind>,
    /// Kinds whose memory a kernel can dereference, as observed.
    pub device_reads: Vec<Kind>,
    /// `fn`, `fnuz` or `none`.
    pub fp8: String,
    /// f32 subnormal results are flushed to zero.
    pub flush_f32: bool,
    /// Bytes of the smallest piece of device memory that can be made to fault, for flush placement; 0 where none can.
    #[serde(default = "page")]
    pub page: u32,
    /// Where the figures come from, one line each.
    #[serde(default)]
    pub sources: Vec<String>,
}
