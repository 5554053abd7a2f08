//! Which file provides which kernel symbol. Refuses candidates that nobody would launch, and symbols that two files define.

use super::cache::Product;
use super::pack::Pack;
use super::source::{self, KernelFile, candidates};
use super::target::Target;
use super::util::key_of;
use super::{BuildError, Toolchain};
use crate::board::Image;
use crate::record::KernelOrigin;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::SystemTime;

/// How many similar symbols a message names.
const NEAREST: usize = 3;

type Slot = Arc<OnceLock<Result<Image, BuildError>>>;

/// Every wanted symbol with the file that provides it.
#[derive(Debug)]
pub struct KernelSet {
    tools: Toolchain,
    files: Vec<KernelFile>,
    provider: BTreeMap<String, usize>,
    built: Mutex<HashMap<(PathBuf, Target), Slot>>,
    pack: Option<Arc<Pack>>,
}

impl KernelSet {
    /// Finds the provider of every symbol in `wanted`: pass the symbols of *all* ops, not only of those that run. Candidates below
    /// `overlay` go before the embedded kernels. A wanted symbol that nobody defines is an error only when it is asked for by [`Self::file_of`].
    ///
    /// # Errors
    /// `NobodyAsks`, `Twice`, `NothingDefined`, `Unlaunchable`; `Compile` when a candidate cannot be preprocessed; `NoCompiler`; `Io`.
    pub fn resolve(tools: &Toolchain, wanted: &[String], overlay: Option<&Path>) -> Result<Self, BuildError> {
        Self::resolve_packed(tools, wanted, overlay, None)
    }

    /// As [`Self::resolve`], with images out of a pack as far as it has them for the target: then no compiler is needed.
    ///
    /// # Errors
    /// As [`Self::resolve`].
    pub fn resolve_packed(
        tools: &Toolchain,
        wanted: &[String],
        overlay: Option<&Path>,
        pack: Option<(Arc<Pack>, &Target)>,
    ) -> Result<Self, BuildError> {
        let mut set = Self {
            tools: tools.clone(),
            files: vec![],
            provider: BTreeMap::new(),
            built: Mutex::default(),
            pack: pack.as_ref().map(|(pack, _)| Arc::clone(pack)),
        };
        if let Some(folder) = overlay {
            set.overlay(folder, wanted)?;
        }
        let listed: Option<Vec<(String, String)>> = pack.as_ref().map(|(pack, target)| {
            let pairs = |(path, symbols): &(&str, &[String])| {
                let path = path.to_string();
                symbols.iter().map(move |s| (path.clone(), s.clone())).collect::<Vec<_>>()
            };
            pack.sources(target).iter().flat_map(pairs).collect()
        });
        let index = match listed {
            Some(listed) if !listed.is_empty() => listed,
            _ => embedded_index(tools)?,
        };
        let mut unpacked: BTreeMap<String, usize> = BTreeMap::new();
        for (path, symbol) in index {
            if set.provider.contains_key(&symbol) || !wanted.contains(&symbol) {
                continue;
            }
            let place = match unpacked.get(&path) {
                Some(place) => *place,
                None => {
                    let Some(file) = source::embedded_kernel(tools, Path::new(&path))? else { continue };
                    set.files.push(file);
                    unpacked.insert(path, set.files.len() - 1);
                    set.files.len() - 1
                }
            };
            set.provider.insert(symbol, place);
        }
        Ok(set)
    }

    fn overlay(&mut self, folder: &Path, wanted: &[String]) -> Result<(), BuildError> {
        for file in candidates(folder)? {
            for symbol in super::sim::symbols(&self.tools, &file)? {
                if !wanted.contains(&symbol) {
                    let near = nearest(&symbol, wanted);
                    return Err(BuildError::NobodyAsks { file: file.path, symbol, near });
                }
                if let Some(first) = self.provider.insert(symbol.clone(), self.files.len()) {
                    let first = self.files.get(first).unwrap_or(&file).path.clone();
                    return Err(BuildError::Twice { symbol, first, second: file.path });
                }
            }
            self.files.push(file);
        }
        if self.provider.is_empty() {
            let wanted = wanted.iter().take(8).cloned().collect();
            return Err(BuildError::NothingDefined { folder: folder.to_path_buf(), wanted });
        }
        Ok(())
    }

    /// The file that provides `symbol`.
    ///
    /// # Errors
    /// `NoProvider`.
    pub fn file_of(&self, symbol: &str) -> Result<&KernelFile, BuildError> {
        let found = self.provider.get(symbol).map(|place| &self.files[*place]);
        found.ok_or_else(|| {
            let near = nearest(symbol, self.provider.keys());
            BuildError::NoProvider { symbol: symbol.into(), near }
        })
    }

    /// Every file that provides something.
    pub fn files(&self) -> &[KernelFile] {
        &self.files
    }

    /// The symbols that `file` provides.
    pub fn symbols_of(&self, file: &KernelFile) -> Vec<String> {
        let of = |place: &usize| self.files.get(*place).is_some_and(|f| f.path == file.path);
        self.provider.iter().filter(|(_, place)| of(place)).map(|(symbol, _)| symbol.clone()).collect()
    }

    /// Origin and hash of every symbol that has a provider.
    pub fn origins(&self) -> BTreeMap<String, KernelOrigin> {
        let origin = |f: &KernelFile| KernelOrigin { origin: f.origin.clone(), sha256: f.sha256.clone() };
        self.provider.iter().map(|(symbol, place)| (symbol.clone(), origin(&self.files[*place]))).collect()
    }

    /// The image of `file` for `target`, from the cache or built now; each file is built once per process and target.
    ///
    /// # Errors
    /// `Compile` with the compiler's whole output, `NoCompiler`, `BadProduct`, `Changed`, `Io`.
    pub fn build(&self, file: &KernelFile, target: &Target) -> Result<Image, BuildError> {
        let key = (file.path.clone(), target.clone());
        let slot = self.built.lock().unwrap_or_else(PoisonError::into_inner).entry(key).or_default().clone();
        slot.get_or_init(|| self.packed(file, target).unwrap_or_else(|| target.build(&self.tools, file))).clone()
    }

    /// The image of an embedded kernel out of the pack, if it has one.
    fn packed(&self, file: &KernelFile, target: &Target) -> Option<Result<Image, BuildError>> {
        let pack = self.pack.as_ref().filter(|_| file.is_embedded())?;
        let entry = pack.find(file.below().to_str()?, target)?;
        Some(pack.image(&self.tools, entry, file))
    }

    /// Builds the files of these symbols on all cores, so that later [`Self::build`] calls find them. Failures are kept for those calls.
    pub fn build_ahead<'a>(&self, symbols: impl IntoIterator<Item = &'a str>, target: &Target) {
        let mut files: Vec<&KernelFile> = symbols.into_iter().filter_map(|s| self.file_of(s).ok()).collect();
        files.sort_by(|a, b| a.path.cmp(&b.path));
        files.dedup_by(|a, b| a.path == b.path);
        in_parallel(&files, |file| drop(self.build(file, target)));
    }
}

/// (path, symbol) of every embedded kernel, in order of path.
fn embedded_index(tools: &Toolchain) -> Result<Vec<(String, String)>, BuildError> {
    let key = key_of(["embedded index", super::kernels_fingerprint(), tools.fingerprint()].map(str::as_bytes));
    let entry = tools.cache().get(&key, SystemTime::now(), |_| {
        let paths: Vec<&Path> = source::embedded_paths().collect();
        let lines = Mutex::new(BTreeMap::new());
        in_parallel(&paths, |path| {
            let symbols = source::embedded_kernel(tools, path)
                .and_then(|f| f.map_or(Ok(vec![]), |f| super::sim::symbols(tools, &f)));
            lines.lock().unwrap_or_else(PoisonError::into_inner).insert(path.display().to_string(), symbols);
        });
        let mut symbols = Vec::new();
        let mut seen: HashMap<String, String> = HashMap::new();
        for (path, defined) in lines.into_inner().unwrap_or_else(PoisonError::into_inner) {
            for symbol in defined? {
                if let Some(first) = seen.insert(symbol.clone(), path.clone()) {
                    return Err(BuildError::Twice { symbol, first: first.into(), second: path.into() });
                }
                symbols.push(format!("{path}\t{symbol}"));
            }
        }
        // The sources are part of the key, so there is nothing on disk to depend on.
        Ok(Product { files: vec![], dependencies: vec![], symbols, log: String::new() })
    })?;
    Ok(entry.symbols.iter().filter_map(|line| line.split_once('\t')).map(|(p, s)| (p.into(), s.into())).collect())
}

/// Calls `work` for every item, on as many threads as there are cores.
pub fn in_parallel<T: Sync + Copy>(items: &[T], work: impl Fn(T) + Sync) {
    let next = std::sync::atomic::AtomicUsize::new(0);
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(items.len());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(item) = items.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed)) {
                    work(*item);
                }
            });
        }
    });
}

/// The most similar names, best first.
fn nearest<'a>(name: &str, among: impl IntoIterator<Item = &'a String>) -> Vec<String> {
    let mut scored: Vec<(f64, &String)> =
        among.into_iter().map(|other| (strsim::jaro_winkler(name, other), other)).collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    scored.into_iter().take(NEAREST).map(|(_, other)| other.clone()).collect()
}

#[cfg(test)]
#[path = "kernels_tests.rs"]
mod tests;
