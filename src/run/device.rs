//! Runs a prepared case on a board by its launch plan. Refuses to judge and to retry.

use super::boards::Open;
use super::job::{Bench, Death, Job, Pass, Ran, Refusal, Snapshot};
use super::judging;
use super::mock::{self, Act};
use super::protocol::Built;
use super::tamper::Tamper;
use crate::board::{
    Board, BoardError, Bound, Buffer, Deadline, Extent, Image, Kind, LaunchCmd, Mode, Module, ThreadOrder,
};
use crate::judge::runtime::{self, Order};
use crate::ops::{KArg, Role};
use std::collections::HashMap;
use std::sync::Arc;

/// The device side of a worker: the board, one reusable buffer, the loaded modules.
pub struct Device {
    open: Open,
    buffer: Option<Buffer>,
    modules: HashMap<String, Module>,
    /// The mock hangs when the worker exits.
    pub hangs_at_exit: bool,
}

/// What became of a case on the board.
pub struct Done {
    /// The snapshots, or why there are none.
    pub result: Result<Ran, Refusal>,
    /// The board must be opened anew: this worker retires.
    pub lost: bool,
}

impl Device {
    /// The device side of `open`.
    pub fn new(open: Open) -> Self {
        Self { open, buffer: None, modules: HashMap::new(), hangs_at_exit: false }
    }

    /// Writes a few bytes to the board and reads them back.
    ///
    /// # Errors
    /// When the board does not do even that; one sentence.
    pub fn probe(&mut self) -> Result<(), String> {
        let Open::Board(board) = &mut self.open else { return Ok(()) };
        let bytes = Arc::new((0..=255u8).collect::<Vec<u8>>());
        let buffer = board.alloc(Kind::Device, bytes.len()).map_err(|e| e.to_string())?;
        board.copy_in(&buffer, 0, &bytes);
        board.copy_out(&buffer, 0, bytes.len());
        let done = board.wait(Deadline::after(std::time::Duration::from_secs(10)));
        board.free(buffer);
        match done {
            Ok(c) if c.copied.len() == 1 && c.copied[0] == *bytes => Ok(()),
            Ok(_) => Err("bytes written to the board did not come back".to_string()),
            Err(e) => Err(e.to_string()),
        }
    }

    /// Runs every pass of the plan. `rubbish` writes on the worker's pipe (mock only).
    pub fn run(&mut self, job: &Job, bench: &Bench, rubbish: &dyn Fn(&[u8])) -> Done {
        match &mut self.open {
            Open::Mock(script) => {
                let act = script.act(&job.case.id);
                self.hangs_at_exit |= act == Act::ExitHang;
                Done { result: mock::play(job, act, rubbish), lost: act == Act::DeviceLost }
            }
            Open::Board(board) => {
                let real = !bench.options.simulated();
                match passes(board.as_mut(), &mut self.buffer, &mut self.modules, job, bench) {
                    Ok(ran) => Done { result: Ok(ran), lost: false },
                    Err(e) => {
                        let replaced = matches!(
                            e.1,
                            BoardError::Fault { .. } | BoardError::Lost { .. } | BoardError::Deadline { .. }
                        );
                        Done { result: Err(refusal(e.0, &e.1, bench)), lost: real && replaced }
                    }
                }
            }
        }
    }
}

/// The step in which a board refused.
#[derive(Clone, Copy, PartialEq)]
enum Step {
    Alloc,
    Seal,
    Load,
    Run,
}

fn refusal(step: Step, error: &BoardError, bench: &Bench) -> Refusal {
    let death = match error {
        BoardError::Deadline { .. } => Some(Death::Hang),
        BoardError::Fault { .. } | BoardError::Lost { .. } | BoardError::Launch { .. } => Some(Death::Crash),
        BoardError::Refused { .. } if step == Step::Run => Some(Death::Crash),
        _ => None,
    };
    Refusal { death, ..said(step, error, bench) }
}

fn said(step: Step, error: &BoardError, bench: &Bench) -> Refusal {
    match (step, error) {
        (_, BoardError::Deadline { state, .. }) => {
            let limit = bench.options.timeout.as_millis();
            Refusal::error(format!("no completion within {limit} ms (--timeout); {state}"))
        }
        (_, BoardError::OutOfMemory { .. }) => Refusal::not_run(error.to_string()),
        (Step::Alloc, BoardError::Refused { .. }) => Refusal::not_run(format!("no memory of that kind: {error}")),
        (Step::Seal, BoardError::Refused { .. }) => {
            Refusal::not_run(format!("flush placement needs memory that can be sealed: {error}"))
        }
        _ => Refusal::error(error.to_string()),
    }
}

fn passes(
    board: &mut dyn Board,
    kept: &mut Option<Buffer>,
    modules: &mut HashMap<String, Module>,
    job: &Job,
    bench: &Bench,
) -> Result<Ran, (Step, BoardError)> {
    let buffer = device_buffer(board, kept, job.region.bytes).map_err(|e| (Step::Alloc, e))?;
    load(board, modules, job, bench).map_err(|e| (Step::Load, e))?;
    board.declare(&buffer, &extents(job));
    let sealed = !job.region.sealed.is_empty();
    if sealed {
        board.seal(&buffer, &job.region.sealed).map_err(|e| (Step::Seal, e))?;
    }
    let ran = run_plan(board, &buffer, modules, job, bench);
    let opened = if sealed { board.seal(&buffer, &[]) } else { Ok(()) };
    // A fault leaves nothing that could be opened again: the fault is what happened.
    let ran = ran.map_err(|e| (Step::Run, e))?;
    opened.map_err(|e| (Step::Seal, e))?;
    Ok(ran)
}

/// The passes of the plan, and up to two more that say why bytes differ when they do.
fn run_plan(
    board: &mut dyn Board,
    buffer: &Buffer,
    modules: &HashMap<String, Module>,
    job: &Job,
    bench: &Bench,
) -> Result<Ran, BoardError> {
    let mut ran = run_passes(board, buffer, modules, job, &job.passes, bench)?;
    if ran.snapshots.iter().any(|s| s.bytes.len() != job.region.bytes) {
        return Ok(ran);
    }
    let wanted = runtime::wanted(&job.maps, &judging::launches(job, &ran.snapshots, bench.options.simulated()));
    let more: Vec<Pass> =
        wanted.iter().map(|w| Pass { poison: w.poison, order: order(w.order), sanitise: false }).collect();
    if !more.is_empty() {
        let extra = run_passes(board, buffer, modules, job, &more, bench)?;
        ran.snapshots.extend(extra.snapshots);
        ran.launches += extra.launches;
        ran.elapsed += extra.elapsed;
    }
    Ok(ran)
}

fn order(order: Order) -> ThreadOrder {
    match order {
        Order::Native | Order::Ascending => ThreadOrder::Ascending,
        Order::Descending => ThreadOrder::Descending,
        Order::Shuffled => ThreadOrder::Shuffled,
    }
}

fn run_passes(
    board: &mut dyn Board,
    buffer: &Buffer,
    modules: &HashMap<String, Module>,
    job: &Job,
    passes: &[Pass],
    bench: &Bench,
) -> Result<Ran, BoardError> {
    for pass in passes {
        board.copy_in(buffer, 0, job.image(pass.poison));
        if bench.tamper == Tamper::DrainRemoved {
            board.copy_out(buffer, 0, job.region.bytes);
        }
        for launch in job.plan.launches.iter().skip(usize::from(bench.tamper == Tamper::LaunchSkipped)) {
            let module = modules.get(&launch.symbol).map_or(0, |m| m.0);
            let args = launch.args.iter().map(|a| bound(*a, buffer, job)).collect();
            board.launch(LaunchCmd {
                module,
                kernel: bench.tamper.kernel(&launch.symbol).to_string(),
                grid: launch.grid,
                block: launch.block,
                lds: launch.lds,
                args,
                mode: Mode { order: pass.order, sanitise: pass.sanitise && has_sanitised(bench, &launch.symbol) },
            });
        }
        if bench.tamper != Tamper::DrainRemoved {
            board.copy_out(buffer, 0, job.region.bytes);
        }
    }
    let done = board.wait(Deadline::after(bench.options.timeout))?;
    let launches = job.plan.launches.len();
    let mut findings = done.findings.into_iter();
    let sanitised = |l: &&crate::ops::Launch| has_sanitised(bench, &l.symbol);
    let checked = passes.iter().filter(|p| p.sanitise).count() * job.plan.launches.iter().filter(sanitised).count();
    let mut ran = Ran { launches: done.launches, sanitised: checked as u64, elapsed: done.elapsed, snapshots: vec![] };
    for (pass, bytes) in passes.iter().zip(done.copied) {
        let findings = findings.by_ref().take(launches).flatten().collect();
        ran.snapshots.push(Snapshot { pass: *pass, bytes, findings });
    }
    Ok(ran)
}

fn has_sanitised(bench: &Bench, symbol: &str) -> bool {
    matches!(bench.kernels.get(symbol), Some(Built::Image { sanitised: Some(_), .. }))
}

/// One buffer serves all cases: it only grows.
fn device_buffer(board: &mut dyn Board, kept: &mut Option<Buffer>, bytes: usize) -> Result<Buffer, BoardError> {
    if let Some(buffer) = kept {
        if buffer.bytes >= bytes {
            return Ok(*buffer);
        }
        board.free(*buffer);
        *kept = None;
    }
    let buffer = board
        .alloc(Kind::Device, bytes.next_power_of_two().max(1 << 16))
        .or_else(|_| board.alloc(Kind::Device, bytes))?;
    *kept = Some(buffer);
    Ok(buffer)
}

fn load(
    board: &mut dyn Board,
    modules: &mut HashMap<String, Module>,
    job: &Job,
    bench: &Bench,
) -> Result<(), BoardError> {
    for launch in &job.plan.launches {
        if modules.contains_key(&launch.symbol) {
            continue;
        }
        if let Some(Built::Image { path, sanitised }) = bench.kernels.get(&launch.symbol) {
            let module = board.load(&Image { path: path.clone(), sanitised: sanitised.clone() })?;
            modules.insert(launch.symbol.clone(), module);
        }
    }
    Ok(())
}

fn bound(arg: KArg, buffer: &Buffer, job: &Job) -> Bound {
    match arg {
        KArg::Buf(i) => {
            let view = &job.plan.args[i].view;
            let offset = job.region.slots[i].data.start + view.offset * view.dtype.size();
            Bound::Ptr { buffer: buffer.id, offset: offset as u64 }
        }
        KArg::Null => Bound::Null,
        KArg::I32(x) => Bound::I32(x),
        KArg::I64(x) => Bound::I64(x),
        KArg::F32(x) => Bound::F32(x),
    }
}

/// What kernels may touch: from an argument's first element to its last.
fn extents(job: &Job) -> Vec<Extent> {
    let extent = |(arg, slot): (&crate::ops::Arg, &crate::fixture::place::Slot)| {
        let view = &arg.view;
        if view.is_empty() {
            return None;
        }
        let last: usize = view.shape.iter().zip(&view.strides).map(|(n, s)| (n - 1) * s).sum();
        let size = view.dtype.size();
        Some(Extent {
            name: arg.name.to_string(),
            start: (slot.data.start + view.offset * size) as u64,
            end: (slot.data.start + (view.offset + last + 1) * size) as u64,
            writable: arg.role != Role::In,
            initialised: matches!(arg.role, Role::In | Role::InOut),
        })
    };
    job.plan.args.iter().zip(&job.region.slots).filter_map(extent).collect()
}
