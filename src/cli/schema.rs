//! `assay schema`.

use super::{Console, Stop};

pub(super) fn main(console: &mut Console) -> Result<u8, Stop> {
    console.json(&crate::report::schema());
    Ok(0)
}
