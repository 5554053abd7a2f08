//! Compilers, kernel sources, builds and their cache. Refuses to know ops, and to use a product it has not hashed.
//!
//! [`Toolchain`] is what the machine offers; [`KernelSet`] says which file provides which kernel symbol; [`amd`] and [`nvrtc`]
//! build the same sources for real boards, no board needed.

pub mod amd;
pub mod cache;
pub mod doctor;
mod error;
pub mod find;
pub mod host;
pub mod inspect;
mod kernels;
pub mod nvrtc;
pub mod pack;
pub mod sim;
mod source;
pub mod table;
mod target;
mod util;

pub use doctor::{Check, doctor};
pub use error::BuildError;
pub use kernels::{KernelSet, in_parallel};
pub use source::{Headers, KernelFile, candidates, embedded_sources, embedded_texts, files_below, user_kernel};
pub use target::{AMD_TARGETS, Target};
pub(crate) use util::write_whole;
pub use util::{hex, sha256_file};

use cache::Cache;
use find::{Compiler, Env};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, OnceLock};

/// What the machine offers to build kernels with. Cheap to clone; compilers are looked for when first needed.
#[derive(Clone, Debug)]
pub struct Toolchain(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    env: Env,
    cache: Cache,
    host: OnceLock<Result<Compiler, BuildError>>,
    amd: OnceLock<Result<Compiler, BuildError>>,
    nvrtc: OnceLock<Result<PathBuf, BuildError>>,
    headers: OnceLock<Result<PathBuf, BuildError>>,
}

impl Toolchain {
    /// The toolchain of this process's environment. `run_folder` takes the builds when the cache folder cannot be written.
    pub fn open(run_folder: &Path) -> Self {
        let spare = run_folder.join("build");
        let root = Cache::default_root().unwrap_or_else(|| spare.clone());
        Self::new(Env::current(), Cache::new(root, spare))
    }

    /// A toolchain of the given environment and cache.
    pub fn new(env: Env, cache: Cache) -> Self {
        let (host, amd, nvrtc, headers) = Default::default();
        Self(Arc::new(Inner { env, cache, host, amd, nvrtc, headers }))
    }

    /// The build cache.
    pub fn cache(&self) -> &Cache {
        &self.0.cache
    }

    /// The host C++ compiler.
    ///
    /// # Errors
    /// `NoCompiler`.
    pub fn host(&self) -> Result<&Compiler, BuildError> {
        self.0.host.get_or_init(|| self.0.env.host()).as_ref().map_err(Clone::clone)
    }

    /// The compiler for AMD targets.
    ///
    /// # Errors
    /// `NoCompiler`.
    pub fn amd(&self) -> Result<&Compiler, BuildError> {
        self.0.amd.get_or_init(|| self.0.env.amd()).as_ref().map_err(Clone::clone)
    }

    /// The NVRTC library.
    ///
    /// # Errors
    /// `NoCompiler`.
    pub fn nvrtc(&self) -> Result<&Path, BuildError> {
        self.0.nvrtc.get_or_init(|| self.0.env.nvrtc()).as_deref().map_err(Clone::clone)
    }

    /// Folder of one of our header sets, unpacked and verified.
    ///
    /// # Errors
    /// `Io` when it cannot be written anywhere.
    pub fn headers(&self, set: Headers) -> Result<PathBuf, BuildError> {
        let root = self.0.headers.get_or_init(|| source::unpack_headers(&self.0.cache));
        root.as_ref().map(|r| r.join(set.folder())).map_err(Clone::clone)
    }

    /// `path`, `version` and `sha256` of a compiler, for provenance; `None` when it cannot be examined.
    pub fn describe(&self, compiler: &Compiler) -> Option<BTreeMap<String, String>> {
        let identity = compiler.identity(&self.0.cache.root().join("id")).ok()?;
        let path = identity.path.display().to_string();
        Some(
            [("path", path), ("version", identity.version), ("sha256", identity.sha256)]
                .map(|(k, v)| (k.into(), v))
                .into(),
        )
    }

    /// Version of the code that builds: a change of it makes every cached product stale.
    pub(crate) fn fingerprint(&self) -> &'static str {
        env!("ASSAY_TOOLCHAIN_FINGERPRINT")
    }
}

/// Commit of the tree this binary was built from, or `unknown`.
pub fn built_from() -> &'static str {
    env!("ASSAY_GIT_COMMIT")
}

/// The tree had uncommitted changes; `None` when unknown.
pub fn built_dirty() -> Option<bool> {
    env!("ASSAY_GIT_DIRTY").parse().ok()
}

/// Fingerprint of the embedded kernels and headers.
pub fn kernels_fingerprint() -> &'static str {
    env!("ASSAY_KERNELS_FINGERPRINT")
}

/// Runs a compiler on `file` and returns all it said.
///
/// # Errors
/// `Compile` with all it said when it fails; `Io` when it cannot be started.
pub(crate) fn run(command: &mut Command, file: &Path) -> Result<String, BuildError> {
    let program = PathBuf::from(command.get_program());
    let out = command.output().map_err(|e| BuildError::io("cannot run", &program, &e))?;
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    if out.status.success() {
        return Ok(said);
    }
    let output = if said.trim().is_empty() { format!("it said nothing and ended with {}", out.status) } else { said };
    Err(BuildError::Compile { file: file.to_path_buf(), compiler: program.display().to_string(), output })
}

/// The files that a depfile written by `-MD` names.
///
/// # Errors
/// `Io` when it cannot be read or names nothing, since a build without known inputs must not be cached.
pub(crate) fn read_depfile(path: &Path) -> Result<Vec<PathBuf>, BuildError> {
    let text = std::fs::read_to_string(path).map_err(|e| BuildError::io("cannot read", path, &e))?;
    let files = depfile_inputs(&text);
    if files.is_empty() {
        return Err(BuildError::Io { what: "no inputs in", path: path.to_path_buf(), why: "empty depfile".into() });
    }
    Ok(files)
}

/// Inputs of the first rule of a make file: what follows `target:`; `\ ` is a blank in a name, a backslash at the end of a line joins lines.
fn depfile_inputs(text: &str) -> Vec<PathBuf> {
    let joined = text.replace("\\\n", " ");
    let rule = joined.lines().next().unwrap_or("");
    let Some((_, inputs)) = rule.split_once(": ") else { return Vec::new() };
    let mut files = vec![String::new()];
    let mut chars = inputs.chars().peekable();
    while let Some(c) = chars.next() {
        let last = files.last_mut().expect("one is always there");
        match (c, chars.peek()) {
            ('\\', Some(' ' | '#' | '\\')) | ('$', Some('$')) => last.extend(chars.next()),
            (' ', _) => files.push(String::new()),
            _ => last.push(c),
        }
    }
    files.into_iter().filter(|f| !f.is_empty()).map(PathBuf::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_depfile_keeps_blanks_and_dollars_of_names() {
        let text = "out.o: /a/b\\ c.hip \\\n  /d$$e.h /f\\#g.h\n\n/d$$e.h:\n";
        let want: Vec<PathBuf> = ["/a/b c.hip", "/d$e.h", "/f#g.h"].map(PathBuf::from).into();
        assert_eq!(depfile_inputs(text), want);
    }

    #[test]
    fn the_commit_is_recorded_or_said_to_be_unknown() {
        let commit = built_from();
        assert!(
            commit == "unknown" || (commit.len() >= 40 && commit.bytes().all(|b| b.is_ascii_hexdigit())),
            "{commit}"
        );
        assert_eq!(built_dirty().is_none(), commit == "unknown");
    }
}
