//! Builds units, unmutated and mutated, with the same flags. Refuses the cache: a mutant never gets near it.

use super::ClimbError;
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
    /// Precompiled headers of plain and of sanitised builds.
    ahead: [Option<PathBuf>; 2],
}

impl Builder {
    /// With the machine's host compiler.
    ///
    /// # Errors
    /// When there is none, or our headers cannot be unpacked.
    pub fn new(tools: &Toolchain) -> Result<Self, ClimbError> {
        let (compiler, headers) = (tools.host()?.path.clone(), tools.headers(Headers::Sim)?);
        Ok(Self { compiler, headers, ahead: [None, None] })
    }

    /// Compiles the simulator's header once for all builds: it is half of a small build.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn precompile(&mut self, base: &Scratch) -> Result<(), ClimbError> {
        for sanitise in [false, true] {
            let out = base.build().join(if sanitise { "ahead-san" } else { "ahead" });
            let made = self.with(base, "", &out, sanitise, host::precompiled)?;
            let refused = |output| ClimbError::Control { file: "hip/hip_runtime.h".to_string(), output };
            self.ahead[usize::from(sanitise)] = made.map_err(refused)?;
        }
        Ok(())
    }

    /// The library of a unit as its source stands in the scratch copy.
    fn library(
        &self,
        scratch: &Scratch,
        unit: &Unit,
        out: &Path,
        sanitise: bool,
    ) -> Result<Result<Library, String>, ClimbError> {
        self.with(scratch, &unit.file, out, sanitise, |r| {
            let mut extra = r.extra.to_vec();
            if let Some(header) = &self.ahead[usize::from(sanitise)] {
                extra.extend(["-include".to_string(), header.display().to_string()]);
            }
            host::library_of(&host::Request { extra: &extra, ..r.clone() }, &unit.kernels)
        })
    }

    fn with<T>(
        &self,
        scratch: &Scratch,
        file: &str,
        out: &Path,
        sanitise: bool,
        step: impl FnOnce(&host::Request) -> Result<T, host::BuildError>,
    ) -> Result<Result<T, String>, ClimbError> {
        std::fs::create_dir_all(out).map_err(|e| ClimbError::io("cannot make", out, e))?;
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
            Err(host::BuildError::Io { what, path, error }) => Err(ClimbError::io(what, Path::new(&path), error)),
            Err(other) => Ok(Err(other.to_string())),
        }
    }

    /// Kernels of a source and the sources it is made of; `None` when it defines no kernel.
    ///
    /// # Errors
    /// `Control` when the preprocessor refuses it.
    pub fn scan(&self, scratch: &Scratch, file: &str, texts: &Texts) -> Result<Option<Scanned>, ClimbError> {
        let out = scratch.build().join("scan");
        let found = self.with(scratch, file, &out, false, |r| match host::scan(r) {
            Err(host::BuildError::NoKernel { .. }) => Ok(None),
            other => other.map(Some),
        })?;
        let found = found.map_err(|output| ClimbError::Control { file: file.to_string(), output })?;
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
    pub fn control(&self, scratch: &Scratch, unit: &mut Unit, out: &Path) -> Result<(), ClimbError> {
        let failed = |output| ClimbError::Control { file: unit.file.clone(), output };
        let one = |sanitise| self.library(scratch, unit, out, sanitise)?.map_err(failed);
        let (plain, twin) = (one(false)?, one(true)?);
        unit.code = code::digest(&plain.object).map_err(failed)?;
        unit.image = Image { path: plain.path, sanitised: Some(twin.path) };
        Ok(())
    }

    /// Builds a unit of an edited scratch copy. A refusal is believed only when the original still compiles there.
    ///
    /// # Errors
    /// When files cannot be written or compilers not started.
    pub fn mutant(&self, scratch: &Scratch, unit: &Unit, sanitise: bool) -> Result<Mutant, ClimbError> {
        let out = scratch.build().join(unit.file.replace('/', "_"));
        Ok(match self.library(scratch, unit, &out, sanitise)? {
            Ok(library) => Mutant::Built(library),
            Err(output) => Mutant::Broken(output),
        })
    }
}
