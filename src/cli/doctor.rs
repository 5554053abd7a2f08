//! `assay doctor`.

use super::{Console, Stop};
use crate::record::SCHEMA;
use crate::report::{Check, DoctorDoc, tool};
use crate::toolchain;

#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(super) fn main(args: &Args, console: &mut Console) -> Result<u8, Stop> {
    let checks = checks();
    let ok = checks.iter().all(|c| c.ok || !c.required);
    if args.json {
        console.json(&DoctorDoc { schema: SCHEMA.to_string(), tool: tool(), ok, checks });
    } else {
        for c in &checks {
            let word = match (c.ok, c.required) {
                (true, _) => "ok      ",
                (false, true) => "MISSING ",
                (false, false) => "absent  ",
            };
            console.line(format!("{word}{}: {}", c.name, c.detail));
            if !c.remedy.is_empty() {
                console.line(format!("        {}", c.remedy));
            }
        }
        console.line(if ok { "this machine can run the simulated boards" } else { "something required is missing" });
    }
    Ok(if ok { 0 } else { 3 })
}

fn checks() -> Vec<Check> {
    let tools = toolchain::Toolchain::open(&std::env::temp_dir());
    let found = toolchain::doctor(&tools).into_iter().map(|c| Check {
        name: c.name.to_string(),
        ok: c.ok,
        required: c.required,
        detail: c.detail,
        remedy: c.remedy,
    });
    found.chain([suites(), profiles()]).collect()
}

fn suites() -> Check {
    let (ok, detail) = match crate::suite::embedded_suites(crate::ops::REGISTRY) {
        Ok(list) => {
            let names: Vec<String> =
                list.iter().map(|(name, optin)| format!("{name}{}", if *optin { " (opt-in)" } else { "" })).collect();
            (true, names.join(", "))
        }
        Err(e) => (false, e.to_string()),
    };
    Check { name: "embedded suites".to_string(), ok, required: true, detail, remedy: String::new() }
}

fn profiles() -> Check {
    let detail = crate::board::sim::names().join(", ");
    Check {
        name: "simulated boards".to_string(),
        ok: !detail.is_empty(),
        required: true,
        detail,
        remedy: String::new(),
    }
}
