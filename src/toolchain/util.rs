//! Hashes and whole-file writes that the rest of the room shares.

use sha2::{Digest, Sha256};
use std::io::Write;
use std::path::Path;

/// sha256 in lower-case hex.
pub fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|b| format!("{b:02x}")).collect()
}

/// sha256 of a file's bytes, in lower-case hex.
///
/// # Errors
/// When the file cannot be read.
pub fn sha256_file(path: &Path) -> std::io::Result<String> {
    std::fs::read(path).map(|bytes| hex(&bytes))
}

/// sha256 over parts; each is preceded by its length, so that no two lists of parts collide.
pub(crate) fn key_of<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    hasher.finalize().iter().map(|b| format!("{b:02x}")).collect()
}

/// Writes a file so that a reader sees the old or the new contents and nothing between; creates its folder.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(bytes)?;
    file.persist(path).map(drop).map_err(|e| e.error)
}
