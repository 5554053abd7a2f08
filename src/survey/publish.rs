//! A survey as evidence: documents and a manifest of their hashes. Refuses to publish names and paths of the machine, and to accept a
//! folder of which one byte was changed.

use super::model::Survey;
use super::text;
use crate::toolchain::hex;
use std::path::{Path, PathBuf};

/// The manifest's file.
pub const MANIFEST: &str = "MANIFEST.sha256";

/// Takes the machine's name and paths out of a survey.
pub fn redact(mut survey: Survey) -> Survey {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let host = host.trim().to_string();
    let clean = |text: &str| {
        let words = text.split(' ').map(|word| redacted(word, &host));
        words.collect::<Vec<_>>().join(" ")
    };
    survey.command = survey.command.iter().map(|w| clean(w)).collect();
    for f in survey.identity.iter_mut().chain(&mut survey.environment) {
        f.source = clean(&f.source);
        f.value = if f.name == "uuid" { "redacted".to_string() } else { clean(&f.value) };
    }
    survey.findings = survey.findings.iter().map(|f| clean(f)).collect();
    survey
}

/// A word without the machine in it: of a path the last part stays.
fn redacted(word: &str, host: &str) -> String {
    if word.starts_with('/') && !word.starts_with("/dev/") {
        return word.rsplit('/').next().unwrap_or_default().to_string();
    }
    if !host.is_empty() && word.contains(host) { word.replace(host, "HOST") } else { word.to_string() }
}

/// Writes survey.json, survey.md and the manifest into `folder`.
///
/// # Errors
/// Which file could not be written.
pub fn publish(survey: &Survey, folder: &Path) -> Result<Vec<PathBuf>, String> {
    let json = serde_json::to_string_pretty(survey).unwrap_or_default() + "\n";
    let files = [("survey.json", json), ("survey.md", text::markdown(survey))];
    let lines: String = files.iter().map(|(name, text)| format!("{}  {name}\n", hex(text.as_bytes()))).collect();
    std::fs::create_dir_all(folder).map_err(|e| format!("cannot make {}: {e}", folder.display()))?;
    let all = files.into_iter().chain([(MANIFEST, lines)]);
    all.map(|(name, text)| {
        let path = folder.join(name);
        std::fs::write(&path, text).map_err(|e| format!("cannot write {}: {e}", path.display()))?;
        Ok(path)
    })
    .collect()
}

/// Compares a published folder with its manifest: the files that were checked.
///
/// # Errors
/// Everything that differs: a changed, missing or unlisted file, or a manifest that lists nothing; one line each.
pub fn verify(folder: &Path) -> Result<usize, Vec<String>> {
    let path = folder.join(MANIFEST);
    let manifest = std::fs::read_to_string(&path).map_err(|e| vec![format!("{}: {e}", path.display())])?;
    let mut wrong = Vec::new();
    let mut listed = Vec::new();
    for line in manifest.lines() {
        let Some((hash, name)) = line.split_once("  ").filter(|(h, n)| h.len() == 64 && !n.contains('/')) else {
            wrong.push(format!("{MANIFEST}: '{line}' is no line of a manifest"));
            continue;
        };
        listed.push(name.to_string());
        match std::fs::read(folder.join(name)) {
            Ok(bytes) if hex(&bytes) == hash => {}
            Ok(_) => wrong.push(format!("{name} was changed after it was published")),
            Err(e) => wrong.push(format!("{name}: {e}")),
        }
    }
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    for name in entries.map(|e| e.file_name().to_string_lossy().into_owned()) {
        if name != MANIFEST && !listed.contains(&name) {
            wrong.push(format!("{name} is not in the manifest"));
        }
    }
    if listed.is_empty() {
        wrong.push(format!("{MANIFEST} lists nothing"));
    }
    if wrong.is_empty() { Ok(listed.len()) } else { Err(wrong) }
}
