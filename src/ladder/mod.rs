//! The mutation ladder: kernels are rebuilt with one deliberate fault each, and the gate must go red. Refuses to weaken a bar, and to
//! count a mutant as killed that never ran.
//!
//! A rung goes one way: edit a scratch copy ([`scratch`]), build it with the control's flags ([`build`]), compare its code with the
//! control's ([`code`]), run and judge the suites' cases ([`gate`], [`trial`]), write the result down ([`journal`]). [`score`] folds
//! the journal; [`report`] renders the fold.

mod build;
pub mod catalogue;
mod code;
mod concern;
mod controls;
mod diff;
mod failure;
mod gate;
mod host;
mod journal;
mod markdown;
pub mod operators;
mod plan;
pub mod record;
pub mod report;
mod run;
pub mod rung;
mod score;
mod scratch;
pub mod select;
mod trial;

pub use failure::ClimbError;
pub use journal::{FILE as JOURNAL, command};
pub use markdown::markdown;
pub use plan::{Lane, Options, Plan, Sources};
pub use run::{Event, REPORT, run};
