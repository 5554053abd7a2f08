//! From the command line's choice to the plan: which suites, which cases, which shard.

use super::expand::{Seen, expand};
use super::file::{self, SuiteFile};
use super::filter::{Filter, apply};
use super::id::parse_id;
use super::{Case, Ops, SuiteError, case_id, error};
use crate::fixture::Key;
use crate::ops::REGISTRY;
use include_dir::{Dir, include_dir};
use std::collections::BTreeMap;

static EMBEDDED: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/suites");

/// What to run.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// `--suite`: files, which are added to the default suites, and names of embedded suites, which replace them.
    pub suites: Vec<String>,
    /// Filter words; all must hold.
    pub filters: Vec<String>,
    /// `--case`: exact ids. A legal id that no suite plans is planned as it is, with the op's own limits.
    pub cases: Vec<String>,
    /// `--shard`.
    pub shard: Option<Shard>,
    /// Seed of the inputs.
    pub seed: u64,
}

/// `i/n`: the cases whose id hashes to this part of `n`. The same case is in the same shard whatever else is planned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// From 1.
    pub index: u64,
    /// Parts.
    pub of: u64,
}

impl Shard {
    /// Is a case in this shard?
    pub fn holds(self, id: &str) -> bool {
        Key::new(0, id, "shard").0 % self.of == self.index - 1
    }
}

impl std::str::FromStr for Shard {
    type Err = SuiteError;

    fn from_str(s: &str) -> Result<Self, SuiteError> {
        let parts = s.split_once('/').and_then(|(i, n)| Some((i.parse().ok()?, n.parse().ok()?)));
        match parts {
            Some((index, of)) if 1 <= index && index <= of => Ok(Self { index, of }),
            _ => Err(SuiteError::Shard(s.to_string())),
        }
    }
}

impl std::fmt::Display for Shard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.index, self.of)
    }
}

/// The plan: cases of the selected suites that pass every filter and lie in the shard, indexed from 0.
///
/// Empty only for a shard that got no case.
///
/// # Errors
/// See [`SuiteError`].
pub fn plan(selection: &Selection) -> Result<Vec<Case>, SuiteError> {
    plan_with(REGISTRY, selection)
}

/// As [`plan`], with the ops given.
///
/// # Errors
/// See [`SuiteError`].
pub fn plan_with(ops: Ops, selection: &Selection) -> Result<Vec<Case>, SuiteError> {
    let filters = selection.filters.iter().map(|word| Ok((word.clone(), Filter::parse(ops, word)?)));
    let filters = filters.collect::<Result<Vec<_>, SuiteError>>()?;
    let mut cases = Vec::new();
    let mut seen = Seen::new();
    for mut suite in suites(ops, &selection.suites)? {
        suite.blocks.retain(|block| asked_for(&selection.cases, block.op.name()));
        expand(&suite, selection.seed, &mut seen, &mut cases)?;
    }
    if !selection.cases.is_empty() {
        cases = exactly(ops, selection, cases)?;
    }
    if cases.is_empty() {
        return Err(SuiteError::Empty);
    }
    cases = apply(&filters, cases)?;
    if let Some(shard) = selection.shard {
        cases.retain(|c| shard.holds(&c.id));
    }
    for (i, case) in cases.iter_mut().enumerate() {
        case.index = i as u64;
    }
    Ok(cases)
}

/// May a block of this op hold one of the cases asked for by id? With no such case, every block may.
fn asked_for(ids: &[String], op: &str) -> bool {
    ids.is_empty() || ids.iter().any(|id| id.split('/').next() == Some(op))
}

/// Names and texts of the embedded suites, by name of the file.
fn embedded_texts() -> impl Iterator<Item = (String, &'static str)> {
    let mut files: Vec<_> = EMBEDDED.files().filter(|f| f.path().extension().is_some_and(|e| e == "toml")).collect();
    files.sort_by_key(|f| f.path());
    files.into_iter().map(|f| {
        let text = f.contents_utf8().unwrap_or("not UTF-8");
        (format!("suites/{}", f.path().display()), text)
    })
}

fn read_embedded(ops: Ops) -> Result<Vec<SuiteFile>, SuiteError> {
    embedded_texts().map(|(file, text)| file::read(ops, &file, text)).collect()
}

/// Names of the embedded suites, and whether each is opt-in.
///
/// # Errors
/// When an embedded suite is no valid suite.
pub fn embedded_suites(ops: Ops) -> Result<Vec<(String, bool)>, SuiteError> {
    Ok(read_embedded(ops)?.into_iter().map(|s| (s.name, s.optin)).collect())
}

/// The selected suites: embedded ones first, then the user's files in the order given.
fn suites(ops: Ops, asked: &[String]) -> Result<Vec<SuiteFile>, SuiteError> {
    let embedded = read_embedded(ops)?;
    let is_file = |s: &str| s.contains('/') || s.ends_with(".toml");
    let names: Vec<&String> = asked.iter().filter(|s| !is_file(s)).collect();
    for name in &names {
        if !embedded.iter().any(|s| s.name == **name) {
            let known: Vec<&str> = embedded.iter().map(|s| s.name.as_str()).collect();
            let hint = error::nearest(name, known.iter().copied()).first().map(|n| format!("; did you mean '{n}'?"));
            let (name, known) = (name.to_string(), known.join(", "));
            return Err(SuiteError::NoSuite { name, known, hint: hint.unwrap_or_default() });
        }
    }
    let wanted = |s: &SuiteFile| if names.is_empty() { !s.optin } else { names.iter().any(|n| **n == s.name) };
    let mut all: Vec<SuiteFile> = embedded.into_iter().filter(wanted).collect();
    for path in asked.iter().filter(|s| is_file(s)) {
        let text = std::fs::read_to_string(path)
            .map_err(|e| SuiteError::Unreadable { file: path.clone(), why: e.to_string() })?;
        all.push(file::read(ops, path, &text)?);
    }
    Ok(all)
}

/// The cases named by `--case`, in the order given, each once.
fn exactly(ops: Ops, selection: &Selection, planned: Vec<Case>) -> Result<Vec<Case>, SuiteError> {
    let mut by_id: BTreeMap<String, Case> = planned.into_iter().map(|c| (c.id.clone(), c)).collect();
    let mut out: Vec<Case> = Vec::new();
    for id in &selection.cases {
        let (op, params, place) = parse_id(ops, id)?;
        let id = case_id(op, &params, place);
        if out.iter().any(|c| c.id == id) {
            continue;
        }
        out.push(by_id.remove(&id).unwrap_or_else(|| Case {
            index: 0,
            id,
            suite: "case".to_string(),
            op: op.name().to_string(),
            params,
            place,
            limits: BTreeMap::new(),
            seed: selection.seed,
        }));
    }
    Ok(out)
}
