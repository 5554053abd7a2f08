//! One mutant from edit to record. Refuses to weaken a bar, and to call killed what never ran.

use super::ClimbError;
use super::build::{Builder, Mutant, Unit};
use super::gate::{Gate, Shot};
use super::record::{Kill, Near, RungRecord, State};
use super::rung::{Edit, Fault, Need, Rung};
use super::scratch::{Scratch, Texts};
use super::{code, diff};
use crate::judge::verdict;
use crate::record::{Assertion, CaseRecord, Tier, Verdict};
use crate::run::job::{Death, SANITISED_BELOW, ms};
use crate::run::protocol::Built;
use crate::run::tamper::Tamper;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// Classes that a simulated board shows by its sanitised build: launch limits, barriers, bounds, unset values.
const SANITISED_FIRST: [u8; 5] = [3, 4, 6, 12, 14];

/// What all trials share.
pub struct Bed<'a> {
    /// The cases.
    pub gate: &'a Gate,
    /// The compiler.
    pub builder: &'a Builder,
    /// Unmutated units.
    pub units: &'a [Unit],
    /// Unmutated images per kernel symbol.
    pub images: &'a BTreeMap<String, Built>,
    /// Unmutated sources.
    pub texts: &'a Texts,
    /// Run every case also after the first that goes red.
    pub all_bars: bool,
}

/// What the gate saw of a mutant.
#[derive(Debug, Default)]
pub struct Sight {
    /// Cases that ran.
    pub cases: u64,
    /// Assertions judged.
    pub assertions: u64,
    /// The first kill.
    pub kill: Option<Kill>,
    /// Bars that failed.
    pub bars: BTreeSet<String>,
    /// Nearest miss.
    pub nearest: Option<Near>,
    /// Cases whose reference was used.
    pub used: Vec<usize>,
}

impl Sight {
    /// Takes in a case; true when it went red.
    ///
    /// # Errors
    /// `Gate` when the case could not be run for a reason that is not the mutant's.
    pub fn absorb(&mut self, shot: Shot, id: &str, at: usize) -> Result<bool, ClimbError> {
        let broke = |why: String| ClimbError::Gate { at: id.to_string(), why };
        self.used.push(at);
        let kill = match shot {
            Shot::Judged(record) => {
                self.cases += 1;
                self.assertions += record.assertions.len() as u64;
                if record.assertions.iter().any(|a| !a.pass && a.tier == Tier::Reference) {
                    return Err(broke("the reference tier fails, which no mutant can bring about".into()));
                }
                let failed: Vec<Assertion> = record.assertions.iter().filter(|a| !a.pass).cloned().collect();
                self.bars.extend(failed.iter().map(|a| a.bar.clone()));
                if failed.is_empty() && record.verdict == Verdict::Pass {
                    self.come_near(&record);
                }
                by_bar(&failed, id).or_else(|| by_verdict(&record, id))
            }
            Shot::Dead(Death::Crash, why) | Shot::Refused(Verdict::Error, why) => Some(death("crash", id, why)),
            Shot::Dead(Death::Hang, why) => Some(death("hang", id, why)),
            Shot::Refused(_, why) => return Err(broke(why)),
        };
        let red = kill.is_some();
        if self.kill.is_none() {
            self.kill = kill;
        }
        Ok(red)
    }

    fn come_near(&mut self, record: &CaseRecord) {
        for a in record.assertions.iter().filter(|a| a.tier == Tier::Device) {
            let (Some(figure), Some(limit)) = (a.figure, a.limit.filter(|l| *l > 0.0)) else { continue };
            let margin = figure / limit;
            if self.nearest.as_ref().is_none_or(|n| margin > n.margin) {
                let (case, bar, on) = (record.id.clone(), a.bar.clone(), a.on.clone());
                self.nearest = Some(Near { case, bar, on, figure, limit, margin });
            }
        }
    }
}

/// The failed assertion with the largest margin; one that only counts against a limit of 0 where none has a margin.
fn by_bar(failed: &[Assertion], case: &str) -> Option<Kill> {
    let margin =
        |a: &Assertion| a.figure.zip(a.limit.filter(|l| *l > 0.0)).map(|(f, l)| f / l).filter(|m| m.is_finite());
    let measured: Vec<Assertion> = failed.iter().filter(|a| margin(a).is_some()).cloned().collect();
    let worst = verdict::worst(&measured).or_else(|| verdict::worst(failed))?;
    let margin = margin(worst);
    Some(Kill {
        by: worst.bar.clone(),
        case: case.to_string(),
        on: worst.on.clone(),
        figure: worst.figure,
        limit: worst.limit,
        margin,
        detail: worst.note.clone().unwrap_or_else(|| format!("{} beyond its limit", worst.bar)),
    })
}

/// A case that is red without a failed bar: the simulator stopped a launch whose lanes wait for each other for ever, or the
/// judge could not judge what came back.
fn by_verdict(record: &CaseRecord, case: &str) -> Option<Kill> {
    if record.verdict == Verdict::Pass {
        return None;
    }
    let why = record.reason.clone().unwrap_or_default();
    let waits = why.starts_with("divergent") || why.starts_with("lanes returned");
    Some(death(if waits { "hang" } else { "crash" }, case, why))
}

fn death(by: &str, case: &str, detail: String) -> Kill {
    let (by, case) = (by.to_string(), case.to_string());
    Kill { by, case, on: String::new(), figure: None, limit: None, margin: None, detail }
}

/// The record of a rung before anything is known.
pub fn blank(rung: &Rung, texts: &Texts) -> RungRecord {
    let edits: &[Edit] = match &rung.fault {
        Fault::Source(edits) => edits,
        Fault::Host(_) => &[],
    };
    RungRecord {
        id: rung.id.clone(),
        origin: rung.origin.to_string(),
        operator: rung.operator.clone(),
        class: rung.class,
        ops: rung.ops.clone(),
        why: rung.why.clone(),
        file: edits.first().map_or_else(String::new, |e| e.file.clone()),
        line: rung.line as u64,
        diff: diff::of(edits, texts),
        state: State::Survived,
        reason: None,
        kill: None,
        bars: vec![],
        expected: rung.killers.clone(),
        nearest: None,
        cases: 0,
        assertions: 0,
        build_ms: 0.0,
        gate_ms: 0.0,
    }
}

/// Units that an edit of these files reaches, with the cases that launch them.
pub fn reached<'a>(edits: &[Edit], rung: &Rung, bed: &Bed<'a>) -> Vec<(&'a Unit, Vec<usize>)> {
    let edited = |unit: &&Unit| edits.iter().any(|e| unit.made_of.contains(&e.file));
    let cases = |unit: &'a Unit| (unit, bed.gate.launching(&unit.symbols, &rung.ops));
    let mut units: Vec<_> = bed.units.iter().filter(edited).map(cases).filter(|(_, c)| !c.is_empty()).collect();
    // The unit with the deadliest case first: a header's mutant then dies after one build.
    let kills = |places: &[usize]| places.first().map_or(0, |&at| bed.gate.cases[at].kills.load(Ordering::Relaxed));
    units.sort_by_key(|(unit, places)| (std::cmp::Reverse(kills(places)), unit.kernels.len()));
    units
}

/// Why the board cannot show a rung.
fn out_of_reach(need: Need, bed: &Bed) -> Option<String> {
    match need {
        Need::Wave64 if bed.gate.facts().wave == 64 => None,
        Need::Wave64 => Some(format!("it shows in waves of 64 lanes, the board has {}", bed.gate.facts().wave)),
        Need::LargeOffsets => Some("it shows beyond 2^31 elements, which no case of the simulator has".to_string()),
    }
}

/// Builds a source rung, runs the gate, says what became of it.
///
/// # Errors
/// What is no result of the rung: files, compilers, a board that does not open, a changed reference.
pub fn source(rung: &Rung, edits: &[Edit], bed: &Bed, scratch: &Scratch) -> Result<RungRecord, ClimbError> {
    let mut record = blank(rung, bed.texts);
    let units = reached(edits, rung, bed);
    let ops: BTreeSet<&str> =
        units.iter().flat_map(|(_, places)| places).map(|&at| bed.gate.cases[at].case.op.as_str()).collect();
    if record.ops.is_empty() {
        record.ops = ops.into_iter().map(str::to_string).collect();
    }
    if let Some(why) = rung.needs.and_then(|need| out_of_reach(need, bed)) {
        (record.state, record.reason) = (State::OutOfReach, Some(why));
        return Ok(record);
    }
    if units.is_empty() {
        let why = "no case of the gate launches a kernel that is built from it".to_string();
        (record.state, record.reason) = (State::Unreached, Some(why));
        return Ok(record);
    }
    let mut sight = Sight::default();
    scratch.edit(edits, bed.texts)?;
    let tried = attempt(rung, &units, bed, scratch, &mut sight, &mut record);
    scratch.restore(edits, bed.texts)?;
    let state = tried?;
    if state == State::BuildBroken {
        // A full disk or a dying compiler also refuses: then it refuses the original too.
        for (unit, _) in &units {
            if let Mutant::Broken(output) = bed.builder.mutant(scratch, unit, false)? {
                return Err(ClimbError::Control { file: unit.file.clone(), output });
            }
        }
    }
    bed.gate.verify(&sight.used)?;
    record.state = state;
    (record.cases, record.assertions) = (sight.cases, sight.assertions);
    record.bars = sight.bars.into_iter().collect();
    record.nearest = sight.nearest.filter(|_| state == State::Survived);
    record.kill = sight.kill;
    Ok(record)
}

/// The units one by one, until one kills.
fn attempt(
    rung: &Rung,
    units: &[(&Unit, Vec<usize>)],
    bed: &Bed,
    scratch: &Scratch,
    sight: &mut Sight,
    record: &mut RungRecord,
) -> Result<State, ClimbError> {
    let mut same = true;
    for (unit, places) in units {
        let begun = Instant::now();
        let plain = match bed.builder.mutant(scratch, unit, false)? {
            Mutant::Built(library) => library,
            Mutant::Broken(output) => {
                record.reason = Some(output);
                return Ok(State::BuildBroken);
            }
        };
        record.build_ms += ms(begun);
        let digest = code::digest(&plain.object).map_err(ClimbError::Defect)?;
        if digest == unit.code {
            continue;
        }
        same = false;
        let deep = bed.all_bars || rung.class.is_some_and(|c| SANITISED_FIRST.contains(&c));
        if !deep && volley(bed, (unit, &plain.path, None), places, sight, record)? {
            return Ok(State::Killed);
        }
        let begun = Instant::now();
        let twin = match bed.builder.mutant(scratch, unit, true)? {
            Mutant::Built(library) => library.path,
            Mutant::Broken(output) => {
                record.reason = Some(output);
                return Ok(State::BuildBroken);
            }
        };
        record.build_ms += ms(begun);
        // The plain build has had its turn, so what is left to see is what sanitised launches see.
        let small = |at: &&usize| deep || bed.gate.cases[**at].elements < SANITISED_BELOW;
        let places: Vec<usize> = places.iter().filter(small).copied().collect();
        if volley(bed, (unit, &plain.path, Some(twin)), &places, sight, record)? && !bed.all_bars {
            return Ok(State::Killed);
        }
    }
    if same {
        record.reason = Some("its code is the control's".to_string());
        return Ok(State::Equivalent);
    }
    Ok(if sight.kill.is_some() { State::Killed } else { State::Survived })
}

/// Runs cases against a mutant in a fresh executor; true when it is dead and no more needs to be known.
fn volley(
    bed: &Bed,
    (unit, plain, twin): (&Unit, &PathBuf, Option<PathBuf>),
    places: &[usize],
    sight: &mut Sight,
    record: &mut RungRecord,
) -> Result<bool, ClimbError> {
    let begun = Instant::now();
    let mut images = bed.images.clone();
    for symbol in &unit.symbols {
        images.insert(symbol.clone(), Built::Image { path: plain.clone(), sanitised: twin.clone() });
    }
    let mut range = bed.gate.open(images, Tamper::None)?;
    for &at in places {
        let shot = bed.gate.shoot_mutant(at, &mut range)?;
        let died = matches!(shot, Shot::Dead(..));
        let first = sight.kill.is_none();
        if sight.absorb(shot, &bed.gate.cases[at].case.id, at)? {
            if first {
                bed.gate.cases[at].kills.fetch_add(1, Ordering::Relaxed);
            }
            // After a crash or a hang the next cases say the same, at the price of a deadline each.
            if died || !bed.all_bars {
                break;
            }
        }
    }
    record.gate_ms += ms(begun);
    Ok(sight.kill.is_some())
}
