//! Device memory in the executor: the mappings, their protection, and the copies. Refuses to map the staging files.
#![allow(unsafe_code)]

use super::super::wire::Config;
use crate::board::BoardError;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

/// Memory files, inherited from the worker.
pub struct Files {
    pub arena: OwnedFd,
    pub host: OwnedFd,
    pub staging_in: OwnedFd,
    pub staging_out: OwnedFd,
    pub status: OwnedFd,
}

/// Mapped device memory.
pub struct Memory {
    files: Files,
    arena_base: u64,
    host_base: u64,
    span: u64,
    status: *mut Status,
}

/// Progress, read by the worker when a deadline is missed.
#[repr(C)]
pub struct Status {
    /// Launch of the batch; `u32::MAX` before the first.
    pub launch: u64,
    /// Block, in the order they run.
    pub block: u64,
}

fn map(fd: &OwnedFd, at: u64, bytes: u64, protection: i32) -> io::Result<*mut libc::c_void> {
    let fixed = if at == 0 { 0 } else { libc::MAP_FIXED_NOREPLACE };
    // SAFETY: a fresh shared mapping; NOREPLACE refuses to cover an existing one.
    let got = unsafe {
        libc::mmap(
            at as *mut _,
            bytes as usize,
            protection,
            libc::MAP_SHARED | libc::MAP_NORESERVE | fixed,
            fd.as_raw_fd(),
            0,
        )
    };
    if got == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(got) }
}

impl Memory {
    /// Maps everything, closed.
    pub fn map(c: &Config, files: Files) -> io::Result<Self> {
        map(&files.arena, c.arena_base, c.span, libc::PROT_NONE)?;
        map(&files.host, c.host_base, c.span, libc::PROT_NONE)?;
        let status = map(&files.status, 0, 4096, libc::PROT_READ | libc::PROT_WRITE)?.cast();
        Ok(Self { arena_base: c.arena_base, host_base: c.host_base, span: c.span, files, status })
    }

    /// The progress page.
    pub fn status(&self) -> *mut Status {
        self.status
    }

    /// Lets kernels reach a range of whole pages, or makes it fault.
    pub fn protect(&self, address: u64, bytes: u64, open: bool) -> Result<(), BoardError> {
        self.locate(address, bytes)?;
        let protection = if open { libc::PROT_READ | libc::PROT_WRITE } else { libc::PROT_NONE };
        // SAFETY: the range lies inside our own two mappings, which hold nothing but device memory.
        if unsafe { libc::mprotect(address as *mut _, bytes as usize, protection) } != 0 {
            return Err(BoardError::Lost { why: format!("protecting device memory: {}", io::Error::last_os_error()) });
        }
        Ok(())
    }

    /// File and offset of a range.
    fn locate(&self, address: u64, bytes: u64) -> Result<(&OwnedFd, u64), BoardError> {
        for (base, file) in [(self.arena_base, &self.files.arena), (self.host_base, &self.files.host)] {
            if address >= base && address - base < self.span && bytes <= self.span - (address - base) {
                return Ok((file, address - base));
            }
        }
        Err(BoardError::Lost { why: format!("{address:#x} is not device memory") })
    }

    /// From the staging file into device memory.
    pub fn copy_in(&self, address: u64, bytes: u64, from: u64) -> Result<(), BoardError> {
        let (file, at) = self.locate(address, bytes)?;
        // SAFETY: device memory, which nothing of ours refers to; where pages are closed the kernel refuses (EFAULT).
        let target = unsafe { std::slice::from_raw_parts_mut(address as *mut u8, bytes as usize) };
        match rustix::io::pread(&self.files.staging_in, target, from) {
            Ok(n) if n as u64 == bytes => Ok(()),
            _ => pump(&self.files.staging_in, from, file, at, bytes),
        }
    }

    /// From device memory into the staging file.
    pub fn copy_out(&self, address: u64, bytes: u64, to: u64) -> Result<(), BoardError> {
        let (file, at) = self.locate(address, bytes)?;
        // SAFETY: as above, and only read by the kernel of the system.
        let source = unsafe { std::slice::from_raw_parts(address as *const u8, bytes as usize) };
        match rustix::io::pwrite(&self.files.staging_out, source, to) {
            Ok(n) if n as u64 == bytes => Ok(()),
            _ => pump(file, at, &self.files.staging_out, to, bytes),
        }
    }
}

/// Copies between files through a buffer that stays in cache; works for sealed pages too.
fn pump(src: &OwnedFd, mut from: u64, dst: &OwnedFd, mut to: u64, mut left: u64) -> Result<(), BoardError> {
    let lost = |e: &dyn std::fmt::Display| BoardError::Lost { why: format!("copying device memory: {e}") };
    let mut buffer = [0u8; 64 << 10];
    while left > 0 {
        let want = left.min(buffer.len() as u64) as usize;
        let got = rustix::io::pread(src, &mut buffer[..want], from).map_err(|e| lost(&e))?;
        if got == 0 {
            return Err(lost(&"the file ends early"));
        }
        let mut rest = &buffer[..got];
        while !rest.is_empty() {
            let n = rustix::io::pwrite(dst, rest, to).map_err(|e| lost(&e))?;
            rest = &rest[n..];
            to += n as u64;
        }
        from += got as u64;
        left -= got as u64;
    }
    Ok(())
}
