//! `assay explain CASE`.

use super::select::SelectArgs;
use super::{Console, Stop};
use crate::ops;
use crate::report;
use crate::run::{self, Options, journal};
use crate::suite::{case_id, parse_id};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// Case id.
    #[arg(value_name = "CASE")]
    case: String,
    /// Read the record of the case from the journal in DIR instead of running it; shows no tensors.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["board", "kernels", "seed", "suites"])]
    out: Option<PathBuf>,
    /// Board to run it on.
    #[arg(long, value_name = "ID", default_value = super::run::DEFAULT_BOARD)]
    board: String,
    /// Candidate kernels.
    #[arg(long, value_name = "DIR")]
    kernels: Option<PathBuf>,
    /// A suite file, whose limits for the case then hold.
    #[arg(long = "suite", value_name = "FILE|NAME")]
    suites: Vec<String>,
    /// Seed of the inputs.
    #[arg(long, default_value_t = run::DEFAULT_SEED, value_name = "N")]
    seed: u64,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(super) fn main(args: &Args, console: &mut Console) -> Result<u8, Stop> {
    let (op, params, place) = parse_id(ops::REGISTRY, &args.case)?;
    let id = case_id(op, &params, place);
    let doc = match &args.out {
        Some(out) => {
            let journal = journal::read(out)?;
            let record = journal.records.values().find(|r| r.id == id);
            let none = || Stop::usage(format!("the journal in {} has no verdict of {id}", out.display()));
            report::explain_record(&journal.header.board, record.ok_or_else(none)?)
        }
        None => ran(args, op, id)?,
    };
    match args.json {
        true => console.json(&doc),
        false => console.text(&report::explain_text(&doc)),
    }
    Ok(0)
}

/// Runs the case with a dump and explains what came out.
fn ran(args: &Args, op: &'static dyn ops::Contract, id: String) -> Result<report::ExplainDoc, Stop> {
    let select = SelectArgs { cases: vec![id], suites: args.suites.clone(), seed: args.seed, ..SelectArgs::default() };
    let cases = select.plan()?;
    let case = cases[0].clone();
    let folder = tempfile::tempdir().map_err(|e| Stop { code: 3, message: format!("no temporary folder: {e}") })?;
    let dump = folder.path().join("dump");
    let options = Options {
        command: std::env::args().collect(),
        seed: args.seed,
        jobs: Some(1),
        kernels: args.kernels.clone(),
        dump: Some(dump.clone()),
        suites: args.suites.iter().map(PathBuf::from).collect(),
        ..Options::new(&args.board, super::run::own_binary()?, folder.path().join("out"))
    };
    let outcome = run::run(&options, cases, &mut |_| {})?;
    let journal = journal::read(&outcome.journal)?;
    let record = journal.records.values().next();
    let record = record.ok_or_else(|| Stop { code: 3, message: "the run ended without a verdict".to_string() })?;
    Ok(report::explain_case(&journal.header.board, record, &case, op, &device_outputs(&dump)))
}

/// The board's outputs by name, from the safetensors file of a dump; what cannot be read is left out.
fn device_outputs(dump: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = std::fs::read_dir(dump).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut outputs = BTreeMap::new();
    for file in files.filter(|f| f.extension().is_some_and(|e| e == "safetensors")) {
        let Ok(bytes) = std::fs::read(&file) else { continue };
        let Ok(tensors) = safetensors::SafeTensors::deserialize(&bytes) else { continue };
        for (name, tensor) in tensors.iter() {
            if let Some(output) = name.strip_prefix("device.") {
                outputs.insert(output.to_string(), tensor.data().to_vec());
            }
        }
    }
    outputs
}
