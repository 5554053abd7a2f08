//! The mock board `mock:SCRIPT`: plays passes, failures and deaths of a worker, for tests of this room. Refuses to be taken for a board:
//! its results are labelled mock and simulated.
//!
//! SCRIPT is a comma list of `ACT` (for every case) and `ACT@SUBSTRING` (for cases whose id holds it; the first that fits counts).
//! A piece that begins with no act goes on the substring before it, so that case ids with commas can be written.

use super::job::{Job, Ran, Refusal, Snapshot};
use crate::board::{BoardError, Facts};
use std::time::Duration;

/// What the mock does to a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// The reference's outputs.
    Pass,
    /// One element off.
    Wrong,
    /// One NaN (integers: one element off).
    Nan,
    /// The worker dies by SIGSEGV.
    Crash,
    /// The worker aborts.
    Abort,
    /// The case never ends.
    Hang,
    /// The case passes; the worker never exits.
    ExitHang,
    /// The worker writes rubbish on its pipe.
    Rubbish,
    /// The board is lost.
    DeviceLost,
    /// The board brings back too few bytes.
    WrongSize,
    /// Our own code panics.
    Panic,
}

const ACTS: [(&str, Act); 11] = [
    ("pass", Act::Pass),
    ("wrong", Act::Wrong),
    ("nan", Act::Nan),
    ("crash", Act::Crash),
    ("abort", Act::Abort),
    ("hang", Act::Hang),
    ("exit-hang", Act::ExitHang),
    ("rubbish", Act::Rubbish),
    ("device-lost", Act::DeviceLost),
    ("wrong-size", Act::WrongSize),
    ("panic", Act::Panic),
];

/// A script, parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script(Vec<(Act, String)>);

impl Script {
    /// Parses the part of the board id behind `mock:`.
    ///
    /// # Errors
    /// The piece that is no act, with the acts there are.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut script: Vec<(Act, String)> = vec![];
        for piece in text.split(',').filter(|p| !p.is_empty()) {
            let (word, rest) = piece.split_once('@').unwrap_or((piece, ""));
            match ACTS.iter().find(|(name, _)| *name == word) {
                Some((_, act)) => script.push((*act, rest.to_string())),
                None => match script.last_mut() {
                    Some((_, substring)) if !substring.is_empty() => {
                        substring.push(',');
                        substring.push_str(piece);
                    }
                    _ => {
                        let acts: Vec<_> = ACTS.iter().map(|(name, _)| *name).collect();
                        return Err(format!("mock board: '{word}' is none of {}", acts.join(", ")));
                    }
                },
            }
        }
        Ok(Self(script))
    }

    /// What to do with a case.
    pub fn act(&self, id: &str) -> Act {
        self.0.iter().find(|(_, part)| id.contains(part.as_str())).map_or(Act::Pass, |(act, _)| *act)
    }
}

/// Facts of the mock board.
pub fn facts() -> Facts {
    Facts {
        name: "mock".to_string(),
        arch: "mock".to_string(),
        wave: 32,
        max_threads: 1024,
        max_block: [1024; 3],
        max_grid: [u64::from(u32::MAX); 3],
        max_grid_threads: u64::from(u32::MAX),
        lds: 65536,
        memory: 1 << 34,
        integrated: false,
        pageable: false,
        managed: false,
        concurrent_managed: false,
        host_reads: vec![],
        device_reads: vec![crate::board::Kind::Device],
        fp8: "none".to_string(),
        flush_f32: false,
        page: 4096,
        sources: vec!["made up, for tests".to_string()],
    }
}

/// Plays a case. `rubbish` writes on the worker's pipe.
///
/// # Errors
/// When the board is lost.
pub fn play(job: &Job, act: Act, rubbish: &dyn Fn(&[u8])) -> Result<Ran, Refusal> {
    match act {
        Act::Crash => loop {
            // The handler that Rust has for stack overflows returns once; the second signal kills.
            let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::SEGV);
        },
        Act::Abort => std::process::abort(),
        Act::Hang => loop {
            std::thread::sleep(Duration::from_secs(3600));
        },
        Act::Rubbish => rubbish(b"\x7fELF{{{ not a message\n"),
        Act::DeviceLost => {
            return Err(Refusal::error(BoardError::Lost { why: "played by the mock".to_string() }.to_string()));
        }
        Act::Panic => panic!("played by the mock"),
        Act::Pass | Act::Wrong | Act::Nan | Act::ExitHang | Act::WrongSize => {}
    }
    Ok(outputs(job, act))
}

/// The region as a right kernel leaves it, but for the act.
fn outputs(job: &Job, act: Act) -> Ran {
    let mut ran = Ran { launches: (job.passes.len() * job.plan.launches.len()) as u64, ..Ran::default() };
    for pass in &job.passes {
        let mut bytes = job.image(pass.poison).as_ref().clone();
        for ((i, arg, _), reference) in job.plan.outputs().zip(&job.reference) {
            let buffer = &mut bytes[job.region.slots[i].data.clone()];
            scatter_written(job, i, reference, buffer);
            let size = arg.view.dtype.size();
            let mut last = None;
            arg.view.for_runs(|at, n| last = Some((at + n - 1) * size..(at + n) * size));
            match (act, last) {
                (Act::Wrong, Some(r)) => buffer[r.end - 1] ^= 0x41,
                (Act::Nan, Some(r)) => buffer[r].fill(0xff),
                _ => {}
            }
        }
        if act == Act::WrongSize {
            bytes.pop();
        }
        ran.snapshots.push(Snapshot { pass: *pass, bytes, findings: vec![] });
    }
    ran
}

/// Writes reference elements where the op writes; skipped rows of a reference may hold anything.
fn scatter_written(job: &Job, i: usize, reference: &[u8], buffer: &mut [u8]) {
    let view = &job.plan.args[i].view;
    let ranges = &job.written[i];
    if ranges.iter().map(|r| r.bytes.len()).sum::<usize>() == reference.len() {
        return view.scatter(reference, buffer);
    }
    let mut whole = buffer.to_vec();
    view.scatter(reference, &mut whole);
    for r in ranges {
        buffer[r.bytes.clone()].copy_from_slice(&whole[r.bytes.clone()]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_takes_the_first_act_whose_substring_fits() {
        let script = Script::parse("crash@cast/dtype=f32,to=bf16,hang@rows=3,wrong").expect("legal");
        assert_eq!(script.act("cast/dtype=f32,to=bf16,rows=3"), Act::Crash);
        assert_eq!(script.act("add/rows=3"), Act::Hang);
        assert_eq!(script.act("add/rows=4"), Act::Wrong);
        assert_eq!(Script::parse("").expect("legal").act("x"), Act::Pass);
        assert!(Script::parse("explode").expect_err("no act").contains("exit-hang"));
    }
}
