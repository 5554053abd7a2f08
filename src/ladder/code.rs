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
        // Unwind tables describe code that is compared anyway; pooled constants are compared where they are used.
        if name.starts_with(".eh_frame") || name.starts_with(".note") || pooled(&section) {
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

/// Whether a section is a pool of mergeable constants, whose order and labels follow the order of the functions.
fn pooled(section: &object::Section) -> bool {
    let object::SectionFlags::Elf { sh_flags, .. } = section.flags() else { return false };
    sh_flags.contains(object::elf::SHF_MERGE)
}

/// What a section refers to: names, places and constants, no indices and no numbered labels.
fn relocations(file: &object::File, section: &object::Section) -> Result<String, String> {
    let mut text = String::new();
    for (offset, relocation) in section.relocations() {
        let _ = write!(text, "{offset}:{:?}:{}:", relocation.flags(), relocation.addend());
        match relocation.target() {
            RelocationTarget::Section(index) => {
                let target = file.section_by_index(index).and_then(|s| s.name().map(str::to_string));
                text.push_str(&target.map_err(|e| e.to_string())?);
            }
            RelocationTarget::Symbol(index) => {
                let symbol = file.symbol_by_index(index).map_err(|e| e.to_string())?;
                text.push_str(&referent(file, &symbol).map_err(|e| e.to_string())?);
            }
            _ => {}
        }
        text.push(' ');
    }
    Ok(text)
}

/// What a symbol stands for: its name, or for a label that the compiler numbered the constant behind it, or its place.
fn referent(file: &object::File, symbol: &object::Symbol) -> object::Result<String> {
    let name = symbol.name().unwrap_or_default();
    let Some(index) = symbol.section_index().filter(|_| name.is_empty() || name.starts_with(".L")) else {
        return Ok(name.to_string());
    };
    let section = file.section_by_index(index)?;
    if !pooled(&section) {
        return Ok(format!("{}+{}", section.name()?, symbol.address()));
    }
    let next = file.symbols().filter(|s| s.section_index() == Some(index) && s.address() > symbol.address());
    let end = next.map(|s| s.address()).min().unwrap_or(section.size());
    let bytes = section.data_range(symbol.address(), end - symbol.address())?.unwrap_or_default();
    Ok(bytes.iter().fold(String::from("="), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    }))
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
            "int h(int); double g(double x) { return x * 1.5 + h(1) + 0.25; }",
        ] {
            assert_ne!(digest(&object(other)).expect("digest"), base, "{other}");
        }
        assert!(digest(b"no object").is_err());
    }
}
