//! The supervisor: hands out cases, hears workers, writes the journal. Refuses to touch a board.
//!
//! A death costs exactly the case it happened in. The case on the board is charged; when none was on the board and it cannot be
//! told whether the one being judged or the one being prepared is to blame, all of them are handed out again to a *careful* worker,
//! which gets one case at a time.

use super::crew::{Stage, Stop, Worker};
use super::ledger::Ledger;
use super::out::Writer;
use super::plan::unjudged;
use super::process::{self, Process};
use super::protocol;
use super::{CaseDone, DEFECT, Event, Options, RunError};
use crate::record::{CaseRecord, Line, Verdict};
use crate::suite::Case;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// Cases that a worker may have at a time.
const CREDITS: usize = 32;
/// How long a worker may take to exit, and to report a deadline of its own.
const GRACE: Duration = Duration::from_secs(2);
/// How long the loop waits for news.
const TICK: Duration = Duration::from_millis(50);
/// Deaths without a verdict between them, and failed probes, that make a board wedged.
const DEATHS: u32 = 3;
const PROBES: u32 = 2;

/// The supervisor of one run.
pub struct Supervisor<'a> {
    options: &'a Options,
    cases: &'a [Case],
    setup: Vec<u8>,
    journal: Writer,
    journal_path: &'a Path,
    ledger: Ledger,
    workers: Vec<Worker>,
    /// Workers wanted at a time.
    jobs: usize,
    names: u64,
    to: Sender<(u64, process::Heard)>,
    from: Receiver<(u64, process::Heard)>,
    deaths: u32,
    probes: u32,
    /// The next worker starts careful.
    careful: bool,
    stop: Option<Stop>,
    started: Instant,
    interrupt: &'a AtomicBool,
    defect: bool,
    on_event: &'a mut dyn FnMut(Event),
    /// Lines for the journal, and the verdicts in them that are to be shown once they are written.
    pending: Vec<u8>,
    entered: Vec<Entered>,
}

/// A verdict whose line waits to be written.
struct Entered {
    case: usize,
    verdict: Verdict,
    reason: Option<String>,
    line: Range<usize>,
}

/// What the loop came to.
pub struct Ended {
    /// Ctrl-C or SIGTERM.
    pub interrupted: bool,
    /// The board was declared wedged.
    pub board_failed: bool,
    /// A case hit a defect of assay.
    pub defect: bool,
    /// Verdicts.
    pub counts: crate::record::Counts,
}

impl<'a> Supervisor<'a> {
    /// A supervisor of `cases`; `setup` is the first line of every worker.
    #[allow(clippy::too_many_arguments)]
    pub fn new(
        options: &'a Options,
        cases: &'a [Case],
        setup: Vec<u8>,
        journal: (Writer, &'a Path),
        ledger: Ledger,
        jobs: usize,
        interrupt: &'a AtomicBool,
        on_event: &'a mut dyn FnMut(Event),
    ) -> Self {
        let (to, from) = channel();
        Self {
            options,
            cases,
            setup,
            journal: journal.0,
            journal_path: journal.1,
            ledger,
            workers: vec![],
            jobs,
            names: 0,
            to,
            from,
            deaths: 0,
            probes: 0,
            careful: false,
            stop: None,
            started: Instant::now(),
            interrupt,
            defect: false,
            on_event,
            pending: vec![],
            entered: vec![],
        }
    }

    /// Runs to the end.
    ///
    /// # Errors
    /// When the journal cannot be written or no worker can be started.
    pub fn work(mut self) -> Result<Ended, RunError> {
        let mut checked = Instant::now();
        while self.ledger.left() > 0 && !(self.stop.is_some() && self.workers.is_empty()) {
            self.staff()?;
            match self.from.recv_timeout(TICK) {
                Ok((name, heard)) => {
                    self.hear(name, heard)?;
                    while let Ok((name, heard)) = self.from.try_recv() {
                        self.hear(name, heard)?;
                    }
                    self.flush()?;
                }
                Err(RecvTimeoutError::Timeout) => (self.on_event)(Event::Idle),
                Err(RecvTimeoutError::Disconnected) => {}
            }
            if checked.elapsed() >= TICK / 2 || self.workers.iter().any(|w| w.closed.is_some()) {
                checked = Instant::now();
                self.check()?;
            }
        }
        self.dismiss()?;
        self.close()
    }

    /// Runs nothing: every case without a verdict is NOT-RUN for that reason.
    ///
    /// # Errors
    /// When the journal cannot be written.
    pub fn refuse(mut self, why: Stop) -> Result<Ended, RunError> {
        self.stop = Some(why);
        self.close()
    }

    /// Starts the workers that are missing and hands out cases.
    fn staff(&mut self) -> Result<(), RunError> {
        if self.stop.is_some() {
            return Ok(());
        }
        while self.ledger.has_queue() && self.workers.len() < self.jobs.min(self.ledger.left()) {
            self.hire()?;
        }
        let share = match self.options.fail_fast {
            true => 2,
            false => (self.ledger.left() / (2 * self.jobs)).clamp(1, CREDITS),
        };
        for i in 0..self.workers.len() {
            let worker = &mut self.workers[i];
            let credits = if worker.careful { 1 } else { share };
            if !worker.ready || worker.leaving.is_some() || worker.killed.is_some() || 2 * worker.cases.len() > credits
            {
                continue;
            }
            let mut lines = Vec::new();
            while worker.cases.len() < credits
                && let Some(case) = self.ledger.next()
            {
                worker.cases.push((case, Stage::Assigned));
                lines.extend(protocol::line(&protocol::Hand::Case(&self.cases[case])).unwrap_or_default());
            }
            if !lines.is_empty() {
                worker.heard = Instant::now();
                worker.process.tell(&lines);
            }
        }
        Ok(())
    }

    fn hire(&mut self) -> Result<(), RunError> {
        self.names += 1;
        let process = Process::start(self.options, &self.setup, self.names, self.to.clone())
            .map_err(|source| RunError::Spawn { exe: self.options.exe.clone(), source })?;
        self.workers.push(Worker {
            name: self.names,
            process,
            cases: vec![],
            ready: false,
            careful: self.careful,
            leaving: None,
            closed: None,
            heard: Instant::now(),
            killed: None,
            announced: None,
            garbled: false,
        });
        Ok(())
    }

    fn hear(&mut self, name: u64, heard: process::Heard) -> Result<(), RunError> {
        let Some(at) = self.workers.iter().position(|w| w.name == name) else { return Ok(()) };
        self.workers[at].heard = Instant::now();
        match heard {
            process::Heard::Lines(lines) => {
                let mut start = 0;
                for end in memchr::memchr_iter(b'\n', &lines) {
                    let line = &lines[start..=end];
                    start = end + 1;
                    if self.workers[at].killed.is_some() {
                        break;
                    }
                    if let Err(why) = self.line(at, line)? {
                        self.workers[at].killed = Some(why);
                        self.workers[at].garbled = true;
                        self.workers[at].process.kill();
                    }
                }
            }
            process::Heard::Closed => self.workers[at].closed = Some(Instant::now()),
        }
        Ok(())
    }

    /// Takes one line of a worker. The inner error says why the worker is not to be trusted any more.
    fn line(&mut self, at: usize, line: &[u8]) -> Result<Result<(), String>, RunError> {
        let rubbish = |why: &str| {
            let start = String::from_utf8_lossy(&line[..line.len().min(60)]).escape_debug().to_string();
            Ok(Err(format!("it wrote rubbish on its pipe ({why}): {start}")))
        };
        let mut head = Vec::new();
        let heard = match protocol::Heard::read(line, &mut head) {
            Ok(heard) => heard,
            Err(e) => return rubbish(&e.to_string()),
        };
        let worker = &mut self.workers[at];
        let place = heard.index.and_then(|i| worker.cases.iter().position(|(c, _)| *c as u64 == i));
        match (&*heard.t, place) {
            ("ready", _) => {
                worker.ready = true;
                self.probes = 0;
            }
            ("unhealthy", _) => {
                worker.leaving = Some(Instant::now());
                let text = heard.text.unwrap_or_default().to_string();
                self.probe_failed(&text)?;
            }
            ("start", Some(place)) => {
                let case = worker.cases[place].0;
                worker.announced = Some(case);
                self.pending.extend_from_slice(line);
                (self.on_event)(Event::CaseStarted { index: case as u64, id: &self.cases[case].id });
            }
            ("record", Some(place)) => {
                let (case, _) = worker.cases[place];
                let Some(verdict) = heard.verdict else { return rubbish("a record without a verdict") };
                if heard.id.as_deref() != Some(self.cases[case].id.as_str()) {
                    return rubbish("a record of another case");
                }
                worker.cases.remove(place);
                worker.careful = false;
                self.careful = false;
                self.deaths = 0;
                self.enter(case, verdict, heard.reason.as_deref(), line);
            }
            ("retire", _) => worker.leaving = Some(Instant::now()),
            ("bye", _) => worker.leaving = Some(Instant::now()),
            (_, None) if heard.index.is_some() => return rubbish("a case that it does not have"),
            _ => return rubbish("an unknown message"),
        }
        Ok(Ok(()))
    }

    /// Enters a verdict: into the ledger, and into the journal before it is shown.
    fn enter(&mut self, case: usize, verdict: Verdict, reason: Option<&str>, line: &[u8]) {
        self.ledger.enter(case, verdict);
        self.defect |= verdict == Verdict::Error && reason.is_some_and(|r| r.starts_with(DEFECT));
        let start = self.pending.len();
        self.pending.extend_from_slice(line);
        let line = start..self.pending.len();
        self.entered.push(Entered { case, verdict, reason: reason.map(str::to_string), line });
        if self.options.fail_fast && matches!(verdict, Verdict::Fail | Verdict::Error) {
            self.halt(Stop::FailFast);
        }
    }

    fn enter_record(&mut self, record: CaseRecord) {
        let line = protocol::line(&Line::Record(Box::new(record.clone()))).unwrap_or_default();
        self.enter(record.index as usize, record.verdict, record.reason.as_deref(), &line);
    }

    /// Writes what is pending as one piece, then shows the verdicts in it.
    fn flush(&mut self) -> Result<(), RunError> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let before = self.journal.good();
        if let Err(e) = self.journal.append(&self.pending) {
            let kept = (self.journal.good() - before) as usize;
            let lost = self.entered.iter().filter(|e| e.line.end > kept).count();
            return Err(self.unwritten(self.cases.len() - self.ledger.left() - lost, e));
        }
        for entered in self.entered.drain(..) {
            let Entered { case, verdict, reason, line } = entered;
            let c = &self.cases[case];
            let record = std::str::from_utf8(&self.pending[line]).unwrap_or_default().trim_end();
            let done = CaseDone { index: c.index, id: &c.id, op: &c.op, verdict, reason: reason.as_deref(), record };
            (self.on_event)(Event::CaseDone(done));
        }
        self.pending.clear();
        Ok(())
    }

    fn unwritten(&self, done: usize, source: std::io::Error) -> RunError {
        let (path, out) = (self.journal_path.to_path_buf(), self.options.out.clone());
        RunError::Write { path, out, done: done as u64, source }
    }

    fn note(&mut self, kind: &str, text: &str) -> Result<(), RunError> {
        let line = Line::Note { kind: kind.to_string(), text: text.to_string() };
        self.pending.extend(protocol::line(&line).unwrap_or_default());
        self.flush()?;
        (self.on_event)(Event::Note { kind, text });
        Ok(())
    }

    /// Everything that time brings: signals, limits, deadlines, deaths, the disk.
    fn check(&mut self) -> Result<(), RunError> {
        if self.interrupt.load(Ordering::Relaxed) && self.stop != Some(Stop::Interrupted) {
            self.note("interrupted", "the run was interrupted; cases without a verdict are NOT-RUN")?;
            self.halt(Stop::Interrupted);
        }
        if self.options.max_time.is_some_and(|limit| self.started.elapsed() >= limit) {
            self.halt(Stop::Time);
        }
        self.check_deadlines();
        let mut at = 0;
        while at < self.workers.len() {
            let gone = self.workers[at].process.gone();
            let worker = &mut self.workers[at];
            match (gone, worker.closed) {
                (Some(status), Some(_)) => self.bury(at, Some(status))?,
                // The pipe is open a moment longer than the process lives; or a grandchild holds it, then we do not wait for it.
                (Some(status), None) if worker.heard.elapsed() > GRACE => self.bury(at, Some(status))?,
                (None, Some(since)) if since.elapsed() > GRACE => {
                    worker.process.kill();
                    at += 1;
                }
                _ => at += 1,
            }
        }
        self.flush()?;
        let done = self.cases.len() - self.ledger.left();
        self.journal.sync(false).map_err(|e| self.unwritten(done, e))
    }

    fn check_deadlines(&mut self) {
        let limit = self.options.timeout + GRACE;
        for worker in &mut self.workers {
            worker.look();
            let overdue =
                worker.cases.iter().any(|(_, s)| matches!(s, Stage::OnBoard(since) if since.elapsed() > limit));
            // A board that does not open, a reference that does not end: no news is bounded as well.
            let silent =
                (!worker.cases.is_empty() || !worker.ready) && worker.heard.elapsed() > 10 * self.options.timeout;
            let stays = worker.leaving.is_some_and(|since| since.elapsed() > GRACE);
            if worker.killed.is_none() && (overdue || silent) {
                let waited = self.options.timeout.as_millis();
                worker.killed = Some(format!("no completion within {waited} ms (--timeout); it was killed"));
                worker.process.kill();
            } else if worker.killed.is_none() && stays {
                worker.killed = Some("it did not exit".to_string());
                worker.process.kill();
            }
        }
    }

    /// Stops handing out. Workers finish what is prepared; where that makes no sense they are killed.
    fn halt(&mut self, stop: Stop) {
        let hard = matches!(stop, Stop::Interrupted | Stop::Wedged(_));
        if self.stop.is_none() || hard {
            self.stop = Some(stop);
        }
        for worker in &mut self.workers {
            match hard {
                true => worker.process.kill(),
                false => worker.process.finish(),
            }
        }
    }

    /// The workers were killed for no fault of theirs.
    fn halted_hard(&self) -> bool {
        matches!(self.stop, Some(Stop::Interrupted | Stop::Wedged(_)))
    }

    fn probe_failed(&mut self, text: &str) -> Result<(), RunError> {
        self.probes += 1;
        if self.probes >= PROBES {
            self.wedge(&format!("{PROBES} probes in a row failed, the last one: {text}"))?;
        }
        Ok(())
    }

    fn wedge(&mut self, why: &str) -> Result<(), RunError> {
        if !matches!(self.stop, Some(Stop::Wedged(_) | Stop::Interrupted)) {
            self.note("wedged", &format!("{} is wedged: {why}", self.options.board))?;
            self.halt(Stop::Wedged(why.to_string()));
        }
        Ok(())
    }

    /// Takes a dead worker off, charges the case it died in and hands back the others.
    fn bury(&mut self, at: usize, status: Option<std::process::ExitStatus>) -> Result<(), RunError> {
        let mut worker = self.workers.remove(at);
        let open: Vec<usize> = worker.cases.iter().map(|(c, _)| *c).collect();
        if self.halted_hard() {
            return Ok(());
        }
        if worker.leaving.is_some() {
            self.ledger.hand_back(&open);
            return if worker.killed.is_some() { self.exit_hang(worker.process.id()) } else { Ok(()) };
        }
        let words = worker.process.last_words();
        let mut how = format!("the worker {}", status.map_or("ended".to_string(), process::ending));
        if let Some(why) = &worker.killed {
            how = format!("the worker was stopped: {why}");
        }
        let said = if words.is_empty() { String::new() } else { format!("; its last words: {words}") };
        let charged = worker.charged();
        let rest: Vec<usize> = open.iter().copied().filter(|c| charged.is_none_or(|(g, _)| g != *c)).collect();
        self.ledger.hand_back(&rest);
        self.careful = true;
        if let Some((case, step)) = charged {
            let text = format!("{how} while {} {step}", self.cases[case].id);
            self.note("worker_died", &text)?;
            let reason = format!("{how} while the case {step}{said}");
            self.enter_record(unjudged(self.options, &self.cases[case], Verdict::Error, reason));
        } else {
            self.note("worker_died", &format!("{how}; no case is charged, {} are handed out again", rest.len()))?;
        }
        if !worker.ready {
            return self.probe_failed(&format!("{how} before the board was open{said}"));
        }
        self.deaths += 1;
        if self.deaths >= DEATHS {
            self.wedge(&format!("{DEATHS} workers in a row died without a verdict between; the last one: {how}"))?;
        }
        Ok(())
    }

    /// Lets the workers go, and kills those that stay.
    fn dismiss(&mut self) -> Result<(), RunError> {
        for worker in &mut self.workers {
            worker.process.finish();
        }
        let until = Instant::now() + GRACE;
        while Instant::now() < until && self.workers.iter_mut().any(|w| w.process.gone().is_none()) {
            // Drain the pipes, so that a worker that still talks can end; one that has closed them is a moment from its end.
            let _ = self.from.recv_timeout(Duration::from_micros(200));
        }
        for mut worker in std::mem::take(&mut self.workers) {
            if worker.process.gone().is_none() {
                worker.process.kill();
                self.exit_hang(worker.process.id())?;
            }
        }
        Ok(())
    }

    fn exit_hang(&mut self, id: u32) -> Result<(), RunError> {
        let grace = GRACE.as_secs();
        let text =
            format!("worker {id} did not exit within {grace} s after its last case and was killed; its verdicts stand");
        self.note("exit_hang", &text)
    }

    /// Gives the cases without a verdict theirs, and ends the journal.
    fn close(mut self) -> Result<Ended, RunError> {
        let reason = self.stop.as_ref().map_or("not handed out".to_string(), Stop::reason);
        for case in self.ledger.open() {
            self.enter_record(unjudged(self.options, &self.cases[case], Verdict::NotRun, reason.clone()));
        }
        let board_failed = matches!(self.stop, Some(Stop::Wedged(_) | Stop::Busy(_)));
        let end =
            Line::End { at: super::plan::now(), wall_ms: self.started.elapsed().as_millis() as u64, board_failed };
        self.pending.extend(protocol::line(&end).unwrap_or_default());
        self.flush()?;
        self.journal.sync(true).map_err(|e| self.unwritten(self.cases.len(), e))?;
        Ok(Ended {
            interrupted: self.stop == Some(Stop::Interrupted),
            board_failed,
            defect: self.defect,
            counts: self.ledger.counts(),
        })
    }
}
