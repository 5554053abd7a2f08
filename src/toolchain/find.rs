//! Which compilers this machine has. Refuses to download anything and to guess a compiler from its name alone: every
//! identity carries path, version line and hash.

use super::error::BuildError;
use super::util::{hex, sha256_file};
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What to do when there is no host compiler.
const INSTALL_HOST: &str = "install one (Debian and Ubuntu: apt-get install g++) or set CXX";
/// What to do when there is no compiler for AMD targets.
const INSTALL_AMD: &str =
    "install ROCm, or clang-NN and lld-NN of LLVM 19 or newer (Debian: apt-get install clang-22 lld-22)";
/// What to do when there is no NVRTC.
const INSTALL_NVRTC: &str = "install CUDA, or `pip install nvidia-cuda-nvrtc`, or set ASSAY_NVRTC to libnvrtc.so";

/// A file on disk as far as a cache trusts it without reading it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    /// Resolved path.
    pub path: PathBuf,
    /// Bytes.
    pub size: u64,
    /// Modification time, nanoseconds since 1970.
    pub mtime: i128,
}

impl Stamp {
    /// The stamp of `path` with links resolved.
    ///
    /// # Errors
    /// When it cannot be examined.
    pub fn of(path: &Path) -> std::io::Result<Self> {
        let path = path.canonicalize()?;
        let (size, mtime) = Self::measure(&path)?;
        Ok(Self { path, size, mtime })
    }

    /// Is the file still as it was? The path is resolved already: resolving it again, a call per folder, would tell nothing more.
    pub(crate) fn holds(&self) -> bool {
        Self::measure(&self.path).is_ok_and(|now| now == (self.size, self.mtime))
    }

    fn measure(path: &Path) -> std::io::Result<(u64, i128)> {
        let meta = path.metadata()?;
        Ok((meta.len(), i128::from(meta.mtime()) * 1_000_000_000 + i128::from(meta.mtime_nsec())))
    }

    /// One line for cache keys.
    pub(crate) fn key(&self) -> String {
        format!("{}|{}|{}", self.path.display(), self.size, self.mtime)
    }
}

/// A compiler, by its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compiler {
    /// How it is called.
    pub path: PathBuf,
    /// The file behind that name.
    pub stamp: Stamp,
    /// Folder of the ROCm install it belongs to: then its own headers and device libraries are used instead of ours.
    pub rocm: Option<PathBuf>,
}

/// What a report says about a compiler.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// Path.
    pub path: PathBuf,
    /// First line of `--version`.
    pub version: String,
    /// sha256 of the binary.
    pub sha256: String,
}

impl Compiler {
    fn at(path: &Path) -> Option<Self> {
        let stamp = Stamp::of(path).ok()?;
        let executable = path.metadata().ok().is_some_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0);
        executable.then(|| Self { path: path.to_path_buf(), stamp, rocm: None })
    }

    /// What a cache key says of it.
    pub(crate) fn key(&self) -> String {
        format!("{}|{}", self.path.display(), self.stamp.key())
    }

    /// Path, version line and hash; memoised in `memo` by path, size and time of modification.
    ///
    /// # Errors
    /// When the compiler cannot be run or read.
    pub fn identity(&self, memo: &Path) -> Result<Identity, BuildError> {
        let name = format!("compiler-{}.json", &hex(self.stamp.key().as_bytes())[..24]);
        let file = memo.join(name);
        let known = std::fs::read(&file).ok().and_then(|b| serde_json::from_slice::<Identity>(&b).ok());
        if let Some(identity) = known.filter(|i| i.path == self.path) {
            return Ok(identity);
        }
        let run = Command::new(&self.path).arg("--version").output();
        let out = run.map_err(|e| BuildError::io("cannot run", &self.path, &e))?;
        let version = String::from_utf8_lossy(&out.stdout).lines().next().unwrap_or("").trim().to_string();
        let sha256 = sha256_file(&self.stamp.path).map_err(|e| BuildError::io("cannot read", &self.stamp.path, &e))?;
        let identity = Identity { path: self.path.clone(), version, sha256 };
        // The memo only saves time: a folder that cannot be written costs the hash again, nothing else.
        let _ = super::util::write_whole(&file, &serde_json::to_vec(&identity).unwrap_or_default());
        Ok(identity)
    }
}

/// Where to look: the environment as plain data, so that tests can shape it.
#[derive(Clone, Debug, Default)]
pub struct Env {
    /// Folders of `PATH`, in order.
    pub path: Vec<PathBuf>,
    /// `CXX`.
    pub cxx: Option<String>,
    /// `ROCM_PATH` or `HIP_PATH`, before /opt/rocm.
    pub rocm: Vec<PathBuf>,
    /// `ASSAY_NVRTC`.
    pub nvrtc: Option<PathBuf>,
    /// `CUDA_HOME` and `CUDA_PATH`, before /usr/local/cuda.
    pub cuda: Vec<PathBuf>,
}

impl Env {
    /// The environment of this process.
    pub fn current() -> Self {
        let var = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty());
        let folders = |names: &[&str], default: &str| {
            names.iter().filter_map(|n| var(n)).map(PathBuf::from).chain([PathBuf::from(default)]).collect()
        };
        Self {
            path: std::env::split_paths(&var("PATH").unwrap_or_default()).collect(),
            cxx: var("CXX").map(|v| v.to_string_lossy().into_owned()),
            rocm: folders(&["ROCM_PATH", "HIP_PATH"], "/opt/rocm"),
            nvrtc: var("ASSAY_NVRTC").map(PathBuf::from),
            cuda: folders(&["CUDA_HOME", "CUDA_PATH"], "/usr/local/cuda"),
        }
    }

    fn on_path(&self, name: &str) -> Option<Compiler> {
        if name.contains('/') {
            return Compiler::at(Path::new(name));
        }
        self.path.iter().find_map(|folder| Compiler::at(&folder.join(name)))
    }

    /// The host C++ compiler: `CXX`, else c++, g++, clang++. A `CXX` that does not exist is an error, never passed over.
    ///
    /// # Errors
    /// `NoCompiler`.
    pub fn host(&self) -> Result<Compiler, BuildError> {
        let names: Vec<String> = match &self.cxx {
            Some(cxx) => vec![cxx.trim().to_string()],
            None => ["c++", "g++", "clang++"].map(String::from).to_vec(),
        };
        let found = names.iter().find_map(|n| self.on_path(n));
        found.ok_or(BuildError::NoCompiler { what: "host C++ compiler", tried: names, install: INSTALL_HOST })
    }

    /// The compiler for AMD targets: ROCm's clang when installed, else the newest clang-NN (19 or later) that has its lld-NN.
    ///
    /// # Errors
    /// `NoCompiler`.
    pub fn amd(&self) -> Result<Compiler, BuildError> {
        for root in &self.rocm {
            if let Some(found) = Compiler::at(&root.join("llvm/bin/clang++")) {
                return Ok(Compiler { rocm: Some(root.clone()), ..found });
            }
        }
        let versions = self.clang_versions();
        let newest = versions.iter().rev().find_map(|v| self.on_path(&format!("clang-{v}")));
        let mut tried: Vec<String> =
            self.rocm.iter().map(|r| r.join("llvm/bin/clang++").display().to_string()).collect();
        tried.push("clang-NN with ld.lld or lld-NN on PATH".into());
        newest.ok_or(BuildError::NoCompiler { what: "compiler for AMD targets", tried, install: INSTALL_AMD })
    }

    /// Versions NN >= 19 with both clang-NN and lld-NN, ascending.
    fn clang_versions(&self) -> Vec<u32> {
        let mut versions: Vec<u32> = self
            .path
            .iter()
            .flat_map(|folder| std::fs::read_dir(folder).into_iter().flatten().flatten())
            .filter_map(|entry| entry.file_name().to_str()?.strip_prefix("clang-")?.parse().ok())
            .filter(|v| *v >= 19 && self.on_path(&format!("lld-{v}")).is_some())
            .collect();
        versions.sort_unstable();
        versions.dedup();
        versions
    }

    /// The NVRTC library: `ASSAY_NVRTC`, a CUDA install, or the package nvidia-cuda-nvrtc of the python3 on PATH.
    ///
    /// # Errors
    /// `NoCompiler`. An `ASSAY_NVRTC` that does not exist is an error, never passed over.
    pub fn nvrtc(&self) -> Result<PathBuf, BuildError> {
        let missing = |tried| BuildError::NoCompiler { what: "NVRTC library", tried, install: INSTALL_NVRTC };
        if let Some(path) = &self.nvrtc {
            return if path.is_file() { Ok(path.clone()) } else { Err(missing(vec![path.display().to_string()])) };
        }
        let folders: Vec<PathBuf> = self.cuda.iter().flat_map(|c| ["lib64", "lib"].map(|l| c.join(l))).collect();
        let found = folders.iter().find_map(|f| nvrtc_in(f)).or_else(|| self.nvrtc_of_python());
        let tried = folders.iter().map(|f| f.display().to_string()).chain(["python3 package nvidia".into()]).collect();
        found.ok_or_else(|| missing(tried))
    }

    fn nvrtc_of_python(&self) -> Option<PathBuf> {
        let python = self.on_path("python3")?;
        let ask = "import nvidia, sys; sys.stdout.write('\\n'.join(nvidia.__path__))";
        let out = Command::new(python.path).args(["-c", ask]).output().ok()?;
        let roots = String::from_utf8(out.stdout).ok()?;
        roots.lines().find_map(|root| {
            let packages = std::fs::read_dir(root).ok()?.flatten();
            packages.filter_map(|p| nvrtc_in(&p.path().join("lib"))).max()
        })
    }
}

/// The newest `libnvrtc.so*` of a folder.
fn nvrtc_in(folder: &Path) -> Option<PathBuf> {
    let entries = std::fs::read_dir(folder).ok()?.flatten();
    let is_nvrtc = |name: &OsStr| name.to_str().is_some_and(|n| n.starts_with("libnvrtc.so") && !n.contains("alt"));
    entries.filter(|e| is_nvrtc(&e.file_name())).map(|e| e.path()).max()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder_with(names: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for name in names {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, format!("#!/bin/sh\necho {name} version 1\n")).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        folder
    }

    fn env(folder: &tempfile::TempDir) -> Env {
        Env { path: vec![folder.path().into()], ..Env::default() }
    }

    #[test]
    fn the_host_compiler_is_cxx_else_the_first_of_the_usual_names() {
        let folder = folder_with(&["g++", "clang++", "mine"]);
        assert!(env(&folder).host().unwrap().path.ends_with("g++"));
        let chosen = Env { cxx: Some("mine".into()), ..env(&folder) };
        assert!(chosen.host().unwrap().path.ends_with("mine"));
    }

    #[test]
    fn a_cxx_that_does_not_exist_is_never_passed_over() {
        let folder = folder_with(&["g++"]);
        let wrong = Env { cxx: Some("mine".into()), ..env(&folder) };
        assert!(matches!(wrong.host(), Err(BuildError::NoCompiler { tried, .. }) if tried == ["mine"]));
    }

    #[test]
    fn a_file_that_cannot_be_run_is_no_compiler() {
        let folder = folder_with(&["c++", "g++"]);
        std::fs::set_permissions(folder.path().join("c++"), std::fs::Permissions::from_mode(0o644)).unwrap();
        assert!(env(&folder).host().unwrap().path.ends_with("g++"));
    }

    #[test]
    fn the_newest_clang_that_has_its_linker_builds_for_amd() {
        let folder =
            folder_with(&["clang-9", "clang-19", "lld-19", "clang-22", "lld-22", "clang-23", "clang-format-24"]);
        assert!(env(&folder).amd().unwrap().path.ends_with("clang-22"));
        let old = folder_with(&["clang-14", "lld-14"]);
        assert!(matches!(env(&old).amd(), Err(BuildError::NoCompiler { .. })));
    }

    #[test]
    fn the_clang_of_a_rocm_install_goes_first() {
        let folder = folder_with(&["clang-22", "lld-22", "rocm/llvm/bin/clang++"]);
        let root = folder.path().join("rocm");
        let found = Env { rocm: vec![root.clone()], ..env(&folder) }.amd().unwrap();
        assert_eq!((found.path, found.rocm), (root.join("llvm/bin/clang++"), Some(root)));
    }

    #[test]
    fn the_newest_nvrtc_of_a_cuda_install_is_found() {
        let folder = folder_with(&[
            "cuda/lib64/libnvrtc.so.12",
            "cuda/lib64/libnvrtc.so.13",
            "cuda/lib64/libnvrtc-builtins.so.13",
        ]);
        let found = Env { cuda: vec![folder.path().join("cuda")], ..env(&folder) }.nvrtc().unwrap();
        assert!(found.ends_with("libnvrtc.so.13"));
    }

    #[test]
    fn an_identity_is_memoised_until_the_file_changes() {
        let folder = folder_with(&["g++"]);
        let memo = folder.path().join("memo");
        let first = env(&folder).host().unwrap().identity(&memo).unwrap();
        assert_eq!((first.version.as_str(), first.sha256.len()), ("g++ version 1", 64));
        assert_eq!(std::fs::read_dir(&memo).unwrap().count(), 1);
        std::fs::write(folder.path().join("g++"), "#!/bin/sh\necho another one\n").unwrap();
        let second = env(&folder).host().unwrap().identity(&memo).unwrap();
        assert_eq!(second.version, "another one");
        assert_ne!(second.sha256, first.sha256);
    }
}
