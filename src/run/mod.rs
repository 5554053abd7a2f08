//! Supervisor, workers, journal. The supervisor refuses to touch a board.
//!
//! ```text
//! run()  supervisor: hands out cases, writes the journal, outlives every death
//!   |  JSON lines over pipes
//! __worker  one per board (`jobs` per simulated board): prepares, runs and judges cases
//! ```
//!
//! The out folder holds `journal.jsonl` (see [`journal`]), a `lock` and what reports add. A new run moves `journal.jsonl`,
//! `report.json` and `junit.xml` of the run before it into `previous/` and starts afresh; a resume goes on in place.

pub mod answer;
pub(crate) mod boards;
mod bytemap;
mod crew;
pub(crate) mod device;
mod dump;
mod error;
mod exchange;
pub(crate) mod job;
pub mod journal;
pub(crate) mod judging;
pub(crate) mod kernels;
mod ledger;
mod lock;
mod mock;
mod options;
pub(crate) mod out;
mod plan;
mod process;
pub(crate) mod protocol;
mod slate;
mod supervisor;
pub(crate) mod tamper;
pub mod worker;

pub use error::RunError;
pub use options::{DEFAULT_SEED, Options};
pub(crate) use plan::now;

use crate::judge::verdict::complete;
use crate::record::{CaseRecord, Counts, Line, RunHeader, Verdict};
use crate::suite::Case;
use crew::Stop;
use journal::{Journal, JournalError};
use ledger::Ledger;
use out::{OutFolder, Writer};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use supervisor::Supervisor;

/// What happens while a run goes on; a display subscribes to it.
#[derive(Debug)]
pub enum Event<'a> {
    /// The plan stands. First event.
    Planned {
        /// The header as it is in the journal: board, cases, provenance.
        header: &'a RunHeader,
        /// Cases that already have a verdict (resume).
        done: u64,
    },
    /// Kernels are being built before any worker starts.
    Building {
        /// Kernel files to build.
        files: usize,
    },
    /// A worker began a case on the board.
    CaseStarted {
        /// Place in the plan.
        index: u64,
        /// Case id.
        id: &'a str,
    },
    /// A case has its verdict, and the verdict is in the journal.
    CaseDone(CaseDone<'a>),
    /// A finding about the run itself; also in the journal.
    Note {
        /// `exit_hang`, `worker_died`, `wedged`, `resumed`, `interrupted`, `cache` (the build cache cannot be written).
        kind: &'a str,
        /// One sentence.
        text: &'a str,
    },
    /// Nothing happened for a while; lets a display tick. At most about 20 a second.
    Idle,
    /// Every case has a verdict. Last event.
    Finished(&'a Outcome),
}

/// The summary of one finished case.
#[derive(Clone, Copy, Debug)]
pub struct CaseDone<'a> {
    /// Place in the plan.
    pub index: u64,
    /// Case id.
    pub id: &'a str,
    /// Op.
    pub op: &'a str,
    /// Verdict.
    pub verdict: Verdict,
    /// Why, for everything but PASS.
    pub reason: Option<&'a str>,
    /// The whole record as a JSON object ([`crate::record::Line::Record`]).
    pub record: &'a str,
}

/// What a run came to. The verdict and exit code are folds over the journal.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The out folder.
    pub out: PathBuf,
    /// The journal in it.
    pub journal: PathBuf,
    /// Verdicts of all planned cases, those of a resumed journal included.
    pub counts: Counts,
    /// Ctrl-C or SIGTERM ended the run early.
    pub interrupted: bool,
    /// The board was declared wedged or lost (exit 4).
    pub board_failed: bool,
    /// Some case hit a defect of assay itself (exit 70).
    pub defect: bool,
}

/// Symbols of all kernels that come with assay: those of the ops and the probes of the survey.
pub(crate) fn embedded_symbols() -> Vec<String> {
    let ops = crate::ops::REGISTRY.iter().flat_map(|op| op.kernels()).map(|k| k.symbol);
    ops.chain(crate::survey::PROBES.map(String::from)).collect()
}

/// How the reason of a case begins whose ERROR is a defect of assay itself (exit 70).
pub const DEFECT: &str = "defect of assay";

/// Runs `cases` and writes the journal.
///
/// # Errors
/// Only what keeps a run from starting or a journal from being written; everything about a case or a board is in the records.
pub fn run(options: &Options, mut cases: Vec<Case>, on_event: &mut dyn FnMut(Event)) -> Result<Outcome, RunError> {
    let named = boards::named(&options.board)?;
    let folder = OutFolder::take(&options.out)?;
    let journal_path = folder.journal();
    if options.rerun_failed {
        cases = plan::failed_only(cases, &journal_path)?;
    }
    plan::number(&mut cases);
    let interrupt = signals()?;
    let locked = named.lock();
    let built = kernels::build(&named, options, &cases, on_event)?;
    let header = plan::header(options, &cases, named.info(&options.board), built.provenance);
    let before = resumed(options, &header, &journal_path)?;
    let (mut writer, ledger) = match &before {
        Some(journal) => (reopen(journal, &journal_path)?, known(journal, cases.len())),
        None => (start(&folder, &header, options)?, Ledger::new(cases.len(), std::iter::empty())),
    };
    let done = (cases.len() - ledger.left()) as u64;
    on_event(Event::Planned { header: &header, done });
    if let Some(text) = &built.warning {
        let line = Line::Note { kind: "cache".to_string(), text: text.clone() };
        let failed = |source| RunError::Folder { path: journal_path.clone(), source };
        writer.append(&protocol::line(&line).unwrap_or_default()).map_err(failed)?;
        on_event(Event::Note { kind: "cache", text });
    }
    let setup = protocol::Setup { options: options.clone(), kernels: built.images };
    let setup = protocol::line(&protocol::Hand::Setup(&setup)).unwrap_or_default();
    let jobs = jobs(options);
    let supervisor =
        Supervisor::new(options, &cases, setup, (writer, &journal_path), ledger, jobs, &interrupt, on_event);
    let ended = match (named.absent(), &locked) {
        (Some(why), _) => supervisor.refuse(Stop::Absent(why.to_string()))?,
        (None, Err(why)) => supervisor.refuse(Stop::Busy(why.clone()))?,
        (None, Ok(_)) => supervisor.work()?,
    };
    balanced(&ended.counts)?;
    let outcome = Outcome {
        out: options.out.clone(),
        journal: journal_path.clone(),
        counts: ended.counts,
        interrupted: ended.interrupted,
        board_failed: ended.board_failed,
        defect: ended.defect || before.is_some_and(|j| j.records.values().any(is_defect)),
    };
    on_event(Event::Finished(&outcome));
    Ok(outcome)
}

fn is_defect(record: &CaseRecord) -> bool {
    record.verdict == Verdict::Error && record.reason.as_ref().is_some_and(|r| r.starts_with(DEFECT))
}

/// One worker for a real board; for a simulated one as many as asked for, or one per core.
fn jobs(options: &Options) -> usize {
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    if options.simulated() { options.jobs.unwrap_or_else(cores).max(1) } else { 1 }
}

/// Raises a flag on Ctrl-C and SIGTERM, and turns a file size limit into an error of the write.
pub(crate) fn signals() -> Result<Arc<AtomicBool>, RunError> {
    use signal_hook::consts::{SIGINT, SIGTERM, SIGXFSZ};
    let flag = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&flag)).map_err(RunError::Signals)?;
    }
    signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false))).map_err(RunError::Signals)?;
    Ok(flag)
}

/// The journal to go on from. A journal that was cut before its header was whole is started again.
fn resumed(options: &Options, header: &RunHeader, path: &Path) -> Result<Option<Journal>, RunError> {
    if !options.resume {
        return Ok(None);
    }
    match journal::read(path) {
        Ok(journal) if journal.header.plan_hash == header.plan_hash => Ok(Some(journal)),
        Ok(journal) => Err(RunError::OtherPlan {
            path: path.to_path_buf(),
            found: journal.header.plan_hash,
            wanted: header.plan_hash.clone(),
        }),
        Err(JournalError::Empty { .. }) => Ok(None),
        Err(e) => Err(e.into()),
    }
}

/// What a resume need not run again: every verdict but NOT-RUN, which an interrupt, `--max-time` or a wedged board leaves behind.
fn judged(journal: &Journal) -> impl Iterator<Item = (usize, Verdict)> {
    journal.records.iter().map(|(&i, r)| (i as usize, r.verdict)).filter(|(_, v)| *v != Verdict::NotRun)
}

fn known(journal: &Journal, cases: usize) -> Ledger {
    Ledger::new(cases, judged(journal))
}

fn reopen(journal: &Journal, path: &Path) -> Result<Writer, RunError> {
    let failed = |source| RunError::Folder { path: path.to_path_buf(), source };
    let mut writer = Writer::resume(path, journal.good_bytes, journal.ends_in_newline).map_err(failed)?;
    let mut text = format!("resumed with {} verdicts", judged(journal).count());
    for dropped in &journal.dropped {
        text.push_str("; ");
        text.push_str(dropped);
    }
    let note = Line::Note { kind: "resumed".to_string(), text };
    writer.append(&protocol::line(&note).unwrap_or_default()).map_err(failed)?;
    Ok(writer)
}

fn start(folder: &OutFolder, header: &RunHeader, options: &Options) -> Result<Writer, RunError> {
    let path = folder.journal();
    folder.clear(&[journal::FILE, "report.json", "junit.xml"])?;
    let failed = |source| RunError::Folder { path: path.clone(), source };
    let mut writer = Writer::create(&path).map_err(failed)?;
    let line = protocol::line(&Line::Header(Box::new(header.clone()))).unwrap_or_default();
    writer.append(&line).map_err(|source| RunError::Write {
        path: path.clone(),
        out: options.out.clone(),
        done: 0,
        source,
    })?;
    Ok(writer)
}

/// Planned = sum of all verdicts, checked at the end of each run.
fn balanced(c: &Counts) -> Result<(), RunError> {
    let judged = c.pass + c.fail + c.error + c.not_run + c.not_applicable + c.known + c.unexpected_pass + c.reference;
    if complete(c) { Ok(()) } else { Err(RunError::Unbalanced { planned: c.planned, judged }) }
}
