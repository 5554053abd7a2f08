//! What kernels are built for. Refuses to know which board asks.

use super::{BuildError, KernelFile, Toolchain, amd, nvrtc, sim};
use crate::board::Image;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// A target of a kernel build.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// The host, for simulated boards: two libraries, one of them sanitised.
    Host,
    /// An AMD target, such as `gfx1151` or `gfx942:xnack-`.
    Amd(String),
    /// An NVIDIA target, such as `sm_90`.
    Nvidia(String),
}

/// AMD targets that a pack for all boards holds.
pub const AMD_TARGETS: [&str; 8] =
    ["gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1151", "gfx1200", "gfx1201"];

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Host => f.write_str("host"),
            Self::Amd(target) | Self::Nvidia(target) => f.write_str(target),
        }
    }
}

impl std::str::FromStr for Target {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        match s {
            "host" => Ok(Self::Host),
            _ if s.starts_with("gfx") => Ok(Self::Amd(s.to_string())),
            _ if s.strip_prefix("sm_").is_some_and(|n| n.parse::<u32>().is_ok()) => Ok(Self::Nvidia(s.to_string())),
            _ => Err(format!("'{s}' is no target: host, all, an AMD target such as gfx1151, or sm_NN")),
        }
    }
}

impl Target {
    /// The target without features, which runs on boards with and without them.
    pub fn base(&self) -> Self {
        match self {
            Self::Amd(target) => Self::Amd(target.split(':').next().unwrap_or(target).to_string()),
            other => other.clone(),
        }
    }

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
