//! What a ladder is told and what it is made of. Plain values; refuses to build and to run.

use super::ClimbError;
use super::record::SCHEMA;
use super::rung::{Fault, Rung};
use super::scratch::{Texts, manifest};
use crate::suite::{self, Case, Selection};
use crate::toolchain;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Which cases make the gate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lane {
    /// Those of the default suites.
    #[default]
    Default,
    /// Those of the smoke suite.
    Smoke,
}

impl Lane {
    /// Its word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Smoke => "smoke",
        }
    }

    /// Percent that the score must reach where nothing else is asked for.
    pub fn min_score(self) -> f64 {
        match self {
            Self::Default => 95.0,
            Self::Smoke => 85.0,
        }
    }

    /// The cases.
    ///
    /// # Errors
    /// When the embedded suites are no suites.
    pub fn cases(self, seed: u64) -> Result<Vec<Case>, ClimbError> {
        let suites = match self {
            Self::Default => vec![],
            Self::Smoke => vec!["smoke".to_string()],
        };
        Ok(suite::plan(&Selection { suites, seed, ..Selection::default() })?)
    }
}

/// What a ladder is told.
#[derive(Clone, Debug)]
pub struct Options {
    /// Board id, `sim:PROFILE`.
    pub board: String,
    /// The assay binary: executors are started from it.
    pub exe: PathBuf,
    /// Out folder.
    pub out: PathBuf,
    /// Command line, for the header.
    pub command: Vec<String>,
    /// Which cases make the gate.
    pub lane: Lane,
    /// Workers; `None` = one per core.
    pub jobs: Option<usize>,
    /// Run every case also after the first that goes red.
    pub all_bars: bool,
    /// Percent that the score must reach.
    pub min_score: f64,
    /// Go on from the journal in `out`.
    pub resume: bool,
}

/// The sources that are mutated.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// Texts, by path below the kernel folder.
    pub texts: Texts,
    /// Those of a user's overlay, with the file each was read from.
    pub files: BTreeMap<String, PathBuf>,
}

impl Sources {
    /// The embedded kernels, overlaid by the files below `overlay`.
    ///
    /// # Errors
    /// When the overlay cannot be read.
    pub fn read(overlay: Option<&Path>) -> Result<Self, ClimbError> {
        let embedded = |(path, text): (&Path, &[u8])| (path.display().to_string(), text.to_vec());
        let mut sources = Self { texts: toolchain::embedded_sources().map(embedded).collect(), files: BTreeMap::new() };
        if let Some(folder) = overlay {
            let folder = folder.canonicalize().map_err(|e| ClimbError::io("cannot read", folder, e))?;
            for path in toolchain::files_below(&folder)? {
                let Some(name) = path.strip_prefix(&folder).ok().and_then(Path::to_str) else { continue };
                let text = std::fs::read(&path).map_err(|e| ClimbError::io("cannot read", &path, e))?;
                sources.texts.insert(name.to_string(), text);
                sources.files.insert(name.to_string(), path.clone());
            }
        }
        Ok(sources)
    }

    /// sha256 of every source as it is now, files of the user's read again; an unreadable one has none.
    pub fn hashes(&self) -> BTreeMap<String, String> {
        let mut all = manifest(&self.texts);
        for (name, path) in &self.files {
            all.insert(name.clone(), toolchain::sha256_file(path).unwrap_or_default());
        }
        all
    }
}

/// What a ladder is made of.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// Selected rungs, in order. Their number is the denominator, and fixed from here on.
    pub rungs: Vec<Rung>,
    /// Why a rung is stale, by id.
    pub stale: BTreeMap<String, String>,
    /// Why a rung is equivalent, by id.
    pub equivalent: BTreeMap<String, String>,
    /// Sources.
    pub sources: Sources,
    /// Cases of the gate; those of ops that no rung concerns are left out later.
    pub cases: Vec<Case>,
}

/// sha256 over all that decides a result.
pub fn hash(options: &Options, plan: &Plan) -> String {
    let mut h = Sha256::new();
    let mut add = |text: &str| {
        h.update((text.len() as u64).to_le_bytes());
        h.update(text.as_bytes());
    };
    add(SCHEMA);
    add(env!("CARGO_PKG_VERSION"));
    add(&format!("{} {} {}", options.board, options.lane.name(), options.all_bars));
    for (path, sha256) in manifest(&plan.sources.texts) {
        add(&format!("{path} {sha256}"));
    }
    for rung in &plan.rungs {
        add(&rung.id);
        add(&rung.ops.join(","));
        match &rung.fault {
            Fault::Host(fault) => add(&format!("{fault:?}")),
            Fault::Source(edits) => edits.iter().for_each(|e| add(&format!("{} {:?} {}", e.file, e.span, e.new))),
        }
    }
    for (id, why) in plan.stale.iter().chain(&plan.equivalent) {
        add(&format!("{id} {why}"));
    }
    for case in &plan.cases {
        add(&format!("{} {} {:?}", case.id, case.seed, case.limits));
    }
    h.finalize().iter().map(|b| format!("{b:02x}")).collect()
}
