//! The report as people read it: plain text or a table.

use crate::record::{Assertion, CaseReport, Report, Verdict};
use std::fmt::Write;

/// The word of a verdict.
pub fn verdict_word(v: Verdict) -> &'static str {
    match v {
        Verdict::Pass => "PASS",
        Verdict::Fail => "FAIL",
        Verdict::Error => "ERROR",
        Verdict::NotRun => "NOT-RUN",
        Verdict::NotApplicable => "NOT-APPLICABLE",
        Verdict::Known => "KNOWN",
        Verdict::UnexpectedPass => "UNEXPECTED-PASS",
        Verdict::Reference => "REFERENCE",
    }
}

/// One row of the summary: op, cases, pass, fail, error, other, assertions, elements compared, worst.
pub fn op_rows(report: &Report) -> Vec<[String; 8]> {
    let mut ops: Vec<&str> = Vec::new();
    for case in &report.cases {
        if !ops.contains(&case.op.as_str()) {
            ops.push(&case.op);
        }
    }
    ops.iter().map(|op| row(op, report.cases.iter().filter(|c| c.op == *op))).collect()
}

/// Headings of [`op_rows`].
const HEADINGS: [&str; 8] = ["op", "cases", "pass", "fail", "error", "other", "assertions", "worst figure / limit"];

fn row<'a>(op: &str, cases: impl Iterator<Item = &'a CaseReport>) -> [String; 8] {
    let (mut n, mut pass, mut fail, mut error, mut assertions) = (0u64, 0u64, 0u64, 0u64, 0usize);
    let mut worst: Option<(&Assertion, f64)> = None;
    for case in cases {
        n += 1;
        pass += u64::from(case.verdict == Verdict::Pass);
        fail += u64::from(case.verdict == Verdict::Fail);
        error += u64::from(case.verdict == Verdict::Error);
        assertions += case.assertions.len();
        for a in case.worst.iter().filter(|a| a.limit.is_some()) {
            let share = closeness(a);
            if worst.is_none_or(|(_, w)| share.total_cmp(&w).is_gt()) {
                worst = Some((a, share));
            }
        }
    }
    let worst = worst.map_or("-".to_string(), |(a, _)| format!("{} {} / {}", a.bar, figure(a.figure), figure(a.limit)));
    let other = n - pass - fail - error;
    let counts = [n, pass, fail, error, other].map(|c| c.to_string());
    let [n, pass, fail, error, other] = counts;
    [op.to_string(), n, pass, fail, error, other, assertions.to_string(), worst]
}

/// How near to its limit, or how far beyond: failures first, undefined figures of failures foremost.
fn closeness(a: &Assertion) -> f64 {
    let ratio = match (a.figure, a.limit) {
        (Some(f), Some(l)) if f == 0.0 && l == 0.0 => 0.0,
        (Some(f), Some(l)) => f / l,
        _ => 0.0,
    };
    match (a.pass, ratio.is_nan()) {
        (true, _) => ratio,
        (false, true) => f64::INFINITY,
        (false, false) => ratio.max(1.0) + 1e9,
    }
}

/// A figure with four significant digits; `-` when undefined.
pub(super) fn figure(x: Option<f64>) -> String {
    match x {
        None => "-".to_string(),
        Some(0.0) => "0".to_string(),
        Some(x) if (1e-3..1e6).contains(&x.abs()) => {
            let digits = (3 - x.abs().log10().floor() as i32).max(0) as usize;
            let text = format!("{x:.digits$}");
            if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_string() } else { text }
        }
        Some(x) => format!("{x:.3e}"),
    }
}

/// Columns below which the table is left as wide as its contents.
const NARROWEST: u16 = 72;

/// The summary as a table with borders, as wide as the terminal at most.
fn table(report: &Report) -> String {
    let mut table = comfy_table::Table::new();
    table.load_style(comfy_table::presets::UTF8_FULL_CONDENSED);
    // A terminal that does not know its width says 0; squeezed columns are worse than wrapped lines.
    if table.width().is_some_and(|w| w >= NARROWEST) {
        table.set_content_arrangement(comfy_table::ContentArrangement::Dynamic);
    }
    table.set_header(HEADINGS);
    for row in op_rows(report) {
        table.add_row(row);
    }
    for i in 1..7 {
        if let Some(column) = table.column_mut(i) {
            column.set_cell_alignment(comfy_table::CellAlignment::Right);
        }
    }
    table.trim_fmt()
}

/// The summary as plain lines of aligned columns.
fn plain(report: &Report) -> String {
    let mut rows = vec![HEADINGS.map(str::to_string)];
    rows.extend(op_rows(report));
    let width = |i: usize| rows.iter().map(|r| r[i].len()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..8).map(width).collect();
    let mut out = String::new();
    for r in &rows {
        let cells = r.iter().enumerate().map(|(i, cell)| match i {
            0 => format!("{cell:<w$}", w = widths[0]),
            7 => cell.clone(),
            _ => format!("{cell:>w$}", w = widths[i]),
        });
        let line = cells.collect::<Vec<_>>().join("  ");
        let _ = writeln!(out, "{}", line.trim_end());
    }
    out
}

/// Every failed assertion of a case with its place, and how to run the case again; empty for a PASS.
pub fn failure(case: &CaseReport) -> String {
    let mut out = String::new();
    if matches!(case.verdict, Verdict::Pass | Verdict::NotApplicable) {
        return out;
    }
    let _ = writeln!(out, "{} {}", verdict_word(case.verdict), case.id);
    if let Some(reason) = &case.reason {
        for line in reason.lines() {
            let _ = writeln!(out, "    {line}");
        }
    }
    for a in case.assertions.iter().filter(|a| !a.pass) {
        let _ = writeln!(out, "    {}", assertion(a));
        if let Some(w) = &a.worst {
            let (got, want) = (&w.got, &w.want);
            let place = format!("index {}, row {}, col {}", w.index, w.row, w.col);
            let _ = writeln!(out, "        at {place}: got {got} ({}), want {want} ({})", w.got_hex, w.want_hex);
        }
    }
    let _ = writeln!(out, "    repro: {}", case.repro);
    out
}

/// Every case that did not pass: those with a failed assertion one by one, with its place; those that ended without one (an ERROR
/// before judging, NOT-RUN) together where they share verdict and reason, since a kernel that does not compile takes all its cases along.
pub(super) fn not_passed(report: &Report) -> String {
    let mut out = String::new();
    let mut groups: Vec<(Verdict, &str, Vec<&CaseReport>)> = Vec::new();
    for case in &report.cases {
        let alone = case.reason.is_none() || case.assertions.iter().any(|a| !a.pass);
        if alone || !matches!(case.verdict, Verdict::Error | Verdict::NotRun) {
            out.push_str(&failure(case));
            continue;
        }
        let reason = case.reason.as_deref().unwrap_or_default();
        match groups.iter_mut().find(|(v, r, _)| *v == case.verdict && *r == reason) {
            Some((_, _, cases)) => cases.push(case),
            None => groups.push((case.verdict, reason, vec![case])),
        }
    }
    groups.iter().for_each(|(verdict, reason, cases)| out.push_str(&group(*verdict, reason, cases)));
    out
}

/// Cases that share a verdict and a reason: the reason once, then how to run each ERROR again; of NOT-RUN only the first ids.
fn group(verdict: Verdict, reason: &str, cases: &[&CaseReport]) -> String {
    if let [case] = cases {
        return failure(case);
    }
    let mut out = format!("{} {} cases\n", verdict_word(verdict), cases.len());
    for line in reason.lines() {
        let _ = writeln!(out, "    {line}");
    }
    let shown = if verdict == Verdict::NotRun { NOT_RUN_SHOWN } else { cases.len() };
    for case in cases.iter().take(shown) {
        match verdict {
            Verdict::NotRun => writeln!(out, "    {}", case.id),
            _ => writeln!(out, "    repro: {}", case.repro),
        }
        .ok();
    }
    if cases.len() > shown {
        let _ = writeln!(out, "    and {} more; assay report --format csv lists them all", cases.len() - shown);
    }
    out
}

/// Ids shown of cases that did not run for one reason.
const NOT_RUN_SHOWN: usize = 8;

/// One assertion as a phrase.
pub(super) fn assertion(a: &Assertion) -> String {
    let tier = match a.tier {
        crate::record::Tier::Device => "device",
        crate::record::Tier::Reference => "reference tier",
    };
    let on = if a.on.is_empty() { String::new() } else { format!(" on {}", a.on) };
    let limit = a.limit.map_or(String::new(), |l| format!(", limit {}", figure(Some(l))));
    let mut out = format!("{}{on} ({tier}): figure {}{limit}, {} compared", a.bar, figure(a.figure), a.elements);
    if let Some(note) = &a.note {
        let _ = write!(out, "; {note}");
    }
    out
}

/// `245 planned: 245 pass`, zero counts left out.
pub fn short_counts(report: &Report) -> String {
    let c = &report.counts;
    let all = [
        (c.pass, "pass"),
        (c.fail, "fail"),
        (c.error, "error"),
        (c.not_run, "not-run"),
        (c.not_applicable, "not applicable"),
        (c.known, "known"),
        (c.unexpected_pass, "unexpected pass"),
        (c.reference, "reference"),
    ];
    let parts: Vec<String> = all.iter().filter(|(n, _)| *n > 0).map(|(n, word)| format!("{n} {word}")).collect();
    format!("{} planned: {}", c.planned, if parts.is_empty() { "nothing ran".to_string() } else { parts.join(", ") })
}

/// The last line of a run: verdict, board, exit code.
pub fn verdict_line(report: &Report) -> String {
    let simulated = if report.board.simulated { " (simulated)" } else { "" };
    let cut = if report.cut { ", journal cut" } else { "" };
    format!(
        "{} on {}{simulated}{cut}: {}; exit code {}",
        verdict_word(report.verdict),
        report.board.id,
        short_counts(report),
        report.exit_code
    )
}

/// The whole report: failures, summary per op, counts, notes, verdict. On a terminal the summary has borders.
pub fn summary(report: &Report, terminal: bool) -> String {
    let mut out = String::new();
    let b = &report.board;
    let simulated = if b.simulated { " (simulated)" } else { "" };
    let _ = writeln!(out, "board {}{simulated}: {}, {}, wave {}", b.id, b.name, b.arch, b.wave);
    out.push_str(&not_passed(report));
    out.push('\n');
    match terminal {
        true => out.push_str(&(table(report) + "\n")),
        false => out.push_str(&plain(report)),
    }
    out.push('\n');
    out.push_str(&totals(report));
    for note in &report.notes {
        let _ = writeln!(out, "note: {note}");
    }
    let _ = writeln!(out, "{}", verdict_line(report));
    out
}

/// Assertions, control arm, canaries and loosened bars, one line each.
fn totals(report: &Report) -> String {
    let (a, k, c) = (&report.assertions, &report.control, &report.canaries);
    let mut out = format!(
        "assertions: {} run, {} failed, {} elements compared; control arm (host side only): {} run, {} failed\n",
        a.run, a.failed, a.elements, k.run, k.failed
    );
    let _ = writeln!(
        out,
        "canaries: {} run, {} refused, {} accepted, {} not applicable",
        c.run, c.refused, c.accepted, c.not_applicable
    );
    let loosened = loosened(report);
    if !loosened.is_empty() {
        let _ = writeln!(out, "bars loosened by a suite: {}", loosened.len());
        for line in loosened {
            let _ = writeln!(out, "    {line}");
        }
    }
    out
}

/// `id: bar on output loosened from X to Y` for every assertion with that mark.
pub(super) fn loosened(report: &Report) -> Vec<String> {
    let mut lines = Vec::new();
    for case in &report.cases {
        for a in case.assertions.iter().filter(|a| a.tier == crate::record::Tier::Device) {
            if let Some(note) = a.note.as_deref().filter(|n| n.contains("loosened")) {
                lines.push(format!("{}: {} on {} {note}", case.id, a.bar, a.on));
            }
        }
    }
    lines
}

/// The `n` cases that took the longest, one line each, with where the time went.
pub fn dearest(journal: &crate::run::journal::Journal, n: usize) -> Vec<String> {
    let total = |t: &crate::record::Timings| t.prepare_ms + t.reference_ms + t.board_ms + t.judge_ms;
    let mut records: Vec<_> = journal.records.values().collect();
    records.sort_by(|a, b| total(&b.timings).total_cmp(&total(&a.timings)));
    let line = |r: &&crate::record::CaseRecord| {
        let t = &r.timings;
        format!(
            "{:.1} ms: {} (prepare {:.1}, reference {:.1}, board {:.1}, judge {:.1})",
            total(t),
            r.id,
            t.prepare_ms,
            t.reference_ms,
            t.board_ms,
            t.judge_ms
        )
    };
    records.iter().take(n).map(line).collect()
}
