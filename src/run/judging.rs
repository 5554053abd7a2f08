//! From what the board brought back to the record of the case. Refuses to compute figures: the judge does.

use super::job::{Bench, Job, Ran, Snapshot, ms};
use super::plan::unjudged;
use super::tamper::Tamper;
use crate::board::{Finding, FindingKind, ThreadOrder};
use crate::judge::runtime::{self, Order, Runtime, Service};
use crate::judge::spec::{Determinism, Flush, Oracle, Output, OutputSpec};
use crate::judge::verdict::{self, Served};
use crate::judge::{self, JudgeError};
use crate::ops::Arg;
use crate::record::{Assertion, Canaries, CaseRecord, Tier, Verdict};
use std::borrow::Cow;
use std::time::Instant;

/// Judges a case: run-time bars, the bars of every output for device and reference tier, canaries.
pub fn judge(job: &Job, ran: &Ran, bench: &Bench) -> CaseRecord {
    let begun = Instant::now();
    let mut sheet = Sheet { record: unjudged(&bench.options, &job.case, Verdict::Pass, String::new()), errors: vec![] };
    sheet.record.timings = job.timings.clone();
    match whole(job, ran) {
        Err(error) => sheet.errors.push(error),
        Ok(()) => {
            sheet.run_time(job, ran, bench);
            sheet.outputs(job, ran, bench);
        }
    }
    if let Tamper::BarDropped(bar) = &bench.tamper {
        sheet.record.assertions.retain(|a| a.bar != *bar);
    }
    let mut record = sheet.close();
    record.findings = sentences(ran);
    if let Some(why) = stopping(ran, bench).filter(|_| record.verdict != Verdict::Fail) {
        (record.verdict, record.reason) = (Verdict::Error, Some(why));
    }
    record.timings.judge_ms = ms(begun);
    record
}

/// Every pass brought back the whole region.
fn whole(job: &Job, ran: &Ran) -> Result<(), JudgeError> {
    let wrong = |on: String, got, want| Err(JudgeError::WrongSize { on, who: "device", got, want });
    if ran.snapshots.len() < job.passes.len() {
        return wrong("passes over the region".to_string(), ran.snapshots.len(), job.passes.len());
    }
    match ran.snapshots.iter().find(|s| s.bytes.len() != job.region.bytes) {
        Some(s) => wrong("region".to_string(), s.bytes.len(), job.region.bytes),
        None => Ok(()),
    }
}

/// The judge's view of the snapshots.
pub fn launches<'a>(job: &'a Job, snapshots: &'a [Snapshot], simulated: bool) -> Vec<runtime::Snapshot<'a>> {
    let one = |s: &'a Snapshot| runtime::Snapshot {
        poison: s.pass.poison,
        order: match (simulated, s.pass.order) {
            (false, _) => Order::Native,
            (true, ThreadOrder::Ascending) => Order::Ascending,
            (true, ThreadOrder::Descending) => Order::Descending,
            (true, ThreadOrder::Shuffled) => Order::Shuffled,
        },
        before: job.image(s.pass.poison),
        after: &s.bytes,
    };
    snapshots.iter().map(one).collect()
}

/// A record in the making.
struct Sheet {
    record: CaseRecord,
    errors: Vec<JudgeError>,
}

impl Sheet {
    fn take(&mut self, bars: Runtime) {
        self.record.assertions.extend(bars.assertions);
        self.record.absent.extend(bars.absent);
        self.errors.extend(bars.errors);
    }

    fn run_time(&mut self, job: &Job, ran: &Ran, bench: &Bench) {
        let launches = launches(job, &ran.snapshots, bench.options.simulated());
        self.take(runtime::integrity(&job.maps, &launches));
        self.take(runtime::agreement(&job.maps, &launches));
        let of_memory = |f: &&Finding| {
            use FindingKind::{OutOfRange, Race, ReadOnly, Uninitialised};
            matches!(f.kind, OutOfRange | Race | ReadOnly | Uninitialised)
        };
        let findings = ran.snapshots.iter().flat_map(|s| &s.findings).filter(of_memory);
        let findings: Vec<String> = findings.map(sentence).collect();
        self.take(runtime::memory(&findings, ran.sanitised));
        let planned = (ran.snapshots.len() * job.plan.launches.len()) as u64;
        self.take(runtime::launches(planned, ran.launches));
        let service = Service { probed_native: true, launches: (planned, ran.launches), ..Service::default() };
        self.take(runtime::native(&service));
        if job.is_empty() {
            self.record.assertions.push(no_error());
        }
    }

    fn outputs(&mut self, job: &Job, ran: &Ran, bench: &Bench) {
        for (place, (arg_at, arg, spec)) in job.plan.outputs().enumerate() {
            let limits = job.case.limits_of(arg.name);
            let others: Vec<(&'static str, Oracle)> = match job.oracles.len() {
                0 | 1 => vec![],
                _ => job.oracles[1..].iter().filter_map(|(p, c)| Some((*p, c.get(place)?.clone()))).collect(),
            };
            let empty = Oracle::default();
            let base = Output {
                name: arg.name,
                dtype: arg.view.dtype,
                shape: &arg.view.shape,
                spec,
                device: &[],
                reference: job.reference.get(place).map_or(&[], |r| r.as_slice()),
                oracle: job.oracles.first().and_then(|(_, c)| c.get(place)).unwrap_or(&empty),
                other_paths: &others,
                limits: &limits,
                flush: Flush::default(),
            };
            self.reference(&base);
            let flushes = bench.facts.flush_f32;
            let device = Output { flush: Flush { inputs: flushes, outputs: flushes }, ..base };
            self.device(&device, job, ran, (arg_at, arg, spec), &bench.tamper);
        }
    }

    /// The reference tier against the oracle.
    fn reference(&mut self, base: &Output) {
        let judged = judge::output(&Output { device: base.reference, ..*base }, Tier::Reference);
        self.record.assertions.extend(judged.assertions);
        self.errors.extend(judged.errors);
    }

    /// The device's output, of every launch when launches may differ.
    fn device(&mut self, base: &Output, job: &Job, ran: &Ran, at: (usize, &Arg, &OutputSpec), tamper: &Tamper) {
        let (at, arg, spec) = at;
        let slot = &job.region.slots[at].data;
        for (i, snapshot) in ran.snapshots.iter().enumerate() {
            let bytes = packed(arg, &snapshot.bytes[slot.clone()]);
            let out = Output { device: &bytes, ..*base };
            let judged = judge::output(&out, Tier::Device);
            if i == 0 {
                if *tamper != Tamper::CanaryDisarmed {
                    let flock = judge::canary(&out, &judged);
                    self.canaries(flock.canaries);
                    self.errors.extend(flock.errors);
                }
                self.record.assertions.extend(judged.assertions);
                self.record.absent.extend(judged.absent);
                self.record.paths.extend(judged.paths);
                self.errors.extend(judged.errors);
            } else {
                let mark = |mut a: Assertion| {
                    let launch = format!("launch {i}");
                    a.note = Some(a.note.map_or(launch.clone(), |n| format!("{launch}: {n}")));
                    a
                };
                self.record.assertions.extend(judged.assertions.into_iter().map(mark));
                self.errors.extend(judged.errors);
            }
            if spec.determinism == Determinism::Bytes {
                // Equal bytes are asserted by `repeat` and `schedule`.
                return;
            }
        }
    }

    fn canaries(&mut self, new: Canaries) {
        let all = &mut self.record.canaries;
        if all.run + all.not_applicable == 0 {
            *all = new;
            return;
        }
        all.run += new.run;
        all.refused += new.refused;
        all.accepted += new.accepted;
        all.not_applicable += new.not_applicable;
        all.notes.extend(new.notes);
        all.kinds.extend(&new.kinds);
    }

    fn close(mut self) -> CaseRecord {
        let (verdict, reason) = verdict::case(&self.record.assertions, &self.errors, Served::Board);
        (self.record.verdict, self.record.reason) = (verdict, reason);
        self.record.worst = verdict::worst(&self.record.assertions).cloned();
        self.record
    }
}

/// The logical elements of a buffer, packed.
fn packed<'a>(arg: &Arg, buffer: &'a [u8]) -> Cow<'a, [u8]> {
    if arg.view.is_packed() { Cow::Borrowed(buffer) } else { Cow::Owned(arg.view.gather(buffer)) }
}

/// A case of size 0 leaves no error behind on the board: its wait came back without one.
fn no_error() -> Assertion {
    Assertion {
        bar: "no_error".to_string(),
        on: String::new(),
        tier: Tier::Device,
        pass: true,
        figure: Some(0.0),
        limit: Some(0.0),
        elements: 1,
        worst: None,
        note: None,
    }
}

fn sentence(f: &Finding) -> String {
    let place = if f.place.is_empty() { String::new() } else { format!(" at {}", f.place) };
    let times = if f.count > 1 { format!(" ({} times)", f.count) } else { String::new() };
    format!("{}: {}{place}: {}{times}", words(f.kind), f.kernel, f.detail)
}

fn words(kind: FindingKind) -> &'static str {
    match kind {
        FindingKind::OutOfRange => "out of range",
        FindingKind::Uninitialised => "read of uninitialised memory",
        FindingKind::ReadOnly => "write to read-only memory",
        FindingKind::Race => "race",
        FindingKind::DivergentBarrier => "divergent barrier",
        FindingKind::ExitedBeforeBarrier => "lanes returned before a barrier",
        FindingKind::DivergentWave => "divergent wave operation",
    }
}

/// Every finding once, in the order in which the launches met them.
fn sentences(ran: &Ran) -> Vec<String> {
    let mut all: Vec<String> = vec![];
    for finding in ran.snapshots.iter().flat_map(|s| &s.findings) {
        let text = sentence(finding);
        if !all.contains(&text) {
            all.push(text);
        }
    }
    all
}

/// The finding after which nothing can be said of the outputs, if there is one.
fn stopping(ran: &Ran, bench: &Bench) -> Option<String> {
    let stops = |f: &&Finding| match f.kind {
        FindingKind::DivergentBarrier | FindingKind::DivergentWave => true,
        FindingKind::ExitedBeforeBarrier => bench.options.strict_barriers,
        FindingKind::OutOfRange | FindingKind::Uninitialised | FindingKind::ReadOnly | FindingKind::Race => false,
    };
    ran.snapshots.iter().flat_map(|s| &s.findings).find(stops).map(sentence)
}
