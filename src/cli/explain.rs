//! `assay explain CASE`.

use super::{Console, Stop};

#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// Case id.
    #[arg(value_name = "CASE")]
    case: String,
}

pub(super) fn main(args: &Args, console: &mut Console) -> Result<u8, Stop> {
    console.line(&args.case);
    Ok(0)
}
