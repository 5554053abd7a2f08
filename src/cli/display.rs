//! Progress of a run: a bar on a terminal, plain lines and a heartbeat elsewhere. Only shows events.

use super::Console;
use crate::record::Verdict;
use crate::report::verdict_word;
use crate::run::{CaseDone, Event};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::time::{Duration, Instant};

/// How long piped output may stay silent.
const HEARTBEAT: Duration = Duration::from_secs(30);

/// Failures shown while the run goes on; the summary shows all.
const SHOWN: u64 = 20;

/// Subscribes to the events of a run.
pub(super) struct Display<'a> {
    console: &'a mut Console,
    bar: Option<ProgressBar>,
    quiet: bool,
    spoke: Instant,
    started: Instant,
    planned: u64,
    done: u64,
    pass: u64,
    bad: u64,
}

impl<'a> Display<'a> {
    /// `quiet`: nothing but the bar is shown (standard output carries JSON).
    pub(super) fn new(console: &'a mut Console, quiet: bool) -> Self {
        let bar = std::io::IsTerminal::is_terminal(&std::io::stderr()).then(|| {
            let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
            let style = ProgressStyle::with_template("{elapsed_precise} [{bar:30}] {pos}/{len} {msg}");
            bar.with_style(style.expect("a constant template").progress_chars("=> "))
        });
        let now = Instant::now();
        Self { console, bar, quiet, spoke: now, started: now, planned: 0, done: 0, pass: 0, bad: 0 }
    }

    /// Shows one event.
    pub(super) fn show(&mut self, event: &Event) {
        match event {
            Event::Planned { header, done } => {
                self.planned = header.cases.len() as u64;
                self.done = *done;
                if let Some(bar) = &self.bar {
                    bar.set_length(self.planned);
                    bar.set_position(self.done);
                }
                let simulated = if header.board.simulated { " (simulated)" } else { "" };
                let before = if *done > 0 { format!(", {done} already have a verdict") } else { String::new() };
                self.say(&format!("{} cases on {}{simulated}{before}", self.planned, header.board.id));
            }
            Event::Building { files } => self.say(&format!("building {files} kernel files")),
            Event::CaseStarted { .. } => {}
            Event::CaseDone(case) => self.case_done(case),
            Event::Note { kind, text } => self.say(&format!("note: {kind}: {text}")),
            Event::Idle => {}
            Event::Finished(_) => {
                if let Some(bar) = &self.bar {
                    bar.finish_and_clear();
                }
            }
        }
        self.heartbeat();
    }

    fn case_done(&mut self, case: &CaseDone) {
        self.done += 1;
        match case.verdict {
            Verdict::Pass | Verdict::Known | Verdict::NotApplicable => self.pass += 1,
            // Cases that did not run come by the hundred with one reason: the summary groups them.
            Verdict::NotRun | Verdict::UnexpectedPass | Verdict::Reference => {}
            Verdict::Fail | Verdict::Error => {
                self.bad += 1;
                if self.bad > SHOWN {
                    return self.count();
                }
                let reason = case.reason.and_then(|r| r.lines().next()).unwrap_or_default();
                self.say(&format!("{} {}: {reason}", verdict_word(case.verdict), case.id));
            }
        }
        if self.bad == SHOWN {
            self.say("more of them are in the summary");
        }
        self.count();
    }

    fn count(&self) {
        if let Some(bar) = &self.bar {
            bar.set_position(self.done);
            bar.set_message(format!("{} pass, {} fail or error", self.pass, self.bad));
        }
    }

    fn heartbeat(&mut self) {
        if self.bar.is_none() && self.spoke.elapsed() >= HEARTBEAT {
            let seconds = self.started.elapsed().as_secs();
            self.say(&format!("{seconds} s: {} of {} cases done, {} fail or error", self.done, self.planned, self.bad));
        }
    }

    fn say(&mut self, line: &str) {
        self.spoke = Instant::now();
        if self.quiet {
            return;
        }
        match &self.bar {
            Some(bar) => bar.suspend(|| {
                self.console.line(line);
                self.console.flush();
            }),
            None => {
                self.console.line(line);
                self.console.flush();
            }
        }
    }
}
