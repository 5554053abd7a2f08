//! Whether two objects hold the same code. Refuses to look at names of files, line numbers and build ids.

use crate::toolchain::hex;
use object::{Object, ObjectSection, ObjectSymbol, RelocationTarget, SectionKind};
use std::fmt::Write;

/// sha256 over code and data of a relocatable object, whatever order its sections are in and wherever it was built.
///
/// # Errors
/// When the bytes are no object.
pub fn digest(bytes: &[u8]) -> Result<String, String> {
    let file = object::File::parse(bytes).map_err(|e| e.to_string())?;
    let mut parts = Vec::new();
    for section in file.sections().filter(|s| matters(s.kind())) {
        let name = section.name().map_err(|e| e.to_string())?;
        // Unwind tables describe code that is compared anyway.
        if name.starts_with(".eh_frame") || name.starts_with(".note") {
            continue;
        }
        let data = section.data().map_err(|e| e.to_string())?;
        parts.push(format!("{name} {} {} {}", section.size(), hex(data), relocations(&file, &section)?));
    }
    parts.sort();
    Ok(hex(parts.join("\n").as_bytes()))
}

fn matters(kind: SectionKind) -> bool {
    use SectionKind::{
        Data, ReadOnlyData, ReadOnlyDataWithRel, ReadOnlyString, Text, Tls, UninitializedData, UninitializedTls,
    };
    matches!(
        kind,
        Text | Data | ReadOnlyData | ReadOnlyDataWithRel | ReadOnlyString | Tls | UninitializedData | UninitializedTls
    )
}

/// What a section refers to: names and section names, no indices.
fn relocations(file: &object::File, section: &object::Section) -> Result<String, String> {
    let mut text = String::new();
    for (offset, relocation) in section.relocations() {
        let _ = write!(text, "{offset}:{:?}:{}:", relocation.flags(), relocation.addend());
        let of = |index| file.section_by_index(index).and_then(|s| s.name().map(str::to_string));
        let target = match relocation.target() {
            RelocationTarget::Section(index) => of(index).map_err(|e| e.to_string())?,
            RelocationTarget::Symbol(index) => {
                let symbol = file.symbol_by_index(index).map_err(|e| e.to_string())?;
                match (symbol.name().unwrap_or_default(), symbol.section_index()) {
                    ("", Some(section)) => of(section).map_err(|e| e.to_string())?,
                    (name, _) => name.to_string(),
                }
            }
            _ => String::new(),
        };
        text.push_str(&target);
        text.push(' ');
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Object of a C++ text built in a folder of its own, with that folder's name mapped away as the ladder does it.
    fn object(text: &str) -> Vec<u8> {
        let folder = tempfile::tempdir().expect("temporary folder");
        let (source, object) = (folder.path().join("k.cpp"), folder.path().join("k.o"));
        std::fs::write(&source, text).expect("written");
        let map = format!("-ffile-prefix-map={}=", folder.path().display());
        let flags = ["-O2", "-g", "-ffunction-sections", "-fdata-sections", "-c", &map];
        let status = std::process::Command::new("c++").args(flags).arg(&source).arg("-o").arg(&object).status();
        assert!(status.expect("a compiler").success());
        std::fs::read(object).expect("object")
    }

    #[test]
    fn the_place_of_the_build_lines_and_order_do_not_count() {
        let (f, g) = ("int f(int x) { return x + 1; }", "double g(double x) { return x * 1.5; }");
        let path = "const char* where() { return __FILE__; }";
        let one = digest(&object(&format!("{path}\n{f}\n{g}\n"))).expect("digest");
        let other = digest(&object(&format!("// a comment\n\n{g}\n{path}\n\n\n{f}\n"))).expect("digest");
        assert_eq!(one, other);
    }

    #[test]
    fn code_constants_and_callees_count() {
        let base = digest(&object("int h(int); double g(double x) { return x * 1.5 + h(1); }")).expect("digest");
        for other in [
            "int h(int); double g(double x) { return x * 1.25 + h(1); }",
            "int h(int); double g(double x) { return x * 1.5 - h(1); }",
            "int i(int); double g(double x) { return x * 1.5 + i(1); }",
        ] {
            assert_ne!(digest(&object(other)).expect("digest"), base, "{other}");
        }
        assert!(digest(b"no object").is_err());
    }
}
