//! Bars, canaries and verdicts: pure functions over slices. Refuses to know ops, boards or files, and holds no state.
//!
//! Pass is written `figure <= limit` everywhere; a figure that is NaN therefore never passes.

mod again;
mod agreement;
mod canary;
mod canary_bits;
pub mod error;
pub mod exact;
pub mod figures;
pub mod limits;
pub mod nulls;
mod output;
pub mod runtime;
pub mod spec;
pub mod verdict;
mod worst;

pub use again::refusing;
pub use canary::{Flock, canary};
pub use error::JudgeError;
pub use output::{Judged, output};
