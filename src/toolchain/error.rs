//! What can go wrong between a kernel source and its image. Refuses to print; the messages say what to do.

use std::path::{Path, PathBuf};

/// Why there is no kernel image.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// No compiler of this kind on the machine.
    #[error("no {what} found (looked for {}); {install}", tried.join(", "))]
    NoCompiler {
        /// Kind of compiler.
        what: &'static str,
        /// Where we looked.
        tried: Vec<String>,
        /// What to install or set.
        install: &'static str,
    },
    /// The compiler refused a source file. `output` is all it said.
    #[error("{} does not compile with {compiler}\n{output}", file.display())]
    Compile {
        /// Source file.
        file: PathBuf,
        /// Compiler that was run.
        compiler: String,
        /// The whole output of the compiler.
        output: String,
    },
    /// A kernel that cannot be launched by name.
    #[error("{place}: {why}")]
    Unlaunchable {
        /// `file:line`.
        place: String,
        /// Which kernel, why, and how to wrap it.
        why: String,
    },
    /// A symbol that no embedded and no candidate file defines.
    #[error("no kernel file defines {symbol}{}", nearest(near))]
    NoProvider {
        /// Symbol.
        symbol: String,
        /// Most similar symbols that are defined.
        near: Vec<String>,
    },
    /// A candidate kernel that no op launches.
    #[error("{}: no op asks for kernel {symbol}{}; `assay ops show OP` lists the symbols of an op", file.display(), nearest(near))]
    NobodyAsks {
        /// Candidate file.
        file: PathBuf,
        /// Symbol it defines.
        symbol: String,
        /// Most similar symbols that ops ask for.
        near: Vec<String>,
    },
    /// Two files define the same symbol.
    #[error("kernel {symbol} is defined twice: in {} and in {}", first.display(), second.display())]
    Twice {
        /// Symbol.
        symbol: String,
        /// One file.
        first: PathBuf,
        /// The other.
        second: PathBuf,
    },
    /// A candidate folder without a kernel.
    #[error("{} holds no kernel: no .hip or .cu file in it defines an extern \"C\" __global__ function; ops ask for {}", folder.display(), wanted.join(", "))]
    NothingDefined {
        /// Folder given with `--kernels`.
        folder: PathBuf,
        /// Some of the symbols that ops ask for.
        wanted: Vec<String>,
    },
    /// A source was edited during the build.
    #[error("{} was written to while it was being built: run again", file.display())]
    Changed {
        /// Source or header.
        file: PathBuf,
    },
    /// A file or folder that could not be read or written.
    #[error("{what} {}: {why}", path.display())]
    Io {
        /// What was tried.
        what: &'static str,
        /// On which path.
        path: PathBuf,
        /// The system's words.
        why: String,
    },
    /// A kernel pack that cannot be used.
    #[error("{} is no usable kernel pack: {why}", file.display())]
    BadPack {
        /// The file.
        file: PathBuf,
        /// Why.
        why: String,
    },
    /// The built image lacks what the source was found to define.
    #[error("{}: the built image does not hold what the source defines: {why}", file.display())]
    BadProduct {
        /// Source file.
        file: PathBuf,
        /// What is missing.
        why: String,
    },
}

impl BuildError {
    /// An I/O error with its path.
    pub(crate) fn io(what: &'static str, path: &Path, error: &std::io::Error) -> Self {
        Self::Io { what, path: path.to_path_buf(), why: error.to_string() }
    }
}

fn nearest(near: &[String]) -> String {
    if near.is_empty() { String::new() } else { format!(" (nearest: {})", near.join(", ")) }
}
