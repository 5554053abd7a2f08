//! Compilers, builds, cache. Refuses to know ops.
