//! Code objects for AMD targets. Refuses to need a board, and without ROCm a device library: what has no exact inline form
//! is a compile error of our header, never a silent approximation.

use super::cache::Product;
use super::util::key_of;
use super::{BuildError, Headers, KernelFile, Toolchain};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Flags of every build. Contraction is off, so that bit-exact bars mean something; code object version 5 loads on older runtimes too;
/// a compilation-unit id would make the bytes depend on the path.
const FLAGS: [&str; 9] = [
    "-x",
    "hip",
    "--offload-device-only",
    "--no-gpu-bundle-output",
    "-O3",
    "-std=c++17",
    "-ffp-contract=off",
    "-fuse-cuid=none",
    "-mcode-object-version=5",
];
/// Further flags without ROCm: no headers and no bitcode but ours; `threadIdx.x` is a property.
const OWN_FLAGS: [&str; 3] = ["-nogpuinc", "-nogpulib", "-fdeclspec"];

const OBJECT: &str = "kernel.hsaco";

/// Builds `source` for one target, such as `gfx1151` or `gfx942:xnack-`, and returns the code object.
///
/// # Errors
/// `NoCompiler`, `Compile` with the compiler's whole output, `Changed`, `Io`.
pub fn build(tools: &Toolchain, source: &KernelFile, target: &str) -> Result<PathBuf, BuildError> {
    let compiler = tools.amd()?;
    let (own, shared) = (tools.headers(Headers::Amd)?, tools.headers(Headers::Shared)?);
    let mut parts =
        vec!["amd".into(), tools.fingerprint().into(), compiler.key(), target.into(), own.display().to_string()];
    parts.extend(source.key());
    let key = key_of(parts.iter().map(String::as_bytes));
    let entry = tools.cache().get(&key, source.read_at, |out| {
        let depfile = out.join("deps.d");
        let mut command = Command::new(&compiler.path);
        command.args(FLAGS).arg(format!("--offload-arch={target}"));
        // The driver drops -MF when it links in the same step.
        let listing = ["-dependency-file", &depfile.to_string_lossy(), "-sys-header-deps", "-MT", "kernel"];
        command.args(listing.iter().flat_map(|word| ["-Xclang", word]));
        command.args(source.include.iter().flat_map(|i| [Path::new("-I"), i]));
        match &compiler.rocm {
            Some(root) => command.arg(format!("--rocm-path={}", root.display())),
            None => command.args(OWN_FLAGS).arg("-I").arg(&own),
        };
        command.arg("-I").arg(&shared).arg(&source.path).arg("-o").arg(out.join(OBJECT));
        let log = super::run(&mut command, &source.path)?;
        let dependencies = super::read_depfile(&depfile)?;
        Ok(Product { files: vec![OBJECT.into()], dependencies, symbols: vec![], log })
    })?;
    Ok(entry.folder.join(OBJECT))
}
