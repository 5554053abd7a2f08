//! Records where the binary comes from (commit, dirty flag) and two fingerprints that cache keys need: of the embedded kernels
//! and of the code that builds them. Works outside a git checkout too.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    for (folder, variable) in
        [("kernels", "ASSAY_KERNELS_FINGERPRINT"), ("src/toolchain", "ASSAY_TOOLCHAIN_FINGERPRINT")]
    {
        println!("cargo:rerun-if-changed={folder}");
        println!("cargo:rustc-env={variable}={:016x}", fingerprint(Path::new(folder)));
    }
    // Whatever can change the dirty flag or the commit. Not git's index: `git status` rewrites it, and each rerun rebuilds the crate.
    for input in ["build.rs", "src", "suites", "Cargo.toml", "Cargo.lock"].iter().filter(|p| Path::new(p).exists()) {
        println!("cargo:rerun-if-changed={input}");
    }
    if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"]).filter(|p| Path::new(p).exists()) {
        println!("cargo:rerun-if-changed={log}");
    }
    // A vendored copy inside somebody else's repository must not report that repository's commit.
    let ours = git(&["rev-parse", "--show-toplevel"])
        .and_then(|top| Some(Path::new(&top).canonicalize().ok()? == Path::new(".").canonicalize().ok()?))
        .unwrap_or(false);
    let commit = git(&["rev-parse", "HEAD"]).filter(|_| ours).unwrap_or_else(|| "unknown".into());
    let dirty = match git(&["status", "--porcelain", "--untracked-files=no"]).filter(|_| ours) {
        Some(changes) => (!changes.is_empty()).to_string(),
        None => "unknown".into(),
    };
    println!("cargo:rustc-env=ASSAY_GIT_COMMIT={commit}");
    println!("cargo:rustc-env=ASSAY_GIT_DIRTY={dirty}");
}

fn git(args: &[&str]) -> Option<String> {
    let out = Command::new("git").args(args).output().ok()?;
    out.status.success().then(|| String::from_utf8_lossy(&out.stdout).trim().to_string())
}

/// Hash of every path and byte below `root`, in order of path.
fn fingerprint(root: &Path) -> u64 {
    let mut files = Vec::new();
    collect(root, &mut files);
    files.sort();
    let mut hasher = DefaultHasher::new();
    for file in files {
        file.hash(&mut hasher);
        std::fs::read(&file).unwrap_or_default().hash(&mut hasher);
    }
    hasher.finish()
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, files);
        } else {
            files.push(path);
        }
    }
}
