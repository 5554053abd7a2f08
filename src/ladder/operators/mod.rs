//! Mutation operators over the syntax tree of a kernel source. Refuses to change what the host build does not compile, and what no
//! case could ever show.
//!
//! Left out by rule, not by result:
//! - branches of the preprocessor that other targets compile, macro bodies (a tree has no tree for them), attributes, templates'
//!   parameters, sizes of arrays made larger;
//! - a condition that looks at bits beyond 32 (`>> 32`), and what it guards: two ways to the same result, one of which only
//!   operands beyond 2^32 take, and no board here has memory for a case;
//! - functions of a shared header that nothing calls.

mod expressions;
mod statements;

use super::rung::{Edit, Fault, Need, Origin, Rung};
use std::collections::BTreeMap;
use std::ops::Range;
use tree_sitter::{Node, Parser};

/// Names of macros that another target's compiler defines.
const OTHER_TARGETS: [&str; 5] =
    ["__AMDGCN__", "__CUDACC__", "__CUDACC_RTC__", "__CUDA_ARCH__", "__HIP_DEVICE_COMPILE__"];

/// One way to change a node.
pub(super) struct Change {
    /// Operator.
    operator: &'static str,
    /// Fault class of `docs/ladder.md`.
    class: Option<u8>,
    /// Bytes that are replaced.
    span: Range<usize>,
    /// What takes their place.
    new: String,
    /// What a board must have to show it.
    needs: Option<Need>,
}

/// A source with its tree, and where the walk is.
pub(super) struct Site<'t> {
    text: &'t str,
    /// Names and types of the parameters and locals of the function around.
    types: BTreeMap<String, String>,
}

impl<'t> Site<'t> {
    /// Text of a node.
    fn of(&self, node: Node) -> &'t str {
        &self.text[node.byte_range()]
    }

    fn change(&self, operator: &'static str, class: Option<u8>, node: Node, new: impl Into<String>) -> Change {
        Change { operator, class, span: node.byte_range(), new: new.into(), needs: None }
    }
}

/// Every rung that the operators make of a file, in the order of the text. `called` says whether anything calls a function.
///
/// # Errors
/// When the file does not parse: where, in one sentence.
pub fn generate(file: &str, text: &str, called: &dyn Fn(&str) -> bool) -> Result<Vec<Rung>, String> {
    let tree = parse(text)?;
    let mut changes = Vec::new();
    functions(tree.root_node(), text, &mut |function, name| {
        if called(name) {
            let site = Site { text, types: types(function, text) };
            let mut found = Vec::new();
            if let Some(body) = function.child_by_field_name("body") {
                walk(body, &site, &mut found);
            }
            changes.extend(found.into_iter().map(|change| (name.to_string(), change)));
        }
    });
    changes
        .sort_by(|(_, a), (_, b)| (a.span.start, a.span.end, a.operator).cmp(&(b.span.start, b.span.end, b.operator)));
    changes.dedup_by(|(_, a), (_, b)| a.span == b.span && a.new == b.new);
    Ok(number(file, text, changes))
}

/// Parses a source.
///
/// # Errors
/// Where it does not parse.
pub fn parse(text: &str) -> Result<tree_sitter::Tree, String> {
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_cuda::LANGUAGE.into()).map_err(|e| e.to_string())?;
    parser.parse(text, None).ok_or_else(|| "the parser gave up".to_string())
}

/// Calls `each` with every function that the host build compiles, and its name.
pub(super) fn functions(node: Node, text: &str, each: &mut dyn FnMut(Node, &str)) {
    match node.kind() {
        "function_definition" => {
            if let Some(name) = function_name(node, text) {
                each(node, name);
            }
        }
        "preproc_if" | "preproc_ifdef" | "preproc_elif" => {
            let elsewhere = is_elsewhere(node, text);
            let alternative = node.child_by_field_name("alternative");
            let mut cursor = node.walk();
            for child in node.named_children(&mut cursor) {
                if alternative == Some(child) || !elsewhere {
                    functions(child, text, each);
                }
            }
        }
        _ => {
            let mut cursor = node.walk();
            for child in node.named_children(&mut cursor) {
                functions(child, text, each);
            }
        }
    }
}

/// Does a branch of the preprocessor belong to another target?
fn is_elsewhere(node: Node, text: &str) -> bool {
    let condition = node.child_by_field_name("condition").or_else(|| node.child_by_field_name("name"));
    condition.is_some_and(|c| OTHER_TARGETS.iter().any(|name| text[c.byte_range()].contains(name)))
}

/// The name of a function definition.
fn function_name<'t>(node: Node, text: &'t str) -> Option<&'t str> {
    let mut declarator = node.child_by_field_name("declarator")?;
    while declarator.kind() != "function_declarator" {
        declarator = declarator.child_by_field_name("declarator").or_else(|| declarator.named_child(0))?;
    }
    let name = declarator.child_by_field_name("declarator")?;
    text.get(name.byte_range())
}

/// Types of everything a function declares, by name, without qualifiers.
fn types(function: Node, text: &str) -> BTreeMap<String, String> {
    let mut types = BTreeMap::new();
    let mut todo = vec![function];
    while let Some(node) = todo.pop() {
        if matches!(node.kind(), "parameter_declaration" | "declaration")
            && let Some(kind) = node.child_by_field_name("type")
        {
            let mut cursor = node.walk();
            for declared in node.children_by_field_name("declarator", &mut cursor) {
                let name = declared.child_by_field_name("declarator").unwrap_or(declared);
                let pointer = declared.kind() == "pointer_declarator";
                let kind = format!("{}{}", &text[kind.byte_range()], if pointer { "*" } else { "" });
                types.insert(text[name.byte_range()].to_string(), kind);
            }
        }
        let mut cursor = node.walk();
        todo.extend(node.named_children(&mut cursor));
    }
    types
}

fn walk(node: Node, site: &Site, found: &mut Vec<Change>) {
    if is_beyond_32_bits(node, site) {
        // The way that everything takes is the first branch.
        if let Some(consequence) = node.child_by_field_name("consequence") {
            walk(consequence, site, found);
        }
        return;
    }
    expressions::changes(node, site, found);
    statements::changes(node, site, found);
    let mut cursor = node.walk();
    for child in node.named_children(&mut cursor) {
        if !matches!(child.kind(), "template_argument_list" | "attribute_declaration" | "type_descriptor" | "comment") {
            walk(child, site, found);
        }
    }
}

fn is_beyond_32_bits(node: Node, site: &Site) -> bool {
    matches!(node.kind(), "if_statement" | "conditional_expression")
        && node.child_by_field_name("condition").is_some_and(|c| site.of(c).contains(">> 32"))
}

/// Names the changes: file, function, operator and number.
fn number(file: &str, text: &str, changes: Vec<(String, Change)>) -> Vec<Rung> {
    let mut counts: BTreeMap<(String, &str), usize> = BTreeMap::new();
    let rung = |(function, change): (String, Change)| {
        let count = counts.entry((function.clone(), change.operator)).or_default();
        *count += 1;
        let old = text[change.span.clone()].to_string();
        Rung {
            id: format!("{file}/{function}/{}/{count}", change.operator),
            origin: Origin::Generated,
            operator: change.operator.to_string(),
            class: change.class,
            ops: vec![],
            why: format!("{} in {function}", change.operator),
            line: 1 + text[..change.span.start].matches('\n').count(),
            fault: Fault::Source(vec![Edit { file: file.to_string(), span: change.span, old, new: change.new }]),
            killers: killers(change.class),
            needs: change.needs,
        }
    };
    changes.into_iter().map(rung).collect()
}

/// The bars that must see a class on a simulated board, where there are such.
fn killers(class: Option<u8>) -> Vec<String> {
    match class {
        Some(4) => vec!["memory".to_string(), "schedule".to_string()],
        _ => vec![],
    }
}

#[cfg(test)]
mod tests;
