//! Cached builds for simulated boards. Refuses to know how a library is made ([`super::host`] does) and what it computes.

use super::cache::Product;
use super::host;
use super::util::key_of;
use super::{BuildError, Headers, KernelFile, Toolchain};
use crate::board::Image;
use std::path::Path;

const PLAIN: &str = "kernel.so";
const SANITISED: &str = "kernel.san.so";

/// The kernel symbols that `file` defines, in source order; none is no error here.
///
/// # Errors
/// `Compile` when the preprocessor refuses it, `Unlaunchable`, `NoCompiler`, `Changed`, `Io`.
pub fn symbols(tools: &Toolchain, file: &KernelFile) -> Result<Vec<String>, BuildError> {
    let entry = tools.cache().get(&key(tools, "scan", file)?, file.read_at, |out| {
        let (kernels, dependencies) = match with_request(tools, file, out, host::scan) {
            Err(Failure::NoKernel) => (vec![], vec![file.path.clone()]),
            other => other.map_err(|f| f.into_error(file))?,
        };
        let symbols = kernels.into_iter().map(|k| k.symbol).collect();
        Ok(Product { files: vec![], dependencies, symbols, log: String::new() })
    })?;
    Ok(entry.symbols)
}

/// The library of `file` and its sanitised twin.
///
/// # Errors
/// `Compile` with the compiler's whole output, `Unlaunchable`, `BadProduct`, `NoCompiler`, `Changed`, `Io`.
pub fn build(tools: &Toolchain, file: &KernelFile) -> Result<Image, BuildError> {
    let entry = tools.cache().get(&key(tools, "sim", file)?, file.read_at, |out| {
        let built = with_request(tools, file, out, host::build).map_err(|f| f.into_error(file))?;
        let twin = built.image.sanitised.ok_or_else(|| bad(file, "no sanitised library"))?;
        for (made, name) in [(&built.image.path, PLAIN), (&twin, SANITISED)] {
            std::fs::rename(made, out.join(name)).map_err(|e| BuildError::io("cannot keep", made, &e))?;
        }
        let symbols = built.kernels.into_iter().map(|k| k.symbol).collect();
        let files = vec![PLAIN.into(), SANITISED.into()];
        Ok(Product { files, dependencies: built.dependencies, symbols, log: built.log })
    })?;
    Ok(Image { path: entry.folder.join(PLAIN), sanitised: Some(entry.folder.join(SANITISED)) })
}

fn key(tools: &Toolchain, step: &str, file: &KernelFile) -> Result<String, BuildError> {
    let compiler = tools.host()?;
    let headers = tools.headers(Headers::Sim)?;
    let mut parts = vec![step.into(), tools.fingerprint().into(), compiler.key(), headers.display().to_string()];
    parts.extend(file.key());
    Ok(key_of(parts.iter().map(String::as_bytes)))
}

/// What can fail, with the one case that is no failure of a scan kept apart.
enum Failure {
    NoKernel,
    Tools(BuildError),
    Host(host::BuildError),
}

impl Failure {
    fn into_error(self, file: &KernelFile) -> BuildError {
        match self {
            Self::Tools(error) => error,
            Self::NoKernel => bad(file, "it defines no kernel"),
            Self::Host(host::BuildError::Compile { output, .. }) => {
                BuildError::Compile { file: file.path.clone(), compiler: "the host compiler".into(), output }
            }
            Self::Host(host::BuildError::Unlaunchable { place, why }) => BuildError::Unlaunchable { place, why },
            Self::Host(host::BuildError::Io { what, path, error }) => {
                BuildError::Io { what, path: path.into(), why: error.to_string() }
            }
            Self::Host(other) => bad(file, &other.to_string()),
        }
    }
}

fn bad(file: &KernelFile, why: &str) -> BuildError {
    BuildError::BadProduct { file: file.path.clone(), why: why.into() }
}

fn with_request<T>(
    tools: &Toolchain,
    file: &KernelFile,
    out: &Path,
    step: impl Fn(&host::Request) -> Result<T, host::BuildError>,
) -> Result<T, Failure> {
    let compiler = tools.host().map_err(Failure::Tools)?;
    let headers = tools.headers(Headers::Sim).map_err(Failure::Tools)?;
    let shared = tools.headers(Headers::Shared).map_err(Failure::Tools)?;
    let includes: Vec<_> = file.include.iter().cloned().chain([shared]).collect();
    let request = host::Request {
        source: &file.path,
        includes: &includes,
        headers: &headers,
        compiler: &compiler.path,
        out,
        sanitise: true,
        extra: &[],
    };
    step(&request).map_err(|error| match error {
        host::BuildError::NoKernel { .. } => Failure::NoKernel,
        other => Failure::Host(other),
    })
}
