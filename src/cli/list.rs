//! `assay list`: what would run.

use super::select::SelectArgs;
use super::{Console, Stop};
use crate::record::{Planned, SCHEMA};
use crate::report::{ListDoc, tool};

#[derive(clap::Args, Debug)]
pub(super) struct Args {
    #[command(flatten)]
    select: SelectArgs,
    /// Print the number of cases only.
    #[arg(long, help_heading = "Output")]
    count: bool,
    /// Print JSON.
    #[arg(long, help_heading = "Output")]
    json: bool,
}

pub(super) fn main(args: &Args, console: &mut Console) -> Result<u8, Stop> {
    let cases = args.select.plan()?;
    let planned = cases.len() as u64;
    if args.json {
        let named = |c: crate::suite::Case| Planned { id: c.id, op: c.op, suite: c.suite };
        let cases = if args.count { Vec::new() } else { cases.into_iter().map(named).collect() };
        console.json(&ListDoc { schema: SCHEMA.to_string(), tool: tool(), planned, cases });
    } else if args.count {
        console.line(planned.to_string());
    } else {
        for case in &cases {
            console.line(&case.id);
            if console.is_closed() {
                break;
            }
        }
    }
    Ok(0)
}
