//! The out folder: made, locked, and cleared of the run before. Refuses to be shared by two runs.

use super::{RunError, journal};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};

/// An out folder of ours until it is dropped (or the process dies: the kernel releases the lock).
pub struct OutFolder {
    path: PathBuf,
    lock: File,
}

impl OutFolder {
    /// Makes the folder and takes its lock.
    ///
    /// # Errors
    /// `Folder` when it cannot be made or written, `Locked` when another run has it.
    pub fn take(path: &Path) -> Result<Self, RunError> {
        let fail = |path: &Path, source| RunError::Folder { path: path.to_path_buf(), source };
        std::fs::create_dir_all(path).map_err(|e| fail(path, e))?;
        let name = path.join("lock");
        let lock =
            OpenOptions::new().create(true).truncate(false).write(true).open(&name).map_err(|e| fail(&name, e))?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { path: path.to_path_buf(), lock }),
            Err(TryLockError::WouldBlock) => Err(RunError::Locked { path: path.to_path_buf() }),
            Err(TryLockError::Error(e)) => Err(fail(&name, e)),
        }
    }

    /// The journal's path.
    pub fn journal(&self) -> PathBuf {
        self.path.join(journal::FILE)
    }

    /// Moves those of `names` that the run before left into `previous/`. Whatever is no regular file (a link, a device) stays.
    ///
    /// # Errors
    /// `Folder`.
    pub fn clear(&self, names: &[&str]) -> Result<(), RunError> {
        let previous = self.path.join("previous");
        for name in names {
            let from = self.path.join(name);
            if !from.symlink_metadata().is_ok_and(|m| m.is_file()) {
                continue;
            }
            let moved = std::fs::create_dir_all(&previous).and_then(|()| std::fs::rename(&from, previous.join(name)));
            moved.map_err(|source| RunError::Folder { path: previous.clone(), source })?;
        }
        Ok(())
    }
}

impl Drop for OutFolder {
    /// A child between fork and exec has the file open for a moment longer: unlocking does not wait for that.
    fn drop(&mut self) {
        let _ = self.lock.unlock();
    }
}

/// The journal being written: every append is one write, so that a death of ours loses nothing.
pub struct Writer {
    file: File,
    /// Bytes known to be whole.
    good: u64,
    synced: std::time::Instant,
    dirty: bool,
}

impl Writer {
    /// A new journal.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn create(path: &Path) -> std::io::Result<Self> {
        let file = OpenOptions::new().create(true).truncate(true).write(true).open(path)?;
        Ok(Self { file, good: 0, synced: std::time::Instant::now(), dirty: false })
    }

    /// Goes on behind the last whole line of a journal; a cut tail is cut off, a missing newline is put.
    ///
    /// # Errors
    /// When it cannot be opened or cut.
    pub fn resume(path: &Path, good: u64, ends_in_newline: bool) -> std::io::Result<Self> {
        use std::io::Seek;
        let mut file = OpenOptions::new().write(true).open(path)?;
        file.set_len(good)?;
        file.seek(std::io::SeekFrom::End(0))?;
        let mut writer = Self { file, good, synced: std::time::Instant::now(), dirty: false };
        if !ends_in_newline {
            writer.append(b"\n")?;
        }
        Ok(writer)
    }

    /// Writes whole lines. When that fails the lines that were written whole stay, and the rest of the file is cut off.
    ///
    /// # Errors
    /// The cause (no space, a size limit).
    pub fn append(&mut self, lines: &[u8]) -> std::io::Result<()> {
        self.dirty = true;
        if let Err(e) = self.file.write_all(lines) {
            let written = self.file.metadata().map_or(0, |m| m.len().saturating_sub(self.good));
            let written = &lines[..lines.len().min(written as usize)];
            self.good += written.iter().rposition(|&b| b == b'\n').map_or(0, |at| at + 1) as u64;
            // The tail is cut on reading anyway; a shorter file is only nicer.
            let _ = self.file.set_len(self.good);
            return Err(e);
        }
        self.good += lines.len() as u64;
        Ok(())
    }

    /// Bytes of whole lines.
    pub fn good(&self) -> u64 {
        self.good
    }

    /// Asks the disk to keep what was written, when the last time is over a second ago or `now` is set.
    ///
    /// # Errors
    /// The cause; a file that cannot be synced at all (a pipe, a device) is no error.
    pub fn sync(&mut self, now: bool) -> std::io::Result<()> {
        if !self.dirty || !(now || self.synced.elapsed().as_millis() >= 1000) {
            return Ok(());
        }
        self.dirty = false;
        self.synced = std::time::Instant::now();
        match self.file.sync_data() {
            Err(e) if e.kind() == std::io::ErrorKind::InvalidInput => Ok(()),
            other => other,
        }
    }
}
