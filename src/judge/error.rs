//! Why an output could not be judged. Each of these makes the case ERROR, never PASS.

/// Something that keeps the judge from saying anything about a case.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum JudgeError {
    /// Output bytes of the wrong size; nothing was compared.
    #[error("output '{on}': the {who} has {got} bytes, {want} are expected")]
    WrongSize {
        /// Output.
        on: String,
        /// `device` or `reference tier`.
        who: &'static str,
        /// Bytes found.
        got: usize,
        /// Bytes expected.
        want: usize,
    },
    /// An oracle column with the wrong number of entries.
    #[error("output '{on}': oracle column '{column}' has {got} entries, {want} are expected")]
    Columns {
        /// Output.
        on: String,
        /// Column.
        column: &'static str,
        /// Entries found.
        got: usize,
        /// Entries expected.
        want: usize,
    },
    /// `B0` or `M` that is NaN, infinite or negative where the oracle is finite.
    #[error("output '{on}': the oracle's error bound at element {index} is not a finite number >= 0")]
    BadBound {
        /// Output.
        on: String,
        /// Element.
        index: u64,
    },
    /// The oracle is not finite and the op does not declare that.
    #[error("output '{on}': the oracle is not finite at element {index}, and the op declares no such outcome")]
    UndeclaredNonFinite {
        /// Output.
        on: String,
        /// Element.
        index: u64,
    },
    /// The reference tier disagrees with the oracle about NaN, infinity or finite.
    #[error(
        "output '{on}': unusable reference: its class differs from the oracle's at {count} elements, first at {index}"
    )]
    UnusableReference {
        /// Output.
        on: String,
        /// First element.
        index: u64,
        /// Elements.
        count: u64,
    },
    /// A bar that applies and compared nothing.
    #[error("output '{on}': vacuous: bar '{bar}' applies and compared 0 elements")]
    Vacuous {
        /// Output.
        on: String,
        /// Bar.
        bar: &'static str,
    },
    /// A corrupted copy of the accepted output was accepted too.
    #[error("output '{on}': blind gate: canary '{kind}' ({what}) was accepted")]
    BlindGate {
        /// Output.
        on: String,
        /// Canary.
        kind: &'static str,
        /// What was corrupted.
        what: String,
    },
    /// No canary could be material, and the op does not declare the case degenerate.
    #[error("output '{on}': no canary applies ({why}); declare the case degenerate or change its data")]
    NoCanary {
        /// Output.
        on: String,
        /// Why not, per kind.
        why: String,
    },
    /// A limit that cannot be a limit.
    #[error("output '{on}': limit of bar '{bar}' is {value}; it must be a finite number >= 0")]
    BadLimit {
        /// Output.
        on: String,
        /// Bar.
        bar: String,
        /// The value given.
        value: f64,
    },
    /// A limit for a bar that takes none.
    #[error("output '{on}': bar '{bar}' takes no limit (ulp, nmse, row_nmse, bias and bound do)")]
    UnknownLimit {
        /// Output.
        on: String,
        /// The name given.
        bar: String,
    },
}

impl JudgeError {
    /// True when nothing said about the device can be trusted, so that the case is ERROR even if a bar failed.
    /// A blind gate or a vacuous bar does not hide the FAIL of another bar.
    pub fn voids(&self) -> bool {
        !matches!(self, Self::Vacuous { .. } | Self::BlindGate { .. } | Self::NoCanary { .. })
    }
}
