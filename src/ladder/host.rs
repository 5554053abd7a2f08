//! Faults of the harness itself: the cases run with a harness that is tampered with, and something must show. Refuses to
//! tamper through anything but [`Tamper`], which `assay run` has no way to set.

use super::ClimbError;
use super::gate::{Green, Shot};
use super::record::{Kill, RungRecord, State};
use super::rung::{HostFault, Rung};
use super::trial::{Bed, Sight, blank};
use crate::ops::{self, KType};
use crate::record::Verdict;
use crate::run::job::ms;
use crate::run::protocol::Built;
use crate::run::tamper::Tamper;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// The bar that sees the sine-term rung, left out where a rung names none.
const SINE_BAR: &str = "bound";

/// Runs a host rung: the fault must be noticed for each op that it names.
///
/// # Errors
/// What is no result of the rung.
pub fn trial(rung: &Rung, fault: HostFault, bed: &Bed) -> Result<RungRecord, ClimbError> {
    let begun = Instant::now();
    let mut record = blank(rung, bed.texts);
    if record.ops.is_empty() {
        let all: BTreeSet<String> = bed.gate.cases.iter().map(|c| c.case.op.clone()).collect();
        record.ops = all.into_iter().collect();
    }
    let mut sight = Sight::default();
    record.state = State::Killed;
    for op in record.ops.clone() {
        let places = cases_of(&op, fault, bed);
        if places.is_empty() {
            (record.state, record.reason) = (State::Unreached, Some(format!("no case of {op} is in the gate")));
            break;
        }
        if let Some(why) = one_op(&op, fault, rung, &places, bed, &mut sight)? {
            (record.state, record.reason) = (State::Survived, Some(why));
            break;
        }
    }
    (record.cases, record.assertions) = (sight.cases, sight.assertions);
    record.bars = sight.bars.into_iter().collect();
    record.kill = sight.kill.filter(|_| record.state == State::Killed);
    record.gate_ms = ms(begun);
    Ok(record)
}

/// Green cases of an op; those of size 0 only where nothing must pass.
fn cases_of(op: &str, fault: HostFault, bed: &Bed) -> Vec<usize> {
    let every = fault == HostFault::ProviderRemoved;
    let wanted = |at: &usize| {
        let case = &bed.gate.cases[*at];
        case.case.op == op && case.green.get().is_some() && (every || !case.symbols.is_empty())
    };
    (0..bed.gate.cases.len()).filter(wanted).collect()
}

/// Why the fault was not noticed; `None` when it was.
fn one_op(
    op: &str,
    fault: HostFault,
    rung: &Rung,
    places: &[usize],
    bed: &Bed,
    sight: &mut Sight,
) -> Result<Option<String>, ClimbError> {
    let mut images = bed.images.clone();
    let tamper = match fault {
        HostFault::ProviderRemoved => return removed(op, places, bed, sight),
        HostFault::ProviderRepointed => match repointed(places, bed, &mut images) {
            Some(tamper) => tamper,
            None => return Ok(Some(format!("no other kernel takes the parameters of one of {op}"))),
        },
        HostFault::DrainRemoved => Tamper::DrainRemoved,
        HostFault::LaunchSkipped => Tamper::LaunchSkipped,
        HostFault::FixtureZeroed => Tamper::FixtureZeroed,
        HostFault::BarDropped => {
            let named = rung.killers.iter().find(|k| *k != "crash" && *k != "hang");
            Tamper::BarDropped(named.map_or(SINE_BAR, String::as_str).to_string())
        }
        HostFault::CanaryDisarmed => Tamper::CanaryDisarmed,
    };
    let mut range = bed.gate.open(images, tamper)?;
    for &at in places {
        let case = &bed.gate.cases[at];
        let (shot, _) = bed.gate.shoot(at, &mut range)?;
        let counted = match &shot {
            Shot::Judged(record) => Some(Green::of(record, Duration::ZERO)),
            _ => None,
        };
        let differs = case.green.get().zip(counted.as_ref()).filter(|(g, now)| !g.counts_as(now));
        let counts = differs.map(|(g, now)| counts(g, now));
        if sight.absorb(shot, &case.case.id, at)? {
            return Ok(None);
        }
        if let Some(detail) = counts {
            sight.kill.get_or_insert_with(|| harness(&case.case.id, detail));
            return Ok(None);
        }
    }
    Ok(Some(format!("every case of {op} passes with the control's counts")))
}

fn counts(green: &Green, now: &Green) -> String {
    format!(
        "{} assertions and {} canaries refused ({} inapplicable), where the control has {}, {} and {}",
        now.assertions, now.canaries, now.inapplicable, green.assertions, green.canaries, green.inapplicable
    )
}

fn harness(case: &str, detail: String) -> Kill {
    let (by, case) = ("harness".to_string(), case.to_string());
    Kill { by, case, on: String::new(), figure: None, limit: None, margin: None, detail }
}

/// Without any kernel of the op no case may pass.
fn removed(op: &str, places: &[usize], bed: &Bed, sight: &mut Sight) -> Result<Option<String>, ClimbError> {
    let gone: BTreeSet<String> =
        ops::find(op).map_or_else(BTreeSet::new, |op| op.kernels().into_iter().map(|k| k.symbol).collect());
    let images = bed.images.iter().filter(|(s, _)| !gone.contains(*s)).map(|(s, b)| (s.clone(), b.clone())).collect();
    let mut range = bed.gate.open(images, Tamper::None)?;
    for &at in places {
        let id = &bed.gate.cases[at].case.id;
        sight.cases += 1;
        match bed.gate.shoot(at, &mut range)?.0 {
            Shot::Judged(record) if record.verdict == Verdict::Pass => {
                return Ok(Some(format!("{id} passes without a kernel")));
            }
            Shot::Judged(record) => note(sight, id, record.reason.unwrap_or_default()),
            Shot::Dead(_, why) | Shot::Refused(_, why) => note(sight, id, why),
        }
    }
    Ok(None)
}

fn note(sight: &mut Sight, id: &str, why: String) {
    sight.kill.get_or_insert_with(|| harness(id, why));
}

/// Binds the first kernel of the cases to another with the same parameters, of the same op where there is one.
fn repointed(places: &[usize], bed: &Bed, images: &mut BTreeMap<String, Built>) -> Option<Tamper> {
    let case = &bed.gate.cases[*places.first()?];
    let from = case.symbols.first()?.clone();
    let types = |params: &[(&str, KType)]| params.iter().map(|p| p.1).collect::<Vec<_>>();
    let every = || ops::REGISTRY.iter().flat_map(|op| op.kernels().into_iter().map(move |k| (op.name(), k)));
    let own = every().find(|(_, k)| k.symbol == from).map(|(_, k)| types(&k.params))?;
    let fits = |k: &ops::KernelSig| k.symbol != from && types(&k.params) == own && images.contains_key(&k.symbol);
    let mut others: Vec<(bool, String)> =
        every().filter(|(_, k)| fits(k)).map(|(op, k)| (op != case.case.op, k.symbol)).collect();
    others.sort();
    let to = others.into_iter().next()?.1;
    images.insert(from.clone(), images.get(&to)?.clone());
    Some(Tamper::Repointed { from, to })
}
