//! Finds kernels in preprocessed C++. Refuses to understand more of the language than declarations need.

use std::path::PathBuf;

/// A kernel definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// Linker symbol.
    pub symbol: String,
    /// The symbol with the namespaces it is declared in.
    pub path: String,
    /// First argument of `__launch_bounds__`, as written.
    pub bounds: Option<String>,
}

/// A kernel that cannot be launched by symbol.
#[derive(Debug, PartialEq, Eq)]
pub struct Refusal {
    /// `file:line`.
    pub place: String,
    /// Which, why, and how to wrap it.
    pub why: String,
}

#[derive(Clone, Debug, PartialEq)]
enum Scope {
    ExternC,
    Namespace(String),
    Other,
}

/// Kernels defined in preprocessed `text`, in source order.
///
/// # Errors
/// A kernel that is a template or lacks `extern "C"`.
pub fn kernels(text: &str) -> Result<Vec<Kernel>, Refusal> {
    let (mut scopes, mut decl): (Vec<Scope>, Vec<&str>) = (Vec::new(), Vec::new());
    let (mut found, mut place) = (Vec::new(), (String::new(), 0usize));
    let mut marked: Option<String> = None;
    for line in text.lines() {
        if let Some(marker) = line.strip_prefix("# ") {
            if let Some((number, rest)) = marker.split_once(' ') {
                let file = rest.split('"').nth(1).unwrap_or_default();
                place = (file.to_string(), number.parse().unwrap_or(1));
            }
            continue;
        }
        for token in Tokens(line) {
            match token {
                "{" => {
                    if let Some(place) = marked.take() {
                        found.push(definition(&decl, &scopes, place)?);
                    }
                    scopes.push(scope(&decl));
                    decl.clear();
                }
                "}" => {
                    scopes.pop();
                    decl.clear();
                    marked = None;
                }
                ";" => {
                    decl.clear();
                    marked = None;
                }
                _ => {
                    if token == "__global__" {
                        marked = Some(format!("{}:{}", place.0, place.1));
                    }
                    decl.push(token);
                }
            }
        }
        place.1 += 1;
    }
    Ok(found)
}

/// What a brace after these tokens opens.
fn scope(decl: &[&str]) -> Scope {
    match decl {
        ["extern", "\"C\""] => Scope::ExternC,
        [.., "namespace", name] if !decl.contains(&"(") => Scope::Namespace((*name).to_string()),
        _ => Scope::Other,
    }
}

fn definition(decl: &[&str], scopes: &[Scope], place: String) -> Result<Kernel, Refusal> {
    let (mut symbol, mut bounds) = (None, None);
    let mut i = 0;
    while i < decl.len() && symbol.is_none() {
        let call = decl.get(i + 1) == Some(&"(") && decl[i].starts_with(|c: char| c.is_alphabetic() || c == '_');
        match decl[i] {
            "__launch_bounds__" if call => {
                let inner = &decl[i + 2..closing(decl, i + 1)];
                bounds = Some(first_argument(inner));
                i = closing(decl, i + 1);
            }
            "__attribute__" | "__declspec" | "alignas" | "decltype" if call => i = closing(decl, i + 1),
            name if call => symbol = Some(name),
            _ => {}
        }
        i += 1;
    }
    let Some(symbol) = symbol else {
        return Err(Refusal { place, why: "a __global__ declaration without a name that we can read".into() });
    };
    if decl.contains(&"template") {
        return Err(Refusal {
            place,
            why: format!(
                "kernel '{symbol}' is a template and has no symbol to launch by: make it a __device__ function and wrap each \
                 instance, e.g. extern \"C\" __global__ void {symbol}_f32(...) {{ {symbol}<float>(...); }}"
            ),
        });
    }
    let linkage = decl.windows(2).any(|w| w == ["extern", "\"C\""]) || scopes.contains(&Scope::ExternC);
    if !linkage || decl.contains(&"static") {
        return Err(Refusal {
            place,
            why: format!(
                "kernel '{symbol}' has no C linkage: write extern \"C\" __global__ void {symbol}(...), without static"
            ),
        });
    }
    let spaces = scopes.iter().filter_map(|s| match s {
        Scope::Namespace(name) => Some(format!("{name}::")),
        _ => None,
    });
    Ok(Kernel { symbol: symbol.to_string(), path: spaces.collect::<String>() + symbol, bounds })
}

/// Index of the parenthesis that closes the one at `open`.
fn closing(decl: &[&str], open: usize) -> usize {
    let mut depth = 0usize;
    for (i, token) in decl.iter().enumerate().skip(open) {
        match *token {
            "(" => depth += 1,
            ")" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return i;
        }
    }
    decl.len() - 1
}

fn first_argument(tokens: &[&str]) -> String {
    let mut depth = 0i32;
    let end = tokens.iter().position(|t| {
        depth += i32::from(matches!(*t, "(" | "[" | "{")) - i32::from(matches!(*t, ")" | "]" | "}"));
        depth == 0 && *t == ","
    });
    tokens[..end.unwrap_or(tokens.len())].join(" ")
}

/// Words, literals and single punctuation of one line; preprocessed text has no comments left.
struct Tokens<'a>(&'a str);

impl<'a> Iterator for Tokens<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let text = self.0.trim_start();
        let first = text.chars().next()?;
        let end = if first.is_alphanumeric() || first == '_' {
            text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len())
        } else if first == '"' || first == '\'' {
            let mut escaped = false;
            let close = text.char_indices().skip(1).find(|&(_, c)| {
                let end = c == first && !escaped;
                escaped = c == '\\' && !escaped;
                end
            });
            close.map_or(text.len(), |(i, _)| i + 1)
        } else {
            first.len_utf8()
        };
        let (token, rest) = text.split_at(end);
        self.0 = rest;
        Some(token)
    }
}

/// Does a comment of the source say that its wave operations diverge on purpose (`wave: divergent`)?
pub fn admits_divergence(source: &str) -> bool {
    source.lines().any(|line| {
        let line = line.trim_start();
        ["//", "*", "/*"].iter().any(|c| line.starts_with(c)) && line.replace(' ', "").contains("wave:divergent")
    })
}

/// Prerequisites of a make rule, as `-MD` writes it.
pub fn dependencies(rule: &str) -> Vec<PathBuf> {
    let joined = rule.replace("\\\n", " ");
    let list = joined.split_once(": ").map_or("", |(_, list)| list);
    let mut out = Vec::new();
    let mut word = String::new();
    let mut chars = list.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' if matches!(chars.peek(), Some(' ' | '#' | '\\')) => word.extend(chars.next()),
            '$' if chars.peek() == Some(&'$') => word.extend(chars.next()),
            c if c.is_whitespace() => {
                if !word.is_empty() {
                    out.push(PathBuf::from(std::mem::take(&mut word)));
                }
            }
            c => word.push(c),
        }
    }
    if !word.is_empty() {
        out.push(PathBuf::from(word));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn symbols(text: &str) -> Vec<String> {
        kernels(text).expect("launchable").into_iter().map(|k| k.path).collect()
    }

    #[test]
    fn kernels_are_found_in_blocks_namespaces_and_behind_launch_bounds() {
        let text = "extern \"C\" __global__ void __launch_bounds__((256), 2) a(float* x, int n) { if (n) { } }\n\
                    extern \"C\" { __global__ __launch_bounds__(64 * 2) void b() {} void c() {} }\n\
                    namespace n { extern \"C\" __global__ void d(struct S s) {} }\n\
                    extern \"C\" __global__ void declared_only(int);\n";
        assert_eq!(symbols(text), ["a", "b", "n::d"]);
        let bounds: Vec<_> = kernels(text).expect("launchable").into_iter().map(|k| k.bounds).collect();
        assert_eq!(bounds, [Some("( 256 )".to_string()), Some("64 * 2".to_string()), None]);
    }

    #[test]
    fn a_word_in_a_string_is_no_kernel() {
        assert!(symbols("const char* s = \"extern \\\"C\\\" __global__ void k() {\";").is_empty());
    }

    #[test]
    fn a_template_kernel_is_refused_with_its_place_and_the_way_to_wrap_it() {
        let e = kernels("# 7 \"dir/k.hip\"\ntemplate <class T>\n__global__ void k(T* x) { }").expect_err("refused");
        assert_eq!(e.place, "dir/k.hip:8");
        assert!(e.why.contains("template") && e.why.contains("k<float>"), "{}", e.why);
    }

    #[test]
    fn a_kernel_without_c_linkage_is_refused() {
        let e = kernels("__global__ void k(float* x) { }").expect_err("refused");
        assert!(e.why.contains("extern \"C\""), "{}", e.why);
    }

    #[test]
    fn dependencies_unescape_spaces() {
        assert_eq!(dependencies("a.o: b\\ c.h \\\n d.h\n"), [PathBuf::from("b c.h"), PathBuf::from("d.h")]);
    }

    #[test]
    fn divergence_is_admitted_by_a_comment_only() {
        assert!(admits_divergence("// computes x\n// wave: divergent\n"));
        assert!(!admits_divergence("const char* s = \"wave: divergent\";\n"));
    }
}
