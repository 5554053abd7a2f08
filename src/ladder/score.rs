//! From the journal to the report: tallies, score, exit code. Refuses to leave a planned rung out of the count.

use super::controls;
use super::journal::Journal;
use super::record::{BarKills, LadderReport, RungRecord, State, Tally};
use std::collections::BTreeMap;

/// Percent of the generated rungs that may be left out of the score.
const LEFT_OUT: f64 = 15.0;
/// Generated rungs from which on that share says something.
const ENOUGH: u64 = 40;

impl Tally {
    /// Counts one rung.
    pub fn add(&mut self, record: &RungRecord) {
        self.all += 1;
        let slot = match (record.state, record.kill.as_ref().map(|k| k.by.as_str())) {
            (State::Killed, Some("crash")) => &mut self.killed_by_crash,
            (State::Killed, Some("hang")) => &mut self.killed_by_hang,
            (State::Killed, _) => &mut self.killed_by_bar,
            (State::Survived, _) => &mut self.survived,
            (State::Unreached, _) => &mut self.unreached,
            (State::Equivalent, _) => &mut self.equivalent,
            (State::BuildBroken, _) => &mut self.build_broken,
            (State::OutOfReach, _) => &mut self.out_of_reach,
            (State::Stale, _) => &mut self.stale,
        };
        *slot += 1;
        let percent = |of: u64| (of > 0).then(|| 100.0 * self.killed() as f64 / of as f64);
        (self.score, self.raw) = (percent(self.scored()), percent(self.all));
    }

    /// Killed in any way.
    pub fn killed(&self) -> u64 {
        self.killed_by_bar + self.killed_by_crash + self.killed_by_hang
    }

    /// The denominator of the score.
    pub fn scored(&self) -> u64 {
        self.killed() + self.survived + self.unreached
    }

    /// Not scored, with the board's or the compiler's excuse.
    pub fn left_out(&self) -> u64 {
        self.equivalent + self.build_broken + self.out_of_reach
    }
}

/// The report of a journal.
pub fn fold(journal: &Journal) -> LadderReport {
    let header = &journal.header;
    let mut rungs: Vec<RungRecord> = header.rungs.iter().filter_map(|id| journal.rungs.get(id)).cloned().collect();
    rungs.sort_by_key(|r| place(r.state));
    let tally = |keep: &dyn Fn(&&RungRecord) -> bool| {
        let mut tally = Tally::default();
        rungs.iter().filter(|r| keep(r)).for_each(|r| tally.add(r));
        tally
    };
    let source = |r: &&RungRecord| r.origin != "host";
    let generated = tally(&|r| r.origin == "generated");
    let mut report = LadderReport {
        schema: header.schema.clone(),
        tool: header.tool.clone(),
        board: header.board.clone(),
        lane: header.lane.clone(),
        all_bars: header.all_bars,
        exit_code: 0,
        problems: vec![],
        min_score: header.min_score,
        total: tally(&source),
        host: tally(&|r| r.origin == "host"),
        by_op: by(&rungs, |r| r.ops.clone()),
        by_class: by(&rungs, |r| vec![r.class.map_or_else(|| "-".to_string(), |c| format!("{c:02}"))]),
        by_operator: by(&rungs, |r| vec![r.operator.clone()]),
        by_bar: by_bar(&rungs),
        left_out: (generated.all > 0).then(|| 100.0 * generated.left_out() as f64 / generated.all as f64),
        control_arms: journal.arms.clone(),
        controls: journal.controls.values().cloned().collect(),
        sources_before: header.sources.clone(),
        sources_after: journal.end.as_ref().map(|e| e.sources.clone()).unwrap_or_default(),
        missing: (header.rungs.len() - rungs.len()) as u64,
        notes: journal.notes.clone(),
        tree: header.tree.clone(),
        compiler: header.compiler.clone(),
        wall_ms: journal.end.as_ref().map_or(0.0, |e| e.wall_ms),
        rungs,
    };
    judge(&mut report, journal, generated.all);
    report
}

/// Survivors first.
fn place(state: State) -> u8 {
    match state {
        State::Survived => 0,
        State::Unreached => 1,
        State::Stale => 2,
        State::BuildBroken => 3,
        State::Equivalent => 4,
        State::OutOfReach => 5,
        State::Killed => 6,
    }
}

fn by(rungs: &[RungRecord], keys: impl Fn(&RungRecord) -> Vec<String>) -> BTreeMap<String, Tally> {
    let mut all: BTreeMap<String, Tally> = BTreeMap::new();
    for record in rungs.iter().filter(|r| r.origin != "host") {
        keys(record).into_iter().for_each(|key| all.entry(key).or_default().add(record));
    }
    all
}

fn by_bar(rungs: &[RungRecord]) -> BTreeMap<String, BarKills> {
    let mut all: BTreeMap<String, BarKills> = BTreeMap::new();
    for record in rungs.iter().filter(|r| r.state == State::Killed && r.origin != "host") {
        if let Some(kill) = &record.kill {
            all.entry(kill.by.clone()).or_default().killed += 1;
        }
        for bar in &record.bars {
            let kills = all.entry(bar.clone()).or_default();
            kills.failed += 1;
            kills.alone += u64::from(record.bars.len() == 1);
        }
    }
    all
}

/// Exit code and why: a changed hash, then controls, then nothing scored or cut, then what the score says.
fn judge(report: &mut LadderReport, journal: &Journal, generated: u64) {
    let changed: Vec<String> = changes(journal);
    let controls = control_problems(report);
    let mut errors = controls;
    if report.missing > 0 {
        errors.push(format!("{} planned rungs have no result; go on with --resume", report.missing));
    } else if report.total.scored() + report.host.scored() == 0 {
        errors.push("nothing was scored".to_string());
    }
    let failures = score_problems(report, generated);
    report.exit_code = match (changed.is_empty(), errors.is_empty(), failures.is_empty()) {
        (false, ..) => 70,
        (_, false, _) => 3,
        (.., false) => 1,
        _ => 0,
    };
    report.problems = changed.into_iter().chain(errors).chain(failures).collect();
}

fn changes(journal: &Journal) -> Vec<String> {
    let Some(end) = &journal.end else { return vec![] };
    let mut changed: Vec<String> =
        end.changed.iter().map(|c| format!("{c} has changed while the ladder ran")).collect();
    if end.sources != journal.header.sources {
        changed.push("the sources have other hashes than before the first mutant".to_string());
    }
    changed
}

fn control_problems(report: &LadderReport) -> Vec<String> {
    let mut out = vec![];
    for arm in report.control_arms.iter().filter(|a| !a.failures.is_empty()) {
        let n = arm.failures.len();
        out.push(format!(
            "control: the unmutated kernels are not green {} the mutants: {n} cases, {}",
            arm.when, arm.failures[0]
        ));
    }
    out.extend(report.controls.iter().filter_map(controls::verdict));
    if report.missing == 0 && out.is_empty() {
        let counts = |when| report.control_arms.iter().find(|a| a.when == when).map(|a| (a.cases, a.assertions));
        match (counts("before"), counts("after")) {
            (Some(before), Some(after)) if before == after => {}
            _ => out
                .push("control: the unmutated kernels were not run before and after with the same counts".to_string()),
        }
        if report.controls.len() < 2 && report.total.scored() > 0 {
            out.push("control: a control rung did not run".to_string());
        }
    }
    out
}

fn score_problems(report: &LadderReport, generated: u64) -> Vec<String> {
    let mut out = vec![];
    let total = &report.total;
    if let Some(score) = total.score.filter(|s| *s < report.min_score) {
        out.push(format!("the score {score:.1} is below {:.1}", report.min_score));
    }
    if total.stale > 0 {
        out.push(format!("{} rungs are stale: their anchors no longer match the sources", total.stale));
    }
    if report.host.survived + report.host.unreached > 0 {
        out.push(format!("{} faults of the harness were not noticed", report.host.survived + report.host.unreached));
    }
    if let Some(share) = report.left_out.filter(|share| *share > LEFT_OUT && generated >= ENOUGH) {
        out.push(format!("{share:.1} of 100 generated rungs are not scored, more than {LEFT_OUT:.0}"));
    }
    let named = report.rungs.iter().filter(|r| r.origin == "named" && r.state == State::Survived).count();
    if report.lane == "smoke" && named > 0 {
        out.push(format!("{named} named rungs of the smoke lane survived"));
    }
    out
}

#[cfg(test)]
mod tests;
