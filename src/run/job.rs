//! One case, prepared: plan, inputs, reference, oracle, region, images. Refuses to touch a board and to decide.

use super::protocol::Built;
use super::tamper::Tamper;
use super::{Options, answer, bytemap, mock};
use crate::board::{Facts, Finding, ThreadOrder};
use crate::fixture::place::{self, Content, Poison, Region, Space};
use crate::judge::runtime::{ByteMap, Run};
use crate::judge::spec::Oracle;
use crate::ops::{self, Inputs, Plan};
use crate::record::{Timings, Verdict};
use crate::suite::{Case, Placement};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Cases below this many elements have one of their launches sanitised.
pub const SANITISED_BELOW: usize = 65_536;
/// Simulated seconds beyond which a case is left to hardware.
const SIMULATED_SECONDS: f64 = 5.0;
/// Largest tile for which guards are made.
const TILE: usize = 16 << 10;

/// What every case of a worker shares.
pub struct Bench {
    /// Options of the run.
    pub options: Options,
    /// What was built for each kernel symbol.
    pub kernels: BTreeMap<String, Built>,
    /// The board's facts.
    pub facts: Facts,
    /// Set on the mock board.
    pub mock: Option<mock::Script>,
    /// What the ladder does to the harness.
    pub tamper: Tamper,
}

/// How a kernel kept a case from ending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Death {
    /// A fault, a lost device, a launch that was refused.
    Crash,
    /// No completion by the deadline.
    Hang,
}

/// Why a case has no device output.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    /// ERROR or NOT-RUN.
    pub verdict: Verdict,
    /// The reason in the record.
    pub reason: String,
    /// Set when it is the kernel's doing.
    pub death: Option<Death>,
}

impl Refusal {
    /// An ERROR.
    pub fn error(reason: impl Into<String>) -> Self {
        Self { verdict: Verdict::Error, reason: reason.into(), death: None }
    }

    /// A NOT-RUN.
    pub fn not_run(reason: impl Into<String>) -> Self {
        Self { verdict: Verdict::NotRun, reason: reason.into(), death: None }
    }
}

/// How one pass over the plan's launches is made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pass {
    /// The image it starts from.
    pub poison: Poison,
    /// Order of threads (simulated boards).
    pub order: ThreadOrder,
    /// Run the sanitised build.
    pub sanitise: bool,
}

/// The region after a pass.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// How it was made.
    pub pass: Pass,
    /// The whole region.
    pub bytes: Vec<u8>,
    /// What the simulator saw.
    pub findings: Vec<Finding>,
}

/// What the board brought back.
#[derive(Clone, Debug, Default)]
pub struct Ran {
    /// One snapshot per pass, the attribution passes last.
    pub snapshots: Vec<Snapshot>,
    /// Kernel launches that really ran.
    pub launches: u64,
    /// Those of them that ran the sanitised build.
    pub sanitised: u64,
    /// Time of the device, or of the simulator.
    pub elapsed: Duration,
}

/// A prepared case.
pub struct Job {
    /// The case.
    pub case: Case,
    /// Buffers and launches.
    pub plan: Plan,
    /// Packed inputs.
    pub inputs: Inputs,
    /// Packed reference outputs, in the order of the plan's outputs.
    pub reference: Vec<Vec<u8>>,
    /// Oracle columns per path, the declared one first; one entry per output.
    pub oracles: Vec<(&'static str, Vec<Oracle>)>,
    /// Places.
    pub region: Region,
    /// Image with poison A, image with poison B.
    pub images: [Arc<Vec<u8>>; 2],
    /// Per argument: the runs of its buffer that the op writes. They are poisoned where the argument has no fill.
    pub written: Vec<Vec<Run>>,
    /// Which byte of the region is what.
    pub maps: Vec<ByteMap<'static>>,
    /// Passes of the launch plan.
    pub passes: Vec<Pass>,
    /// Time spent so far.
    pub timings: Timings,
}

impl Job {
    /// The image a pass starts from.
    pub fn image(&self, poison: Poison) -> &Arc<Vec<u8>> {
        &self.images[usize::from(poison == Poison::B)]
    }

    /// A case of declared size 0: nothing is launched, or nothing is to be written.
    pub fn is_empty(&self) -> bool {
        self.plan.launches.is_empty() || self.plan.outputs().all(|(_, a, _)| a.view.is_empty())
    }
}

/// Prepares a case. `spare` are vectors to reuse for images.
///
/// # Errors
/// When the case cannot or need not run: nothing was built, too large, too slow for a simulator.
pub fn prepare(case: &Case, bench: &Bench, spare: &mut Vec<Vec<u8>>) -> Result<Box<Job>, Refusal> {
    let begun = Instant::now();
    let op = ops::find(&case.op).ok_or_else(|| Refusal::error(format!("this assay has no op '{}'", case.op)))?;
    let plan = op.plan(&case.params).map_err(|e| Refusal::error(format!("illegal parameters: {e}")))?;
    check(op, &plan, bench)?;
    let region = lay_out(&plan, case.place, &bench.facts)
        .filter(|r| r.bytes as u64 <= bench.facts.memory)
        .ok_or_else(|| too_large(&plan, bench))?;
    let inputs = match bench.tamper {
        Tamper::FixtureZeroed => answer::zeroed(&plan),
        _ => answer::inputs(&plan, case),
    };
    let written: Vec<_> = plan.args.iter().map(bytemap::written).collect();
    let maps = bytemap::maps(&plan, &region, &written);
    let images = paint(&plan, &region, &inputs, &written, spare);
    let prepare_ms = ms(begun);
    let begun = Instant::now();
    let answer::Answer { reference, oracles } = answer::answer(op, case, &plan, &inputs);
    let timings = Timings { prepare_ms, reference_ms: ms(begun), ..Timings::default() };
    let passes = passes(&plan, bench);
    Ok(Box::new(Job {
        case: case.clone(),
        plan,
        inputs,
        reference,
        oracles,
        region,
        images,
        written,
        maps,
        passes,
        timings,
    }))
}

/// Milliseconds since.
pub fn ms(begun: Instant) -> f64 {
    (begun.elapsed().as_secs_f64() * 1e6).round() / 1e3
}

fn check(op: &dyn ops::Contract, plan: &Plan, bench: &Bench) -> Result<(), Refusal> {
    if bench.mock.is_some() {
        return Ok(());
    }
    for symbol in super::kernels::needed(op, plan) {
        match bench.kernels.get(&symbol) {
            Some(Built::Image { .. }) => {}
            Some(Built::Failed(why)) => return Err(Refusal::error(format!("kernel {symbol} was not built: {why}"))),
            None => return Err(Refusal::error(format!("no image holds kernel {symbol}"))),
        }
    }
    let seconds = simulated_seconds(plan);
    if bench.options.simulated() && seconds > SIMULATED_SECONDS {
        let text =
            format!("left to hardware: about {seconds:.0} s on the simulator, more than {SIMULATED_SECONDS:.0} s");
        return Err(Refusal::not_run(text));
    }
    Ok(())
}

/// Estimate of the simulator's time for one pass: 10 ns a thread, or an element where threads walk over several, and 0.4 GFLOP/s.
fn simulated_seconds(plan: &Plan) -> f64 {
    let product = |d: [u32; 3]| d.iter().map(|&x| f64::from(x)).product::<f64>();
    let elements = plan.args.iter().map(|a| a.view.len()).max().unwrap_or(0) as f64;
    let threads: f64 = plan.launches.iter().map(|l| (product(l.grid) * product(l.block)).max(elements)).sum();
    threads * 10e-9 + plan.flops / 0.4e9
}

fn too_large(plan: &Plan, bench: &Bench) -> Refusal {
    let need: u128 = plan.args.iter().map(|a| a.view.extent as u128 * a.view.dtype.size() as u128).sum();
    Refusal::not_run(format!("out of memory: {need} bytes needed besides guards, the board has {}", bench.facts.memory))
}

fn lay_out(plan: &Plan, how: Placement, facts: &Facts) -> Option<Region> {
    let block = plan.launches.iter().map(|l| l.block.iter().map(|&x| x as usize).product::<usize>()).max().unwrap_or(0);
    let tile = (block * 16).min(TILE);
    let space = |a: &ops::Arg| {
        let bytes = a.view.extent.checked_mul(a.view.dtype.size())?;
        Some(Space { bytes, guard: place::guard(&a.view, tile) })
    };
    let spaces: Option<Vec<Space>> = plan.args.iter().map(space).collect();
    match how {
        Placement::Guarded => place::guarded(&spaces?),
        Placement::Flush => place::flush(&spaces?, place::PAGE.max(facts.page as usize)),
    }
}

fn paint(
    plan: &Plan,
    region: &Region,
    inputs: &Inputs,
    written: &[Vec<Run>],
    spare: &mut Vec<Vec<u8>>,
) -> [Arc<Vec<u8>>; 2] {
    let poisoned: Vec<Vec<Range<usize>>> =
        written.iter().map(|w| w.iter().map(|r| r.bytes.clone()).collect()).collect();
    let content = |i: usize| match plan.args[i].fill {
        Some(_) => Content::Given { packed: inputs.bytes(i), nan_gap: plan.args[i].nan_gap },
        None => Content::Poisoned(&poisoned[i]),
    };
    let buffers: Vec<_> = plan.args.iter().enumerate().map(|(i, a)| (&a.view, content(i))).collect();
    let mut a = spare.pop().unwrap_or_default();
    place::paint(region, &buffers, &mut a);
    let mut b = spare.pop().unwrap_or_default();
    b.clear();
    b.extend_from_slice(&a);
    for ((slot, arg), ranges) in region.slots.iter().zip(&plan.args).zip(&poisoned) {
        for r in ranges.iter().filter(|_| arg.fill.is_none()) {
            place::poison(&mut b, slot.data.start + r.start..slot.data.start + r.end, arg.view.dtype, Poison::B);
        }
    }
    [Arc::new(a), Arc::new(b)]
}

fn passes(plan: &Plan, bench: &Bench) -> Vec<Pass> {
    let options = &bench.options;
    let pass = |poison, order, sanitise| Pass { poison, order, sanitise };
    if options.simulated() {
        let small = plan.args.iter().map(|a| a.view.len()).max().unwrap_or(0) < SANITISED_BELOW;
        let (deep, once) = (options.deep, options.deep || small);
        return vec![
            pass(Poison::A, ThreadOrder::Ascending, deep),
            pass(Poison::B, ThreadOrder::Descending, once),
            pass(Poison::A, ThreadOrder::Shuffled, deep),
        ];
    }
    let poison = |i| if i % 2 == 0 { Poison::A } else { Poison::B };
    (0..options.repeat.max(2)).map(|i| pass(poison(i), ThreadOrder::Ascending, false)).collect()
}
