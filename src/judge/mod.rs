//! Bars, canaries and verdicts: pure functions over slices. Refuses to know ops, boards or files, and holds no state.
//!
//! Pass is written `figure <= limit` everywhere; a figure that is NaN therefore never passes.

pub mod spec;
