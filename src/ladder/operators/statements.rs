//! Operators on statements. Refuses to delete declarations, whose loss does not compile.

use super::super::rung::Need;
use super::{Change, Site};
use tree_sitter::Node;

/// Appends every change of a statement.
pub(super) fn changes(node: Node, site: &Site, found: &mut Vec<Change>) {
    match node.kind() {
        "if_statement" => guard(node, site, found),
        "for_statement" => bounds(node, site, found),
        "expression_statement" => deletion(node, site, found),
        "return_statement" if node.named_child_count() == 0 => found.push(site.change("guard", Some(16), node, ";")),
        "continue_statement" | "break_statement" => found.push(site.change("statement", None, node, ";")),
        _ => {}
    }
}

fn guard(node: Node, site: &Site, found: &mut Vec<Change>) {
    let Some(condition) = node.child_by_field_name("condition") else { return };
    // The operands stay alive, so that no warning about them stands in for a fault.
    let text = site.of(condition);
    found.push(site.change("guard", Some(12), condition, format!("({text} || true)")));
    found.push(site.change("guard", None, condition, format!("({text} && false)")));
}

fn bounds(node: Node, site: &Site, found: &mut Vec<Change>) {
    if let Some(start) = node.child_by_field_name("initializer").and_then(|i| i.child_by_field_name("declarator")) {
        if let Some(value) = start.child_by_field_name("value") {
            found.push(site.change("loop start", Some(1), value, format!("({}) + 1", site.of(value))));
        }
        narrowed(node, site, found);
    }
    if let Some(condition) = node.child_by_field_name("condition")
        && condition.kind() == "binary_expression"
        && let (Some(operator), Some(end)) =
            (condition.child_by_field_name("operator"), condition.child_by_field_name("right"))
    {
        let new = if site.of(operator).starts_with('<') {
            format!("({}) - 1", site.of(end))
        } else {
            format!("({}) + 1", site.of(end))
        };
        found.push(site.change("loop end", Some(1), end, new));
    }
    if let Some(step) = node.child_by_field_name("update")
        && step.kind() == "update_expression"
        && let Some(counter) = step.child_by_field_name("argument")
    {
        found.push(site.change("loop step", Some(1), step, format!("{} += 2", site.of(counter))));
    }
}

/// A 64-bit counter that begins at a block's or thread's index, kept in 32 bits.
fn narrowed(node: Node, site: &Site, found: &mut Vec<Change>) {
    let Some(initializer) = node.child_by_field_name("initializer") else { return };
    let Some(kind) = initializer.child_by_field_name("type").filter(|k| site.of(*k) == "long long") else { return };
    let text = site.of(initializer);
    if text.contains("blockIdx") || text.contains("first_element") {
        let needs = Some(Need::LargeOffsets);
        found.push(Change { needs, ..site.change("index width", Some(3), kind, "int") });
    }
}

fn deletion(node: Node, site: &Site, found: &mut Vec<Change>) {
    let Some(expression) = node.named_child(0) else { return };
    let text = site.of(expression);
    if text.starts_with("__syncthreads") {
        found.push(site.change("barrier", Some(4), node, ";"));
    } else if matches!(expression.kind(), "call_expression" | "assignment_expression" | "update_expression") {
        found.push(site.change("statement", None, node, ";"));
    }
}
