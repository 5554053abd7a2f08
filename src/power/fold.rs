//! From cells to the document: what is caught per op and fault, blind spots, floors. Refuses to judge.

use super::case::{Cell, Measured, Outcome, Sheet};
use crate::record::SCHEMA;
use crate::report::{
    BlindSpotDoc, CellDoc, FloorDoc, NullDoc, OpPowerDoc, OutputPowerDoc, PowerDoc, RateDoc, UnmeasuredDoc, tool,
};
use crate::suite::Case;
use std::collections::BTreeMap;

/// The document of all cases.
pub fn fold(cases: &[Case], measured: &[Measured], rates: Vec<RateDoc>, seed: u64) -> PowerDoc {
    let all: Vec<(&Case, &Sheet)> =
        cases.iter().zip(measured).flat_map(|(c, m)| m.iter().flatten().map(move |s| (c, s))).collect();
    let unmeasured = cases.iter().zip(measured).filter_map(|(c, m)| {
        let why = m.as_ref().err()?.clone();
        Some(UnmeasuredDoc { id: c.id.clone(), why })
    });
    let unmeasured: Vec<UnmeasuredDoc> = unmeasured.collect();
    let mut names: Vec<&str> = vec![];
    for (case, _) in &all {
        if !names.contains(&case.op.as_str()) {
            names.push(&case.op);
        }
    }
    let of = |op: &&str| -> Vec<&Sheet> { all.iter().filter(|(c, _)| c.op == *op).map(|(_, s)| *s).collect() };
    let ops: Vec<OpPowerDoc> =
        names.iter().map(|op| OpPowerDoc { op: op.to_string(), nulls: nulls(&of(op)) }).collect();
    let blind: Vec<BlindSpotDoc> = names.iter().flat_map(|op| blind_spots(op, &of(op))).collect();
    let material: u64 = ops.iter().flat_map(|o| &o.nulls).map(|n| n.material).sum();
    let nothing = material == 0 && !cases.is_empty();
    let exit_code = if nothing || !unmeasured.is_empty() || blind.iter().any(|b| !b.declared) { 3 } else { 0 };
    PowerDoc {
        schema: SCHEMA.to_string(),
        tool: tool(),
        seed,
        planned: cases.len() as u64,
        exit_code,
        material,
        ops,
        blind,
        floors: floors(&all),
        rates,
        unmeasured,
        outputs: all.iter().map(|(c, s)| output(c, s)).collect(),
    }
}

/// The cells of one kind of fault in many outputs.
fn column<'a>(sheets: &[&'a Sheet], at: usize) -> Vec<(&'a Sheet, &'a Cell)> {
    sheets.iter().filter_map(|s| Some((*s, s.cells.get(at)?))).collect()
}

fn kinds(sheets: &[&Sheet]) -> usize {
    sheets.first().map_or(0, |s| s.cells.len())
}

fn nulls(sheets: &[&Sheet]) -> Vec<NullDoc> {
    let one = |at: usize| {
        let cells = column(sheets, at);
        let count = |f: fn(Outcome) -> bool| cells.iter().filter(|(_, c)| f(c.outcome)).count() as u64;
        let caught = count(|o| o == Outcome::Caught);
        let mut missed: BTreeMap<String, u64> = BTreeMap::new();
        for (sheet, _) in cells.iter().filter(|(_, c)| c.outcome == Outcome::Missed) {
            *missed.entry(sheet.dtype.name().to_string()).or_default() += 1;
        }
        let mut bars: BTreeMap<String, u64> = BTreeMap::new();
        for bar in cells.iter().flat_map(|(_, c)| c.bars.keys()) {
            *bars.entry(bar.to_string()).or_default() += 1;
        }
        NullDoc {
            null: cells.first().map_or(String::new(), |(_, c)| c.null.to_string()),
            material: caught + missed.values().sum::<u64>(),
            caught,
            missed,
            immaterial: count(|o| o == Outcome::Immaterial),
            inapplicable: count(|o| matches!(o, Outcome::Inapplicable(_))),
            why: cells.iter().find_map(|(_, c)| why(c.outcome)).map(str::to_string),
            bars,
        }
    };
    (0..kinds(sheets)).map(one).collect()
}

fn why(outcome: Outcome) -> Option<&'static str> {
    match outcome {
        Outcome::Inapplicable(why) => Some(why),
        _ => None,
    }
}

/// Kinds of fault that no output of an op shows, though they could have happened.
fn blind_spots(op: &str, sheets: &[&Sheet]) -> Vec<BlindSpotDoc> {
    let one = |at: usize| {
        let cells = column(sheets, at);
        let open = |(_, c): &&(&Sheet, &Cell)| matches!(c.outcome, Outcome::Missed | Outcome::Immaterial);
        let seen = cells.iter().any(|(_, c)| c.outcome == Outcome::Caught);
        let passed: Vec<_> = cells.iter().filter(open).collect();
        if seen || passed.is_empty() {
            return None;
        }
        let missed = passed.iter().filter(|(_, c)| c.outcome == Outcome::Missed).count();
        let why = match missed {
            0 => format!("it changes nothing in any of {} outputs: their data cannot show it", passed.len()),
            n => format!("every bar passes it in all {n} outputs that it changes"),
        };
        let declared = passed.iter().all(|(s, _)| s.degenerate);
        Some(BlindSpotDoc { op: op.to_string(), null: cells[0].1.null.to_string(), why, declared })
    };
    (0..kinds(sheets)).filter_map(one).collect()
}

/// Per kind of fault, dtype and bar: the smallest error that is refused somewhere, and the one that is refused everywhere.
fn floors(all: &[(&Case, &Sheet)]) -> Vec<FloorDoc> {
    let mut found: BTreeMap<(&str, &str, &str), FloorDoc> = BTreeMap::new();
    for (_, sheet) in all {
        for cell in &sheet.cells {
            for (bar, floor) in cell.bars.iter().filter_map(|(bar, floor)| Some((*bar, (*floor)?))) {
                let entry = found.entry((cell.null, sheet.dtype.name(), bar)).or_insert_with(|| FloorDoc {
                    null: cell.null.to_string(),
                    dtype: sheet.dtype.name().to_string(),
                    bar: bar.to_string(),
                    smallest: floor.size,
                    relative: floor.relative,
                    largest: floor.size,
                    outputs: 0,
                });
                entry.smallest = entry.smallest.min(floor.size);
                entry.relative = entry.relative.min(floor.relative);
                entry.largest = entry.largest.max(floor.size);
                entry.outputs += 1;
            }
        }
    }
    found.into_values().collect()
}

fn output(case: &Case, sheet: &Sheet) -> OutputPowerDoc {
    let cell = |c: &Cell| CellDoc {
        null: c.null.to_string(),
        outcome: match c.outcome {
            Outcome::Caught => "caught",
            Outcome::Missed => "missed",
            Outcome::Immaterial => "immaterial",
            Outcome::Inapplicable(_) => "inapplicable",
        }
        .to_string(),
        why: why(c.outcome).map(str::to_string),
        bars: c.bars.iter().map(|(bar, floor)| (bar.to_string(), floor.map(|f| f.size))).collect(),
    };
    OutputPowerDoc {
        id: case.id.clone(),
        on: sheet.output.to_string(),
        dtype: sheet.dtype.name().to_string(),
        degenerate: sheet.degenerate,
        nulls: sheet.cells.iter().map(cell).collect(),
    }
}
