//! Board profiles: facts as data, with their sources. Refuses to guess an unknown name, and a profile that cannot be simulated.

use crate::board::Facts;
use include_dir::{Dir, include_dir};

/// One file per built-in profile, named after it.
static BUILT_IN: Dir = include_dir!("$CARGO_MANIFEST_DIR/src/board/profiles");

/// Why there are no facts.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProfileError {
    /// No such built-in profile.
    #[error("no board profile '{name}'; known profiles: {known}, or the path of a .toml file", known = names().join(", "))]
    Unknown {
        /// What was asked for.
        name: String,
    },
    /// A profile file that cannot be read or is no profile.
    #[error("board profile {path}: {why}")]
    Bad {
        /// The file.
        path: String,
        /// What is wrong with it.
        why: String,
    },
}

/// Names of the built-in profiles, sorted.
pub fn names() -> Vec<&'static str> {
    let mut names: Vec<_> = BUILT_IN.files().filter_map(|f| f.path().file_stem()?.to_str()).collect();
    names.sort_unstable();
    names
}

/// Facts of the built-in profile `name`, e.g. `gfx1151`, or of the file `name` when it ends in `.toml`.
///
/// # Errors
/// [`ProfileError`]: an unknown name lists the known ones; a file says what is wrong with it.
pub fn profile(name: &str) -> Result<Facts, ProfileError> {
    let bad = |why: String| ProfileError::Bad { path: name.to_string(), why };
    let text = if name.ends_with(".toml") {
        std::fs::read_to_string(name).map_err(|e| bad(e.to_string()))?
    } else {
        let file = BUILT_IN.get_file(format!("{name}.toml"));
        let text = file.and_then(|f| f.contents_utf8()).map(str::to_string);
        text.ok_or_else(|| ProfileError::Unknown { name: name.to_string() })?
    };
    let facts: Facts = toml::from_str(&text).map_err(|e| bad(e.to_string()))?;
    check(&facts).map_err(bad)?;
    Ok(facts)
}

/// What the simulator relies on.
fn check(facts: &Facts) -> Result<(), String> {
    if ![32, 64].contains(&facts.wave) {
        return Err(format!("wave = {}: waves of 32 or 64 lanes can be simulated", facts.wave));
    }
    if facts.max_threads == 0 || facts.max_threads > 1024 {
        return Err(format!("max_threads = {}: blocks of 1 to 1024 threads can be simulated", facts.max_threads));
    }
    if facts.lds > crate::toolchain::host::LDS_ROOM {
        let room = crate::toolchain::host::LDS_ROOM;
        return Err(format!("lds = {}: at most {room} bytes of shared memory can be simulated", facts.lds));
    }
    if facts.sources.is_empty() {
        return Err("sources is empty: say where the facts come from".to_string());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_profile_parses_and_is_named_after_its_architecture() {
        assert!(names().contains(&"gfx1151") && names().contains(&"gfx942"));
        for name in names() {
            assert_eq!(profile(name).unwrap_or_else(|e| panic!("{e}")).arch, name);
        }
    }

    #[test]
    fn an_unknown_profile_lists_the_known_ones() {
        let message = profile("gfx000").expect_err("unknown").to_string();
        assert!(message.contains("gfx000") && message.contains("gfx1151") && message.contains("gfx942"), "{message}");
    }

    #[test]
    fn a_profile_file_is_read_and_one_that_cannot_be_simulated_is_refused_with_the_fact() {
        let dir = tempfile::tempdir().expect("temp folder");
        let path = dir.path().join("mine.toml");
        let text = BUILT_IN.get_file("gfx942.toml").and_then(|f| f.contents_utf8()).expect("built in");
        for (from, to, word) in [
            ("wave = 64", "wave = 48", "wave = 48"),
            ("lds = 65536", "lds = 9999999", "lds = 9999999"),
            ("max_threads = 1024", "max_threads = 0", "max_threads = 0"),
            ("wave = 64", "waves = 64", "waves"),
        ] {
            std::fs::write(&path, text.replace(from, to)).expect("written");
            let message = profile(path.to_str().expect("UTF-8")).expect_err("refused").to_string();
            assert!(message.contains(word) && message.contains("mine.toml"), "{message}");
        }
        std::fs::write(&path, text).expect("written");
        assert_eq!(profile(path.to_str().expect("UTF-8")), profile("gfx942"));
    }
}
