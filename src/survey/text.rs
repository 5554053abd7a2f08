//! A survey for readers: a table for a terminal, Markdown for publication. Refuses to leave a finding out.

use super::model::{Drain, MemoryKind, Probe, Seen, Survey};
use comfy_table::{Table, presets};
use std::fmt::Write;

/// What was seen, in a word.
pub fn word(seen: Seen) -> &'static str {
    match seen {
        Seen::Works => "works",
        Seen::Refused => "refused",
        Seen::WrongData => "WRONG DATA",
        Seen::Faults => "faults",
        Seen::Hangs => "HANGS",
        Seen::Inconclusive => "inconclusive",
    }
}

const HEADER: [&str; 9] = [
    "memory",
    "host: declared",
    "host reads",
    "host writes",
    "kernel: declared",
    "kernel reads",
    "from its middle",
    "same address",
    "slower",
];

fn row(m: &MemoryKind) -> [String; 9] {
    let yes = |b: bool| if b { "yes" } else { "no" }.to_string();
    let seen = |p: &Probe| word(p.seen).to_string();
    let known = |b: Option<bool>| b.map_or("-".to_string(), yes);
    [
        m.kind.clone(),
        known(m.host.declared),
        seen(&m.host.reads),
        seen(&m.host.writes),
        yes(m.device.declared),
        seen(&m.device.reads),
        seen(&m.device.reads_middle),
        known(m.device.reads.same_address),
        m.device.slower.map_or("-".to_string(), |x| format!("{x:.2}x")),
    ]
}

fn drain(d: &Drain) -> String {
    match d {
        Drain::Shown { rounds } => {
            format!("shown: before the wait the host saw the old value, after it the new one ({rounds} rounds)")
        }
        Drain::NotShown { why } => format!("not shown: {why}"),
        Drain::Broken { why } => format!("BROKEN: {why}"),
    }
}

fn policy(s: &Survey) -> String {
    let p = &s.policy;
    let yes = |b: bool| if b { "yes" } else { "no" };
    format!(
        "may the host dereference device allocations, by the attributes: {}; may a kernel dereference ordinary host memory: {}; \
         reference tier: {} ({})",
        yes(p.unified),
        yes(p.host_memory_on_device),
        if p.reference_tier { "eligible" } else { "not eligible" },
        p.why
    )
}

fn attributes(s: &Survey) -> String {
    let one = |a: &super::model::Attribute| {
        format!("{} {}", a.name, a.value.map_or("unknown".to_string(), |v| v.to_string()))
    };
    s.attributes.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// The survey for a terminal.
pub fn terminal(s: &Survey) -> String {
    let simulated = if s.board.simulated { " (simulated)" } else { "" };
    let mut out = format!("board {}{simulated}\n", s.board.id);
    for f in s.identity.iter().chain(&s.capabilities) {
        let _ = writeln!(out, "    {}: {} ({})", f.name, f.value, f.source);
    }
    let _ = writeln!(out, "attributes: {}", attributes(s));
    let mut table = Table::new();
    table.load_style(presets::UTF8_FULL_CONDENSED);
    table.set_header(HEADER);
    table.add_rows(s.memory.iter().map(row));
    let _ = writeln!(out, "\n{table}\n");
    let _ = writeln!(out, "{}", policy(s));
    let _ = writeln!(out, "asynchronous completion {}", drain(&s.drain));
    for f in &s.environment {
        let _ = writeln!(out, "environment: {}={}", f.name, f.value);
    }
    for f in &s.findings {
        let _ = writeln!(out, "FINDING {f}");
    }
    let conforming = if s.conforming { "" } else { "; NOT CONFORMING" };
    let _ = writeln!(out, "{} findings{conforming}", s.findings.len());
    out
}

/// The survey as Markdown.
pub fn markdown(s: &Survey) -> String {
    let simulated = if s.board.simulated { " (simulated)" } else { "" };
    let mut out = format!("# Survey of {}: {}{simulated}\n\n", s.board.id, s.board.name);
    let _ = writeln!(out, "assay {}; `{}`\n", s.tool.version, s.command.join(" "));
    out.push_str("| fact | value | source |\n| --- | --- | --- |\n");
    for f in s.identity.iter().chain(&s.capabilities) {
        let _ = writeln!(out, "| {} | {} | {} |", f.name, f.value, f.source);
    }
    let _ = writeln!(out, "\nAttributes as declared: {}.\n", attributes(s));
    let _ = writeln!(out, "| {} |\n|{}", HEADER.join(" | "), " --- |".repeat(HEADER.len()));
    for m in &s.memory {
        let _ = writeln!(out, "| {} |", row(m).join(" | "));
    }
    let _ = writeln!(out, "\n{}.\n\nAsynchronous completion {}.\n", policy(s), drain(&s.drain));
    out.push_str("Findings:\n\n");
    let findings: Vec<String> = s.findings.iter().map(|f| format!("- {f}\n")).collect();
    out.push_str(&if findings.is_empty() { "- none\n".to_string() } else { findings.concat() });
    out
}
