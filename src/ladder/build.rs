//! Builds units, unmutated and mutated, with the same flags. Refuses the cache: a mutant never gets near it.

use super::LadderError;
use super::code;
use super::scratch::{Scratch, Texts};
use crate::board::Image;
use crate::toolchain::host::{self, Kernel, Library};
use crate::toolchain::{Headers, Toolchain};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A source file that becomes a library, as it is without a fault.
#[derive(Clone, Debug)]
pub struct Unit {
    /// Path below the kernel folder.
    pub file: String,
    /// Kernels it defines.
    pub kernels: Vec<Kernel>,
    /// Those of their symbols that launches get from this unit.
    pub symbols: BTreeSet<String>,
    /// Sources that it is made of, itself included.
    pub made_of: BTreeSet<String>,
    /// Digest of the unmutated code.
    pub code: String,
    /// The unmutated library and its sanitised twin.
    pub image: Image,
}

/// What a mutant's build came to.
#[derive(Debug)]
pub enum Mutant {
    /// A library.
    Built(Library),
    /// The compiler refused; all it said.
    Broken(String),
}

/// Kernels of a source, and the sources it is made of.
pub type Scanned = (Vec<Kernel>, BTreeSet<String>);

/// Builds sources of a scratch copy.
#[derive(Clone, Debug)]
pub struct Builder {
    compiler: PathBuf,
    headers: PathBuf,
}

impl Builder {
    /// With the machine's host compiler.
    ///
    /// # Errors
    /// When there is none, or our headers cannot be unpacked.
    pub fn new(tools: &Toolchain) -> Result<Self, LadderError> {
        Ok(Self { compiler: tools.host()?.path.clone(), headers: tools.headers(Headers::Sim)? })
    }

    fn with<T>(
        &self,
        scratch: &Scratch,
        file: &str,
        out: &Path,
        sanitise: bool,
        step: impl FnOnce(&host::Request) -> Result<T, host::BuildError>,
    ) -> Result<Result<T, String>, LadderError> {
        std::fs::create_dir_all(out).map_err(|e| LadderError::io("cannot make", out, e))?;
        let tree = scratch.tree();
        let extra = [format!("-ffile-prefix-map={}=", scratch.root().display())];
        let request = host::Request {
            source: &tree.join(file),
            includes: &[tree.clone(), tree.join("include")],
            headers: &self.headers,
            compiler: &self.compiler,
            out,
            sanitise,
            extra: &extra,
        };
        match step(&request) {
            Ok(made) => Ok(Ok(made)),
            Err(host::BuildError::Io { what, path, error }) => Err(LadderError::io(what, Path::new(&path), error)),
            Err(other) => Ok(Err(other.to_string())),
        }
    }

    /// Kernels of a source and the sources it is made of; `None` when it defines no kernel.
    ///
    /// # Errors
    /// `Control` when the preprocessor refuses it.
    pub fn scan(&self, scratch: &Scratch, file: &str, texts: &Texts) -> Result<Option<Scanned>, LadderError> {
        let out = scratch.build().join("scan");
        let found = self.with(scratch, file, &out, false, |r| match host::scan(r) {
            Err(host::BuildError::NoKernel { .. }) => Ok(None),
            other => other.map(Some),
        })?;
        let found = found.map_err(|output| LadderError::Control { file: file.to_string(), output })?;
        let tree = scratch.tree();
        let below = |path: &PathBuf| {
            let real = path.canonicalize().unwrap_or_else(|_| path.clone());
            let name = real.strip_prefix(&tree).ok()?.to_str()?.to_string();
            texts.contains_key(&name).then_some(name)
        };
        Ok(found.map(|(kernels, files)| (kernels, files.iter().filter_map(below).collect())))
    }

    /// Builds a unit without a fault, with its twin, in `out`.
    ///
    /// # Errors
    /// `Control` when it does not compile.
    pub fn control(&self, scratch: &Scratch, unit: &mut Unit, out: &Path) -> Result<(), LadderError> {
        let failed = |output| LadderError::Control { file: unit.file.clone(), output };
        let one = |sanitise| {
            self.with(scratch, &unit.file, out, sanitise, |r| host::library_of(r, &unit.kernels))?.map_err(failed)
        };
        let (plain, twin) = (one(false)?, one(true)?);
        unit.code = code::digest(&plain.object).map_err(failed)?;
        unit.image = Image { path: plain.path, sanitised: Some(twin.path) };
        Ok(())
    }

    /// Builds a unit of an edited scratch copy. A refusal is believed only when the original still compiles there.
    ///
    /// # Errors
    /// When files cannot be written or compilers not started.
    pub fn mutant(&self, scratch: &Scratch, unit: &Unit, sanitise: bool) -> Result<Mutant, LadderError> {
        let out = scratch.build().join(unit.file.replace('/', "_"));
        let built = self.with(scratch, &unit.file, &out, sanitise, |r| host::library_of(r, &unit.kernels))?;
        Ok(match built {
            Ok(library) => Mutant::Built(library),
            Err(output) => Mutant::Broken(output),
        })
    }
}
