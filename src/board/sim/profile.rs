//! Board profiles: facts as data, with their sources. Refuses to guess an unknown name.

use crate::board::Facts;

/// Names and texts of the built-in profiles.
pub const PROFILES: &[(&str, &str)] =
    &[("gfx1151", include_str!("../profiles/gfx1151.toml")), ("gfx942", include_str!("../profiles/gfx942.toml"))];

/// A profile that does not exist.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no board profile '{0}'; known profiles: {known}", known = names())]
pub struct UnknownProfile(pub String);

fn names() -> String {
    PROFILES.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
}

/// Facts of the profile `name`, e.g. `gfx1151`.
///
/// # Errors
/// [`UnknownProfile`], which lists the known ones.
pub fn profile(name: &str) -> Result<Facts, UnknownProfile> {
    let (_, text) = PROFILES.iter().find(|(n, _)| *n == name).ok_or_else(|| UnknownProfile(name.to_string()))?;
    Ok(toml::from_str(text).expect("built-in profiles parse; a test reads them all"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_profile_parses_and_names_its_sources() {
        for (name, _) in PROFILES {
            let facts = profile(name).expect("known");
            assert_eq!(&facts.arch, name);
            assert!(facts.wave == 32 || facts.wave == 64);
            assert!(!facts.sources.is_empty());
        }
    }

    #[test]
    fn an_unknown_profile_lists_the_known_ones() {
        let message = profile("gfx000").expect_err("unknown").to_string();
        assert!(message.contains("gfx000") && message.contains("gfx1151") && message.contains("gfx942"), "{message}");
    }
}
