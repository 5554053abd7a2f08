//! `assay power` as people read it.

use super::power_docs::{FloorDoc, NullDoc, PowerDoc, RateDoc};
use std::collections::BTreeMap;
use std::fmt::Write;

/// The document as text.
pub fn power_text(doc: &PowerDoc) -> String {
    let mut out = String::new();
    for op in &doc.ops {
        let _ = writeln!(out, "{}", op.op);
        for null in &op.nulls {
            let _ = writeln!(out, "  {:<15} {}", null.null, null_text(null));
        }
    }
    if !doc.floors.is_empty() {
        let _ = writeln!(out, "\nsmallest error refused (steps: one element off; scaled: the whole output)");
        doc.floors.iter().for_each(|f| floor(&mut out, f));
    }
    if !doc.rates.is_empty() {
        let _ = writeln!(out, "\nshare of elements one step nearer zero that is refused more often than not");
        doc.rates.iter().for_each(|r| rate(&mut out, r));
    }
    if !doc.unmeasured.is_empty() {
        let _ = writeln!(out, "\nnot measured");
        for u in &doc.unmeasured {
            let _ = writeln!(out, "  {}: {}", u.id, u.why);
        }
    }
    let _ = writeln!(out, "\nblind spots: {}", if doc.blind.is_empty() { "none" } else { "" });
    for b in &doc.blind {
        let declared = if b.declared { " (declared)" } else { "" };
        let _ = writeln!(out, "  {} {}: {}{declared}", b.op, b.null, b.why);
    }
    let (planned, material) = (doc.planned, doc.material);
    let caught: u64 = doc.ops.iter().flat_map(|o| &o.nulls).map(|n| n.caught).sum();
    let _ = writeln!(out, "{planned} cases, {material} wrong outputs, {caught} of them refused");
    out
}

fn null_text(n: &NullDoc) -> String {
    if n.material == 0 {
        return match (&n.why, n.immaterial) {
            (Some(why), 0) => format!("not applicable: {why}"),
            (_, immaterial) => format!("immaterial in {immaterial} outputs"),
        };
    }
    let listed = |counts: &BTreeMap<String, u64>| -> String {
        counts.iter().map(|(name, count)| format!("{name} {count}")).collect::<Vec<_>>().join(", ")
    };
    let missed = if n.missed.is_empty() { String::new() } else { format!("; passed in {}", listed(&n.missed)) };
    format!("{:>4} of {:>4}  {}{missed}", n.caught, n.material, listed(&n.bars))
}

fn floor(out: &mut String, f: &FloorDoc) {
    let _ = writeln!(
        out,
        "  {:<7} {:<5} {:<12} from {} (relative {:.1e}), everywhere from {}, {} outputs",
        f.null, f.dtype, f.bar, f.smallest, f.relative, f.largest, f.outputs
    );
}

fn rate(out: &mut String, r: &RateDoc) {
    let _ = writeln!(
        out,
        "  {:<5} {:<16} {:<5} {:>4.0} % ({} of {} trials; 95 % interval {:.0} to {:.0} %)",
        r.bar,
        r.op,
        r.dtype,
        r.rate * 100.0,
        r.refused,
        r.trials,
        r.low * 100.0,
        r.high * 100.0
    );
}
