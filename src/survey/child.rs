//! One probe, in a process of its own: it may fault, hang or be killed without harm. Refuses to judge more than the bytes it sees.

use super::model::{Drain, Probe, Seen};
use crate::board::probe::Expendable;
use crate::board::{Board, BoardError, Bound, Buffer, Deadline, Image, Kind, LaunchCmd, Mode, Module, ThreadOrder};
use crate::run::Options;
use crate::run::boards::{self, Open};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Bytes of a pattern: past 64 KiB, and no whole number of pages.
const BYTES: usize = (1 << 20) + 12_300;
/// What a kernel may take. Shorter than the parent's patience, so that a hang is told apart from a probe that died.
const PATIENCE: Duration = Duration::from_secs(5);
/// Longest kernel that is tried to see a value before its launch is done.
const LONGEST: Duration = Duration::from_secs(2);
/// Blocks of a probe.
const BLOCKS: u32 = 64;

/// What a probe does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// A kernel writes, the host reads.
    HostReads,
    /// The host writes, a kernel reads.
    HostWrites,
    /// The runtime writes, a kernel reads.
    DeviceReads,
    /// The same through a pointer into the middle of the allocation.
    DeviceReadsMiddle,
    /// How many lanes vote together, and what `warpSize` says.
    Lanes,
    /// The host looks at what a spinning kernel will write, before and after the wait.
    Drain,
}

/// What a child is asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// Board id.
    pub board: String,
    /// The assay binary.
    pub exe: PathBuf,
    /// Image with the probe kernels.
    pub image: PathBuf,
    /// Kind of memory.
    pub kind: Kind,
    /// What to do.
    pub action: Action,
}

/// What a child answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// A probe of memory.
    Probe(Probe),
    /// Lanes that vote together, `warpSize`.
    Lanes(i32, i32),
    /// When a launch is seen to be done.
    Drain(Drain),
    /// The probe could not be made.
    Failed(String),
}

/// Runs the probe of the hidden subcommand `__probe REQUEST`; the answer is one line on standard output.
pub fn main() -> u8 {
    let text = std::env::args().nth(2).unwrap_or_default();
    let answer = match serde_json::from_str::<Request>(&text) {
        Ok(request) => answer(&request),
        Err(e) => Answer::Failed(format!("no request: {e}")),
    };
    let line = serde_json::to_string(&answer).unwrap_or_default();
    let written = std::io::Write::write_all(&mut std::io::stdout(), format!("{line}\n").as_bytes());
    u8::from(written.is_err())
}

fn answer(request: &Request) -> Answer {
    match Bench::open(request) {
        Ok(mut bench) => match request.action {
            Action::Lanes => bench.lanes(),
            Action::Drain => bench.drain(),
            action => bench.memory(request.kind, action),
        },
        Err(why) => Answer::Failed(why),
    }
}

struct Bench {
    board: Box<dyn Board>,
    module: Module,
    host: Expendable,
}

impl Bench {
    fn open(request: &Request) -> Result<Self, String> {
        let named = boards::named(&request.board).map_err(|e| e.to_string())?;
        let options = Options::new(&request.board, request.exe.clone(), PathBuf::new());
        let Open::Board(mut board) = named.open(&options)? else { return Err("the mock has no memory".into()) };
        let image = Image { path: request.image.clone(), sanitised: None };
        let module = board.load(&image).map_err(|e| e.to_string())?;
        let host = Expendable::here().ok_or("this process is no probe")?;
        Ok(Self { board, module, host })
    }

    fn launch(&mut self, kernel: &str, blocks: u32, threads: u32, args: Vec<Bound>) {
        let mode = Mode { order: ThreadOrder::Ascending, sanitise: false };
        let (grid, block) = ([blocks, 1, 1], [threads, 1, 1]);
        let kernel = kernel.to_string();
        self.board.launch(LaunchCmd { module: self.module.0, kernel, grid, block, lds: 0, args, mode });
    }

    /// Does the host use the address that kernels use?
    fn same_address(&self, buffer: &Buffer) -> Option<bool> {
        let view = self.board.host_view(buffer).ok()?;
        Some(view.address == self.board.device_ptr(buffer))
    }

    fn memory(&mut self, kind: Kind, action: Action) -> Answer {
        let buffer = match self.board.alloc(kind, BYTES) {
            Ok(buffer) => buffer,
            Err(e) => return Answer::Probe(refused(&e)),
        };
        let same_address = self.same_address(&buffer);
        let mut probe = match self.act(&buffer, action) {
            Ok((want, got, time)) => compare(&want, &got, time),
            Err(e) => refused(&e),
        };
        probe.same_address = same_address;
        Answer::Probe(probe)
    }

    /// What should have arrived, what did, and the kernel's time.
    fn act(&mut self, buffer: &Buffer, action: Action) -> Result<(Vec<u8>, Vec<u8>, Duration), BoardError> {
        let reaches = self.board.facts().device_reads.contains(&buffer.kind);
        let want = pattern(BYTES / 4, 1);
        match action {
            Action::HostReads => {
                // Where no kernel may write, the runtime does.
                if reaches {
                    let args = vec![pointer(buffer, 0), Bound::I64((BYTES / 4) as i64), Bound::I32(1)];
                    self.launch("probe_fill", BLOCKS, 256, args);
                } else {
                    self.board.copy_in(buffer, 0, &Arc::new(want.clone()));
                }
                let done = self.board.wait(Deadline::after(PATIENCE))?;
                let got = self.host.read(self.board.as_ref(), buffer, BYTES);
                Ok((want, got, done.elapsed))
            }
            Action::HostWrites => {
                self.host.write(self.board.as_ref(), buffer, &want);
                if reaches {
                    return self.through_kernel(buffer, 0, want);
                }
                self.board.copy_out(buffer, 0, BYTES);
                let mut done = self.board.wait(Deadline::after(PATIENCE))?;
                Ok((want, done.copied.pop().unwrap_or_default(), done.elapsed))
            }
            _ => {
                self.board.copy_in(buffer, 0, &Arc::new(want.clone()));
                self.board.wait(Deadline::after(PATIENCE))?;
                let middle = if action == Action::DeviceReadsMiddle { (BYTES / 8) * 4 } else { 0 };
                self.through_kernel(buffer, middle, want)
            }
        }
    }

    /// Lets a kernel copy from byte `at` on to device memory, and brings that back.
    fn through_kernel(
        &mut self,
        buffer: &Buffer,
        at: usize,
        want: Vec<u8>,
    ) -> Result<(Vec<u8>, Vec<u8>, Duration), BoardError> {
        let bytes = BYTES - at;
        let to = self.board.alloc(Kind::Device, bytes)?;
        self.board.copy_in(&to, 0, &Arc::new(vec![0xa5; bytes]));
        let args = vec![pointer(buffer, at), pointer(&to, 0), Bound::I64((bytes / 4) as i64)];
        self.launch("probe_copy", BLOCKS, 256, args);
        self.board.copy_out(&to, 0, bytes);
        let mut done = self.board.wait(Deadline::after(PATIENCE))?;
        Ok((want[at..].to_vec(), done.copied.pop().unwrap_or_default(), done.elapsed))
    }

    fn lanes(&mut self) -> Answer {
        let mut ask = || {
            let out = self.board.alloc(Kind::Device, 8)?;
            self.launch("probe_lanes", 1, 128, vec![pointer(&out, 0)]);
            self.board.copy_out(&out, 0, 8);
            self.board.wait(Deadline::after(PATIENCE))
        };
        let word = |bytes: &[u8], i: usize| bytes[4 * i..].first_chunk().map(|w| i32::from_le_bytes(*w));
        match ask() {
            Ok(done) => match done.copied.first().filter(|b| b.len() == 8).map(|b| (word(b, 0), word(b, 1))) {
                Some((Some(together), Some(declared))) => Answer::Lanes(together, declared),
                _ => Answer::Failed("the kernel's result did not come back".into()),
            },
            Err(e) => Answer::Failed(e.to_string()),
        }
    }

    fn drain(&mut self) -> Answer {
        let facts = self.board.facts().clone();
        let both = |k: &Kind| facts.device_reads.contains(k) && facts.host_reads.contains(k);
        let Some(kind) = [Kind::Pinned, Kind::Managed].into_iter().find(both) else {
            let why = "no kind of memory that both sides declare to reach".to_string();
            return Answer::Drain(Drain::NotShown { why });
        };
        let buffer = match self.board.alloc(kind, 4096) {
            Ok(buffer) => buffer,
            Err(e) => return Answer::Failed(e.to_string()),
        };
        let mut rounds = 1 << 10;
        loop {
            match self.race(&buffer, rounds) {
                Err(e) => return Answer::Failed(e.to_string()),
                Ok(Race { after: false, .. }) => {
                    let why = "after the wait the host does not see what the kernel wrote".to_string();
                    return Answer::Drain(Drain::Broken { why });
                }
                Ok(Race { early: true, .. }) => return Answer::Drain(Drain::Shown { rounds }),
                Ok(Race { took, .. }) if took > LONGEST => {
                    let why = format!("the value was there before the wait even after a kernel of {took:?}");
                    return Answer::Drain(Drain::NotShown { why });
                }
                Ok(_) => rounds *= 2,
            }
        }
    }

    fn race(&mut self, buffer: &Buffer, rounds: u64) -> Result<Race, BoardError> {
        let (old, new) = (0x0bad_cafeu32.to_le_bytes(), 0x1234_5679u32);
        self.host.write(self.board.as_ref(), buffer, &old);
        self.launch("probe_spin", 1, 1, vec![pointer(buffer, 0), Bound::I64(rounds as i64), Bound::I32(new as i32)]);
        let early = self.host.read(self.board.as_ref(), buffer, 4) == old;
        let begun = Instant::now();
        self.board.wait(Deadline::after(2 * LONGEST + PATIENCE))?;
        let after = self.host.read(self.board.as_ref(), buffer, 4) == new.to_le_bytes();
        Ok(Race { early, after, took: begun.elapsed() })
    }
}

struct Race {
    /// Before the wait the old value was there.
    early: bool,
    /// After it the new one was.
    after: bool,
    took: Duration,
}

fn pointer(buffer: &Buffer, offset: usize) -> Bound {
    Bound::Ptr { buffer: buffer.id, offset: offset as u64 }
}

/// As `pattern` in kernels/survey/probe.hip.
fn pattern(words: usize, seed: u32) -> Vec<u8> {
    let word = |i: usize| {
        let i = i as u32;
        i.wrapping_mul(2_654_435_761).wrapping_add((i >> 10).wrapping_mul(40_503)).wrapping_add(seed)
    };
    (0..words).flat_map(|i| word(i).to_le_bytes()).collect()
}

fn compare(want: &[u8], got: &[u8], time: Duration) -> Probe {
    let wrong = want.iter().zip(got).position(|(w, g)| w != g);
    let (seen, detail) = match wrong {
        None if want.len() == got.len() => (Seen::Works, String::new()),
        None => (Seen::WrongData, format!("{} bytes came back, {} were wanted", got.len(), want.len())),
        Some(at) => {
            let count = want.iter().zip(got).filter(|(w, g)| w != g).count();
            let text =
                format!("{count} bytes differ, the first is byte {at}: got {:#04x}, want {:#04x}", got[at], want[at]);
            (Seen::WrongData, text)
        }
    };
    let kernel_us = (!time.is_zero()).then(|| (time.as_secs_f64() * 1e9).round() / 1e3);
    Probe { seen, bytes: got.len().min(want.len()) as u64, detail, same_address: None, kernel_us }
}

fn refused(e: &BoardError) -> Probe {
    let seen = match e {
        BoardError::Refused { .. } | BoardError::OutOfMemory { .. } | BoardError::Launch { .. } => Seen::Refused,
        BoardError::Fault { .. } => Seen::Faults,
        BoardError::Deadline { .. } => Seen::Hangs,
        _ => Seen::Inconclusive,
    };
    Probe { seen, bytes: 0, detail: e.to_string(), same_address: None, kernel_us: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_stands_in_for_another_is_wrong_data() {
        let want = pattern(BYTES / 4, 1);
        assert_eq!(compare(&want, &want, Duration::ZERO).seen, Seen::Works);
        let mut got = want.clone();
        got.copy_within(4096..8192, 69_632);
        let probe = compare(&want, &got, Duration::ZERO);
        assert_eq!(probe.seen, Seen::WrongData);
        assert!(probe.detail.contains("the first is byte 69632"), "{}", probe.detail);
        assert_eq!(compare(&want, &want[..100], Duration::ZERO).seen, Seen::WrongData);
    }
}
