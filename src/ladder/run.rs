//! A ladder from plan to report: units, controls, workers, journal. Refuses to count what its controls do not vouch for.

use super::build::Builder;
use super::gate::Gate;
use super::journal::{self, Journal};
use super::plan::{self, Options, Plan};
use super::record::{ControlArm, End, Header, LadderReport, Line, RungRecord, SCHEMA, State};
use super::rung::{Fault, Rung};
use super::scratch::Scratch;
use super::trial::{self, Bed};
use super::{ClimbError, concern, controls, host, score};
use crate::board::Facts;
use crate::record::Tool;
use crate::run;
use crate::run::boards::{self, Named};
use crate::run::job::ms;
use crate::run::out::{OutFolder, Writer};
use crate::run::protocol::Built;
use crate::toolchain::{self, Toolchain};
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Name of the report in an out folder.
pub const REPORT: &str = "ladder.json";

/// What happens while a ladder goes on.
#[derive(Debug)]
pub enum Event<'a> {
    /// The plan stands. First event.
    Planned {
        /// The header as it is in the journal.
        header: &'a Header,
        /// Rungs that already have a result (resume).
        done: u64,
    },
    /// Unmutated units are being built.
    Building {
        /// Units.
        units: usize,
    },
    /// A pass of the unmutated kernels is over.
    Arm(&'a ControlArm),
    /// A rung has its result, and the result is in the journal.
    Rung(&'a RungRecord),
    /// A finding about the run itself; also in the journal.
    Note(&'a str),
    /// Nothing happened for a while.
    Idle,
}

/// Runs a ladder. The report's exit code says what it came to.
///
/// # Errors
/// What keeps it from starting or from going on; results so far are in the journal.
pub fn run(options: &Options, plan: &Plan, on_event: &mut dyn FnMut(Event)) -> Result<LadderReport, ClimbError> {
    let begun = Instant::now();
    let named = boards::named(&options.board)?;
    let Named::Sim(facts) = &named else { return Err(ClimbError::NotSimulated(options.board.clone())) };
    if plan.rungs.is_empty() {
        return Err(ClimbError::NoRung);
    }
    let folder = OutFolder::take(&options.out)?;
    let interrupt = run::signals()?;
    let tools = Toolchain::open(&options.out);
    let mut builder = Builder::new(&tools)?;
    let header = header(options, plan, &named, &tools);
    let mut book = Book::open(options, &folder, header)?;
    on_event(Event::Planned { header: &book.journal.header, done: book.journal.rungs.len() as u64 });
    let scratch = options.out.join("scratch");
    let climbed = climb(options, plan, facts, &mut builder, &scratch, &interrupt, &mut book, on_event);
    // Whatever happened: libraries of mutants are of no use to anybody.
    let _ = std::fs::remove_dir_all(&scratch);
    climbed?;
    if interrupt.load(Ordering::Relaxed) {
        book.note("interrupted", "go on with --resume", on_event)?;
    } else {
        let end =
            End { sources: plan.sources.hashes(), changed: vec![], wall_ms: ms(begun), jobs: jobs(options) as u64 };
        book.append(Line::End(end))?;
    }
    let report = score::fold(&journal::read(&book.path)?);
    write_report(options, &report)?;
    Ok(report)
}

fn jobs(options: &Options) -> usize {
    options.jobs.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from)).max(1)
}

fn header(options: &Options, plan: &Plan, named: &Named, tools: &Toolchain) -> Header {
    Header {
        schema: SCHEMA.to_string(),
        tool: Tool { name: "assay".to_string(), version: env!("CARGO_PKG_VERSION").to_string() },
        board: named.info(&options.board),
        command: options.command.clone(),
        lane: options.lane.name().to_string(),
        all_bars: options.all_bars,
        min_score: options.min_score,
        plan_hash: plan::hash(options, plan),
        rungs: plan.rungs.iter().map(|r| r.id.clone()).collect(),
        sources: plan.sources.hashes(),
        compiler: tools.host().ok().and_then(|c| tools.describe(c)).unwrap_or_default(),
        tree: toolchain::built_from().to_string(),
        started: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs()),
    }
}

/// The journal being written, and what is in it.
struct Book {
    path: std::path::PathBuf,
    writer: Writer,
    journal: Journal,
}

impl Book {
    /// A new journal, or the one to go on from.
    fn open(options: &Options, folder: &OutFolder, header: Header) -> Result<Self, ClimbError> {
        let path = options.out.join(journal::FILE);
        if !options.resume {
            folder.clear(&[journal::FILE, REPORT])?;
            let mut writer = Writer::create(&path).map_err(|e| ClimbError::io("cannot write", &path, e))?;
            append(&mut writer, &path, &Line::Header(Box::new(header)))?;
            let journal = journal::read(&path)?;
            return Ok(Self { path, writer, journal });
        }
        let journal = journal::read(&path)?;
        if journal.header.plan_hash != header.plan_hash {
            let why =
                "it belongs to another ladder: rungs, sources, cases, board and options must be the same".to_string();
            return Err(ClimbError::Journal { path, why });
        }
        let writer = Writer::resume(&path, journal.good_bytes, journal.ends_in_newline)
            .map_err(|e| ClimbError::io("cannot write", &path, e))?;
        let mut book = Self { path, writer, journal };
        let text = format!("with {} results", book.journal.rungs.len());
        book.append(Line::Note { kind: "resumed".to_string(), text })?;
        Ok(book)
    }

    fn append(&mut self, line: Line) -> Result<(), ClimbError> {
        append(&mut self.writer, &self.path, &line)
    }

    fn note(&mut self, kind: &str, text: &str, on_event: &mut dyn FnMut(Event)) -> Result<(), ClimbError> {
        on_event(Event::Note(&format!("{kind}: {text}")));
        self.append(Line::Note { kind: kind.to_string(), text: text.to_string() })
    }

    fn arm(&mut self, arm: ControlArm, on_event: &mut dyn FnMut(Event)) -> Result<bool, ClimbError> {
        on_event(Event::Arm(&arm));
        let green = arm.failures.is_empty();
        self.append(Line::Control(arm))?;
        Ok(green)
    }
}

fn append(writer: &mut Writer, path: &std::path::Path, line: &Line) -> Result<(), ClimbError> {
    let mut text = serde_json::to_vec(line).map_err(|e| ClimbError::Defect(e.to_string()))?;
    text.push(b'\n');
    writer.append(&text).and_then(|()| writer.sync(false)).map_err(|e| ClimbError::io("cannot write", path, e))
}

/// Controls, rungs, controls.
#[expect(clippy::too_many_arguments, reason = "what one ladder is made of")]
fn climb(
    options: &Options,
    plan: &Plan,
    facts: &Facts,
    builder: &mut Builder,
    scratch: &std::path::Path,
    interrupt: &Arc<AtomicBool>,
    book: &mut Book,
    on_event: &mut dyn FnMut(Event),
) -> Result<(), ClimbError> {
    let jobs = jobs(options);
    let texts = &plan.sources.texts;
    let base = Scratch::new(scratch.join("control"), texts)?;
    builder.precompile(&base)?;
    let builder = &*builder;
    let (cases, mut all) = concern::concerned(plan, builder, &base)?;
    on_event(Event::Building { units: all.len() });
    concern::build(&mut all, builder, &base, jobs)?;
    let images: BTreeMap<String, Built> =
        all.iter().flat_map(|u| u.symbols.iter().map(|s| (s.clone(), Built::from(u.image.clone())))).collect();
    let run_options = run::Options::new(&options.board, options.exe.clone(), options.out.clone());
    let gate = Gate::new(run_options, facts.clone(), cases);
    let bed = Bed { gate: &gate, builder, units: &all, images: &images, texts, all_bars: options.all_bars };
    if !book.arm(controls::arm(&gate, &images, true, jobs)?, on_event)? {
        return Ok(());
    }
    let control_rungs = concern::first_launched(&bed).map(|unit| controls::rungs(unit, texts)).unwrap_or_default();
    let mut crew = Crew { bed: &bed, plan, scratch, jobs, interrupt, book, on_event };
    if crew.work(&control_rungs)? {
        let open = |r: &&Rung| !crew.book.journal.rungs.contains_key(&r.id);
        let rungs: Vec<Rung> = plan.rungs.iter().filter(open).cloned().collect();
        crew.work(&rungs)?;
    }
    if !interrupt.load(Ordering::Relaxed) {
        book.arm(controls::arm(&gate, &images, false, jobs)?, on_event)?;
    }
    Ok(())
}

/// Workers and the one that listens to them.
struct Crew<'a> {
    bed: &'a Bed<'a>,
    plan: &'a Plan,
    scratch: &'a std::path::Path,
    jobs: usize,
    interrupt: &'a AtomicBool,
    book: &'a mut Book,
    on_event: &'a mut dyn FnMut(Event),
}

type Word = Result<RungRecord, ClimbError>;

impl Crew<'_> {
    /// Works off rungs; false when a control rung is not as it must be.
    fn work(&mut self, rungs: &[Rung]) -> Result<bool, ClimbError> {
        let queue: Mutex<VecDeque<&Rung>> = Mutex::new(rungs.iter().collect());
        let stop = AtomicBool::new(false);
        let (to, from) = channel::<Word>();
        let (bed, plan, scratch, interrupt) = (self.bed, self.plan, self.scratch, self.interrupt);
        std::thread::scope(|scope| {
            for worker in 0..self.jobs.min(rungs.len()) {
                let (to, queue, stop) = (to.clone(), &queue, &stop);
                let folder = scratch.join(format!("w{worker}"));
                scope.spawn(move || {
                    let next = || {
                        let go = !stop.load(Ordering::Relaxed) && !interrupt.load(Ordering::Relaxed);
                        go.then(|| queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front()).flatten()
                    };
                    worker_loop(next, folder, bed, plan, &to);
                });
            }
            drop(to);
            let heard = self.listen(&from);
            stop.store(true, Ordering::Relaxed);
            heard
        })
    }

    fn listen(&mut self, from: &std::sync::mpsc::Receiver<Word>) -> Result<bool, ClimbError> {
        let mut fine = true;
        loop {
            match from.recv_timeout(Duration::from_millis(100)) {
                Ok(word) => {
                    let record = word?;
                    fine &= record.origin != "control" || controls::verdict(&record).is_none();
                    append(&mut self.book.writer, &self.book.path, &Line::Rung(Box::new(record.clone())))?;
                    (self.on_event)(Event::Rung(&record));
                }
                Err(RecvTimeoutError::Timeout) => (self.on_event)(Event::Idle),
                Err(RecvTimeoutError::Disconnected) => return Ok(fine),
            }
        }
    }
}

fn worker_loop<'r>(
    next: impl Fn() -> Option<&'r Rung>,
    folder: std::path::PathBuf,
    bed: &Bed,
    plan: &Plan,
    to: &Sender<Word>,
) {
    let scratch = match Scratch::new(folder, bed.texts) {
        Ok(scratch) => scratch,
        Err(e) => return drop(to.send(Err(e))),
    };
    while let Some(rung) = next() {
        let word = one(rung, bed, plan, &scratch);
        let failed = word.is_err();
        if to.send(word).is_err() || failed {
            return;
        }
    }
}

fn one(rung: &Rung, bed: &Bed, plan: &Plan, scratch: &Scratch) -> Word {
    let known = |state, why: &String| {
        let mut record = trial::blank(rung, bed.texts);
        (record.state, record.reason) = (state, Some(why.clone()));
        record
    };
    if let Some(why) = plan.stale.get(&rung.id) {
        return Ok(known(State::Stale, why));
    }
    if let Some(why) = plan.equivalent.get(&rung.id) {
        return Ok(known(State::Equivalent, why));
    }
    match &rung.fault {
        Fault::Source(edits) => trial::source(rung, edits, bed, scratch),
        Fault::Host(fault) => host::trial(rung, *fault, bed),
    }
}

/// Writes ladder.json, whole or not at all.
fn write_report(options: &Options, report: &LadderReport) -> Result<(), ClimbError> {
    let path = options.out.join(REPORT);
    let mut text = serde_json::to_vec_pretty(report).map_err(|e| ClimbError::Defect(e.to_string()))?;
    text.push(b'\n');
    toolchain::write_whole(&path, &text).map_err(|e| ClimbError::io("cannot write", &path, e))
}
