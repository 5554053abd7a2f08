//! The controls of every ladder: a rung that must die, one that must not, and the unmutated kernels before and after.
//! Refuses to let a ladder count whose controls fail.

use super::ClimbError;
use super::build::Unit;
use super::gate::{Gate, Green, Shot};
use super::record::{ControlArm, RungRecord, State};
use super::rung::{Edit, Fault, Origin, Rung};
use super::scratch::Texts;
use crate::record::{CaseRecord, Verdict};
use crate::run::job::ms;
use crate::run::protocol::Built;
use crate::run::tamper::Tamper;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// The rung that must die.
pub const MUST_DIE: &str = "control/no-store";
/// The rung that must not die.
pub const MUST_LIVE: &str = "control/no-effect";

/// Both control rungs of a unit: each edits the first line of every kernel body.
pub fn rungs(unit: &Unit, texts: &Texts) -> Vec<Rung> {
    let text = texts.get(&unit.file).map_or("", |t| std::str::from_utf8(t).unwrap_or_default());
    let rung = |id: &str, code: &str, why: &str| {
        let edit =
            |at: usize| Edit { file: unit.file.clone(), span: at..at, old: String::new(), new: code.to_string() };
        let edits: Vec<Edit> = bodies(text).into_iter().map(edit).collect();
        let line = edits.first().map_or(0, |e| text[..e.span.start].matches('\n').count() + 1);
        Rung {
            id: id.to_string(),
            origin: Origin::Control,
            operator: "control".to_string(),
            class: None,
            ops: vec![],
            why: why.to_string(),
            fault: Fault::Source(edits),
            killers: vec![],
            needs: None,
            line,
        }
    };
    vec![
        rung(MUST_DIE, " return;", "a kernel that stores nothing must always die"),
        // A grid of 0 blocks is never launched, which the compiler does not know: other code, the same results.
        rung(MUST_LIVE, " if (gridDim.x == 0u) return;", "a change of the code without effect must never die"),
    ]
}

/// Offsets behind the opening brace of every kernel's body, those in macros too.
fn bodies(text: &str) -> Vec<usize> {
    text.match_indices("__global__").filter_map(|(at, word)| body(text, at + word.len())).collect()
}

fn body(text: &str, mut at: usize) -> Option<usize> {
    loop {
        let open = at + text[at..].find(['(', ';', '{'])?;
        if !text[open..].starts_with('(') {
            return None;
        }
        let close = open + closing(&text[open..])?;
        at = close + 1;
        let next = text[at..].trim_start_matches([' ', '\t', '\n', '\r', '\\']);
        if next.starts_with('{') {
            return Some(text.len() - next.len() + 1);
        }
    }
}

/// Offset of the parenthesis that closes the first one.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0usize;
    text.bytes().enumerate().find_map(|(i, b)| {
        match b {
            b'(' => depth += 1,
            b')' => depth -= 1,
            _ => {}
        }
        (depth == 0).then_some(i)
    })
}

/// What is wrong with the result of a control rung, if anything is.
pub fn verdict(record: &RungRecord) -> Option<String> {
    let want = if record.id == MUST_DIE { State::Killed } else { State::Survived };
    if record.state == want {
        return None;
    }
    let seen = match (&record.kill, &record.reason) {
        (Some(kill), _) => format!("killed by {} in {}: {}", kill.by, kill.case, kill.detail),
        (None, Some(reason)) => format!("{:?}: {reason}", record.state),
        (None, None) => format!("{:?}", record.state),
    };
    let must = if want == State::Killed { "must die" } else { "must not die, and its code must differ" };
    Some(format!("control rung {} of {} {must}, and it was {seen}", record.id, record.file))
}

/// Runs every case with the unmutated kernels. `before` the mutants it sets what a green case looks like, afterwards it compares.
///
/// # Errors
/// When a board cannot be opened, or a reference changed.
pub fn arm(gate: &Gate, images: &BTreeMap<String, Built>, before: bool, jobs: usize) -> Result<ControlArm, ClimbError> {
    let begun = Instant::now();
    let sum = Mutex::new(ControlArm {
        when: if before { "before" } else { "after" }.to_string(),
        cases: 0,
        left_out: 0,
        assertions: 0,
        canaries: 0,
        failures: vec![],
        wall_ms: 0.0,
    });
    let next = AtomicUsize::new(0);
    let work = || -> Result<(), ClimbError> {
        let mut range = gate.open(images.clone(), Tamper::None)?;
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(case) = gate.cases.get(at) else { return Ok(()) };
            if !before && case.green.get().is_none() {
                sum.lock().unwrap_or_else(PoisonError::into_inner).left_out += 1;
                continue;
            }
            let (shot, board) = gate.shoot(at, &mut range)?;
            let seen = seen(shot, board);
            let mut sum = sum.lock().unwrap_or_else(PoisonError::into_inner);
            match seen {
                Ok(green) if !before && case.green.get().is_some_and(|g| !g.counts_as(&green)) => {
                    sum.failures.push(format!("{}: other counts than before the mutants", case.case.id));
                }
                Ok(green) => {
                    sum.cases += 1;
                    sum.assertions += green.assertions;
                    sum.canaries += green.canaries;
                    let _ = case.green.set(green);
                }
                Err(None) => sum.left_out += 1,
                Err(Some(why)) => sum.failures.push(format!("{}: {why}", case.case.id)),
            }
        }
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..jobs).map(|_| scope.spawn(work)).collect();
        threads.into_iter().try_for_each(|t| t.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })?;
    let mut arm = sum.into_inner().unwrap_or_else(PoisonError::into_inner);
    arm.failures.sort();
    arm.wall_ms = ms(begun);
    Ok(arm)
}

impl Green {
    /// What a passing record counts.
    pub fn of(record: &CaseRecord, board: std::time::Duration) -> Self {
        let c = &record.canaries;
        let assertions = record.assertions.len() as u64;
        Self { assertions, canaries: c.refused, inapplicable: c.not_applicable, board }
    }

    /// The same counts; time does not matter.
    pub fn counts_as(&self, other: &Self) -> bool {
        let counts = |g: &Self| (g.assertions, g.canaries, g.inapplicable);
        counts(self) == counts(other)
    }
}

/// A green case, `None` for one that the simulator leaves to hardware, or why it is not green.
fn seen(shot: Shot, board: std::time::Duration) -> Result<Green, Option<String>> {
    match shot {
        Shot::Judged(record) if record.verdict == Verdict::Pass && !record.assertions.is_empty() => {
            Ok(Green::of(&record, board))
        }
        Shot::Judged(record) => Err(Some(record.reason.unwrap_or_else(|| "nothing was asserted".to_string()))),
        Shot::Refused(Verdict::NotRun, _) => Err(None),
        Shot::Refused(_, why) | Shot::Dead(_, why) => Err(Some(why)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kernel_body_is_found_in_macros_and_behind_launch_bounds() {
        let text = "#define K(name) \\\n  extern \"C\" __global__ void name(const float (*f)(int), int n) { \\\n  }\n\
                    extern \"C\" __global__ void __launch_bounds__(256) k(int n)\n{\n}\n__global__ void declared(int);\n";
        let found: Vec<&str> = bodies(text).into_iter().map(|at| &text[at - 2..at]).collect();
        assert_eq!(found, [" {", "\n{"]);
    }
}
