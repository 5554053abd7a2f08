//! `assay report FILE...`: journals and reports in another format.

use super::{Console, Stop};
use crate::record::Report;
use crate::report;
use crate::run::journal;
use crate::survey::publish;
use std::path::{Path, PathBuf};

#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// Journals (files or out folders), or one report.json. Several journals must be all the shards of one run.
    #[arg(required_unless_present = "verify", value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Check a folder that `assay survey --publish` wrote against its manifest.
    #[arg(long, value_name = "DIR", conflicts_with = "files")]
    verify: Option<PathBuf>,
    /// Format.
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

#[derive(clap::ValueEnum, Clone, Copy, Debug)]
enum Format {
    Json,
    Junit,
    Markdown,
    Csv,
    Text,
}

pub(super) fn main(args: &Args, console: &mut Console) -> Result<u8, Stop> {
    if let Some(folder) = &args.verify {
        return verify(folder, console);
    }
    let report = read(&args.files)?;
    let text = match args.format {
        Format::Json => report::json(&report),
        Format::Junit => report::junit(&report).map_err(|message| Stop { code: 70, message })?,
        Format::Markdown => report::markdown(&report),
        Format::Csv => report::csv(&report),
        Format::Text => report::summary(&report, console.is_terminal()),
    };
    console.text(&text);
    Ok(report.exit_code)
}

fn verify(folder: &Path, console: &mut Console) -> Result<u8, Stop> {
    match publish::verify(folder) {
        Ok(files) => {
            console.line(format!("{files} files in {} are as they were published", folder.display()));
            Ok(0)
        }
        Err(wrong) => Err(Stop { code: 1, message: wrong.join("\n") }),
    }
}

fn read(files: &[PathBuf]) -> Result<Report, Stop> {
    if let [file] = files
        && let Some(report) = finished(file)?
    {
        return Ok(report);
    }
    let journals = files.iter().map(|f| journal::read(f)).collect::<Result<Vec<_>, _>>()?;
    Ok(report::merge(&journals)?)
}

/// A `report.json`; `None` when the file is something else.
fn finished(file: &Path) -> Result<Option<Report>, Stop> {
    if file.is_dir() || file.extension().is_none_or(|e| e != "json") {
        return Ok(None);
    }
    let bad = |why: String| Stop::usage(format!("cannot read {}: {why}", file.display()));
    let text = std::fs::read_to_string(file).map_err(|e| bad(e.to_string()))?;
    let report: Report = serde_json::from_str(&text).map_err(|e| bad(format!("it is no report.json: {e}")))?;
    if report.schema != crate::record::SCHEMA {
        return Err(bad(format!("its schema is '{}', this assay reads '{}'", report.schema, crate::record::SCHEMA)));
    }
    let c = &report.counts;
    let judged = c.pass + c.fail + c.error + c.not_run + c.not_applicable + c.known + c.unexpected_pass + c.reference;
    if c.planned != judged || c.planned != report.cases.len() as u64 {
        let cases = report.cases.len();
        return Err(bad(format!("{} cases planned, {judged} verdicts, {cases} cases: it is damaged", c.planned)));
    }
    Ok(Some(report))
}
