//! Kernels of a run: built before any worker starts, so that no two workers build the same. Refuses to run them.

use super::protocol::Built;
use super::{Event, Options, RunError, boards::Named};
use crate::record::Provenance;
use crate::suite::Case;
use std::collections::BTreeMap;

/// What was built for a run.
pub struct Kernels {
    /// Per kernel symbol its image, or why there is none.
    pub images: BTreeMap<String, Built>,
    /// Where everything came from.
    pub provenance: Provenance,
}

/// Builds the kernels that the cases launch.
///
/// # Errors
/// When there is no compiler, or an overlay is not usable.
pub fn build(
    named: &Named,
    options: &Options,
    cases: &[Case],
    on_event: &mut dyn FnMut(Event),
) -> Result<Kernels, RunError> {
    let _ = (options, cases, on_event);
    match named {
        Named::Mock(_) => Ok(Kernels { images: BTreeMap::new(), provenance: Provenance::default() }),
    }
}
