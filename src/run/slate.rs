//! Which case a worker has on the board, in memory that outlives the worker. Refuses to wake anybody: a message for every case costs
//! the supervisor more than a small case costs the worker.

use rustix::fs::{MemfdFlags, memfd_create};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// What the worker did last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// It put this case on the board.
    OnBoard(u64),
    /// It took this case off the board.
    Ran(u64),
}

/// One worker's slate.
#[derive(Debug)]
pub struct Slate(File);

impl Slate {
    /// An empty slate.
    ///
    /// # Errors
    /// When the system has no memory for it.
    pub fn create() -> io::Result<Self> {
        let file = File::from(memfd_create("assay-slate", MemfdFlags::CLOEXEC)?);
        file.set_len(8)?;
        Ok(Self(file))
    }

    /// Where a child finds it.
    pub fn path(&self) -> PathBuf {
        format!("/proc/{}/fd/{}", std::process::id(), self.0.as_raw_fd()).into()
    }

    /// The slate at `path`, to write on.
    ///
    /// # Errors
    /// When it is not there: its maker is dead, or there is no /proc.
    pub fn open(path: &Path) -> io::Result<Self> {
        OpenOptions::new().write(true).open(path).map(Self)
    }

    /// Writes a mark over the last one. A slate that cannot be written costs a death its charge to one case, nothing else.
    pub fn mark(&self, mark: Mark) {
        let word = match mark {
            Mark::OnBoard(case) => (case + 1) << 1 | 1,
            Mark::Ran(case) => (case + 1) << 1,
        };
        let _ = self.0.write_all_at(&word.to_le_bytes(), 0);
    }

    /// The last mark.
    pub fn last(&self) -> Option<Mark> {
        let mut word = [0; 8];
        self.0.read_exact_at(&mut word, 0).ok()?;
        let word = u64::from_le_bytes(word);
        let case = (word >> 1).checked_sub(1)?;
        Some(if word & 1 == 1 { Mark::OnBoard(case) } else { Mark::Ran(case) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_come_back_through_the_path() {
        let slate = Slate::create().expect("memory");
        assert_eq!(slate.last(), None);
        let worker = Slate::open(&slate.path()).expect("open");
        for mark in [Mark::OnBoard(0), Mark::Ran(0), Mark::OnBoard(1 << 40)] {
            worker.mark(mark);
            assert_eq!(slate.last(), Some(mark));
        }
    }
}
