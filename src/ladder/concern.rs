//! Which units and cases a ladder is about. Refuses to build what no rung concerns.

use super::ClimbError;
use super::build::{Builder, Unit};
use super::plan::Plan;
use super::rung::Fault;
use super::scratch::Scratch;
use super::trial::Bed;
use crate::board::Image;
use crate::ops;
use crate::suite::Case;
use crate::toolchain::host::Kernel;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The cases of every op that a rung concerns, and the units that these ops launch.
///
/// # Errors
/// `Control` when a source cannot be scanned.
pub fn concerned(plan: &Plan, builder: &Builder, base: &Scratch) -> Result<(Vec<Case>, Vec<Unit>), ClimbError> {
    let units = scanned(plan, builder, base)?;
    let op_of: BTreeMap<String, &'static str> =
        ops::REGISTRY.iter().flat_map(|op| op.kernels().into_iter().map(|k| (k.symbol, op.name()))).collect();
    let mut concerned: BTreeSet<&str> = BTreeSet::new();
    for rung in &plan.rungs {
        concerned.extend(rung.ops.iter().map(String::as_str));
        if !rung.ops.is_empty() {
            continue;
        }
        match &rung.fault {
            Fault::Host(_) => concerned.extend(op_of.values()),
            Fault::Source(edits) => {
                let edited = |u: &&Unit| edits.iter().any(|e| u.made_of.contains(&e.file));
                concerned.extend(units.iter().filter(edited).flat_map(|u| &u.symbols).filter_map(|s| op_of.get(s)));
            }
        }
    }
    let launches = |unit: &Unit| unit.symbols.iter().any(|s| op_of.get(s).is_some_and(|op| concerned.contains(op)));
    let cases = plan.cases.iter().filter(|c| concerned.contains(c.op.as_str())).cloned().collect();
    Ok((cases, units.into_iter().filter(launches).collect()))
}

/// Every unit of the sources; a symbol that an overlay defines is launched from there.
fn scanned(plan: &Plan, builder: &Builder, base: &Scratch) -> Result<Vec<Unit>, ClimbError> {
    let is_unit = |path: &&String| path.ends_with(".hip") || path.ends_with(".cu");
    let mut files: Vec<&String> = plan.sources.texts.keys().filter(is_unit).collect();
    files.sort_by_key(|file| !plan.sources.files.contains_key(*file));
    let wanted: BTreeSet<String> = ops::REGISTRY.iter().flat_map(|op| op.kernels()).map(|k| k.symbol).collect();
    let mut provided: BTreeSet<String> = BTreeSet::new();
    let mut units = vec![];
    for file in files {
        let Some((kernels, made_of)) = builder.scan(base, file, &plan.sources.texts)? else { continue };
        let fresh =
            |k: &Kernel| (wanted.contains(&k.symbol) && !provided.contains(&k.symbol)).then(|| k.symbol.clone());
        let symbols: BTreeSet<String> = kernels.iter().filter_map(fresh).collect();
        provided.extend(symbols.iter().cloned());
        let image = Image { path: PathBuf::new(), sanitised: None };
        units.push(Unit { file: file.clone(), kernels, symbols, made_of, code: String::new(), image });
    }
    Ok(units)
}

/// Builds all units without a fault, on `jobs` threads.
///
/// # Errors
/// `Control` when one does not compile.
pub fn build(units: &mut [Unit], builder: &Builder, base: &Scratch, jobs: usize) -> Result<(), ClimbError> {
    let slots: Vec<Mutex<&mut Unit>> = units.iter_mut().map(Mutex::new).collect();
    let next = AtomicUsize::new(0);
    let work = || -> Result<(), ClimbError> {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(slot) = slots.get(at) else { return Ok(()) };
            let mut unit = slot.lock().unwrap_or_else(PoisonError::into_inner);
            builder.control(base, &mut unit, &base.build().join(at.to_string()))?;
        }
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..jobs).map(|_| scope.spawn(work)).collect();
        threads.into_iter().try_for_each(|t| t.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}

/// The unit with the fewest kernels that a green case launches: controls cost least there.
pub fn first_launched<'a>(bed: &Bed<'a>) -> Option<&'a Unit> {
    let launched = |u: &&Unit| !bed.gate.launching(&u.symbols, &[]).is_empty();
    bed.units.iter().filter(launched).min_by_key(|u| u.kernels.len())
}
