//! Kernels as engineers write them (`tests/kernels`): each compiles on every route that this machine has a compiler for. A route
//! without a compiler is *ignored* with the reason, never passed. On simulated boards of both wave widths each also runs and gives the
//! bits of a computation written by hand.

#[path = "foreign/bench.rs"]
mod bench;
#[path = "foreign/checks.rs"]
mod checks;

use assay::toolchain::{BuildError, KernelFile, Toolchain, amd, cache::Cache, find::Env, nvrtc, user_kernel};
use libtest_mimic::{Arguments, Completion, Failed, Trial};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// AMD targets: wave 32 and wave 64.
const AMD: [&str; 2] = ["gfx1151", "gfx942"];
/// Simulated boards: wave 32 and wave 64.
const SIM: [&str; 2] = ["gfx1151", "gfx942"];
/// NVIDIA targets.
const NVIDIA: [&str; 1] = ["sm_90"];

fn main() -> ExitCode {
    let scratch = tempfile::tempdir().expect("a temporary folder");
    let spare = scratch.path().join("spare");
    let tools = Toolchain::new(Env::current(), Cache::new(scratch.path().join("cache"), spare));
    let mut trials = Vec::new();
    for path in kernels() {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        for target in AMD {
            trials.push(compiles(&tools, &path, format!("{name}_compiles_for_{target}"), move |t, f| {
                amd::build(t, f, target)
            }));
        }
        let check = checks::CHECKS.iter().find(|(stem, _)| *stem == name).map(|(_, check)| *check);
        for board in SIM {
            let check = check.unwrap_or_else(|| panic!("{name} has no check"));
            trials.push(runs(&tools, &path, format!("{name}_gives_the_right_bits_on_sim_{board}"), board, check));
        }
        for target in NVIDIA {
            trials.push(compiles(&tools, &path, format!("{name}_compiles_for_{target}"), move |t, f| {
                nvrtc::build(t, f, target)
            }));
        }
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn kernels() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kernels");
    let entries = std::fs::read_dir(folder).expect("tests/kernels");
    let mut paths: Vec<PathBuf> = entries.map(|e| e.expect("an entry").path()).collect();
    paths.sort();
    assert!(paths.len() >= 14, "tests/kernels lost files");
    paths
}

fn compiles(
    tools: &Toolchain,
    path: &Path,
    name: String,
    build: impl Fn(&Toolchain, &KernelFile) -> Result<PathBuf, BuildError> + Send + 'static,
) -> Trial {
    let (tools, path) = (tools.clone(), path.to_path_buf());
    Trial::ignorable_test(name, move || {
        let source = user_kernel(&path, vec![])?;
        match build(&tools, &source) {
            Ok(image) if std::fs::read(&image)?.starts_with(b"\x7fELF") => Ok(Completion::Completed),
            Ok(image) => Err(Failed::from(format!("{} is no ELF file", image.display()))),
            Err(BuildError::NoCompiler { what, .. }) => {
                Ok(Completion::ignored_with(format!("no {what} on this machine")))
            }
            Err(error) => Err(error.into()),
        }
    })
}

fn runs(tools: &Toolchain, path: &Path, name: String, board: &'static str, check: checks::Check) -> Trial {
    let (tools, path) = (tools.clone(), path.to_path_buf());
    Trial::test(name, move || {
        let mut bench = bench::Bench::open(&tools, &path, board)?;
        check(&mut bench).map_err(|e| Failed::from(e.to_string()))
    })
}
