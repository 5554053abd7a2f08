//! Compilers, builds, cache. Refuses to know ops.

pub mod host;
