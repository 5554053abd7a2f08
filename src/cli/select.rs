//! Options that choose cases, shared by commands.

use super::Stop;
use crate::run::DEFAULT_SEED;
use crate::suite::{self, Case, Selection, Shard};

#[derive(clap::Args, Clone, Debug, Default, PartialEq)]
#[command(next_help_heading = "Which cases")]
pub(super) struct SelectArgs {
    /// Part of a case id, key=value (op=, dtype=, data=, suite=, any key of an op), or /regex/; all must hold.
    #[arg(value_name = "FILTER")]
    pub(super) filters: Vec<String>,
    /// Exactly this case; may be given several times.
    #[arg(long = "case", value_name = "ID")]
    pub(super) cases: Vec<String>,
    /// A suite file to add, or the name of an embedded suite to run instead of the default ones; may be given several times.
    #[arg(long = "suite", value_name = "FILE|NAME")]
    pub(super) suites: Vec<String>,
    /// Part I of N of the cases, by the hash of their ids.
    #[arg(long, value_name = "I/N")]
    pub(super) shard: Option<Shard>,
    /// Seed of the inputs, which are a function of (seed, case id) alone.
    #[arg(long, default_value_t = DEFAULT_SEED, value_name = "N")]
    pub(super) seed: u64,
}

impl SelectArgs {
    /// The planned cases.
    pub(super) fn plan(&self) -> Result<Vec<Case>, Stop> {
        Ok(suite::plan(&Selection {
            suites: self.suites.clone(),
            filters: self.filters.clone(),
            cases: self.cases.clone(),
            shard: self.shard,
            seed: self.seed,
        })?)
    }
}
