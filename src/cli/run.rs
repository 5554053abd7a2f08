//! `assay run`.

use super::display::Display;
use super::select::SelectArgs;
use super::{Cli, Command, Console, Stop};
use crate::record::Report;
use crate::report;
use crate::run::journal::{self, Journal};
use crate::run::{self, Options};
use crate::suite::Case;
use clap::Parser;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The board of a command that names none.
pub(super) const DEFAULT_BOARD: &str = "sim:gfx1151";

#[derive(clap::Args, Clone, Debug, PartialEq)]
pub(super) struct Args {
    #[command(flatten)]
    select: SelectArgs,
    /// Board: sim:PROFILE, a built-in profile (`assay doctor` lists them) or the path of a profile file.
    #[arg(long, value_name = "ID", default_value = DEFAULT_BOARD, help_heading = "Where")]
    board: String,
    /// Refuse a simulated board.
    #[arg(long, help_heading = "Where")]
    require_hardware: bool,
    /// Workers of a simulated board [default: one per core].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..), help_heading = "Where")]
    jobs: Option<u16>,
    /// Candidate kernels: every kernel symbol that a file in DIR defines replaces ours.
    #[arg(long, value_name = "DIR", help_heading = "Where")]
    kernels: Option<PathBuf>,
    /// Kernel images built by `assay build`, for machines without a compiler.
    #[arg(long, value_name = "FILE", help_heading = "Where")]
    kernels_pack: Option<PathBuf>,
    /// Launches of a case on real hardware, at least 2.
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(2..), help_heading = "How strictly")]
    repeat: u32,
    /// Run every launch of a simulated board sanitised, whatever the size of the case.
    #[arg(long, help_heading = "How strictly")]
    deep: bool,
    /// An UNEXPECTED-PASS fails the run.
    #[arg(long, help_heading = "How strictly")]
    strict: bool,
    /// A lane that returned before a barrier is an ERROR.
    #[arg(long, help_heading = "How strictly")]
    strict_barriers: bool,
    /// Time a case may take on the board, such as 500ms, 60s or 2m.
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = duration, help_heading = "How long")]
    timeout: Duration,
    /// Begin no case after this time; the rest is NOT-RUN "time".
    #[arg(long, value_name = "TIME", value_parser = duration, help_heading = "How long")]
    max_time: Option<Duration>,
    /// Begin no case after the first FAIL or ERROR.
    #[arg(long, help_heading = "How long")]
    fail_fast: bool,
    /// Folder of journal.jsonl, report.json and junit.xml; those of the run before move to previous/ in it.
    #[arg(long, value_name = "DIR", default_value = "assay-out", help_heading = "Output")]
    out: PathBuf,
    /// Go on from the journal in DIR, with the cases, board and options it was started with.
    #[arg(long, value_name = "DIR", help_heading = "Output", conflicts_with_all = ["out", "filters", "cases", "suites", "shard", "seed", "board", "kernels", "kernels_pack", "repeat", "deep", "strict", "strict_barriers", "rerun_failed"])]
    resume: Option<PathBuf>,
    /// Run again only the cases without a PASS in the journal in --out.
    #[arg(long, help_heading = "Output")]
    rerun_failed: bool,
    /// Write inputs, reference, oracle and device outputs of every case to DIR as safetensors.
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    dump: Option<PathBuf>,
    /// Print report.json on standard output instead of text.
    #[arg(long, help_heading = "Output")]
    json: bool,
    /// Print the five dearest cases.
    #[arg(short, long, help_heading = "Output")]
    verbose: bool,
}

pub(super) fn main(args: Args, console: &mut Console) -> Result<u8, Stop> {
    let (args, command, cases) = match args.resume.clone() {
        None => {
            let cases = args.select.plan()?;
            (args, std::env::args().collect(), cases)
        }
        Some(out) => resumed(args, out)?,
    };
    let options = options(&args, command)?;
    if args.require_hardware && options.simulated() {
        let board = &options.board;
        return Err(Stop::usage(format!(
            "{board} is no hardware, and --require-hardware refuses it; name a real board"
        )));
    }
    let mut display = Display::new(console, args.json);
    let ran = run::run(&options, cases, &mut |event| display.show(&event));
    drop(display);
    let outcome = match ran {
        Ok(outcome) => outcome,
        Err(error) => return Err(broken_off(error, &options, console)),
    };
    let journal = journal::read(&outcome.journal)?;
    let report = report::fold(&journal)?;
    let written = write(&report, &options.out);
    show(&report, &journal, &args, console);
    written?;
    Ok(report.exit_code)
}

/// Options and cases of a resumed run: those in the journal, with this command's jobs, times, dump and output.
fn resumed(now: Args, out: PathBuf) -> Result<(Args, Vec<String>, Vec<Case>), Stop> {
    let Journal { header, .. } = journal::read(&out)?;
    let command = header.command;
    let then = Cli::try_parse_from(&command).map_err(|e| {
        Stop::usage(format!("the journal in {} names a command line that cannot be read: {e}", out.display()))
    })?;
    let Command::Run(then) = then.command else {
        return Err(Stop::usage(format!("the journal in {} was not written by assay run", out.display())));
    };
    let Args { require_hardware, jobs, timeout, max_time, fail_fast, dump, json, verbose, .. } = now;
    let jobs = jobs.or(then.jobs);
    let resume = Some(out.clone());
    let planned: Vec<Case> = then.select.plan()?;
    let mut by_id: HashMap<&str, &Case> = planned.iter().map(|c| (c.id.as_str(), c)).collect();
    let mut cases = Vec::with_capacity(header.cases.len());
    for (index, case) in header.cases.iter().enumerate() {
        let found = by_id.remove(case.id.as_str());
        let found = found.ok_or_else(|| Stop::usage(format!("{} is no longer planned; start a new run", case.id)))?;
        cases.push(Case { index: index as u64, ..found.clone() });
    }
    let args = Args {
        require_hardware,
        jobs,
        timeout,
        max_time,
        fail_fast,
        dump,
        json,
        verbose,
        out,
        resume,
        rerun_failed: false,
        ..*then
    };
    Ok((args, command, cases))
}

fn options(args: &Args, command: Vec<String>) -> Result<Options, Stop> {
    Ok(Options {
        command,
        seed: args.select.seed,
        shard: args.select.shard.map(|s| s.to_string()),
        jobs: args.jobs.map(usize::from),
        timeout: args.timeout,
        repeat: args.repeat,
        deep: args.deep,
        strict_barriers: args.strict_barriers,
        fail_fast: args.fail_fast,
        max_time: args.max_time,
        resume: args.resume.is_some(),
        rerun_failed: args.rerun_failed,
        kernels: args.kernels.clone(),
        pack: args.kernels_pack.clone(),
        dump: args.dump.clone(),
        suites: args.select.suites.iter().map(PathBuf::from).collect(),
        ..Options::new(&args.board, own_binary()?, args.out.clone())
    })
}

/// This program: workers are started from it.
pub(super) fn own_binary() -> Result<PathBuf, Stop> {
    std::env::current_exe().map_err(|e| Stop { code: 70, message: format!("own binary not found: {e}") })
}

/// The run could not go on; what its journal holds is shown all the same.
fn broken_off(error: run::RunError, options: &Options, console: &mut Console) -> Stop {
    if matches!(error, run::RunError::Write { .. })
        && let Ok(journal) = journal::read(&options.out)
        && let Ok(report) = report::fold(&journal)
    {
        console.text(&report::summary(&report, console.is_terminal()));
    }
    error.into()
}

/// Writes report.json and junit.xml, each whole or not at all.
fn write(report: &Report, out: &Path) -> Result<(), Stop> {
    let junit = report::junit(report).map_err(|message| Stop { code: 70, message })?;
    for (name, text) in [("report.json", report::json(report)), ("junit.xml", junit)] {
        let path = out.join(name);
        let failed = |e: std::io::Error| Stop {
            code: 3,
            message: format!(
                "cannot write {}: {e}; assay report {} renders the journal again",
                path.display(),
                out.display()
            ),
        };
        let mut file = tempfile::NamedTempFile::new_in(out).map_err(failed)?;
        std::io::Write::write_all(&mut file, text.as_bytes()).map_err(failed)?;
        let open = <std::fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o644);
        file.as_file().set_permissions(open).map_err(failed)?;
        file.persist(&path).map_err(|e| failed(e.error))?;
    }
    Ok(())
}

fn show(report: &Report, journal: &Journal, args: &Args, console: &mut Console) {
    if args.json {
        console.text(&report::json(report));
        return;
    }
    if args.verbose {
        console.line("dearest cases:");
        for line in report::dearest(journal, 5) {
            console.line(format!("    {line}"));
        }
    }
    console.text(&report::summary(report, console.is_terminal()));
}

/// `500ms`, `60s`, `2m`, `1h`, or seconds.
fn duration(text: &str) -> Result<Duration, String> {
    let at = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let unit = match &text[at..] {
        "ms" => 1e-3,
        "" | "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        other => return Err(format!("unknown unit '{other}': use ms, s, m or h")),
    };
    let number: f64 = text[..at].parse().map_err(|_| "write a time such as 500ms, 60s, 2m or 1h".to_string())?;
    let time = Duration::try_from_secs_f64(number * unit).map_err(|e| e.to_string())?;
    if time.is_zero() { Err("a time must be longer than 0".to_string()) } else { Ok(time) }
}
