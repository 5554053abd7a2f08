//! Rotary embeddings from a cos/sin cache.

pub mod rope_from_cache;
