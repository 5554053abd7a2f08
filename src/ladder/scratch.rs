//! Scratch copies of the kernel sources, in the folder of the run. Refuses to write anywhere else, and to leave an edit behind.

use super::ClimbError;
use super::rung::Edit;
use crate::toolchain::hex;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Path below the kernel folder -> text.
pub type Texts = BTreeMap<String, Vec<u8>>;

/// sha256 of every text.
pub fn manifest(texts: &Texts) -> BTreeMap<String, String> {
    texts.iter().map(|(path, text)| (path.clone(), hex(text))).collect()
}

/// A copy of the sources that one worker edits, and a folder for what it builds.
#[derive(Debug)]
pub struct Scratch {
    root: PathBuf,
}

impl Scratch {
    /// Writes a fresh copy below `root`, which is emptied first.
    ///
    /// # Errors
    /// When the folder cannot be written.
    pub fn new(root: PathBuf, texts: &Texts) -> Result<Self, ClimbError> {
        match std::fs::remove_dir_all(&root) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                return Err(ClimbError::io("cannot empty", &root, e));
            }
            _ => {}
        }
        std::fs::create_dir_all(root.join("build")).map_err(|e| ClimbError::io("cannot make", &root, e))?;
        // Compilers name files by the path they are given, and the builder maps this very path away.
        let root = root.canonicalize().map_err(|e| ClimbError::io("cannot find", &root, e))?;
        let scratch = Self { root };
        for (path, text) in texts {
            scratch.put(path, text)?;
        }
        Ok(scratch)
    }

    /// Folder of the sources.
    pub fn tree(&self) -> PathBuf {
        self.root.join("kernels")
    }

    /// Folder of everything that is built.
    pub fn build(&self) -> PathBuf {
        self.root.join("build")
    }

    /// The folder of both.
    pub fn root(&self) -> &Path {
        &self.root
    }

    fn put(&self, path: &str, text: &[u8]) -> Result<(), ClimbError> {
        let file = self.tree().join(path);
        let folder = file.parent().unwrap_or(&self.root).to_path_buf();
        std::fs::create_dir_all(&folder).map_err(|e| ClimbError::io("cannot make", &folder, e))?;
        std::fs::write(&file, text).map_err(|e| ClimbError::io("cannot write", &file, e))
    }

    /// Writes the mutated files.
    ///
    /// # Errors
    /// `Defect` when an edit does not fit its file; when a file cannot be written.
    pub fn edit(&self, edits: &[Edit], texts: &Texts) -> Result<(), ClimbError> {
        for (file, text) in mutated(edits, texts)? {
            self.put(&file, &text)?;
        }
        Ok(())
    }

    /// Puts the originals back.
    ///
    /// # Errors
    /// `Changed` when a file does not have its hash afterwards.
    pub fn restore(&self, edits: &[Edit], texts: &Texts) -> Result<(), ClimbError> {
        for edit in edits {
            if let Some(text) = texts.get(&edit.file) {
                self.put(&edit.file, text)?;
            }
        }
        for (path, text) in texts {
            let file = self.tree().join(path);
            if std::fs::read(&file).map_err(|e| ClimbError::io("cannot read", &file, e))? != *text {
                return Err(ClimbError::Changed(format!("scratch copy of {path}")));
            }
        }
        Ok(())
    }
}

/// The mutated text of every edited file.
///
/// # Errors
/// `Defect` when an edit does not fit.
pub fn mutated(edits: &[Edit], texts: &Texts) -> Result<Texts, ClimbError> {
    let mut out = Texts::new();
    for edit in edits.iter().rev() {
        let text = match out.get(&edit.file).or_else(|| texts.get(&edit.file)) {
            Some(text) => text.clone(),
            None => return Err(ClimbError::Defect(format!("an edit of {}, which is no source", edit.file))),
        };
        if text.get(edit.span.clone()) != Some(edit.old.as_bytes()) {
            return Err(ClimbError::Defect(format!("an edit of {} at {:?} does not fit", edit.file, edit.span)));
        }
        let mut new = text[..edit.span.start].to_vec();
        new.extend_from_slice(edit.new.as_bytes());
        new.extend_from_slice(&text[edit.span.end..]);
        out.insert(edit.file.clone(), new);
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(file: &str, span: std::ops::Range<usize>, old: &str, new: &str) -> Edit {
        Edit { file: file.into(), span, old: old.into(), new: new.into() }
    }

    #[test]
    fn edits_of_one_file_apply_together_and_are_taken_back() {
        let texts = Texts::from([("a/k.hip".to_string(), b"one two three".to_vec())]);
        let edits = [edit("a/k.hip", 0..3, "one", "1"), edit("a/k.hip", 8..13, "three", "THREE")];
        let folder = tempfile::tempdir().expect("temporary folder");
        let scratch = Scratch::new(folder.path().join("w0"), &texts).expect("scratch");
        let file = scratch.tree().join("a/k.hip");
        scratch.edit(&edits, &texts).expect("edited");
        assert_eq!(std::fs::read_to_string(&file).expect("read"), "1 two THREE");
        scratch.restore(&edits, &texts).expect("restored");
        assert_eq!(std::fs::read_to_string(&file).expect("read"), "one two three");
    }

    #[test]
    fn an_edit_that_does_not_fit_and_a_copy_that_changed_are_refused() {
        let texts = Texts::from([("k.hip".to_string(), b"one".to_vec())]);
        assert!(mutated(&[edit("k.hip", 0..3, "two", "")], &texts).is_err());
        assert!(mutated(&[edit("k.hip", 2..9, "e", "")], &texts).is_err());
        assert!(mutated(&[edit("other.hip", 0..1, "o", "")], &texts).is_err());
        let folder = tempfile::tempdir().expect("temporary folder");
        let scratch = Scratch::new(folder.path().join("w0"), &texts).expect("scratch");
        std::fs::write(scratch.tree().join("k.hip"), "rewritten").expect("written");
        assert!(matches!(scratch.restore(&[], &texts), Err(ClimbError::Changed(_))));
    }
}
