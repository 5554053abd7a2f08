//! Source lines of code addresses. Refuses to blame our own headers: the innermost line of the user's is named.

use std::path::Path;

/// Line tables of one library.
pub struct Places(addr2line::Loader);

impl Places {
    /// Reads the tables of a library; `None` when it has none.
    pub fn open(path: &str) -> Option<Self> {
        addr2line::Loader::new(path).ok().map(Self)
    }

    /// `file:line` of an address relative to the library.
    pub fn find(&self, address: u64) -> Option<String> {
        let mut frames = self.0.find_frames(address).ok()?;
        let mut first = None;
        while let Ok(Some(frame)) = frames.next() {
            let Some(location) = frame.location else { continue };
            let (Some(file), Some(line)) = (location.file, location.line) else { continue };
            let name = Path::new(file).file_name().unwrap_or_default().to_string_lossy();
            let text = format!("{name}:{line}");
            if !["/sim/assay/", "/sim/hip/", "/c++/"].iter().any(|ours| file.contains(ours)) {
                return Some(text);
            }
            first.get_or_insert(text);
        }
        first
    }
}
