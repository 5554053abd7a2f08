//! Kernel by target, what the code objects say: registers, memory, wave width, parameters, approximations. Refuses to call anything
//! checked that no tool could look at.

use super::find::Compiler;
use super::inspect::{self, KernelInfo};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Instructions that approximate, which no contract of ours admits.
const APPROXIMATE: [&str; 2] = ["v_sin_f32", "v_cos_f32"];
/// An approximate reciprocal. It is a first step, and the result exact, in a correctly rounded division, which ends in
/// [`DIVISION`], and in a 64-bit integer division, which scales it by [`INTEGER_DIVISION`].
const RECIPROCAL: &str = "v_rcp_f32";
const DIVISION: &str = "v_div_fixup_f32";
const INTEGER_DIVISION: &str = "0x5f7ffffc";

/// One kernel for one target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Target of the code object.
    pub target: String,
    /// What it says of the kernel.
    pub kernel: KernelInfo,
    /// What is wrong with it; empty when all is well.
    pub wrong: Vec<String>,
}

/// Rows of a code object. `contract` gives the byte sizes of a kernel's parameters, where an op declares it; without a `disassembler`
/// approximations are not looked for.
///
/// # Errors
/// One sentence: it is no code object, or the disassembler refused it.
pub fn rows(
    path: &Path,
    disassembler: Option<&Path>,
    contract: &dyn Fn(&str) -> Option<Vec<usize>>,
) -> Result<Vec<Row>, String> {
    let bytes = std::fs::read(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let object = inspect::code_object(&bytes)?;
    let found = match disassembler {
        Some(tool) => approximations(&disassemble(tool, path)?),
        None => BTreeMap::new(),
    };
    let row = |kernel: KernelInfo| {
        let mut wrong = Vec::new();
        if let Some(sizes) = contract(&kernel.name) {
            let own: Vec<usize> = kernel.parameters.iter().map(|(_, size)| *size).collect();
            if own != sizes || !natural(&kernel.parameters) {
                wrong.push(format!("parameters {:?}, the contract has sizes {sizes:?}", kernel.parameters));
            }
        }
        if let Some(instructions) = found.get(&kernel.name) {
            wrong.push(format!("approximate instructions: {}", instructions.join(", ")));
        }
        Row { target: object.target.clone(), kernel, wrong }
    };
    Ok(object.kernels.into_iter().map(row).collect())
}

/// Every parameter lies at its natural alignment behind the one before.
fn natural(parameters: &[(usize, usize)]) -> bool {
    let mut end = 0;
    parameters.iter().all(|&(offset, size)| {
        let wanted = usize::next_multiple_of(end, size.clamp(1, 8));
        end = offset + size;
        offset == wanted
    })
}

/// The disassembler that belongs to a compiler.
pub fn disassembler(compiler: &Compiler) -> Option<PathBuf> {
    if let Some(root) = &compiler.rocm {
        return Some(root.join("llvm/bin/llvm-objdump")).filter(|p| p.is_file());
    }
    let name = compiler.path.file_name()?.to_str()?.replace("clang", "llvm-objdump");
    std::env::split_paths(&std::env::var_os("PATH")?).map(|folder| folder.join(&name)).find(|p| p.is_file())
}

fn disassemble(tool: &Path, object: &Path) -> Result<String, String> {
    let out = Command::new(tool).arg("-d").arg(object).output().map_err(|e| format!("{}: {e}", tool.display()))?;
    if !out.status.success() {
        return Err(format!(
            "{} {}: {}",
            tool.display(),
            object.display(),
            String::from_utf8_lossy(&out.stderr).trim()
        ));
    }
    Ok(String::from_utf8_lossy(&out.stdout).into_owned())
}

/// What was counted in a kernel.
#[derive(Default)]
struct Counts {
    words: Vec<String>,
    reciprocals: usize,
    divisions: usize,
}

/// Approximate instructions by symbol, each once.
fn approximations(text: &str) -> BTreeMap<String, Vec<String>> {
    let mut all: BTreeMap<String, Counts> = BTreeMap::new();
    let mut symbol = String::new();
    for line in text.lines() {
        if let Some(name) = line.strip_suffix(">:").and_then(|l| l.split_once('<')).map(|(_, name)| name) {
            symbol = name.to_string();
            continue;
        }
        let Some(word) = line.split_whitespace().next() else { continue };
        let word = word.trim_end_matches("_e32").trim_end_matches("_e64");
        let counts = all.entry(symbol.clone()).or_default();
        counts.reciprocals += usize::from(word == RECIPROCAL);
        counts.divisions += usize::from(word == DIVISION || line.contains(INTEGER_DIVISION));
        if APPROXIMATE.contains(&word) && !counts.words.iter().any(|w| w == word) {
            counts.words.push(word.to_string());
        }
    }
    let mut found = BTreeMap::new();
    for (symbol, mut counts) in all {
        if counts.reciprocals > counts.divisions {
            counts.words.push(RECIPROCAL.to_string());
        }
        if !counts.words.is_empty() {
            found.insert(symbol, counts.words);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reciprocal_counts_only_where_no_division_is_finished() {
        let text = "0000 <bad>:\n\tv_rcp_f32_e32 v1, v2 // 00\n\tv_sin_f32_e32 v1, v2\n\n0100 <good>:\n\tv_rcp_f32_e32 v1, v2\n\
                    \tv_div_fixup_f32 v1, v2, v3, v4\n\tv_rcp_f32_e32 v1, v2\n\tv_mul_f32_e32 v1, 0x5f7ffffc, v1\n\
                    0200 <half>:\n\tv_rcp_f32_e32 v1, v2\n\tv_rcp_f32_e32 v1, v2\n\tv_div_fixup_f32 v1, v2, v3, v4\n";
        let found: Vec<_> = approximations(text).into_iter().collect();
        let words = |w: &[&str]| w.iter().map(|w| w.to_string()).collect::<Vec<_>>();
        assert_eq!(found, [("bad".into(), words(&["v_sin_f32", "v_rcp_f32"])), ("half".into(), words(&["v_rcp_f32"]))]);
    }

    #[test]
    fn natural_alignment_is_checked() {
        assert!(natural(&[(0, 8), (8, 4), (16, 8), (24, 4)]));
        assert!(!natural(&[(0, 8), (8, 4), (12, 8)]));
    }
}
