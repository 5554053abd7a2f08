//! The report as text. Refuses to judge: it renders one [`LadderReport`].

use super::record::{Kill, LadderReport, RungRecord, State, Tally};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Column headings of the tallies.
pub const HEADINGS: [&str; 9] = ["", "rungs", "by bar", "crash", "hang", "survived", "unreached", "left out", "score"];

/// One tally as cells.
pub fn row(name: &str, t: &Tally) -> [String; 9] {
    let n = |x: u64| x.to_string();
    [
        name.to_string(),
        n(t.all),
        n(t.killed_by_bar),
        n(t.killed_by_crash),
        n(t.killed_by_hang),
        n(t.survived),
        n(t.unreached),
        n(t.left_out()),
        percent(t.score),
    ]
}

/// A percentage, or a dash.
pub fn percent(x: Option<f64>) -> String {
    x.map_or_else(|| "-".to_string(), |x| format!("{x:.1}"))
}

/// The line that says what the ladder came to.
pub fn score_line(r: &LadderReport) -> String {
    let t = &r.total;
    let simulated = if r.board.simulated { " (simulated)" } else { "" };
    format!(
        "score {} of 100 on {}{simulated}, {} lane: {} of {} scored mutants die; raw {} ({} rungs, nothing left out); exit code {}",
        percent(t.score),
        r.board.id,
        r.lane,
        t.killed(),
        t.scored(),
        percent(t.raw),
        t.all,
        r.exit_code
    )
}

/// What there is to show of rungs that were not killed, survivors first; one heading and its rungs.
pub fn sections(r: &LadderReport) -> Vec<(String, Vec<&RungRecord>)> {
    let of = |state: State| r.rungs.iter().filter(|x| x.state == state).collect::<Vec<_>>();
    let all = [
        ("survived", State::Survived),
        ("unreached", State::Unreached),
        ("stale", State::Stale),
        ("build-broken", State::BuildBroken),
        ("equivalent", State::Equivalent),
        ("out of reach", State::OutOfReach),
    ];
    let named = all.into_iter().map(|(name, state)| (format!("{name}: {}", of(state).len()), of(state)));
    named.filter(|(_, rungs)| !rungs.is_empty()).collect()
}

/// What became of a rung, in one line.
pub fn line(r: &RungRecord) -> String {
    let class = r.class.map_or(String::new(), |c| format!(", class {c}"));
    let mut text = format!("{} ({}{class}; {})", r.id, r.operator, r.ops.join(" "));
    if let Some(near) = &r.nearest {
        let _ = write!(
            text,
            "; nearest {} of {}: {:.3e} of {:.3e} ({:.3} of the limit) in {}",
            near.bar, near.on, near.figure, near.limit, near.margin, near.case
        );
    } else if let Some(reason) = r.reason.as_ref().filter(|_| r.state != State::Killed) {
        let said = reason.lines().find(|l| l.contains("error:")).or_else(|| reason.lines().next()).unwrap_or_default();
        let _ = write!(text, ": {said}");
    }
    text
}

/// What killed a rung, in one line.
pub fn kill(k: &Kill) -> String {
    let on = if k.on.is_empty() { String::new() } else { format!(" of {}", k.on) };
    match (k.figure, k.limit, k.margin) {
        (Some(f), Some(l), Some(m)) => format!("{}{on}: {f:.3e} of {l:.3e} ({m:.3e} times) in {}", k.by, k.case),
        (Some(f), Some(l), None) => format!("{}{on}: {f} of {l} in {}", k.by, k.case),
        _ => format!("{}{on} in {}: {}", k.by, k.case, k.detail.lines().next().unwrap_or_default()),
    }
}

/// The whole report as text. What keeps the ladder from counting stands first, survivors next.
pub fn text(r: &LadderReport) -> String {
    let mut out = String::new();
    for problem in &r.problems {
        let _ = writeln!(out, "{}: {problem}", if r.exit_code == 1 { "FAIL" } else { "ERROR" });
    }
    for (heading, rungs) in sections(r) {
        let _ = writeln!(out, "\n{heading}");
        for record in rungs {
            let _ = writeln!(out, "  {}", line(record));
            if matches!(record.state, State::Survived | State::Unreached | State::BuildBroken) {
                for l in record.diff.lines() {
                    let _ = writeln!(out, "      {l}");
                }
            }
        }
    }
    tables(r, &mut out);
    for arm in &r.control_arms {
        let _ = writeln!(
            out,
            "control {}: {} cases, {} assertions, {} canaries refused, {} cases left to hardware, {} failures",
            arm.when,
            arm.cases,
            arm.assertions,
            arm.canaries,
            arm.left_out,
            arm.failures.len()
        );
    }
    for control in &r.controls {
        let seen = control.kill.as_ref().map_or_else(|| format!("{:?}", control.state).to_lowercase(), kill);
        let _ = writeln!(out, "control rung {}: {seen}", control.id);
    }
    for note in &r.notes {
        let _ = writeln!(out, "note: {note}");
    }
    let _ = writeln!(out, "{:.1} s; {}", r.wall_ms / 1e3, score_line(r));
    out
}

fn tables(r: &LadderReport, out: &mut String) {
    for (name, rows) in tallies(r) {
        let mut cells = vec![HEADINGS.map(str::to_string)];
        cells[0][0] = name.to_string();
        cells.extend(rows);
        let _ = writeln!(out, "\n{}", aligned(&cells));
    }
    let mut cells = vec![BAR_HEADINGS.map(str::to_string)];
    cells.extend(bar_rows(r));
    let _ = writeln!(out, "\n{}", aligned(&cells));
}

/// Every table of tallies: its name and rows.
pub fn tallies(r: &LadderReport) -> Vec<(&'static str, Vec<[String; 9]>)> {
    let rows = |of: &BTreeMap<String, Tally>| of.iter().map(|(name, t)| row(name, t)).collect::<Vec<_>>();
    let mut ops = rows(&r.by_op);
    ops.push(row("all rungs", &r.total));
    let mut out = vec![("op", ops), ("class", rows(&r.by_class)), ("operator", rows(&r.by_operator))];
    if r.host.all > 0 {
        out.push(("harness", vec![row("host", &r.host)]));
    }
    out
}

/// Headings of the table of bars.
pub const BAR_HEADINGS: [&str; 4] = ["killer", "killed first", "failed", "alone"];

/// The table of bars.
pub fn bar_rows(r: &LadderReport) -> Vec<[String; 4]> {
    // In a run that stops at the first kill, nobody knows which bar would have been alone.
    let alone = |n: u64| if r.all_bars { n.to_string() } else { "-".to_string() };
    r.by_bar.iter().map(|(bar, k)| [bar.clone(), k.killed.to_string(), k.failed.to_string(), alone(k.alone)]).collect()
}

fn aligned<const N: usize>(rows: &[[String; N]]) -> String {
    let width = |i: usize| rows.iter().map(|r| r[i].len()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..N).map(width).collect();
    let cell = |i: usize, text: &String| match i {
        0 => format!("{text:<w$}", w = widths[0]),
        _ => format!("{text:>w$}", w = widths[i]),
    };
    let line = |r: &[String; N]| r.iter().enumerate().map(|(i, c)| cell(i, c)).collect::<Vec<_>>().join("  ");
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}
