//! Deliberate faults of the harness itself, for the ladder alone. Refuses to be asked for by `assay run`: workers make a bench without one.

/// What is wrong with the harness.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Tamper {
    /// Nothing.
    #[default]
    None,
    /// Launches of one kernel symbol call another one.
    Repointed {
        /// The symbol that a plan names.
        from: String,
        /// The symbol that is called.
        to: String,
    },
    /// Outputs are read before the launches.
    DrainRemoved,
    /// The first launch of every pass is left out.
    LaunchSkipped,
    /// Inputs are all zero.
    FixtureZeroed,
    /// The assertions of a bar are left out.
    BarDropped(String),
    /// Corrupted copies are accepted unseen.
    CanaryDisarmed,
}

impl Tamper {
    /// The symbol that is called where a plan names `symbol`.
    pub fn kernel<'a>(&'a self, symbol: &'a str) -> &'a str {
        match self {
            Self::Repointed { from, to } if from == symbol => to,
            _ => symbol,
        }
    }
}
