//! What a dead executor is reported as: signal, lane, nearest allocation, last launch.

use super::super::wire::{Command, Fault};
use super::{Allocation, SimBoard};
use crate::board::BoardError;

impl SimBoard {
    pub(super) fn fault(&self, f: Fault, commands: &[Command]) -> BoardError {
        let signal = match f.signal as i32 {
            libc::SIGSEGV => "invalid address",
            libc::SIGBUS => "bus error",
            libc::SIGFPE => "arithmetic trap",
            libc::SIGILL => "illegal instruction",
            libc::SIGABRT => "abort",
            _ => "signal",
        };
        let kernel = match commands.iter().filter(|c| matches!(c, Command::Launch(_))).nth(f.launch as usize) {
            Some(Command::Launch(l)) => l.kernel.clone(),
            _ => "no kernel".into(),
        };
        let near =
            if f.signal as i32 == libc::SIGABRT { String::new() } else { format!("; {}", self.nearest(f.address)) };
        let detail = format!("{signal}, block {:?}, thread {:?}{near}", f.block, f.thread);
        BoardError::Fault { address: f.address, kernel, detail }
    }

    /// Where an address lies among the allocations.
    fn nearest(&self, address: u64) -> String {
        let distance = |a: &Allocation| {
            let end = a.address + a.bytes as u64;
            if address < a.address { a.address - address } else { (address + 1).saturating_sub(end) }
        };
        let Some((id, a)) = self.buffers.iter().min_by_key(|(id, a)| (distance(a), **id)) else {
            return "no allocation".into();
        };
        let (kind, bytes) = (a.kind, a.bytes);
        let end = a.address + bytes as u64;
        if address < a.address {
            format!("{} bytes before buffer {id} ({kind:?}, {bytes} bytes)", a.address - address)
        } else if address >= end {
            format!("{} bytes past the end of buffer {id} ({kind:?}, {bytes} bytes)", address - end)
        } else {
            let offset = address - a.address;
            let sealed = a.sealed.iter().any(|r| r.contains(&(offset as usize)));
            let why = if sealed {
                ", sealed"
            } else if self.reaches(kind) {
                ""
            } else {
                ", not addressable by kernels"
            };
            format!("byte {offset} of buffer {id} ({kind:?}, {bytes} bytes{why})")
        }
    }
}

/// The launch of that number, for a sentence.
pub fn describe(commands: &[Command], index: u32, block: u64) -> Option<String> {
    match commands.iter().filter(|c| matches!(c, Command::Launch(_))).nth(index as usize)? {
        Command::Launch(l) => Some(format!("{} (launch {index} of the batch, block {block})", l.kernel)),
        _ => None,
    }
}
