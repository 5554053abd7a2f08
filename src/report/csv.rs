//! The report as CSV: comment lines with the verdict and counts, then one line per case.

use super::text::{verdict_line, verdict_word};
use crate::record::Report;
use std::fmt::Write;

/// Renders the report as CSV (RFC 4180 quoting; the lines before the heading begin with `#`).
pub fn csv(report: &Report) -> String {
    let c = &report.counts;
    let mut out = format!("# {}\n", verdict_line(report));
    let _ = writeln!(
        out,
        "# verdict={} exit_code={} planned={} pass={} fail={} error={} not_run={} not_applicable={} known={} \
         unexpected_pass={} reference={} cut={} simulated={}",
        verdict_word(report.verdict),
        report.exit_code,
        c.planned,
        c.pass,
        c.fail,
        c.error,
        c.not_run,
        c.not_applicable,
        c.known,
        c.unexpected_pass,
        c.reference,
        report.cut,
        report.board.simulated
    );
    out.push_str("id,op,verdict,reason,assertions,failed,bar,on,figure,limit,index,got,want,repro\n");
    for case in &report.cases {
        let failed = case.assertions.iter().filter(|a| !a.pass).count();
        let worst = case.worst.as_ref();
        let place = worst.and_then(|a| a.worst.as_ref());
        let number = |x: Option<f64>| x.map_or(String::new(), |x| format!("{x:?}"));
        let cells = [
            case.id.clone(),
            case.op.clone(),
            verdict_word(case.verdict).to_string(),
            case.reason.clone().unwrap_or_default(),
            case.assertions.len().to_string(),
            failed.to_string(),
            worst.map_or(String::new(), |a| a.bar.clone()),
            worst.map_or(String::new(), |a| a.on.clone()),
            number(worst.and_then(|a| a.figure)),
            number(worst.and_then(|a| a.limit)),
            place.map_or(String::new(), |w| w.index.to_string()),
            place.map_or(String::new(), |w| w.got.clone()),
            place.map_or(String::new(), |w| w.want.clone()),
            case.repro.clone(),
        ];
        let _ = writeln!(out, "{}", cells.map(|cell| quote(&cell)).join(","));
    }
    out
}

fn quote(cell: &str) -> String {
    if cell.contains([',', '"', '\n', '\r']) { format!("\"{}\"", cell.replace('"', "\"\"")) } else { cell.to_string() }
}
