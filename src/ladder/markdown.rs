//! The report as Markdown, for a folder of reports and for comments.

use super::record::{LadderReport, State};
use super::report::{BAR_HEADINGS, HEADINGS, bar_rows, kill, line, score_line, sections, tallies};
use std::fmt::Write;

/// Renders the report.
pub fn markdown(r: &LadderReport) -> String {
    let mut out = format!("# Mutation ladder on {}\n\n{}.\n", r.board.id, score_line(r));
    for problem in &r.problems {
        let _ = writeln!(out, "\n> {problem}");
    }
    for (heading, rungs) in sections(r) {
        let _ = write!(out, "\n## {heading}\n\n");
        for record in rungs {
            let _ = writeln!(out, "- {}", cell(&line(record)));
            if matches!(record.state, State::Survived | State::Unreached) {
                let _ = write!(out, "\n  ````diff\n{}  ````\n\n", indented(&record.diff));
            }
        }
    }
    out.push_str("\n## Score\n");
    for (name, rows) in tallies(r) {
        let _ = writeln!(out, "\n| {name}{} |", HEADINGS.join(" | "));
        let _ = writeln!(out, "|---|{}", "--:|".repeat(HEADINGS.len() - 1));
        rows.iter().for_each(|row| table_row(&mut out, row));
    }
    let _ = writeln!(out, "\n| {} |\n|---|--:|--:|--:|", BAR_HEADINGS.join(" | "));
    bar_rows(r).iter().for_each(|row| table_row(&mut out, row));
    controls(r, &mut out);
    out.push_str("\n## Killed\n\n| rung | file:line | killed by |\n|---|---|---|\n");
    for record in r.rungs.iter().filter(|x| x.state == State::Killed) {
        let by = record.kill.as_ref().map(kill).unwrap_or_default();
        table_row(&mut out, &[record.id.clone(), format!("{}:{}", record.file, record.line), by]);
    }
    out
}

fn controls(r: &LadderReport, out: &mut String) {
    out.push_str("\n## Controls\n\n");
    for arm in &r.control_arms {
        let _ = writeln!(
            out,
            "- unmutated kernels {} the mutants: {} cases, {} assertions, {} canaries refused, {} failures",
            arm.when,
            arm.cases,
            arm.assertions,
            arm.canaries,
            arm.failures.len()
        );
    }
    for control in &r.controls {
        let seen = control.kill.as_ref().map_or_else(|| format!("{:?}", control.state).to_lowercase(), kill);
        let _ = writeln!(out, "- {}: {}", control.id, cell(&seen));
    }
    let same = r.sources_before == r.sources_after;
    let _ = writeln!(
        out,
        "- sha256 of {} sources before and after: {}",
        r.sources_before.len(),
        if same { "equal" } else { "NOT equal" }
    );
}

fn table_row(out: &mut String, cells: &[String]) {
    let _ = writeln!(out, "| {} |", cells.iter().map(|c| cell(c)).collect::<Vec<_>>().join(" | "));
}

/// Text that stays one cell and is no markup.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;").replace('\n', " ")
}

fn indented(text: &str) -> String {
    text.lines().map(|l| format!("  {l}\n")).collect()
}
