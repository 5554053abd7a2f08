//! Subcommands: parsing and exit codes, no logic. No panic and no broken pipe reaches the user from here.

mod build;
mod console;
mod display;
mod doctor;
mod explain;
mod ladder;
mod ladder_display;
mod ladder_select;
mod list;
mod ops;
mod power;
mod report;
mod run;
mod schema;
mod select;
mod survey;

use clap::{Parser, Subcommand};
use console::Console;
use std::process::ExitCode;

const AFTER_HELP: &str = "\
Exit codes, the first that holds:
  70  a defect of assay itself
   2  bad usage or a bad suite, before anything ran
   1  a FAIL (or an UNEXPECTED-PASS under --strict)
   4  the board is busy, wedged or lost
   3  an ERROR, something required was NOT-RUN, or nothing was asserted
   0  everything required is PASS or KNOWN (a shard that got no case says so)";

/// Hardware validation and conformance harness for AMD ROCm boards.
#[derive(Parser, Debug)]
#[command(name = "assay", version, after_help = AFTER_HELP, disable_help_subcommand = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Run cases on a board and judge them.
    #[command(after_help = AFTER_HELP)]
    Run(Box<run::Args>),
    /// Say what a board is, and which memory the host and kernels really reach.
    Survey(survey::Args),
    /// Rebuild kernels with one deliberate fault each, and check that the gate goes red.
    Ladder(Box<ladder::Args>),
    /// List planned cases.
    List(list::Args),
    /// List ops, or show what a kernel for an op must meet.
    Ops(ops::Args),
    /// Show a case around its worst element, and which known fault it resembles.
    Explain(explain::Args),
    /// Measure which wrong outputs the bars of the cases refuse; needs no board.
    Power(power::Args),
    /// Check what this machine offers to build and run kernels.
    Doctor(doctor::Args),
    /// Build kernel images for machines without a compiler, and check what they say of themselves.
    Build(build::Args),
    /// Render journals or reports in another format.
    #[command(after_help = AFTER_HELP)]
    Report(report::Args),
    /// Print the JSON schema of every document that assay writes.
    Schema,
}

/// What ends a command early. The message goes to standard error.
#[derive(Debug)]
struct Stop {
    code: u8,
    message: String,
}

impl Stop {
    /// Bad usage, before anything ran.
    fn usage(message: impl ToString) -> Self {
        Self { code: 2, message: message.to_string() }
    }
}

impl From<crate::suite::SuiteError> for Stop {
    fn from(e: crate::suite::SuiteError) -> Self {
        Self::usage(e)
    }
}

impl From<crate::run::journal::JournalError> for Stop {
    fn from(e: crate::run::journal::JournalError) -> Self {
        Self::usage(e)
    }
}

impl From<crate::run::RunError> for Stop {
    fn from(e: crate::run::RunError) -> Self {
        Self { code: e.exit_code(), message: e.to_string() }
    }
}

impl From<crate::report::FoldError> for Stop {
    fn from(e: crate::report::FoldError) -> Self {
        let code = if matches!(e, crate::report::FoldError::Unbalanced { .. }) { 70 } else { 2 };
        Self { code, message: e.to_string() }
    }
}

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    if let Some(code) = hidden() {
        return code;
    }
    std::panic::set_hook(Box::new(|info| {
        crate::complain(format_args!("defect of assay {}: {info}", env!("CARGO_PKG_VERSION")));
        crate::complain(format_args!(
            "please report it together with the command line; verdicts already in a journal are kept"
        ));
    }));
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(e) => {
            // Help and version print to standard output and are no error; a closed pipe is none either.
            let _ = e.print();
            return ExitCode::from(if e.use_stderr() { 2 } else { 0 });
        }
    };
    let mut console = Console::stdout();
    let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| dispatch(cli.command, &mut console)));
    let code = match done {
        Ok(Ok(code)) => code,
        Ok(Err(stop)) => {
            crate::complain(format_args!("assay: {}", stop.message));
            stop.code
        }
        Err(_) => 70,
    };
    ExitCode::from(console.finish(code))
}

/// The processes that assay starts from its own binary.
fn hidden() -> Option<ExitCode> {
    match std::env::args_os().nth(1)?.to_str()? {
        "__worker" => Some(crate::run::worker::main().into()),
        crate::board::probe::WORD => Some(crate::survey::child::main().into()),
        "__sim-device" => Some(device_code(crate::board::sim::executor::main())),
        _ => None,
    }
}

/// The executor's exit code; anything outside a byte is a defect.
fn device_code(code: i32) -> ExitCode {
    u8::try_from(code).unwrap_or(70).into()
}

fn dispatch(command: Command, console: &mut Console) -> Result<u8, Stop> {
    match command {
        Command::Run(args) => run::main(*args, console),
        Command::Survey(args) => survey::main(&args, console),
        Command::Ladder(args) => ladder::main(*args, console),
        Command::List(args) => list::main(&args, console),
        Command::Ops(args) => ops::main(&args, console),
        Command::Explain(args) => explain::main(&args, console),
        Command::Power(args) => power::main(&args, console),
        Command::Doctor(args) => doctor::main(&args, console),
        Command::Build(args) => build::main(&args, console),
        Command::Report(args) => report::main(&args, console),
        Command::Schema => schema::main(console),
    }
}
