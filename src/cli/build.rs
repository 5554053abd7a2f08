//! `assay build`: kernel images for machines without a compiler.

use super::run::own_binary;
use super::{Console, Stop};
use crate::ops::{self, KType};
use crate::toolchain::pack::Pack;
use crate::toolchain::{AMD_TARGETS, BuildError, KernelFile, KernelSet, Target, Toolchain, table};
use std::path::PathBuf;
use std::sync::Mutex;

#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// A target: host, an AMD target such as gfx1151, sm_NN, or all (the eight AMD targets); may be given several times.
    #[arg(long = "target", value_name = "TARGET", required = true)]
    targets: Vec<String>,
    /// Write the images to this pack; `--kernels-pack` reads it.
    #[arg(long, value_name = "FILE", required_unless_present_any = ["self_contained", "check"])]
    out: Option<PathBuf>,
    /// Write a copy of this program that carries the images and needs no compiler.
    #[arg(long, value_name = "FILE")]
    self_contained: Option<PathBuf>,
    /// Build and check only: print the table of what the code objects say.
    #[arg(long)]
    check: bool,
}

pub(super) fn main(args: &Args, console: &mut Console) -> Result<u8, Stop> {
    let targets = targets(&args.targets)?;
    let spare = std::env::temp_dir().join(format!("assay-build-{}", std::process::id()));
    let tools = Toolchain::open(&spare);
    let failed = |e: BuildError| Stop { code: 3, message: e.to_string() };
    let every = crate::run::embedded_symbols();
    let set = KernelSet::resolve(&tools, &every, None).map_err(failed)?;
    let files = set.files();
    let jobs: Vec<(&KernelFile, &Target)> = targets.iter().flat_map(|t| files.iter().map(move |f| (f, t))).collect();
    console.line(format!("building {} kernel files for {} targets", files.len(), targets.len()));
    let broken = Mutex::new(Vec::new());
    crate::toolchain::in_parallel(&jobs, |(file, target)| {
        if let Err(e) = set.build(file, target) {
            broken.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(format!("{target}: {e}"));
        }
    });
    let broken = broken.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    if !broken.is_empty() {
        return Err(Stop { code: 3, message: broken.join("\n") });
    }
    let mut pack = Pack::new();
    for (file, target) in &jobs {
        let image = set.build(file, target).map_err(failed)?;
        pack.add(target, &file.below().display().to_string(), set.symbols_of(file), &image).map_err(failed)?;
    }
    let wrong = check(&tools, &set, &jobs, console)?;
    if let Some(path) = &args.out {
        pack.write(path, None).map_err(failed)?;
        console.line(format!("wrote {} images to {}", jobs.len(), path.display()));
    }
    if let Some(path) = &args.self_contained {
        pack.write(path, Some(&own_binary()?)).map_err(failed)?;
        console.line(format!("wrote {}, which carries {} images", path.display(), jobs.len()));
    }
    Ok(if wrong == 0 { 0 } else { 3 })
}

fn targets(words: &[String]) -> Result<Vec<Target>, Stop> {
    let mut targets: Vec<Target> = Vec::new();
    for word in words {
        match word.as_str() {
            "all" => targets.extend(AMD_TARGETS.map(|t| Target::Amd(t.to_string()))),
            word => targets.push(word.parse().map_err(Stop::usage)?),
        }
    }
    let mut seen = std::collections::HashSet::new();
    targets.retain(|t| seen.insert(t.clone()));
    Ok(targets)
}

/// Prints the table of code objects; how many kernels are wrong.
fn check(
    tools: &Toolchain,
    set: &KernelSet,
    jobs: &[(&KernelFile, &Target)],
    console: &mut Console,
) -> Result<usize, Stop> {
    let amd: Vec<_> = jobs.iter().filter(|(_, t)| matches!(t, Target::Amd(_))).collect();
    if amd.is_empty() {
        return Ok(0);
    }
    let failed = |message: String| Stop { code: 3, message };
    let tool = tools.amd().ok().and_then(table::disassembler);
    if tool.is_none() {
        console.line("no llvm-objdump of the compiler's version: approximate instructions are not looked for");
    }
    let contracts: Vec<_> = ops::REGISTRY.iter().flat_map(|op| op.kernels()).collect();
    let contract = |name: &str| {
        let kernel = contracts.iter().find(|k| k.symbol == name)?;
        Some(kernel.params.iter().map(|(_, kind)| size(*kind)).collect())
    };
    console.line(format!(
        "{:<36} {:<8} {:>5} {:>5} {:>6} {:>7} {:>6} {:>4} {:>7}",
        "kernel", "target", "vgpr", "sgpr", "lds", "scratch", "spills", "wave", "kernarg"
    ));
    let mut wrong = 0;
    for (file, target) in amd {
        let image = set.build(file, target).map_err(|e| failed(e.to_string()))?;
        for row in table::rows(&image.path, tool.as_deref(), &contract).map_err(failed)? {
            let k = &row.kernel;
            console.line(format!(
                "{:<36} {:<8} {:>5} {:>5} {:>6} {:>7} {:>6} {:>4} {:>7}",
                k.name, row.target, k.vgpr, k.sgpr, k.lds, k.scratch, k.spills, k.wave, k.kernarg
            ));
            for text in &row.wrong {
                console.line(format!("    WRONG {text}"));
            }
            wrong += usize::from(!row.wrong.is_empty());
        }
    }
    console.line(format!("{wrong} kernels are wrong"));
    Ok(wrong)
}

/// Bytes of a parameter.
fn size(kind: KType) -> usize {
    match kind {
        KType::Ptr | KType::I64 => 8,
        KType::I32 | KType::F32 => 4,
        KType::Raw => 0,
    }
}
