//! One run at a time on a real board, by the board's own id. Refuses to break a lock: the kernel releases it when its holder dies.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};

/// A board of ours until it is dropped.
#[derive(Debug)]
pub struct BoardLock(File);

/// Takes the board with that id.
///
/// # Errors
/// Who has it, or why the lock cannot be had; one sentence.
pub fn take(id: &str) -> Result<BoardLock, String> {
    let path = std::env::temp_dir().join(format!("assay-board-{id}.lock"));
    let failed = |e: std::io::Error| format!("cannot lock the board with {}: {e}", path.display());
    let mut options = OpenOptions::new();
    let mut file =
        options.create(true).truncate(false).read(true).write(true).mode(0o666).open(&path).map_err(failed)?;
    // Other users lock the same file; where we are not its owner it has this mode already.
    let _ = file.set_permissions(std::fs::Permissions::from_mode(0o666));
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut holder = String::new();
            let _ = file.read_to_string(&mut holder);
            return Err(format!("busy: {} works on this board", holder.trim()));
        }
        Err(TryLockError::Error(e)) => return Err(failed(e)),
    }
    let written = file.set_len(0).and_then(|()| file.rewind()).and_then(|()| {
        let command: Vec<String> = std::env::args().collect();
        writeln!(file, "process {} ({})", std::process::id(), command.join(" "))
    });
    written.map_err(failed)?;
    Ok(BoardLock(file))
}

impl Drop for BoardLock {
    /// A child between fork and exec has the file open for a moment longer: unlocking does not wait for that.
    fn drop(&mut self) {
        let _ = self.0.unlock();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_run_is_told_who_has_the_board() {
        let id = format!("test-{}", std::process::id());
        let first = take(&id).expect("free");
        let told = take(&id).expect_err("taken");
        assert!(told.starts_with("busy: process ") && told.contains(&std::process::id().to_string()), "{told}");
        drop(first);
        let again = take(&id).expect("free again");
        drop(again);
        let _ = std::fs::remove_file(std::env::temp_dir().join(format!("assay-board-{id}.lock")));
    }
}
