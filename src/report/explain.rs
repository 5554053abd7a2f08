//! A case around its worst element. Refuses to judge: it shows what the record says beside the numbers.

use super::docs::{Element, ExplainDoc, Hint, tool};
use super::resemble::{Sample, resemble};
use super::text::{assertion, verdict_word};
use crate::judge::nulls::Right;
use crate::judge::spec::{Class, Oracle, OutputSpec};
use crate::ops::{Arg, Contract, Plan};
use crate::record::{Assertion, BoardInfo, CaseRecord, SCHEMA, Tier};
use crate::run::answer;
use crate::suite::Case;
use crate::tensor::{DType, codec};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Elements shown on each side of the worst one.
const AROUND: usize = 4;

/// What a record alone says.
pub fn explain_record(board: &BoardInfo, record: &CaseRecord) -> ExplainDoc {
    let failed: Vec<Assertion> = record.assertions.iter().filter(|a| !a.pass).cloned().collect();
    ExplainDoc {
        schema: SCHEMA.to_string(),
        tool: tool(),
        board: board.clone(),
        id: record.id.clone(),
        verdict: record.verdict,
        reason: record.reason.clone(),
        assertions: if failed.is_empty() { record.worst.clone().into_iter().collect() } else { failed },
        findings: record.findings.clone(),
        output: None,
        elements: Vec::new(),
        worst: None,
        lane: None,
        resembles: Vec::new(),
        repro: record.repro.clone(),
    }
}

/// As [`explain_record`], with the numbers: `device` holds the packed bytes of the board's outputs by name; reference and oracle
/// are computed again, which gives the same bits anywhere.
pub fn explain_case(
    board: &BoardInfo,
    record: &CaseRecord,
    case: &Case,
    op: &dyn Contract,
    device: &BTreeMap<String, Vec<u8>>,
) -> ExplainDoc {
    let mut doc = explain_record(board, record);
    let Ok(plan) = op.plan(&case.params) else { return doc };
    let outputs: Vec<(&Arg, &OutputSpec)> = plan.outputs().map(|(_, arg, spec)| (arg, spec)).collect();
    let on = |a: &Assertion| outputs.iter().position(|(arg, _)| a.tier == Tier::Device && a.on == arg.name);
    let blamed = doc.assertions.iter().filter(|a| a.worst.is_some()).find_map(|a| Some((on(a)?, a.worst.clone()?)));
    let at = blamed.as_ref().map(|(i, _)| *i).or_else(|| doc.assertions.iter().find_map(on)).unwrap_or(0);
    let Some((arg, spec)) = outputs.get(at) else { return doc };
    let Some(got) = device.get(arg.name).filter(|bytes| bytes.len() == arg.view.len() * arg.view.dtype.size()) else {
        return doc;
    };
    let inputs = answer::inputs(&plan, case);
    let answer = answer::answer(op, case, &plan, &inputs);
    let declared = answer.oracles.first().map(|(_, columns)| columns);
    let (Some(want), Some(oracle)) = (answer.reference.get(at), declared.and_then(|c| c.get(at))) else { return doc };
    let got = &without_skipped(got, want, spec, arg.view.dtype.size());
    let input = answer::twin(&plan, &inputs, arg);
    let side =
        Side { dtype: arg.view.dtype, class: spec.class, got, want, oracle, input, row_len: spec.row_len.max(1) };
    // Only bars over elements give an element's index; byte bars give a byte offset.
    let by_element = |index: u64| usize::try_from(index).ok().filter(|i| *i < arg.view.len());
    let worst = blamed.and_then(|(_, w)| by_element(w.index)).or_else(|| side.furthest());
    doc.output = Some(arg.name.to_string());
    doc.resembles = side.hints();
    if let Some(index) = worst {
        doc.elements = side.around(index);
        doc.worst = Some(index as u64);
        doc.lane = lane(&plan, board, arg, spec, index);
    }
    doc
}

/// The board's bytes with the reference's in rows that the op must not write: they hold background, which is no difference.
fn without_skipped(got: &[u8], want: &[u8], spec: &OutputSpec, size: usize) -> Vec<u8> {
    let mut out = got.to_vec();
    let row = spec.row_len.max(1) * size;
    for (i, (mine, right)) in out.chunks_mut(row).zip(want.chunks(row)).enumerate() {
        if spec.skipped_rows.get(i).copied().unwrap_or(false) && mine.len() == right.len() {
            mine.copy_from_slice(right);
        }
    }
    out
}

/// One output from three sides.
struct Side<'a> {
    dtype: DType,
    class: Class,
    got: &'a [u8],
    want: &'a [u8],
    oracle: &'a Oracle,
    input: Option<&'a [u8]>,
    row_len: usize,
}

impl Side<'_> {
    fn value(&self, bytes: &[u8], i: usize) -> (f64, String) {
        let one = &bytes[i * self.dtype.size()..][..self.dtype.size()];
        let hex: String = one.iter().rev().map(|b| format!("{b:02x}")).collect();
        match self.dtype.float() {
            Some(_) => {
                let x = codec::decode_f32(self.dtype, one)[0];
                (f64::from(x), format!("{x:?} (0x{hex})"))
            }
            None => {
                let x = codec::decode_i64(self.dtype, one)[0];
                (x as f64, format!("{x} (0x{hex})"))
            }
        }
    }

    /// The element farthest from the oracle, one that is no number first; `None` for an output without elements.
    fn furthest(&self) -> Option<usize> {
        let distance = |i: &usize| {
            let (got, o) = (self.value(self.got, *i).0, self.oracle.value.get(*i).copied().unwrap_or(f64::NAN));
            let d = (got - o).abs();
            if d.is_nan() && !(got.is_nan() && o.is_nan()) { f64::INFINITY } else { d }
        };
        let distance = |i: &usize| Some(distance(i)).filter(|d| !d.is_nan()).unwrap_or(0.0);
        (0..self.got.len() / self.dtype.size()).max_by(|a, b| distance(a).total_cmp(&distance(b)))
    }

    fn around(&self, index: usize) -> Vec<Element> {
        let n = self.got.len() / self.dtype.size();
        let element = |i: usize| {
            let ((g, got), (w, want)) = (self.value(self.got, i), self.value(self.want, i));
            let differs = got != want && !(g.is_nan() && w.is_nan());
            let oracle = self.oracle.value.get(i).map_or("-".to_string(), |o| format!("{o:?}"));
            let (row, col) = ((i / self.row_len) as u64, (i % self.row_len) as u64);
            Element { index: i as u64, row, col, got, want, oracle, differs }
        };
        (index.saturating_sub(AROUND)..(index + AROUND + 1).min(n)).map(element).collect()
    }

    fn hints(&self) -> Vec<Hint> {
        let right = Right {
            dtype: self.dtype,
            class: self.class,
            bytes: self.want,
            row_len: self.row_len,
            skipped: &[],
            oracle: &self.oracle.value,
            input: self.input,
        };
        resemble(&Sample { got: self.got, right })
            .into_iter()
            .map(|l| Hint { fault: l.fault, share: l.share })
            .collect()
    }
}

/// The thread that owns an element: thread = column and block = row where the grid has one block a row, else in flat order.
fn lane(plan: &Plan, board: &BoardInfo, arg: &Arg, spec: &OutputSpec, index: usize) -> Option<String> {
    let launch = plan.launches.last()?;
    let threads = launch.block.iter().map(|b| *b as usize).product::<usize>().max(1);
    let blocks = launch.grid.iter().map(|g| *g as usize).product::<usize>().max(1);
    let row_len = spec.row_len.max(1);
    let rows = arg.view.len() / row_len;
    let by_row = blocks == rows && blocks != arg.view.len().div_ceil(threads);
    let (block, thread, how) = match by_row {
        true => (index / row_len, index % row_len % threads, "one block a row"),
        false => (index / threads % blocks, index % threads, "one thread an element, in flat order"),
    };
    let wave = board.wave.max(1) as usize;
    Some(format!(
        "kernel {}: block {block}, thread {thread} (wave {}, lane {}), if it has {how}",
        launch.symbol,
        thread / wave,
        thread % wave
    ))
}

/// The document as people read it.
pub fn explain_text(doc: &ExplainDoc) -> String {
    let simulated = if doc.board.simulated { " (simulated)" } else { "" };
    let mut out = format!("{} {} on {}{simulated}\n", verdict_word(doc.verdict), doc.id, doc.board.id);
    for line in doc.reason.iter().flat_map(|r| r.lines()) {
        let _ = writeln!(out, "    {line}");
    }
    for a in &doc.assertions {
        let _ = writeln!(out, "{} {}", if a.pass { "nearest its limit:" } else { "failed:" }, assertion(a));
        if let Some(w) = &a.worst {
            let (got, want) = (&w.got, &w.want);
            let _ = writeln!(out, "    at index {}, row {}, col {}: got {got}, want {want}", w.index, w.row, w.col);
        }
    }
    for finding in &doc.findings {
        let _ = writeln!(out, "finding: {finding}");
    }
    if let Some(output) = &doc.output {
        let _ = writeln!(out, "\n{output}: board, reference tier, oracle (before the output rounding)");
    }
    for e in &doc.elements {
        let mark = if Some(e.index) == doc.worst {
            ">"
        } else if e.differs {
            "*"
        } else {
            " "
        };
        let _ = writeln!(
            out,
            "{mark} {:>9} [{}, {}]  got {:<26} want {:<26} oracle {}",
            e.index, e.row, e.col, e.got, e.want, e.oracle
        );
    }
    if let Some(lane) = &doc.lane {
        let _ = writeln!(out, "owner of the worst element: {lane}");
    }
    for hint in &doc.resembles {
        let _ = writeln!(out, "resembles: {} ({:.0} % of the differing elements)", hint.fault, hint.share * 100.0);
    }
    let _ = writeln!(out, "repro: {}", doc.repro);
    out
}
