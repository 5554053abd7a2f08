//! What `assay doctor` prints about the toolchain. Refuses to change anything.

use super::{BuildError, Toolchain};
use serde::Serialize;

/// One thing that was checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    /// What was checked.
    pub name: &'static str,
    /// It is as it should be.
    pub ok: bool,
    /// Nothing else works without it; the others each serve one kind of board.
    pub required: bool,
    /// What was found.
    pub detail: String,
    /// What to do when it is not ok; empty otherwise.
    pub remedy: String,
}

/// Every check of the toolchain.
pub fn doctor(tools: &Toolchain) -> Vec<Check> {
    let describe = |compiler: &super::find::Compiler| {
        let known = tools.describe(compiler).unwrap_or_default();
        let version = known.get("version").map_or("version unknown", String::as_str);
        format!("{} ({version})", compiler.path.display())
    };
    vec![
        check("host C++ compiler", true, tools.host().map(describe)),
        check("compiler for AMD targets", false, tools.amd().map(describe)),
        check("NVRTC library", false, tools.nvrtc().map(|p| p.display().to_string())),
        cache(tools),
    ]
}

fn check(name: &'static str, required: bool, found: Result<String, BuildError>) -> Check {
    match found {
        Ok(detail) => Check { name, ok: true, required, detail, remedy: String::new() },
        Err(BuildError::NoCompiler { tried, install, .. }) => Check {
            name,
            ok: false,
            required,
            detail: format!("not found: {}", tried.join(", ")),
            remedy: install.into(),
        },
        Err(error) => Check { name, ok: false, required, detail: error.to_string(), remedy: String::new() },
    }
}

fn cache(tools: &Toolchain) -> Check {
    let root = tools.cache().root();
    let written = std::fs::create_dir_all(root).and_then(|()| tempfile::tempfile_in(root));
    let (ok, detail, remedy) = match written {
        Ok(_) => (true, root.display().to_string(), String::new()),
        Err(e) => {
            (false, format!("{}: {e}", root.display()), "set ASSAY_CACHE_DIR to a folder that can be written".into())
        }
    };
    Check { name: "build cache", ok, required: false, detail, remedy }
}
