//! An edit as lines taken away and put in. Refuses to compare files: the edits say what changed.

use super::rung::Edit;
use super::scratch::Texts;
use std::fmt::Write;

/// The edits, one hunk each.
pub fn of(edits: &[Edit], texts: &Texts) -> String {
    let mut out = String::new();
    for edit in edits {
        let Some(text) = texts.get(&edit.file).and_then(|t| std::str::from_utf8(t).ok()) else { continue };
        let (Some(before), Some(after)) = (text.get(..edit.span.start), text.get(edit.span.end..)) else { continue };
        let head = &before[before.rfind('\n').map_or(0, |n| n + 1)..];
        let tail = &after[..after.find('\n').unwrap_or(after.len())];
        let number = before.bytes().filter(|b| *b == b'\n').count() + 1;
        let _ = writeln!(out, "@@ {}:{number} @@", edit.file);
        for (sign, middle) in [('-', &edit.old), ('+', &edit.new)] {
            for line in format!("{head}{middle}{tail}").lines() {
                let _ = writeln!(out, "{sign}{line}");
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hunk_shows_whole_lines_and_their_number() {
        let texts = Texts::from([("k.hip".to_string(), b"int a;\nfloat inv = 1 / x;\nint b;\n".to_vec())]);
        let edit = Edit { file: "k.hip".into(), span: 19..24, old: "1 / x".into(), new: "1 * x".into() };
        assert_eq!(of(&[edit], &texts), "@@ k.hip:2 @@\n-float inv = 1 / x;\n+float inv = 1 * x;\n");
    }

    #[test]
    fn a_deleted_line_leaves_an_empty_one() {
        let texts = Texts::from([("k.hip".to_string(), b"a();\n  b();\n".to_vec())]);
        let edit = Edit { file: "k.hip".into(), span: 7..11, old: "b();".into(), new: String::new() };
        assert_eq!(of(&[edit], &texts), "@@ k.hip:2 @@\n-  b();\n+  \n");
    }
}
