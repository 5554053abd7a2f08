//! `assay power`: which wrong outputs the bars would refuse.

use super::select::SelectArgs;
use super::{Console, Stop};
use crate::{power, report};

#[derive(clap::Args, Debug)]
pub(super) struct Args {
    #[command(flatten)]
    select: SelectArgs,
    /// Print JSON.
    #[arg(long, help_heading = "Output")]
    json: bool,
}

pub(super) fn main(args: &Args, console: &mut Console) -> Result<u8, Stop> {
    let cases = args.select.plan()?;
    let doc = power::power(&cases, args.select.seed);
    match args.json {
        true => console.json(&doc),
        false => console.text(&report::power_text(&doc)),
    }
    Ok(doc.exit_code)
}
