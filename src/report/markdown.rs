//! The report as Markdown, for job summaries and comments.

use super::text::{loosened, not_passed, op_rows, verdict_line};
use crate::record::Report;
use std::fmt::Write;

/// Renders the report as Markdown.
pub fn markdown(report: &Report) -> String {
    let mut out = format!("## assay: {}\n\n", verdict_line(report));
    let (a, k, c) = (&report.assertions, &report.control, &report.canaries);
    out.push_str("| op | cases | pass | fail | error | other | assertions | worst figure / limit |\n");
    out.push_str("|---|--:|--:|--:|--:|--:|--:|---|\n");
    for row in op_rows(report) {
        let _ = writeln!(out, "| {} |", row.map(|cell| cell.replace('|', "\\|")).join(" | "));
    }
    let _ = writeln!(
        out,
        "\n{} assertions ({} failed) over {} elements; control arm {} ({} failed); canaries {} run, {} accepted, {} not applicable.",
        a.run, a.failed, a.elements, k.run, k.failed, c.run, c.accepted, c.not_applicable
    );
    let failures = not_passed(report);
    if !failures.is_empty() {
        // Four backticks: a compiler's message may hold three.
        let _ = write!(out, "\n### Not passed\n\n````text\n{}````\n", failures);
    }
    let loosened = loosened(report);
    if !loosened.is_empty() {
        let _ = write!(out, "\n### Loosened bars\n\n");
        for line in loosened {
            let _ = writeln!(out, "- `{line}`");
        }
    }
    for note in &report.notes {
        let _ = writeln!(out, "\n> {note}");
    }
    out
}
