//! Architecture names as the runtime gives them: a base and features in three states. Refuses to compare whole strings.

use std::collections::BTreeMap;

/// A parsed architecture name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arch {
    /// `gfx` and hexadecimal digits.
    pub base: String,
    /// Features that are stated; one that is missing is not stated, which is not off.
    pub features: BTreeMap<String, bool>,
}

/// Parses a name such as `gfx90a:sramecc+:xnack-`.
///
/// # Errors
/// When it does not look like one.
pub fn parse(name: &str) -> Result<Arch, String> {
    let wrong = || format!("'{name}' is no architecture name (gfx and digits, then features like :xnack-)");
    let mut parts = name.split(':');
    let base = parts.next().unwrap_or_default();
    let digits = base.strip_prefix("gfx").ok_or_else(wrong)?;
    if !(3..=4).contains(&digits.len()) || !digits.bytes().all(|b| b.is_ascii_hexdigit()) || digits == "000" {
        return Err(wrong());
    }
    let mut features = BTreeMap::new();
    for part in parts {
        let (feature, state) = match part.strip_suffix('+') {
            Some(feature) => (feature, true),
            None => (part.strip_suffix('-').ok_or_else(wrong)?, false),
        };
        if feature.is_empty() || features.insert(feature.to_string(), state).is_some() {
            return Err(wrong());
        }
    }
    Ok(Arch { base: base.to_string(), features })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_base_and_stated_features() {
        let features = |name: &str| parse(name).expect("a name").features.into_iter().collect::<Vec<_>>();
        assert_eq!(features("gfx90a:sramecc+:xnack-"), [("sramecc".into(), true), ("xnack".into(), false)]);
        assert_eq!(features("gfx906:xnack-"), [("xnack".into(), false)]);
        assert_eq!(parse("gfx1151"), Ok(Arch { base: "gfx1151".into(), features: BTreeMap::new() }));
        assert_eq!(parse("gfx90c").expect("a name").base, "gfx90c");
    }

    #[test]
    fn rubbish_is_no_name() {
        for name in
            ["", "gfx", "gfx000", "gfx12345", "gfxzzz", "sm_90", "gfx942:", "gfx942:xnack", "gfx942:xnack+:xnack-"]
        {
            assert!(parse(name).is_err(), "{name}");
        }
    }
}
