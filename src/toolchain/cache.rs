//! The build cache: products of a build, found again by what went into it. Refuses to trust anything it has not hashed.
//!
//! Two levels, as ccache's direct mode: the *key* covers everything known before a compiler runs (source text, flags, compiler,
//! target, include folders); its *manifest* lists what each earlier build read besides, with hashes. An entry is used when every file
//! it read is unchanged and every product still has the hash it was stored with. So a hit runs no preprocessor.
//!
//! Layout: `man/<key>.json`, `obj/<entry>/` (never changed once renamed into place), `src/` (unpacked sources), `tmp/`.

use super::error::BuildError;
use super::find::Stamp;
use super::util::{hex, key_of, sha256_file, write_whole};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, SystemTime};

/// Size above which the least recently used entries are dropped.
const LIMIT: u64 = 2 << 30;
/// Entries used this recently are never dropped: another process may be about to load them.
const GRACE: Duration = Duration::from_secs(3600);
/// Where compilers and libraries keep their headers.
const SYSTEM: [&str; 3] = ["/usr/include", "/usr/lib", "/usr/lib64"];
/// Builds remembered per key (the same source with other headers).
const VARIANTS: usize = 4;

/// A file that a build read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Dependency {
    /// A source or header of ours or the user's, by content.
    Content {
        /// Path.
        path: PathBuf,
        /// sha256.
        sha256: String,
    },
    /// A system header, by size and time, as the compiler itself is.
    System(Stamp),
}

impl Dependency {
    fn read(path: &Path) -> std::io::Result<Self> {
        if SYSTEM.iter().any(|folder| path.starts_with(folder)) {
            return Stamp::of(path).map(Self::System);
        }
        Ok(Self::Content { path: path.to_path_buf(), sha256: sha256_file(path)? })
    }

    fn holds(&self) -> bool {
        match self {
            Self::Content { path, sha256 } => sha256_file(path).is_ok_and(|now| now == *sha256),
            Self::System(stamp) => stamp.holds(),
        }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Variant {
    dependencies: Vec<Dependency>,
    entry: String,
}

/// What an entry holds, as stored in its `entry.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Listing {
    /// File name -> sha256.
    products: BTreeMap<String, String>,
    symbols: Vec<String>,
}

/// What a build leaves in its folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Product {
    /// Names of the files to keep, relative to the build folder.
    pub files: Vec<String>,
    /// Every file that was read, the source included.
    pub dependencies: Vec<PathBuf>,
    /// Kernel symbols of the image.
    pub symbols: Vec<String>,
    /// All the compiler said.
    pub log: String,
}

/// A verified entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Folder of the products.
    pub folder: PathBuf,
    /// Kernel symbols of the image.
    pub symbols: Vec<String>,
    /// All the compiler said.
    pub log: String,
    /// It was in the cache.
    pub hit: bool,
}

/// The cache. Falls back to `spare`, a folder of the run, when its own folder cannot be written.
#[derive(Debug)]
pub struct Cache {
    root: PathBuf,
    spare: PathBuf,
    warning: Mutex<Option<String>>,
}

impl Cache {
    /// A cache in `root`; `spare` is created only when needed.
    pub fn new(root: PathBuf, spare: PathBuf) -> Self {
        // Compilers are run with these paths, and name them in their depfiles, from wherever they are.
        let absolute = |path: PathBuf| std::path::absolute(&path).unwrap_or(path);
        Self { root: absolute(root), spare: absolute(spare), warning: Mutex::new(None) }
    }

    /// `$ASSAY_CACHE_DIR`, else `$XDG_CACHE_HOME/assay`, else `~/.cache/assay`; `None` without any of them.
    pub fn default_root() -> Option<PathBuf> {
        let var = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
        var("ASSAY_CACHE_DIR")
            .or_else(|| var("XDG_CACHE_HOME").map(|d| d.join("assay")))
            .or_else(|| var("HOME").map(|d| d.join(".cache/assay")))
    }

    /// The cache's own folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The one line to print when the cache folder could not be written.
    pub fn warning(&self) -> Option<String> {
        self.warning.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }

    /// The entry of `key`, or what `build` makes of an empty folder. `began` is the time just before the source was read for the key.
    ///
    /// # Errors
    /// Those of `build`; `Changed` when a source was written to meanwhile; `Io` when neither the cache nor the spare folder can be written.
    pub fn get(
        &self,
        key: &str,
        began: SystemTime,
        build: impl FnOnce(&Path) -> Result<Product, BuildError>,
    ) -> Result<Entry, BuildError> {
        if let Some(entry) = [&self.root, &self.spare].into_iter().find_map(|root| lookup(root, key)) {
            return Ok(entry);
        }
        let folder = self.workspace()?;
        let mut product = build(folder.path())?;
        product.dependencies.retain(|path| !path.starts_with(folder.path()));
        // What was compiled may not be what the key says. Unpacked sources are ours, and their folders are named by their hash.
        let given = [self.root.join("src"), self.spare.join("src")];
        let ours: Vec<PathBuf> =
            given.iter().flat_map(|p| [Some(p.clone()), p.canonicalize().ok()]).flatten().collect();
        let changed = |path: &&PathBuf| {
            let written = path.metadata().and_then(|m| m.modified());
            !ours.iter().any(|folder| path.starts_with(folder)) && written.is_ok_and(|at| at >= began)
        };
        if let Some(file) = product.dependencies.iter().find(changed) {
            return Err(BuildError::Changed { file: file.clone() });
        }
        let failure = match store(&self.root, key, folder.path(), &product) {
            Ok(entry) => {
                sweep(&self.root, LIMIT);
                return Ok(entry);
            }
            Err(error) => error,
        };
        self.warn(&failure);
        store(&self.spare, key, folder.path(), &product)
            .map_err(|e| BuildError::io("cannot store into", &self.spare, &e))
    }

    /// Makes `relative` below the cache (or the spare folder) hold exactly `files`, and returns the folder. Files that are right already are not written.
    ///
    /// # Errors
    /// `Io` when neither folder can be written.
    pub fn unpack<'a>(&self, relative: &str, files: &[(&'a Path, &'a [u8])]) -> Result<PathBuf, BuildError> {
        let put = |root: &Path| -> std::io::Result<PathBuf> {
            let folder = root.join("src").join(relative);
            for (path, bytes) in files {
                let file = folder.join(path);
                if std::fs::read(&file).is_ok_and(|there| there == *bytes) {
                    continue;
                }
                write_whole(&file, bytes)?;
            }
            Ok(folder)
        };
        put(&self.root).or_else(|failure| {
            self.warn(&failure);
            put(&self.spare).map_err(|e| BuildError::io("cannot unpack into", &self.spare, &e))
        })
    }

    /// A folder to build in, on the cache's file system where that is writable.
    fn workspace(&self) -> Result<tempfile::TempDir, BuildError> {
        let make = |root: &Path| {
            let tmp = root.join("tmp");
            std::fs::create_dir_all(&tmp)?;
            tempfile::Builder::new().prefix("build-").tempdir_in(tmp)
        };
        make(&self.root).or_else(|failure| {
            self.warn(&failure);
            make(&self.spare).map_err(|e| BuildError::io("cannot build in", &self.spare, &e))
        })
    }

    fn warn(&self, why: &std::io::Error) {
        let mut warning = self.warning.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        warning.get_or_insert_with(|| {
            let (root, spare) = (self.root.display(), self.spare.display());
            format!("cache folder {root} cannot be written ({why}); builds go to {spare} and are lost with it")
        });
    }
}

fn manifest_path(root: &Path, key: &str) -> PathBuf {
    root.join("man").join(format!("{key}.json"))
}

fn manifest(root: &Path, key: &str) -> Vec<Variant> {
    let bytes = std::fs::read(manifest_path(root, key)).unwrap_or_default();
    serde_json::from_slice(&bytes).unwrap_or_default()
}

fn lookup(root: &Path, key: &str) -> Option<Entry> {
    let variants = manifest(root, key);
    let variant = variants.iter().find(|v| v.dependencies.iter().all(Dependency::holds))?;
    let folder = root.join("obj").join(&variant.entry);
    let listing: Listing = serde_json::from_slice(&std::fs::read(folder.join("entry.json")).ok()?).ok()?;
    let intact = |(name, sha256): (&String, &String)| sha256_file(&folder.join(name)).is_ok_and(|now| now == *sha256);
    if listing.products.is_empty() || !listing.products.iter().all(intact) {
        return None;
    }
    let log = std::fs::read_to_string(folder.join(LOG)).ok()?;
    // The time of use, for `sweep`; a read-only cache never sweeps.
    let _ = std::fs::File::open(&folder).and_then(|f| f.set_modified(SystemTime::now()));
    Some(Entry { folder, symbols: listing.symbols, log, hit: true })
}

const LOG: &str = "log.txt";

fn store(root: &Path, key: &str, built: &Path, product: &Product) -> std::io::Result<Entry> {
    let tmp = root.join("tmp");
    std::fs::create_dir_all(&tmp)?;
    std::fs::create_dir_all(root.join("obj"))?;
    let staged = tempfile::Builder::new().prefix("store-").tempdir_in(&tmp)?;
    let mut products = BTreeMap::new();
    for name in &product.files {
        std::fs::copy(built.join(name), staged.path().join(name))?;
        products.insert(name.clone(), sha256_file(&staged.path().join(name))?);
    }
    std::fs::write(staged.path().join(LOG), &product.log)?;
    products.insert(LOG.into(), hex(product.log.as_bytes()));
    let listing = serde_json::to_vec(&Listing { products, symbols: product.symbols.clone() })?;
    std::fs::write(staged.path().join("entry.json"), &listing)?;

    let dependencies: Vec<Dependency> =
        product.dependencies.iter().map(|p| Dependency::read(p)).collect::<Result<_, _>>()?;
    let read = serde_json::to_vec(&dependencies)?;
    // The listing is part of the name: a rebuild that came out different never takes the place of a file that is in use.
    let name = key_of([key.as_bytes(), &read, &listing]);
    let folder = root.join("obj").join(&name);
    place(&tmp, staged, &folder)?;

    let mut variants = manifest(root, key);
    variants.retain(|v| v.dependencies != dependencies);
    variants.insert(0, Variant { dependencies, entry: name });
    variants.truncate(VARIANTS);
    write_whole(&manifest_path(root, key), &serde_json::to_vec(&variants)?)?;
    Ok(Entry { folder, symbols: product.symbols.clone(), log: product.log.clone(), hit: false })
}

/// Renames `staged` to `folder`. What is there already has the same name, so it is either the same entry, stored by another process, or a damaged one.
fn place(tmp: &Path, staged: tempfile::TempDir, folder: &Path) -> std::io::Result<()> {
    if std::fs::rename(staged.path(), folder).is_ok() {
        // It has moved: there is nothing left for the guard to delete.
        let _ = staged.keep();
        return Ok(());
    }
    let old = tempfile::Builder::new().prefix("old-").tempdir_in(tmp)?;
    match std::fs::rename(folder, old.path().join("entry")) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    match std::fs::rename(staged.path(), folder) {
        Ok(()) => {
            let _ = staged.keep();
            Ok(())
        }
        // Another process was faster with the same entry.
        Err(_) if folder.join("entry.json").is_file() => Ok(()),
        Err(error) => Err(error),
    }
}

/// Drops least recently used entries until at most `limit` bytes are left, and manifests and temporary folders nobody can need.
fn sweep(root: &Path, limit: u64) {
    let now = SystemTime::now();
    let mut entries = entries_by_use(&root.join("obj"));
    let mut total: u64 = entries.iter().map(|(_, size, _)| size).sum();
    entries.sort_by_key(|(used, ..)| *used);
    for (used, size, folder) in entries {
        if total <= limit || now.duration_since(used).unwrap_or_default() < GRACE {
            break;
        }
        if std::fs::remove_dir_all(&folder).is_ok() {
            total -= size;
        }
    }
    // A build that died left its temporary folder.
    for (used, _, folder) in entries_by_use(&root.join("tmp")) {
        if now.duration_since(used).unwrap_or_default() >= 24 * GRACE {
            let _ = std::fs::remove_dir_all(folder);
        }
    }
}

/// (last use, bytes, folder) of every folder in `folder`.
fn entries_by_use(folder: &Path) -> Vec<(SystemTime, u64, PathBuf)> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let measure = |entry: std::fs::DirEntry| {
        let used = entry.metadata().ok()?.modified().ok()?;
        let files = std::fs::read_dir(entry.path()).ok()?.flatten();
        let bytes = files.filter_map(|f| f.metadata().ok()).map(|m| m.len()).sum();
        Some((used, bytes, entry.path()))
    };
    entries.filter_map(measure).collect()
}

#[cfg(test)]
#[path = "cache_tests.rs"]
mod tests;
