//! Expansion of blocks to cases. Refuses to allocate before it knows how many there will be.

use super::file::{Block, EachRow, ExceptRow, Source, SuiteFile};
use super::id::{case_id, complete};
use super::values::{Fault, PLACE, same, spec_of};
use super::{Case, Placement, SuiteError};
use crate::ops::{Params, Value};
use std::collections::{BTreeSet, HashMap};

/// Cases a suite file may expand to unless its `max_cases` says otherwise.
pub const MAX_CASES: u64 = 20_000;

/// Where each case id was planned first: `file:line`.
pub(super) type Seen = HashMap<String, (String, usize)>;

/// Appends the cases of a file to `out`, in the order of its blocks: axes in contract order, the last key fastest, rows of
/// `each` fastest of all. Indices are left 0.
///
/// # Errors
/// `SuiteError::At` for an expansion that is too large, a missing key, an illegal plan, an `except` row that excludes nothing, an
/// empty block, and a case id that was planned before.
pub(super) fn expand(file: &SuiteFile, seed: u64, seen: &mut Seen, out: &mut Vec<Case>) -> Result<(), SuiteError> {
    check_size(file).map_err(|f| file.source.error(f))?;
    for block in &file.blocks {
        Expansion { file, block, seed, used: vec![false; block.except.len()], outputs: BTreeSet::new() }
            .run(seen, out)
            .map_err(|f| file.source.error(f))?;
    }
    Ok(())
}

/// The product of a block's alternatives, saturating.
fn size(block: &Block) -> u64 {
    block.axes.iter().fold(block.each.len() as u64, |n, (_, values)| n.saturating_mul(values.len() as u64))
}

fn check_size(file: &SuiteFile) -> Result<(), Fault> {
    let mut total = 0u64;
    for block in &file.blocks {
        total = total.saturating_add(size(block));
        if total > file.max_cases {
            let limit = file.max_cases;
            return Err((
                block.at,
                format!(
                    "with this block the suite expands to {total} cases, more than {limit}; set max_cases in [suite]"
                ),
            ));
        }
    }
    Ok(())
}

struct Expansion<'a> {
    file: &'a SuiteFile,
    block: &'a Block,
    seed: u64,
    used: Vec<bool>,
    outputs: BTreeSet<String>,
}

impl Expansion<'_> {
    fn run(mut self, seen: &mut Seen, out: &mut Vec<Case>) -> Result<(), Fault> {
        let before = out.len();
        let mut odometer = vec![0usize; self.block.axes.len()];
        loop {
            for row in &self.block.each {
                if let Some(case) = self.case(&odometer, row)? {
                    self.remember(&case, row, seen)?;
                    out.push(case);
                }
            }
            if !self.advance(&mut odometer) {
                break;
            }
        }
        if let Some(i) = self.used.iter().position(|used| !used) {
            return Err((self.block.except[i].at, "this row of 'except' leaves no case out".to_string()));
        }
        if out.len() == before {
            return Err((self.block.at, "'except' leaves out every case of this block".to_string()));
        }
        self.block.bars.unknown_output(&self.outputs).map_or(Ok(()), Err)
    }

    /// Steps to the next combination, the last key fastest; false after the last one.
    fn advance(&self, odometer: &mut [usize]) -> bool {
        for (digit, (_, values)) in odometer.iter_mut().zip(&self.block.axes).rev() {
            *digit += 1;
            if *digit < values.len() {
                return true;
            }
            *digit = 0;
        }
        false
    }

    fn case(&mut self, odometer: &[usize], row: &EachRow) -> Result<Option<Case>, Fault> {
        let block = self.block;
        let given = |key: &str| {
            let axis = block.axes.iter().zip(odometer).find(|((name, _), _)| name == key);
            let axis = axis.map(|((_, values), digit)| values[*digit].clone());
            axis.or_else(|| row.values.iter().find(|(name, _)| name == key).map(|(_, v)| v.clone()))
        };
        let params = complete(block.op, given).map_err(|m| (row.at, m))?;
        let place = match given(PLACE.name) {
            Some(Value::Str(word)) => Placement::parse(&word).expect("checked when the file was read"),
            _ => Placement::default(),
        };
        if self.excepted(&params, place) {
            return Ok(None);
        }
        let id = case_id(block.op, &params, place);
        let plan = block.op.plan(&params);
        let plan = plan.map_err(|why| (row.at, format!("{id}: {} declares this illegal: {why}", block.op.name())))?;
        self.outputs.extend(plan.outputs().map(|(_, arg, _)| arg.name.to_string()));
        let limits = block.bars.resolve(&plan);
        let (suite, op) = (self.file.name.clone(), block.op.name().to_string());
        Ok(Some(Case { index: 0, id, suite, op, params, place, limits, seed: self.seed }))
    }

    fn excepted(&mut self, params: &Params, place: Placement) -> bool {
        let mut hit = false;
        for (row, used) in self.block.except.iter().zip(&mut self.used) {
            if matches(row, params, place) {
                *used = true;
                hit = true;
            }
        }
        hit
    }

    fn remember(&self, case: &Case, row: &EachRow, seen: &mut Seen) -> Result<(), Fault> {
        let source: &Source = &self.file.source;
        let here = (source.file.clone(), source.line(row.at));
        if let Some((file, line)) = seen.insert(case.id.clone(), here) {
            return Err((row.at, format!("case {} is planned twice: first at {file}:{line}", case.id)));
        }
        Ok(())
    }
}

fn matches(row: &ExceptRow, params: &Params, place: Placement) -> bool {
    let placed = Value::Str(place.name().to_string());
    row.values.iter().all(|(key, values)| {
        let value = if key == PLACE.name { Some(&placed) } else { params.get(key) };
        value.is_some_and(|v| values.iter().any(|x| same(x, v)))
    })
}

/// Text of a case's value under `key`: a parameter, or one of the common keys.
pub(super) fn key_text(case: &Case, key: &str) -> Option<String> {
    match key {
        "op" => Some(case.op.clone()),
        "suite" => Some(case.suite.clone()),
        "place" => Some(case.place.name().to_string()),
        _ => case.params.get(key).map(super::param_text),
    }
}

/// Used by the filters to tell an unknown key from one that merely matches nothing.
pub(super) fn knows_key(ops: super::Ops, key: &str) -> bool {
    ["op", "suite"].contains(&key) || ops.iter().any(|op| spec_of(*op, key).is_some())
}
