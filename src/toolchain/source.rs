//! Kernel sources: those embedded in the binary and a user's candidates. Refuses to know what a kernel computes.

use super::Toolchain;
use super::cache::Cache;
use super::error::BuildError;
use super::util::{hex, key_of};
use include_dir::{Dir, DirEntry, include_dir};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::SystemTime;

/// `kernels/**` as it was when the binary was built.
static EMBEDDED: Dir = include_dir!("$CARGO_MANIFEST_DIR/kernels");

/// The origin of what came with the binary.
const EMBEDDED_ORIGIN: &str = "embedded";

/// Names under which kernel sources are kept.
const EXTENSIONS: [&str; 2] = ["hip", "cu"];

/// Environment variables that change what a C++ compiler reads.
const COMPILER_ENV: [&str; 5] = ["CPATH", "CPLUS_INCLUDE_PATH", "C_INCLUDE_PATH", "GCC_EXEC_PREFIX", "COMPILER_PATH"];

/// A kernel source on disk, ready to be compiled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelFile {
    /// Where it lies; embedded sources are unpacked, so that compiler messages name real paths.
    pub path: PathBuf,
    /// `embedded` or the path of the candidate's file.
    pub origin: String,
    /// sha256 of its text.
    pub sha256: String,
    /// Include folders that come before the target's own headers.
    pub include: Vec<PathBuf>,
    /// Names of all files in those folders: a new one can hide a header that an earlier build read.
    pub(crate) neighbours: String,
    /// When the text was read.
    pub(crate) read_at: SystemTime,
}

/// Which of our header sets a build uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Headers {
    /// The simulator's.
    Sim,
    /// For AMD targets without ROCm.
    Amd,
    /// For NVIDIA targets.
    Nv,
    /// The C and C++ headers that NVRTC does not have.
    Nvrtc,
    /// Those that the kernels of several ops share, after every target's own.
    Shared,
}

impl Headers {
    pub(crate) fn folder(self) -> &'static str {
        match self {
            Self::Sim => "sim",
            Self::Amd => "amd",
            Self::Nv => "nv",
            Self::Nvrtc => "nvrtc",
            Self::Shared => "",
        }
    }
}

fn embedded_files(dir: &'static Dir<'static>, out: &mut Files) {
    for entry in dir.entries() {
        match entry {
            DirEntry::Dir(d) => embedded_files(d, out),
            DirEntry::File(f) => out.push((f.path(), f.contents())),
        }
    }
}

fn is_kernel(path: &Path) -> bool {
    path.extension().is_some_and(|e| EXTENSIONS.iter().any(|k| e == *k))
}

/// Paths below `kernels/` and contents.
type Files = Vec<(&'static Path, &'static [u8])>;

/// Embedded files by what they are: (kernel sources, everything they include).
fn embedded() -> &'static (Files, Files) {
    static FILES: OnceLock<(Files, Files)> = OnceLock::new();
    FILES.get_or_init(|| {
        let mut files = Vec::new();
        embedded_files(&EMBEDDED, &mut files);
        files.sort();
        files.into_iter().partition(|(path, _)| is_kernel(path))
    })
}

fn tree_name(files: &[(&Path, &[u8])]) -> String {
    let parts = files.iter().flat_map(|(path, bytes)| [path.as_os_str().as_encoded_bytes(), bytes]);
    key_of(parts)[..16].to_string()
}

/// Folder of our header sets, unpacked and verified.
///
/// # Errors
/// `Io` when it cannot be written anywhere.
pub(crate) fn unpack_headers(cache: &Cache) -> Result<PathBuf, BuildError> {
    let files: Vec<_> = embedded().1.iter().filter(|(path, _)| path.starts_with("include")).copied().collect();
    Ok(cache.unpack(&format!("headers-{}", tree_name(&files)), &files)?.join("include"))
}

/// Every embedded file that is text: its path below `kernels/`, with `/`, and its text.
pub fn embedded_texts() -> impl Iterator<Item = (String, &'static str)> {
    let (kernels, headers) = embedded();
    let text =
        |(path, bytes): &(&Path, &'static [u8])| Some((path.to_str()?.to_string(), std::str::from_utf8(bytes).ok()?));
    kernels.iter().chain(headers).filter_map(text)
}

/// Paths of the embedded kernel sources below `kernels/`.
pub fn embedded_paths() -> impl Iterator<Item = &'static Path> {
    embedded().0.iter().map(|(path, _)| *path)
}

/// Path below `kernels/` and contents of every embedded kernel source and of the headers that kernels share; not the targets' own.
pub fn embedded_sources() -> impl Iterator<Item = (&'static Path, &'static [u8])> {
    let (kernels, headers) = embedded();
    let ours = |path: &Path| path.starts_with("include/assay") || !path.starts_with("include");
    kernels.iter().chain(headers.iter().filter(move |(path, _)| ours(path))).copied()
}

/// One embedded kernel source, unpacked; `None` when there is none of that path.
///
/// # Errors
/// `Io` when it cannot be written anywhere.
pub fn embedded_kernel(tools: &Toolchain, path: &Path) -> Result<Option<KernelFile>, BuildError> {
    let (kernels, headers) = embedded();
    let Some(kernel) = kernels.iter().find(|(p, _)| *p == path) else { return Ok(None) };
    // Headers that lie beside the kernels travel with each of them; `include/` has a folder of its own.
    let files: Vec<_> =
        headers.iter().filter(|(path, _)| !path.starts_with("include")).copied().chain([*kernel]).collect();
    let folder = tools.cache().unpack(&tree_name(&files), &files)?;
    Ok(Some(KernelFile {
        path: folder.join(path),
        origin: EMBEDDED_ORIGIN.into(),
        sha256: hex(kernel.1),
        include: vec![folder],
        neighbours: String::new(),
        read_at: SystemTime::now(),
    }))
}

/// A kernel source of the user's, with the include folders that go before ours.
///
/// # Errors
/// `Io` when it cannot be read.
pub fn user_kernel(path: &Path, include: Vec<PathBuf>) -> Result<KernelFile, BuildError> {
    let read_at = SystemTime::now();
    let path = path.canonicalize().map_err(|e| BuildError::io("cannot read", path, &e))?;
    let text = std::fs::read(&path).map_err(|e| BuildError::io("cannot read", &path, &e))?;
    let mut names = Vec::new();
    for folder in &include {
        walk(folder, &mut names)?;
    }
    names.sort();
    let neighbours = names.iter().map(|p| p.display().to_string()).collect::<Vec<_>>().join("\n");
    Ok(KernelFile { origin: path.display().to_string(), path, sha256: hex(&text), include, neighbours, read_at })
}

/// Every kernel source below `folder`, in order of path.
///
/// # Errors
/// `Io` when a folder or file cannot be read.
pub fn candidates(folder: &Path) -> Result<Vec<KernelFile>, BuildError> {
    let folder = folder.canonicalize().map_err(|e| BuildError::io("cannot read", folder, &e))?;
    let mut paths = Vec::new();
    walk(&folder, &mut paths)?;
    paths.sort();
    paths.iter().filter(|p| is_kernel(p)).map(|p| user_kernel(p, vec![folder.clone()])).collect()
}

/// Files below `folder`, in order of path; hidden entries and links to folders are passed over.
///
/// # Errors
/// `Io` when a folder cannot be read.
pub fn files_below(folder: &Path) -> Result<Vec<PathBuf>, BuildError> {
    let mut paths = Vec::new();
    walk(folder, &mut paths)?;
    paths.sort();
    Ok(paths)
}

/// Files below `folder`; hidden entries and links to folders are passed over.
pub(crate) fn walk(folder: &Path, out: &mut Vec<PathBuf>) -> Result<(), BuildError> {
    let failed = |e: &std::io::Error| BuildError::io("cannot read", folder, e);
    for entry in std::fs::read_dir(folder).map_err(|e| failed(&e))? {
        let entry = entry.map_err(|e| failed(&e))?;
        if entry.file_name().as_encoded_bytes().starts_with(b".") {
            continue;
        }
        if entry.file_type().map_err(|e| failed(&e))?.is_dir() {
            walk(&entry.path(), out)?;
        } else {
            out.push(entry.path());
        }
    }
    Ok(())
}

impl KernelFile {
    /// Its path below the first of its include folders: for an embedded kernel below `kernels/`.
    pub fn below(&self) -> &Path {
        self.include.first().and_then(|root| self.path.strip_prefix(root).ok()).unwrap_or(&self.path)
    }

    /// It came with this binary.
    pub fn is_embedded(&self) -> bool {
        self.origin == EMBEDDED_ORIGIN
    }

    /// Everything about the source that a build depends on, known without running a compiler.
    pub(crate) fn key(&self) -> Vec<String> {
        let include = self.include.iter().map(|p| p.display().to_string()).collect::<Vec<_>>().join("\n");
        let env = COMPILER_ENV.map(|name| format!("{name}={:?}", std::env::var_os(name)));
        let own = [self.sha256.clone(), self.path.display().to_string(), include, self.neighbours.clone()];
        own.into_iter().chain(env).collect()
    }
}
