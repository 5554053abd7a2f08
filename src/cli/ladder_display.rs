//! Progress of a ladder: a bar on a terminal, plain lines elsewhere. Only shows events.

use super::Console;
use crate::ladder::Event;
use crate::ladder::record::{RungRecord, State};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::time::{Duration, Instant};

/// How long piped output may stay silent.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// Subscribes to the events of a ladder.
pub(super) struct Display<'a> {
    console: &'a mut Console,
    bar: Option<ProgressBar>,
    quiet: bool,
    spoke: Instant,
    /// When the first rung was begun, and how many had a result by then.
    begun: Option<(Instant, u64)>,
    planned: u64,
    done: u64,
    killed: u64,
    survived: u64,
}

impl<'a> Display<'a> {
    /// `quiet`: nothing but the bar is shown (standard output carries JSON).
    pub(super) fn new(console: &'a mut Console, quiet: bool) -> Self {
        let bar = std::io::IsTerminal::is_terminal(&std::io::stderr()).then(|| {
            let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
            let style = ProgressStyle::with_template("{elapsed_precise} [{bar:30}] {pos}/{len} {msg}");
            bar.with_style(style.expect("a constant template").progress_chars("=> "))
        });
        Self { console, bar, quiet, spoke: Instant::now(), begun: None, planned: 0, done: 0, killed: 0, survived: 0 }
    }

    /// Shows one event.
    pub(super) fn show(&mut self, event: &Event) {
        match event {
            Event::Planned { header, done } => {
                (self.planned, self.done) = (header.rungs.len() as u64, *done);
                if let Some(bar) = &self.bar {
                    bar.set_length(self.planned);
                    bar.set_position(self.done);
                }
                let before = if *done > 0 { format!(", {done} already have a result") } else { String::new() };
                self.say(&format!("{} rungs on {}{before}", self.planned, header.board.id));
            }
            Event::Building { units } => self.say(&format!("building {units} unmutated units")),
            Event::Arm(arm) => {
                let (cases, assertions, seconds) = (arm.cases, arm.assertions, arm.wall_ms / 1e3);
                let failed = arm.failures.len();
                let when = &arm.when;
                self.say(&format!(
                    "control {when}: {cases} cases green, {assertions} assertions, {failed} failures, {seconds:.1} s"
                ));
            }
            Event::Rung(record) => self.rung(record),
            Event::Note(text) => self.say(&format!("note: {text}")),
            Event::Idle => {}
        }
        if self.bar.is_none() && self.spoke.elapsed() >= HEARTBEAT {
            self.say(&format!("{} of {} rungs done, {}", self.done, self.planned, self.counts()));
        }
    }

    fn rung(&mut self, record: &RungRecord) {
        self.begun.get_or_insert_with(|| (Instant::now(), self.done));
        if record.origin == "control" {
            return;
        }
        self.done += 1;
        match record.state {
            State::Killed => self.killed += 1,
            State::Survived | State::Unreached => {
                self.survived += 1;
                self.say(&format!("SURVIVED {} ({}:{})", record.id, record.file, record.line));
            }
            State::Stale => self.say(&format!("STALE {}", record.id)),
            State::Equivalent | State::BuildBroken | State::OutOfReach => {}
        }
        if let Some(bar) = &self.bar {
            bar.set_position(self.done);
            bar.set_message(self.counts());
        }
    }

    fn counts(&self) -> String {
        let left = self.begun.and_then(|(begun, before)| {
            let done = self.done.checked_sub(before).filter(|n| *n > 0)?;
            let left = begun.elapsed().as_secs_f64() / done as f64 * (self.planned.saturating_sub(self.done)) as f64;
            Some(format!(", about {left:.0} s left"))
        });
        format!("{} killed, {} survived{}", self.killed, self.survived, left.unwrap_or_default())
    }

    fn say(&mut self, line: &str) {
        self.spoke = Instant::now();
        if self.quiet {
            return;
        }
        let mut print = || {
            self.console.line(line);
            self.console.flush();
        };
        match &self.bar {
            Some(bar) => bar.suspend(print),
            None => print(),
        }
    }
}

impl Drop for Display<'_> {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
