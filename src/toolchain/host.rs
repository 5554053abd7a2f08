//! The raw steps that turn one HIP source into a library for a simulated board: scan, compile, stub, link; and the same
//! again for its sanitised twin. Refuses to find compilers and to cache.
//!
//! The compiled unit is a generated file that includes the user's source, unmodified, and adds a trampoline per kernel.
//! x86-64 only, as the stub is assembly.

mod object;
mod scan;

pub use scan::Kernel;

use crate::board::Image;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Room for dynamic shared memory in every library; the executor checks the profile's own limit.
pub const LDS_ROOM: u32 = 160 << 10;

/// What to build.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// HIP source.
    pub source: &'a Path,
    /// Include folders, searched in order before our own.
    pub includes: &'a [PathBuf],
    /// Our `kernels/include/sim`.
    pub headers: &'a Path,
    /// Host C++ compiler.
    pub compiler: &'a Path,
    /// Existing folder for everything that is made.
    pub out: &'a Path,
    /// Build the sanitised twin too.
    pub sanitise: bool,
    /// Compiler flags besides [`FLAGS`].
    pub extra: &'a [String],
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Built {
    /// The library and its sanitised twin.
    pub image: Image,
    /// Kernels it defines, in source order.
    pub kernels: Vec<Kernel>,
    /// Every file that the unit includes, the source first; system headers too.
    pub dependencies: Vec<PathBuf>,
    /// Compiler warnings.
    pub log: String,
}

/// One library of a unit: plain or sanitised.
#[derive(Clone, Debug)]
pub struct Library {
    /// The library.
    pub path: PathBuf,
    /// The relocatable object it was linked from.
    pub object: Vec<u8>,
    /// Compiler warnings.
    pub log: String,
}

/// Why a source cannot be built for a simulated board.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// The compiler, assembler or linker refused.
    #[error("{source_file} does not compile for the simulated board:\n{output}")]
    Compile {
        /// The user's file.
        source_file: String,
        /// Compiler output, whole.
        output: String,
    },
    /// The compiler could not be started, or a file not be read or written.
    #[error("{what} {path}: {error}")]
    Io {
        /// What was tried.
        what: &'static str,
        /// On which file.
        path: String,
        /// The system's answer.
        error: std::io::Error,
    },
    /// The source defines no kernel.
    #[error("{source_file} defines no kernel: write `extern \"C\" __global__ void name(...)`")]
    NoKernel {
        /// The user's file.
        source_file: String,
    },
    /// A kernel that cannot be launched by symbol.
    #[error("{place}: {why}")]
    Unlaunchable {
        /// `file:line`.
        place: String,
        /// Which kernel, why, and how to wrap it.
        why: String,
    },
    /// The compiler wrote an object that we cannot read.
    #[error("object file of {source_file}: {why}")]
    Object {
        /// The user's file.
        source_file: String,
        /// What is wrong.
        why: String,
    },
}

/// Flags of every host build; part of a cache key.
pub const FLAGS: &[&str] = &[
    "-std=c++17",
    "-O2",
    "-fPIC",
    "-fvisibility=hidden",
    "-ffp-contract=off",
    "-ffunction-sections",
    "-fdata-sections",
    "-mtls-dialect=gnu2",
];
/// Flags that only GCC knows: one copy of `__shared__` variables in templates per library, and no wrapper around `extern` ones.
const GCC_FLAGS: &[&str] = &["-fno-gnu-unique", "-fno-extern-tls-init", "-fno-semantic-interposition"];
/// Flags of the sanitised twin.
pub const SANITISE_FLAGS: &[&str] =
    &["-DASSAY_SANITISE", "-fsanitize=thread", "-g1", "-fno-builtin-memcpy", "-fno-builtin-memset"];

/// Entering and leaving functions is of no interest, and a read is of interest also where a write follows.
const GCC_SANITISE: &[&str] = &["--param", "tsan-instrument-func-entry-exit=0"];
const CLANG_SANITISE: &[&str] =
    &["-mllvm", "-tsan-instrument-func-entry-exit=0", "-mllvm", "-tsan-instrument-read-before-write=1"];

/// Kernels that `source` defines, found in its preprocessed text, so that those made by macros count and commented ones do not.
///
/// # Errors
/// As [`build`].
pub fn scan(request: &Request) -> Result<(Vec<Kernel>, Vec<PathBuf>), BuildError> {
    let dep = request.out.join(format!("{}.d", stem(request.source)));
    let mut cmd = compiler(request);
    cmd.arg("-E").arg("-DASSAY_SCAN").arg("-MD").arg("-MF").arg(&dep).arg("-x").arg("c++").arg(request.source);
    let text = run(cmd, request)?.0;
    let kernels = scan::kernels(&text).map_err(|e| BuildError::Unlaunchable { place: e.place, why: e.why })?;
    if kernels.is_empty() {
        return Err(BuildError::NoKernel { source_file: request.source.display().to_string() });
    }
    let deps = std::fs::read_to_string(&dep).map_err(|e| io("reading", &dep, e))?;
    Ok((kernels, scan::dependencies(&deps)))
}

/// Builds a source and, where asked, its sanitised twin, in `request.out`.
///
/// # Errors
/// When the source defines no launchable kernel or does not compile; the compiler's output is kept whole.
pub fn build(request: &Request) -> Result<Built, BuildError> {
    let (kernels, dependencies) = scan(request)?;
    let unit = write_unit(request, &kernels)?;
    let divergent = scan::admits_divergence(&read(request.source)?);
    let one = |sanitise| library(request, &unit, &kernels, divergent, sanitise);
    let (plain, twin) = std::thread::scope(|s| {
        let twin = request.sanitise.then(|| s.spawn(|| one(true)));
        (one(false), twin.map(|t| t.join().expect("the build thread does not panic")))
    });
    let plain = plain?;
    let sanitised = twin.transpose()?.map(|twin| twin.path);
    Ok(Built { image: Image { path: plain.path, sanitised }, kernels, dependencies, log: plain.log })
}

/// Builds one library of a source whose kernels an earlier [`scan`] found; a mutant of that source has the same ones.
///
/// # Errors
/// As [`build`].
pub fn library_of(request: &Request, kernels: &[Kernel]) -> Result<Library, BuildError> {
    let unit = write_unit(request, kernels)?;
    let divergent = scan::admits_divergence(&read(request.source)?);
    library(request, &unit, kernels, divergent, request.sanitise)
}

/// Compiles the simulator's header ahead of many builds: a header beside the result to put before a unit with `-include`. `None` with
/// a compiler that does it in another way.
///
/// # Errors
/// When our own header does not compile, or the file cannot be written.
pub fn precompiled(request: &Request) -> Result<Option<PathBuf>, BuildError> {
    if is_clang(request) {
        return Ok(None);
    }
    let header = request.out.join("ahead.h");
    write(&header, "#include <hip/hip_runtime.h>\n")?;
    let mut compile = compiler(request);
    if request.sanitise {
        compile.args(SANITISE_FLAGS).args(GCC_SANITISE);
    }
    compile.arg("-x").arg("c++-header").arg(&header).arg("-o").arg(request.out.join("ahead.h.gch"));
    run(compile, request)?;
    Ok(Some(header))
}

fn stem(source: &Path) -> String {
    source.file_stem().map_or_else(|| "unit".into(), |s| s.to_string_lossy().into_owned())
}

fn io(what: &'static str, path: &Path, error: std::io::Error) -> BuildError {
    BuildError::Io { what, path: path.display().to_string(), error }
}

fn read(path: &Path) -> Result<String, BuildError> {
    std::fs::read(path).map(|b| String::from_utf8_lossy(&b).into_owned()).map_err(|e| io("reading", path, e))
}

fn write(path: &Path, text: &str) -> Result<(), BuildError> {
    std::fs::write(path, text).map_err(|e| io("writing", path, e))
}

/// The compiler with the include folders and flags that every step shares.
fn compiler(request: &Request) -> Command {
    let mut cmd = Command::new(request.compiler);
    cmd.args(FLAGS).env("LC_ALL", "C");
    cmd.args(if is_clang(request) { &[] } else { GCC_FLAGS }).args(request.extra);
    for dir in request.includes {
        cmd.arg("-I").arg(dir);
    }
    cmd.arg("-I").arg(request.headers);
    cmd
}

/// The compiler is a clang, also behind a link such as `/usr/bin/c++`.
fn is_clang(request: &Request) -> bool {
    let real = std::fs::canonicalize(request.compiler).unwrap_or_else(|_| request.compiler.to_path_buf());
    real.file_name().is_some_and(|n| n.to_string_lossy().contains("clang"))
}

/// Runs a step; its standard output and its messages.
fn run(mut cmd: Command, request: &Request) -> Result<(String, String), BuildError> {
    let out = cmd.output().map_err(|e| io("starting", request.compiler, e))?;
    let messages = String::from_utf8_lossy(&out.stderr).into_owned();
    if out.status.success() {
        return Ok((String::from_utf8_lossy(&out.stdout).into_owned(), messages));
    }
    // A step that was killed is no verdict on the source.
    let ended = if out.status.code().is_none() { format!("{messages}(ended with {})", out.status) } else { messages };
    Err(BuildError::Compile { source_file: request.source.display().to_string(), output: ended })
}

/// The generated unit: the user's source and one trampoline per kernel.
fn write_unit(request: &Request, kernels: &[Kernel]) -> Result<PathBuf, BuildError> {
    let source = std::fs::canonicalize(request.source).map_err(|e| io("reading", request.source, e))?;
    let rows: String = kernels
        .iter()
        .map(|k| format!("    ASSAY_KERNEL({}, ({})),\n", k.path, k.bounds.as_deref().unwrap_or("0")))
        .collect();
    let text = format!(
        "#include \"{}\"\n#include <assay/trampoline.h>\n\
         extern \"C\" {{\n__attribute__((visibility(\"default\"))) extern const AssayKernel assay_kernels[];\n\
         __attribute__((visibility(\"default\"))) const AssayKernel assay_kernels[] = {{\n{rows}    AssayKernel{{}},\n}};\n}}\n",
        source.display()
    );
    let unit = request.out.join(format!("{}.unit.cpp", stem(request.source)));
    write(&unit, &text)?;
    Ok(unit)
}

/// Compiles the unit, reads from the object what each kernel uses, and links it with the stub made from that.
fn library(
    request: &Request,
    unit: &Path,
    kernels: &[Kernel],
    divergent: bool,
    sanitise: bool,
) -> Result<Library, BuildError> {
    let base = request.out.join(format!("{}{}", stem(request.source), if sanitise { ".san" } else { "" }));
    let with =
        |ext: &str| base.with_file_name(format!("{}.{ext}", base.file_name().unwrap_or_default().to_string_lossy()));
    let (object, stub, library) = (with("o"), with("s"), with("so"));
    let mut compile = compiler(request);
    if sanitise {
        compile.args(SANITISE_FLAGS).args(if is_clang(request) { CLANG_SANITISE } else { GCC_SANITISE });
    }
    compile.arg("-c").arg(unit).arg("-o").arg(&object);
    let (_, log) = run(compile, request)?;
    let made = std::fs::read(&object).map_err(|e| io("reading", &object, e))?;
    let names: Vec<&str> = kernels.iter().map(|k| k.symbol.as_str()).collect();
    let usage = object::usage(&made, &names)
        .map_err(|why| BuildError::Object { source_file: request.source.display().to_string(), why })?;
    write(&stub, &object::stub(&usage, divergent, sanitise))?;
    let mut link = Command::new(request.compiler);
    link.env("LC_ALL", "C")
        .arg("-shared")
        .arg("-Wl,-z,defs,--as-needed")
        .arg("-o")
        .arg(&library)
        .arg(&object)
        .arg(&stub)
        .arg("-lm");
    run(link, request)?;
    let _ = std::fs::remove_file(&object);
    Ok(Library { path: library, object: made, log })
}
