//! A queue turned into commands for the executor, with the bytes of its copies put where they are needed.

use super::super::arena::SPAN;
use super::super::wire::{self, Command, IN_PLACE};
use super::{SimBoard, lost};
use crate::board::BoardError;
use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// A queued command, its buffers resolved.
pub enum Queued {
    In { address: u64, bytes: Arc<Vec<u8>> },
    Out { address: u64, bytes: usize },
    Launch(wire::Launch),
}

/// Where the bytes of a copy from the device will be.
enum Source {
    /// At this offset of the staging file.
    Staged(u64),
    /// Still at this device address: nothing runs after it.
    Device(u64),
}

/// A queue turned into commands: what goes where in the staging files.
#[derive(Default)]
pub struct Batch {
    pub commands: Vec<Command>,
    outs: Vec<(Source, usize)>,
    ins: u64,
    staged: HashMap<*const Vec<u8>, u64>,
}

impl SimBoard {
    /// Places the bytes of copies: before the first launch straight into device memory, later ones in the staging file.
    pub(super) fn stage(&mut self, queue: Vec<Queued>) -> Result<Batch, BoardError> {
        let mut b = Batch::default();
        let mut out = 0u64;
        let mut direct = true;
        let last_work = queue.iter().rposition(|q| !matches!(q, Queued::Out { .. }));
        let launches = queue.iter().any(|q| matches!(q, Queued::Launch(_)));
        for (i, q) in queue.into_iter().enumerate() {
            match q {
                Queued::In { address, bytes } => {
                    let length = bytes.len() as u64;
                    let from = if direct {
                        let (file, at) = self.file_of(address);
                        put(file, &bytes, at)?;
                        IN_PLACE
                    } else if let Some(&at) = b.staged.get(&Arc::as_ptr(&bytes)) {
                        at
                    } else {
                        put(&self.staging_in, &bytes, b.ins)?;
                        b.staged.insert(Arc::as_ptr(&bytes), b.ins);
                        b.ins += length;
                        b.ins - length
                    };
                    b.commands.push(Command::CopyIn { address, bytes: length, from });
                }
                // Without a launch the executor has a part in the copy all the same: a probe must not pass without it.
                Queued::Out { address, bytes } if launches && Some(i) > last_work => {
                    b.outs.push((Source::Device(address), bytes));
                }
                Queued::Out { address, bytes } => {
                    direct = false;
                    b.commands.push(Command::CopyOut { address, bytes: bytes as u64, to: out });
                    b.outs.push((Source::Staged(out), bytes));
                    out += bytes as u64;
                }
                Queued::Launch(l) => {
                    direct = false;
                    if self.loaded.insert((l.module, l.sanitise)) {
                        let path = self.library(l.module, l.sanitise)?;
                        b.commands.push(Command::Load { module: l.module, sanitised: l.sanitise, path });
                    }
                    b.commands.push(Command::Launch(Box::new(l)));
                }
            }
        }
        Ok(b)
    }

    /// File and offset of a device address.
    fn file_of(&self, address: u64) -> (&OwnedFd, u64) {
        let inside = address >= self.arena.base && address - self.arena.base < SPAN;
        let segment = if inside { &self.arena } else { &self.host };
        (&segment.file, segment.offset(address))
    }

    /// The bytes of every copy from the device, once the batch is done.
    pub(super) fn collect(&self, batch: &Batch) -> Result<Vec<Vec<u8>>, BoardError> {
        let one = |(source, bytes): &(Source, usize)| match *source {
            Source::Staged(at) => get(&self.staging_out, *bytes, at),
            Source::Device(address) => {
                let (file, at) = self.file_of(address);
                get(file, *bytes, at)
            }
        };
        batch.outs.iter().map(one).collect()
    }

    fn library(&self, module: u64, sanitise: bool) -> Result<String, BoardError> {
        let image = &self.images[module as usize];
        let path = if sanitise { image.sanitised.as_ref() } else { Some(&image.path) };
        path.map(|p| p.display().to_string()).ok_or_else(|| BoardError::Refused {
            what: "a sanitised launch".into(),
            need: "the sanitised build of the kernel".into(),
            have: format!("only {}", image.path.display()),
        })
    }
}

fn put(file: &OwnedFd, mut bytes: &[u8], mut at: u64) -> Result<(), BoardError> {
    while !bytes.is_empty() {
        match rustix::io::pwrite(file, bytes, at) {
            Ok(n) => {
                bytes = &bytes[n..];
                at += n as u64;
            }
            Err(rustix::io::Errno::INTR) => {}
            Err(e) => return Err(lost("writing simulated device memory", e)),
        }
    }
    Ok(())
}

fn get(file: &OwnedFd, length: usize, mut at: u64) -> Result<Vec<u8>, BoardError> {
    let mut bytes = Vec::with_capacity(length);
    while bytes.len() < length {
        let left = length - bytes.len();
        match rustix::io::pread(file, rustix::buffer::spare_capacity(&mut bytes), at) {
            Ok(0) => return Err(lost("reading simulated device memory", "it ends early")),
            Ok(n) => {
                // The capacity may exceed the length asked for.
                bytes.truncate(length);
                at += n.min(left) as u64;
            }
            Err(rustix::io::Errno::INTR) => {}
            Err(e) => return Err(lost("reading simulated device memory", e)),
        }
    }
    Ok(bytes)
}
