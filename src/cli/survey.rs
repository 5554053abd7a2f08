//! `assay survey`.

use super::run::{DEFAULT_BOARD, own_binary};
use super::{Console, Stop};
use crate::survey::{self, publish, text};
use std::path::PathBuf;

#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// Board: hip:INDEX, cuda:INDEX or sim:PROFILE.
    #[arg(long, value_name = "ID", default_value = DEFAULT_BOARD)]
    board: String,
    /// Kernel images built by `assay build`, for machines without a compiler.
    #[arg(long, value_name = "FILE")]
    kernels_pack: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Also write survey.json, survey.md and a manifest of their hashes to DIR, without names and paths of this machine;
    /// `assay report --verify DIR` checks them.
    #[arg(long, value_name = "DIR")]
    publish: Option<PathBuf>,
}

pub(super) fn main(args: &Args, console: &mut Console) -> Result<u8, Stop> {
    let quiet = args.json;
    let survey = survey::survey(
        &args.board,
        &own_binary()?,
        args.kernels_pack.as_deref(),
        std::env::args().collect(),
        &mut |step| {
            if !quiet {
                crate::complain(format_args!("probing {step}"));
            }
        },
    )?;
    if args.json {
        console.json(&survey);
    } else {
        console.text(&text::terminal(&survey));
    }
    if let Some(folder) = &args.publish {
        let files = publish::publish(&publish::redact(survey), folder).map_err(|message| Stop { code: 3, message })?;
        for file in files {
            crate::complain(format_args!("wrote {}", file.display()));
        }
    }
    Ok(0)
}
