//! The plan of a run: its cases in order, its header, the hash that a resume must match. Refuses to run anything.

use super::{Options, RunError, journal};
use crate::record::{BoardInfo, CaseRecord, Planned, Provenance, RunHeader, SCHEMA, Tool, Verdict};
use crate::suite::Case;
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::time::{SystemTime, UNIX_EPOCH};

/// Keeps the cases that have no PASS in the journal before, and numbers them anew.
///
/// # Errors
/// `NothingFailed`, or when there is no journal to read.
pub fn failed_only(cases: Vec<Case>, before: &std::path::Path) -> Result<Vec<Case>, RunError> {
    let journal = journal::read(before)?;
    let fine = |r: &&CaseRecord| matches!(r.verdict, Verdict::Pass | Verdict::NotApplicable);
    let passed: BTreeSet<&str> = journal.records.values().filter(fine).map(|r| r.id.as_str()).collect();
    let mut cases: Vec<Case> = cases.into_iter().filter(|c| !passed.contains(c.id.as_str())).collect();
    if cases.is_empty() {
        return Err(RunError::NothingFailed { path: before.to_path_buf() });
    }
    number(&mut cases);
    Ok(cases)
}

/// Numbers cases by their place.
pub fn number(cases: &mut [Case]) {
    for (index, case) in cases.iter_mut().enumerate() {
        case.index = index as u64;
    }
}

/// The header of a run.
pub fn header(options: &Options, cases: &[Case], board: BoardInfo, provenance: Provenance) -> RunHeader {
    let planned = |c: &Case| Planned { id: c.id.clone(), op: c.op.clone(), suite: c.suite.clone() };
    RunHeader {
        schema: SCHEMA.to_string(),
        tool: Tool { name: "assay".to_string(), version: env!("CARGO_PKG_VERSION").to_string() },
        plan_hash: hash(options, cases, &board, &provenance),
        board,
        command: options.command.clone(),
        seed: options.seed,
        shard: options.shard.clone(),
        cases: cases.iter().map(planned).collect(),
        provenance,
        started: now(),
    }
}

/// Unix time, seconds.
pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs())
}

/// sha256 over all that decides a verdict: cases with their limits and seed, board, kernels, and the options that change a launch
/// plan. The deadline, the number of workers and the order do not count.
fn hash(options: &Options, cases: &[Case], board: &BoardInfo, provenance: &Provenance) -> String {
    let mut h = Sha256::new();
    let mut add = |text: &str| {
        h.update((text.len() as u64).to_le_bytes());
        h.update(text.as_bytes());
    };
    add(SCHEMA);
    add(env!("CARGO_PKG_VERSION"));
    add(&board.id);
    add(&format!("repeat {} deep {} strict {}", options.repeat, options.deep, options.strict_barriers));
    for case in cases {
        add(&case.id);
        add(&case.seed.to_string());
        add(&format!("{:?} {:?}", case.params, case.place));
        for (output, limits) in &case.limits {
            add(output);
            limits.iter().for_each(|(bar, limit)| add(&format!("{bar} {}", limit.to_bits())));
        }
    }
    for (symbol, origin) in &provenance.kernels {
        add(symbol);
        add(&origin.sha256);
    }
    h.finalize().iter().map(|b| format!("{b:02x}")).collect()
}

/// The command that runs a case again.
pub fn repro(options: &Options, id: &str) -> String {
    use std::fmt::Write;
    let mut line = format!("assay run --board {} --case {}", quoted(&options.board), quoted(id));
    if options.seed != super::DEFAULT_SEED {
        let _ = write!(line, " --seed {}", options.seed);
    }
    if options.repeat != 2 {
        let _ = write!(line, " --repeat {}", options.repeat);
    }
    if options.deep {
        line.push_str(" --deep");
    }
    if options.strict_barriers {
        line.push_str(" --strict-barriers");
    }
    if let Some(folder) = &options.kernels {
        let _ = write!(line, " --kernels {}", quoted(&folder.display().to_string()));
    }
    for suite in &options.suites {
        let _ = write!(line, " --suite {}", quoted(&suite.display().to_string()));
    }
    line
}

/// A word for the shell: quoted when it holds more than plain characters.
fn quoted(word: &str) -> String {
    if word.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_./:".contains(&b)) {
        word.to_string()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// A record without assertions: a case that was not run, or could not be judged.
pub fn unjudged(options: &Options, case: &Case, verdict: Verdict, reason: String) -> CaseRecord {
    CaseRecord {
        index: case.index,
        id: case.id.clone(),
        suite: case.suite.clone(),
        op: case.op.clone(),
        verdict,
        reason: Some(reason),
        assertions: vec![],
        absent: vec![],
        canaries: Default::default(),
        paths: vec![],
        findings: vec![],
        worst: None,
        timings: Default::default(),
        repro: repro(options, &case.id),
    }
}
