//! From a journal to a report. Refuses to leave a planned case without a verdict.

use crate::judge::verdict::{self, ExitCode};
use crate::record::{AssertionCounts, CaseRecord, CaseReport, Counts, Planned, Report, SCHEMA, Tier, Verdict};
use crate::run::journal::Journal;
use std::collections::BTreeSet;

/// Why several journals do not make one report.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FoldError {
    /// Several journals that are not the shards of one run.
    #[error("these journals are not the shards of one run: {0}")]
    NotShards(String),
    /// Shards are missing.
    #[error("the run has {of} shards; missing: {missing}")]
    Missing {
        /// Shards of the run.
        of: u64,
        /// The ones that are not there.
        missing: String,
    },
    /// Planned cases and verdicts do not add up.
    #[error("defect of assay: {planned} cases planned, {judged} verdicts")]
    Unbalanced {
        /// Planned cases.
        planned: u64,
        /// Sum of the verdicts.
        judged: u64,
    },
}

/// Everything a report says about one journal.
///
/// # Errors
/// `Unbalanced`, which is a defect of assay.
pub fn fold(journal: &Journal) -> Result<Report, FoldError> {
    let cases = journal.header.cases.iter().enumerate().map(|(i, c)| case(journal, i as u64, c)).collect();
    let mut canaries = crate::record::Canaries::default();
    for record in journal.records.values() {
        let c = &record.canaries;
        canaries.run += c.run;
        canaries.refused += c.refused;
        canaries.accepted += c.accepted;
        canaries.not_applicable += c.not_applicable;
        canaries.kinds.extend(&c.kinds);
    }
    let mut report = Report {
        schema: SCHEMA.to_string(),
        tool: journal.header.tool.clone(),
        board: journal.header.board.clone(),
        verdict: Verdict::NotRun,
        exit_code: 0,
        counts: Counts::default(),
        assertions: AssertionCounts::default(),
        canaries,
        control: AssertionCounts::default(),
        cut: journal.is_cut(),
        notes: notes(journal),
        provenance: journal.header.provenance.clone(),
        cases,
    };
    let facts = RunFacts {
        board_failed: journal.end == Some(true),
        strict: journal.header.command.iter().any(|a| a == "--strict"),
        shard: journal.header.shard.is_some(),
    };
    count(&mut report, facts)?;
    Ok(report)
}

/// One report of the shards of one run; a single journal needs no other.
///
/// # Errors
/// When the journals are not all the shards of one run on one board.
pub fn merge(journals: &[Journal]) -> Result<Report, FoldError> {
    let [first, rest @ ..] = journals else {
        return Err(FoldError::NotShards("there is none".to_string()));
    };
    let mut report = fold(first)?;
    if rest.is_empty() {
        return Ok(report);
    }
    check_shards(journals)?;
    for journal in rest {
        let more = fold(journal)?;
        report.cut |= more.cut;
        report.notes.extend(more.notes);
        report.cases.extend(more.cases);
        report.canaries.run += more.canaries.run;
        report.canaries.refused += more.canaries.refused;
        report.canaries.accepted += more.canaries.accepted;
        report.canaries.not_applicable += more.canaries.not_applicable;
        report.canaries.kinds.extend(&more.canaries.kinds);
    }
    let facts = RunFacts {
        board_failed: journals.iter().any(|j| j.end == Some(true)),
        strict: journals.iter().any(|j| j.header.command.iter().any(|a| a == "--strict")),
        shard: false,
    };
    count(&mut report, facts)?;
    Ok(report)
}

fn check_shards(journals: &[Journal]) -> Result<(), FoldError> {
    let first = &journals[0].header;
    let mut there = BTreeSet::new();
    let mut of = 0;
    for header in journals.iter().map(|j| &j.header) {
        let shard = header.shard.as_deref().and_then(|s| s.parse::<crate::suite::Shard>().ok());
        let shard = shard.ok_or_else(|| FoldError::NotShards("one of them ran without --shard".to_string()))?;
        if of != 0 && shard.of != of {
            return Err(FoldError::NotShards(format!("one is of {of}, another of {}", shard.of)));
        }
        of = shard.of;
        if !there.insert(shard.index) {
            return Err(FoldError::NotShards(format!("shard {shard} is there twice")));
        }
        if header.board != first.board || header.seed != first.seed {
            return Err(FoldError::NotShards("board or seed differ".to_string()));
        }
        if header.provenance.binary != first.provenance.binary {
            return Err(FoldError::NotShards("they come from different builds of assay".to_string()));
        }
    }
    let missing: Vec<String> = (1..=of).filter(|i| !there.contains(i)).map(|i| format!("{i}/{of}")).collect();
    if missing.is_empty() { Ok(()) } else { Err(FoldError::Missing { of, missing: missing.join(", ") }) }
}

fn case(journal: &Journal, index: u64, planned: &Planned) -> CaseReport {
    match journal.records.get(&index) {
        Some(record) => judged(record),
        None => CaseReport {
            id: planned.id.clone(),
            op: planned.op.clone(),
            verdict: Verdict::NotRun,
            reason: Some(match journal.started.contains(&index) {
                true => "the journal ends while this case ran".to_string(),
                false => "the journal ends before this case ran".to_string(),
            }),
            assertions: Vec::new(),
            worst: None,
            repro: format!("assay run --board {} --case '{}'", journal.header.board.id, planned.id),
        },
    }
}

fn judged(record: &CaseRecord) -> CaseReport {
    CaseReport {
        id: record.id.clone(),
        op: record.op.clone(),
        verdict: record.verdict,
        reason: record.reason.clone(),
        assertions: record.assertions.clone(),
        worst: record.worst.clone(),
        repro: record.repro.clone(),
    }
}

fn notes(journal: &Journal) -> Vec<String> {
    let mut notes: Vec<String> = journal.notes.iter().map(|(kind, text)| format!("{kind}: {text}")).collect();
    if journal.is_cut() {
        let (have, of) = (journal.records.len(), journal.header.cases.len());
        notes.push(format!("the journal is cut: {have} of {of} planned cases have a verdict"));
    }
    notes.extend(journal.dropped.iter().map(|d| format!("journal: {d}")));
    if let Some(shard) = journal.header.shard.as_deref().filter(|_| journal.header.cases.is_empty()) {
        notes.push(format!("shard {shard} got no case"));
    }
    notes
}

/// What decides the exit code besides the verdicts of cases.
#[derive(Clone, Copy)]
struct RunFacts {
    board_failed: bool,
    strict: bool,
    shard: bool,
}

/// Fills counts, verdict and exit code from the cases.
fn count(report: &mut Report, facts: RunFacts) -> Result<(), FoldError> {
    let mut counts = Counts { planned: report.cases.len() as u64, ..Counts::default() };
    let (mut all, mut control) = (AssertionCounts::default(), AssertionCounts::default());
    for case in &report.cases {
        *slot(&mut counts, case.verdict) += 1;
        for a in &case.assertions {
            add(&mut all, a.pass, a.elements);
            if a.tier == Tier::Reference {
                add(&mut control, a.pass, a.elements);
            }
        }
    }
    if !verdict::complete(&counts) {
        let judged = report.cases.len() as u64;
        return Err(FoldError::Unbalanced { planned: counts.planned, judged });
    }
    (report.counts, report.assertions, report.control) = (counts, all, control);
    (report.exit_code, report.verdict) = outcome(report, facts);
    Ok(())
}

fn slot(counts: &mut Counts, verdict: Verdict) -> &mut u64 {
    match verdict {
        Verdict::Pass => &mut counts.pass,
        Verdict::Fail => &mut counts.fail,
        Verdict::Error => &mut counts.error,
        Verdict::NotRun => &mut counts.not_run,
        Verdict::NotApplicable => &mut counts.not_applicable,
        Verdict::Known => &mut counts.known,
        Verdict::UnexpectedPass => &mut counts.unexpected_pass,
        Verdict::Reference => &mut counts.reference,
    }
}

fn add(counts: &mut AssertionCounts, pass: bool, elements: u64) {
    counts.run += 1;
    counts.elements += elements;
    if pass {
        counts.passed += 1;
    } else {
        counts.failed += 1;
    }
}

/// Exit code and verdict of the run. A cut journal is never a success, for what it lacks is unknown; nor is a run with a blind
/// canary, whatever its records say. A shard that got no case succeeds without a PASS.
fn outcome(report: &Report, facts: RunFacts) -> (u8, Verdict) {
    let defect = |case: &CaseReport| case.reason.as_deref().is_some_and(|r| r.starts_with(crate::run::DEFECT));
    let (verdict, code) = verdict::run(&verdict::RunFacts {
        counts: report.counts,
        assertions: report.assertions.run - report.control.run,
        board_failed: facts.board_failed,
        defect: report.cases.iter().any(defect),
        usage: false,
        strict: facts.strict,
        shard: facts.shard,
    });
    match code {
        ExitCode::Success | ExitCode::Error if report.cut || report.canaries.accepted > 0 => {
            (ExitCode::Error as u8, Verdict::Error)
        }
        ExitCode::Success if report.counts.planned == 0 => (ExitCode::Success as u8, Verdict::NotRun),
        code => (code as u8, verdict),
    }
}
