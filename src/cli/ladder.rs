//! `assay ladder`.

use super::ladder_select::{self, SelectArgs};
use super::run::{DEFAULT_BOARD, own_binary};
use super::{Cli, Command, Console, Stop, ladder_display};
use crate::ladder::catalogue::Catalogue;
use crate::ladder::{self, ClimbError, Lane, Options, Plan, Sources};
use clap::Parser;
use std::path::{Path, PathBuf};

#[derive(clap::Args, Clone, Debug, PartialEq)]
pub(super) struct Args {
    #[command(flatten)]
    select: SelectArgs,
    /// Print the rungs and climb none.
    #[arg(long)]
    list: bool,
    /// Simulated board: sim:PROFILE, a built-in profile (`assay doctor` lists them) or the path of a profile file.
    #[arg(long, value_name = "ID", default_value = DEFAULT_BOARD, help_heading = "Where")]
    board: String,
    /// Workers [default: one per core].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..), help_heading = "Where")]
    jobs: Option<u16>,
    /// Mutate the kernels in DIR, which replace ours.
    #[arg(long, value_name = "DIR", help_heading = "Where")]
    kernels: Option<PathBuf>,
    /// Cases of the gate: those of the default suites, or of the smoke suite alone.
    #[arg(long, value_enum, default_value_t = LaneArg::Default, help_heading = "How strictly")]
    lane: LaneArg,
    /// Judge every case of a mutant, also after the first that goes red.
    #[arg(long, help_heading = "How strictly")]
    all_bars: bool,
    /// Percent of the scored mutants that must die [default: 95, smoke lane: 85].
    #[arg(long, value_name = "PERCENT", value_parser = percent, help_heading = "How strictly")]
    min_score: Option<f64>,
    /// Folder of ladder.jsonl and ladder.json; those of the ladder before move to previous/ in it.
    #[arg(long, value_name = "DIR", default_value = "assay-out", help_heading = "Output")]
    out: PathBuf,
    /// Go on from the journal in DIR, with the rungs, board and options it was started with.
    #[arg(long, value_name = "DIR", help_heading = "Output", conflicts_with_all = ["out", "board", "kernels", "lane", "all_bars", "min_score", "ids", "ops", "files", "diff", "sample", "seed", "named", "generated", "ladders", "list"])]
    resume: Option<PathBuf>,
    /// Write the report as Markdown to FILE, too.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    markdown: Option<PathBuf>,
    /// Print ladder.json on standard output instead of text.
    #[arg(long, help_heading = "Output")]
    json: bool,
}

#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq)]
enum LaneArg {
    Default,
    Smoke,
}

impl From<ClimbError> for Stop {
    fn from(e: ClimbError) -> Self {
        Self { code: e.exit_code(), message: e.to_string() }
    }
}

pub(super) fn main(args: Args, console: &mut Console) -> Result<u8, Stop> {
    let (args, command) = match args.resume.clone() {
        None => (args, std::env::args().collect()),
        Some(out) => resumed(args, &out)?,
    };
    if args.list {
        let sources = Sources::read(args.kernels.as_deref())?;
        ladder_select::list(&args.select.catalogue(&sources, args.kernels.as_deref())?, args.json, console);
        return Ok(0);
    }
    let plan = plan(&args)?;
    let options = options(&args, command)?;
    let mut display = ladder_display::Display::new(console, args.json);
    let ran = ladder::run(&options, &plan, &mut |event| display.show(&event));
    drop(display);
    let report = ran?;
    if let Some(path) = &args.markdown {
        let failed = |e| Stop { code: 3, message: format!("cannot write {}: {e}", path.display()) };
        std::fs::write(path, ladder::markdown(&report)).map_err(failed)?;
    }
    match args.json {
        true => console.json(&report),
        false => console.text(&ladder::report::text(&report)),
    }
    Ok(report.exit_code)
}

/// The arguments of the ladder to go on with, with this command's jobs and output.
fn resumed(now: Args, out: &Path) -> Result<(Args, Vec<String>), Stop> {
    let command = ladder::command(out)?;
    let refused = |why: String| Stop::usage(format!("the journal in {} {why}", out.display()));
    let then =
        Cli::try_parse_from(&command).map_err(|e| refused(format!("names a command line that cannot be read: {e}")))?;
    let Command::Ladder(then) = then.command else {
        return Err(refused("was not written by assay ladder".to_string()));
    };
    let Args { jobs, markdown, json, .. } = now;
    let resume = Some(out.to_path_buf());
    Ok((Args { jobs: jobs.or(then.jobs), markdown, json, resume, out: out.to_path_buf(), ..*then }, command))
}

fn plan(args: &Args) -> Result<Plan, Stop> {
    let sources = Sources::read(args.kernels.as_deref())?;
    let cases = lane(args).cases(crate::run::DEFAULT_SEED)?;
    let Catalogue { rungs, stale, equivalent } = args.select.catalogue(&sources, args.kernels.as_deref())?;
    Ok(Plan { rungs, stale, equivalent, sources, cases })
}

fn lane(args: &Args) -> Lane {
    match args.lane {
        LaneArg::Default => Lane::Default,
        LaneArg::Smoke => Lane::Smoke,
    }
}

fn options(args: &Args, command: Vec<String>) -> Result<Options, Stop> {
    let lane = lane(args);
    Ok(Options {
        board: args.board.clone(),
        exe: own_binary()?,
        out: args.out.clone(),
        command,
        lane,
        jobs: args.jobs.map(usize::from),
        all_bars: args.all_bars,
        min_score: args.min_score.unwrap_or(lane.min_score()),
        resume: args.resume.is_some(),
    })
}

/// A number from 0 to 100.
fn percent(text: &str) -> Result<f64, String> {
    let number: Option<f64> = text.parse().ok();
    number.filter(|x| (0.0..=100.0).contains(x)).ok_or_else(|| "write a number from 0 to 100".to_string())
}
