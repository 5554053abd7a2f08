//! The simulated board: HIP kernels compiled for the host, run by a process of their own that enforces a profile's facts.
//! Refuses to let a kernel near anything but device memory, and to run anything before a wait.
//!
//! [`SimBoard`] lives in the worker. The *executor* (`assay __sim-device`) owns the mapped device memory and the loaded
//! libraries and nothing else; it is replaced after every fault.

mod arena;
mod board;
pub mod executor;
mod link;
mod profile;
mod wire;

pub use board::SimBoard;
pub use profile::{ProfileError, names, profile};
