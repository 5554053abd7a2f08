//! What kernels are built for. Refuses to know which board asks.

use super::{BuildError, KernelFile, Toolchain, amd, nvrtc, sim};
use crate::board::Image;
use std::collections::BTreeMap;

/// A target of a kernel build.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// The host, for simulated boards: two libraries, one of them sanitised.
    Host,
    /// An AMD target, such as `gfx1151` or `gfx942:xnack-`.
    Amd(String),
    /// An NVIDIA target, such as `sm_90`.
    Nvidia(String),
}

impl Target {
    /// Builds a kernel file.
    ///
    /// # Errors
    /// `Compile` with the compiler's whole output, `NoCompiler`, `BadProduct`, `Changed`, `Io`.
    pub fn build(&self, tools: &Toolchain, file: &KernelFile) -> Result<Image, BuildError> {
        match self {
            Self::Host => sim::build(tools, file),
            Self::Amd(target) => amd::build(tools, file, target).map(|path| Image { path, sanitised: None }),
            Self::Nvidia(arch) => nvrtc::build(tools, file, arch).map(|path| Image { path, sanitised: None }),
        }
    }

    /// What the compiler is, for provenance; `None` when it cannot be examined.
    pub fn compiler(&self, tools: &Toolchain) -> Option<BTreeMap<String, String>> {
        match self {
            Self::Host => tools.describe(tools.host().ok()?),
            Self::Amd(_) => tools.describe(tools.amd().ok()?),
            Self::Nvidia(_) => {
                let path = tools.nvrtc().ok()?;
                let sha256 = super::sha256_file(path).ok()?;
                let words = [("path", path.display().to_string()), ("sha256", sha256)];
                Some(words.map(|(k, v)| (k.to_string(), v)).into())
            }
        }
    }
}
