//! Operators on expressions. Refuses changes that are none: adding zero, a factor of one.

use super::super::rung::Need;
use super::{Change, Site};
use tree_sitter::Node;

/// Appends every change of an expression.
pub(super) fn changes(node: Node, site: &Site, found: &mut Vec<Change>) {
    match node.kind() {
        "binary_expression" => binary(node, site, found),
        "assignment_expression" => assignment(node, site, found),
        "number_literal" => number(node, site, found),
        "subscript_expression" => subscript(node, site, found),
        "conditional_expression" => conditional(node, site, found),
        "unary_expression" => unary(node, site, found),
        "cast_expression" => cast(node, site, found),
        "call_expression" => call(node, site, found),
        "identifier" => identifier(node, site, found),
        "field_expression" => builtin(node, site, found),
        _ => {}
    }
}

fn binary(node: Node, site: &Site, found: &mut Vec<Change>) {
    let (Some(left), Some(operator), Some(right)) =
        (node.child_by_field_name("left"), node.child_by_field_name("operator"), node.child_by_field_name("right"))
    else {
        return;
    };
    let mut swap = |name, class, new: &str| found.push(site.change(name, class, operator, new));
    match site.of(operator) {
        "+" => swap("arithmetic", None, "-"),
        "-" => swap("arithmetic", None, "+"),
        "*" => swap("arithmetic", None, "+"),
        "/" => swap("arithmetic", None, "*"),
        "%" => swap("arithmetic", None, "/"),
        "<" => swap("relational", Some(6), "<="),
        "<=" => swap("relational", None, "<"),
        ">" => swap("relational", Some(13), ">="),
        ">=" => swap("relational", None, ">"),
        "==" => swap("relational", None, "!="),
        "!=" => swap("relational", None, "=="),
        "&&" => swap("logical", None, "||"),
        "||" => swap("logical", None, "&&"),
        "&" => swap("bitwise", None, "|"),
        "|" => swap("bitwise", None, "&"),
        "<<" => swap("bitwise", None, ">>"),
        ">>" => swap("bitwise", None, "<<"),
        _ => {}
    }
    // An operand lost: a scale, a bias, an offset that somebody forgot.
    if matches!(site.of(operator), "*" | "+" | "-" | "/") && site.of(left) != site.of(right) {
        found.push(site.change("operand", Some(8), node, format!("({})", site.of(left))));
    }
}

fn assignment(node: Node, site: &Site, found: &mut Vec<Change>) {
    let Some(operator) = node.child_by_field_name("operator") else { return };
    match site.of(operator) {
        "+=" => {
            found.push(site.change("arithmetic", None, operator, "-="));
            found.push(site.change("accumulation", Some(14), operator, "="));
        }
        "-=" => found.push(site.change("arithmetic", None, operator, "+=")),
        "*=" => found.push(site.change("arithmetic", None, operator, "+=")),
        ">>=" => found.push(site.change("bitwise", None, operator, "<<=")),
        _ => {}
    }
}

fn number(node: Node, site: &Site, found: &mut Vec<Change>) {
    let text = site.of(node);
    let in_array = node.parent().is_some_and(|p| p.kind() == "array_declarator");
    if text.contains('.') {
        let new = if text.starts_with("0.0") { text.replacen("0.0", "1.0", 1) } else { format!("(2.0f * {text})") };
        found.push(site.change("constant", if text.starts_with("0.0") { Some(14) } else { None }, node, new));
        return;
    }
    if !in_array {
        found.push(site.change("constant", None, node, format!("({text} + 1)")));
    }
    // One less than one or zero mostly is a value that another operator makes; a smaller array is a store past its end.
    if !matches!(text, "0" | "1" | "0u" | "1u") {
        found.push(site.change("constant", if in_array { Some(12) } else { None }, node, format!("({text} - 1)")));
    }
}

fn subscript(node: Node, site: &Site, found: &mut Vec<Change>) {
    let Some(list) = node.child_by_field_name("indices").or_else(|| node.child_by_field_name("index")) else { return };
    let index = if list.kind() == "subscript_argument_list" { list.named_child(0) } else { Some(list) };
    if let Some(index) = index {
        found.push(site.change("index", Some(12), index, format!("({}) + 1", site.of(index))));
    }
}

fn conditional(node: Node, site: &Site, found: &mut Vec<Change>) {
    for (branch, class) in [("consequence", Some(6)), ("alternative", None)] {
        if let Some(taken) = node.child_by_field_name(branch) {
            found.push(site.change("guard", class, node, format!("({})", site.of(taken))));
        }
    }
}

fn unary(node: Node, site: &Site, found: &mut Vec<Change>) {
    let (Some(operator), Some(argument)) = (node.child_by_field_name("operator"), node.child_by_field_name("argument"))
    else {
        return;
    };
    if matches!(site.of(operator), "-" | "!" | "~") {
        found.push(site.change("unary", Some(19), node, format!("({})", site.of(argument))));
    }
}

/// A cast to a narrower type, where there is one that an ordinary value shows.
fn cast(node: Node, site: &Site, found: &mut Vec<Change>) {
    let Some(kind) = node.child_by_field_name("type") else { return };
    let narrower = match site.of(kind) {
        "float" | "double" | "unsigned short" | "unsigned" | "unsigned int" => "unsigned char",
        _ => return,
    };
    found.push(site.change("cast", Some(11), kind, narrower));
}

fn call(node: Node, site: &Site, found: &mut Vec<Change>) {
    let (Some(function), Some(list)) = (node.child_by_field_name("function"), node.child_by_field_name("arguments"))
    else {
        return;
    };
    let mut cursor = list.walk();
    let arguments: Vec<Node> = list.named_children(&mut cursor).collect();
    swapped(&arguments, site, found);
    let name = site.of(function);
    let base = name.rsplit("::").next().unwrap_or(name);
    let base = base.split('<').next().unwrap_or(base);
    match (base, arguments.as_slice()) {
        ("narrowed", [x]) => found.push(site.change("rounding", Some(11), node, format!("({})", site.of(*x)))),
        ("sqrtf" | "expf" | "rsqrtf" | "logf" | "tanhf" | "fabsf" | "cosf" | "sinf", [x]) => {
            found.push(site.change("function", Some(15), node, format!("({})", site.of(*x))));
        }
        ("fmaxf" | "max", [_, _]) => {
            found.push(site.change("function", Some(13), function, name.replace("max", "min")))
        }
        ("fminf" | "min", [_, _]) => {
            found.push(site.change("function", Some(13), function, name.replace("min", "max")))
        }
        ("atomicAdd", [at, x]) => {
            found.push(site.change("atomic", Some(4), node, format!("(*({}) += {})", site.of(*at), site.of(*x))));
        }
        _ => {}
    }
}

/// The first two neighbouring arguments of one type, exchanged.
fn swapped(arguments: &[Node], site: &Site, found: &mut Vec<Change>) {
    let known = |node: &Node| site.types.get(site.of(*node)).filter(|_| node.kind() == "identifier");
    for pair in arguments.windows(2) {
        let [a, b] = pair else { continue };
        if known(a).is_some() && known(a) == known(b) && site.of(*a) != site.of(*b) {
            let span = a.start_byte()..b.end_byte();
            let new = format!("{}, {}", site.of(*b), site.of(*a));
            found.push(Change { operator: "arguments", class: Some(18), span, new, needs: None });
            return;
        }
    }
}

/// A stride taken for packed, a wave taken for 32 lanes.
fn identifier(node: Node, site: &Site, found: &mut Vec<Change>) {
    let text = site.of(node);
    let declared =
        node.parent().is_some_and(|p| p.kind().ends_with("declarator") || p.kind() == "parameter_declaration");
    if declared {
        return;
    }
    if text == "warpSize" {
        let needs = Some(Need::Wave64);
        found.push(Change { needs, ..site.change("wave width", Some(2), node, "32") });
    }
    if text.ends_with("_stride")
        && let Some(packed) =
            ["cols", "hidden", "latent", "k", "rot"].iter().find(|name| site.types.contains_key(**name))
    {
        found.push(site.change("stride", Some(7), node, *packed));
    }
}

/// A block or thread that is always the first, or the wrong dimension.
fn builtin(node: Node, site: &Site, found: &mut Vec<Change>) {
    match site.of(node) {
        "blockIdx.x" | "blockIdx.y" | "blockIdx.z" => found.push(site.change("launch index", Some(3), node, "0")),
        "threadIdx.x" => found.push(site.change("launch index", Some(3), node, "threadIdx.y")),
        _ => {}
    }
}
