//! The gate: the suites' cases, prepared once, run and judged as `assay run` does. Refuses to run a kernel in this process.

use super::ClimbError;
use crate::board::Facts;
use crate::judge::spec::Oracle;
use crate::ops;
use crate::record::{CaseRecord, Verdict};
use crate::run::Options;
use crate::run::boards::Named;
use crate::run::device::Device;
use crate::run::job::{self, Bench, Death, Job};
use crate::run::judging;
use crate::run::kernels::needed;
use crate::run::protocol::Built;
use crate::run::tamper::Tamper;
use crate::suite::Case;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// Least time that a mutant gets for a case.
const LEAST: Duration = Duration::from_millis(500);
/// How much more time a mutant gets that did not end in the first.
const AGAIN: u32 = 3;
/// How many times the control's time a mutant gets.
const PATIENCE: u32 = 10;
/// A prepared case beyond this is prepared anew whenever it is needed.
const LARGE: usize = 16 << 20;
/// Prepared cases that are kept, all together.
const KEPT: usize = 768 << 20;

/// What the unmutated kernels make of a case.
#[derive(Clone, Debug, PartialEq)]
pub struct Green {
    /// Assertions judged.
    pub assertions: u64,
    /// Canaries refused.
    pub canaries: u64,
    /// Canaries without a material place.
    pub inapplicable: u64,
    /// Time on the board.
    pub board: Duration,
}

/// One case of the gate.
#[derive(Debug)]
pub struct GateCase {
    /// The case.
    pub case: Case,
    /// Kernels it launches; none for a case of size 0.
    pub symbols: BTreeSet<String>,
    /// Kernels without which it proves nothing; for a case of size 0 every kernel of its op.
    needed: Vec<String>,
    /// Elements of its largest buffer.
    pub elements: usize,
    /// Set by the control arm.
    pub green: OnceLock<Green>,
    /// Hash of reference and oracle, set when first prepared.
    fingerprint: OnceLock<String>,
    /// Mutants it killed.
    pub kills: AtomicU64,
}

/// What a case came to.
#[derive(Debug)]
pub enum Shot {
    /// It was judged.
    Judged(Box<CaseRecord>),
    /// The kernel kept it from ending.
    Dead(Death, String),
    /// It could not be run.
    Refused(Verdict, String),
}

/// The cases of a ladder and all that they share.
pub struct Gate {
    options: Options,
    facts: Facts,
    /// The cases, in order of the suites.
    pub cases: Vec<GateCase>,
    prepared: Mutex<(HashMap<usize, Arc<Job>>, usize)>,
}

/// A board for one mutant, in a fresh executor, with the images it launches.
pub struct Range {
    device: Device,
    bench: Bench,
}

impl Gate {
    /// A gate of `cases` on a simulated board.
    pub fn new(options: Options, facts: Facts, cases: Vec<Case>) -> Self {
        let cases = cases.into_iter().filter_map(gate_case).collect();
        Self { options, facts, cases, prepared: Mutex::default() }
    }

    /// Facts of the board.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Starts an executor that launches `images`.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn open(&self, images: BTreeMap<String, Built>, tamper: Tamper) -> Result<Range, ClimbError> {
        let open = Named::Sim(self.facts.clone()).open(&self.options);
        let open = open.map_err(|why| ClimbError::Gate { at: self.options.board.clone(), why })?;
        let options = self.options.clone();
        let bench = Bench { options, kernels: images, facts: self.facts.clone(), mock: None, tamper };
        Ok(Range { device: Device::new(open), bench })
    }

    /// Runs and judges a case of a mutant, which gets a multiple of the control's time. One that does not end in it gets more once:
    /// a machine that is busy with other things is no fault of the mutant.
    ///
    /// # Errors
    /// As [`Gate::shoot`].
    pub fn shoot_mutant(&self, at: usize, range: &mut Range) -> Result<Shot, ClimbError> {
        let limit = self.cases[at].green.get().map_or(self.options.timeout, deadline);
        let (shot, _) = self.within(at, range, limit)?;
        match shot {
            Shot::Dead(Death::Hang, _) => Ok(self.within(at, range, AGAIN * limit)?.0),
            shot => Ok(shot),
        }
    }

    /// Runs and judges a case, and says how long the board took.
    ///
    /// # Errors
    /// `Changed` when its reference or oracle is not what it was.
    pub fn shoot(&self, at: usize, range: &mut Range) -> Result<(Shot, Duration), ClimbError> {
        self.within(at, range, self.options.timeout)
    }

    fn within(&self, at: usize, range: &mut Range, limit: Duration) -> Result<(Shot, Duration), ClimbError> {
        let job = match self.job(at, &range.bench)? {
            Ok(job) => job,
            Err(refusal) => return Ok((Shot::Refused(refusal.verdict, refusal.reason), Duration::ZERO)),
        };
        range.bench.options.timeout = limit;
        let begun = Instant::now();
        let done = range.device.run(&job, &range.bench, &|_| {});
        let board = begun.elapsed();
        let shot = match done.result {
            Ok(ran) => Shot::Judged(Box::new(judging::judge(&job, &ran, &range.bench))),
            Err(refusal) => match refusal.death {
                Some(death) => Shot::Dead(death, refusal.reason),
                None => Shot::Refused(refusal.verdict, refusal.reason),
            },
        };
        Ok((shot, board))
    }

    /// The prepared case; prepared now when it is the first time, large, or the harness is tampered with.
    fn job(&self, at: usize, bench: &Bench) -> Result<Result<Arc<Job>, job::Refusal>, ClimbError> {
        let untouched = bench.tamper == Tamper::None && self.cases[at].needed.iter().all(|s| is_built(bench, s));
        if untouched && let Some(job) = self.lock().0.get(&at) {
            return Ok(Ok(Arc::clone(job)));
        }
        let job: Arc<Job> = match job::prepare(&self.cases[at].case, bench, &mut vec![]) {
            Ok(job) => Arc::from(job),
            Err(refusal) => return Ok(Err(refusal)),
        };
        if untouched {
            self.same(at, &job)?;
            let bytes = size(&job);
            let mut kept = self.lock();
            if bytes <= LARGE && kept.1 + bytes <= KEPT && kept.0.insert(at, Arc::clone(&job)).is_none() {
                kept.1 += bytes;
            }
        }
        Ok(Ok(job))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, (HashMap<usize, Arc<Job>>, usize)> {
        self.prepared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn same(&self, at: usize, job: &Job) -> Result<(), ClimbError> {
        let now = fingerprint(job);
        match *self.cases[at].fingerprint.get_or_init(|| now.clone()) == now {
            true => Ok(()),
            false => Err(ClimbError::Changed(format!("the reference or oracle of {}", self.cases[at].case.id))),
        }
    }

    /// Checks that reference and oracle of these cases are what they were.
    ///
    /// # Errors
    /// `Changed`.
    pub fn verify(&self, used: &[usize]) -> Result<(), ClimbError> {
        for &at in used {
            let job = self.lock().0.get(&at).cloned();
            if let Some(job) = job {
                self.same(at, &job)?;
            }
        }
        Ok(())
    }

    /// Cases that launch one of `symbols` and are green without a fault: the formerly deadliest first, then the smallest.
    pub fn launching(&self, symbols: &BTreeSet<String>, ops: &[String]) -> Vec<usize> {
        let wanted = |c: &GateCase| {
            c.green.get().is_some() && !c.symbols.is_disjoint(symbols) && (ops.is_empty() || ops.contains(&c.case.op))
        };
        let mut places: Vec<usize> = (0..self.cases.len()).filter(|&at| wanted(&self.cases[at])).collect();
        places.sort_by_key(|&at| {
            let case = &self.cases[at];
            (std::cmp::Reverse(case.kills.load(Ordering::Relaxed)), case.elements, at)
        });
        places
    }
}

/// Time that a mutant gets for a case.
fn deadline(green: &Green) -> Duration {
    (green.board * PATIENCE).max(LEAST)
}

fn is_built(bench: &Bench, symbol: &str) -> bool {
    matches!(bench.kernels.get(symbol), Some(Built::Image { .. }))
}

fn gate_case(case: Case) -> Option<GateCase> {
    let op = ops::find(&case.op)?;
    let plan = op.plan(&case.params).ok()?;
    Some(GateCase {
        symbols: plan.launches.iter().map(|l| l.symbol.clone()).collect(),
        needed: needed(op, &plan),
        elements: plan.args.iter().map(|a| a.view.len()).max().unwrap_or(0),
        case,
        green: OnceLock::new(),
        fingerprint: OnceLock::new(),
        kills: AtomicU64::new(0),
    })
}

/// Bytes that a prepared case holds, about.
fn size(job: &Job) -> usize {
    let floats = |o: &Oracle| o.value.len() + o.other.len() + o.bound.len() + o.magnitude.len();
    let oracles: usize = job.oracles.iter().flat_map(|(_, all)| all).map(floats).sum();
    let inputs: usize = (0..job.plan.args.len()).map(|i| job.inputs.bytes(i).len()).sum();
    2 * job.region.bytes + 8 * oracles + inputs + job.reference.iter().map(Vec::len).sum::<usize>()
}

/// sha256 of what a verdict is measured by.
fn fingerprint(job: &Job) -> String {
    let mut hash = Sha256::new();
    let mut block = Vec::with_capacity(8 << 10);
    job.reference.iter().for_each(|bytes| hash.update(bytes));
    for oracle in job.oracles.iter().flat_map(|(_, all)| all) {
        for column in [&oracle.value, &oracle.other, &oracle.bound, &oracle.magnitude] {
            for chunk in column.chunks(1 << 10) {
                block.clear();
                chunk.iter().for_each(|x| block.extend_from_slice(&x.to_bits().to_le_bytes()));
                hash.update(&block);
            }
        }
    }
    hash.finalize().iter().map(|b| format!("{b:02x}")).collect()
}
