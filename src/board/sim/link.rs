//! A running executor as the worker sees it: its process, its socket, and what is known of its end.
//! Refuses to interpret replies beyond their head, and never waits past a deadline.
#![allow(unsafe_code)]

use super::arena::memory_file;
use super::wire::{Config, MAGIC};
use crate::board::Deadline;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{OnceLock, mpsc};
use std::time::{Duration, Instant};

/// Longest reply that is believed.
const MAX_REPLY: usize = 64 << 20;

/// Longest sleep between looks at the deadline.
const SLICE: Duration = Duration::from_millis(50);

/// Time to look for input before going to sleep.
const LINGER: Duration = Duration::from_micros(60);

/// Looks for input on `fd` for a moment, giving way to whoever can run: to wake a core that idles costs more than most launches.
pub fn linger(fd: impl AsFd) {
    let begun = Instant::now();
    let mut wanted = [PollFd::new(&fd, PollFlags::IN)];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    while begun.elapsed() < LINGER && matches!(poll(&mut wanted, Some(&at_once)), Ok(0)) {
        std::thread::yield_now();
    }
}

/// Why no reply came.
#[derive(Debug)]
pub enum Silence {
    /// The deadline passed.
    Deadline,
    /// The process ended, or its answer is no answer.
    Ended(String),
}

/// An executor process.
#[derive(Debug)]
pub struct Link {
    child: Child,
    socket: UnixStream,
    errors: OwnedFd,
    status: OwnedFd,
    /// Read timeout of the socket.
    slice: Duration,
}

impl Link {
    /// Starts an executor; `files` are the memory files that it inherits, already named in `config`.
    ///
    /// # Errors
    /// When the process cannot be started.
    pub fn start(exe: &Path, mut config: Config, files: &[&OwnedFd]) -> io::Result<Self> {
        let (socket, theirs) = UnixStream::pair()?;
        let (status, errors) = (memory_file("assay-status")?, memory_file("assay-stderr")?);
        rustix::fs::ftruncate(&status, 4096)?;
        config.socket = theirs.as_raw_fd();
        config.status = status.as_raw_fd();
        let mut inherit: Vec<i32> = files.iter().map(|f| f.as_raw_fd()).collect();
        inherit.extend([config.socket, config.status]);
        let mut command = Command::new(exe);
        command.arg("__sim-device").arg(serde_json::to_string(&config).map_err(io::Error::other)?);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::from(errors.try_clone()?));
        // SAFETY: the closure only calls fcntl, which is async-signal-safe, on descriptors that outlive the fork.
        unsafe {
            command.pre_exec(move || {
                for &fd in &inherit {
                    if libc::fcntl(fd, libc::F_SETFD, 0) != 0 {
                        return Err(io::Error::last_os_error());
                    }
                }
                Ok(())
            });
        }
        let child = spawn(command)?;
        Ok(Self { child, socket, errors, status, slice: Duration::ZERO })
    }

    /// Sends a request and waits for the body of the reply, which replaces what `body` held.
    ///
    /// # Errors
    /// [`Silence`]; the link is of no use afterwards.
    pub fn ask(&mut self, request: &[u8], deadline: Deadline, body: &mut Vec<u8>) -> Result<(), Silence> {
        if let Err(e) = self.socket.write_all(request) {
            return Err(Silence::Ended(self.obituary(&format!("cannot be written to ({e})"))));
        }
        body.clear();
        body.resize(4096, 0);
        let (mut got, mut need) = (0, 8);
        while got < need {
            got += self.receive(deadline, &mut body[got..])?;
            if got >= 8 && need == 8 {
                let word = |i: usize| u32::from_le_bytes(body[i..i + 4].try_into().expect("4 bytes"));
                let length = word(4) as usize;
                if word(0) != MAGIC || length == 0 || length > MAX_REPLY {
                    return Err(Silence::Ended(self.obituary("answered rubbish")));
                }
                need = 8 + length;
                if body.len() < need {
                    body.resize(need, 0);
                }
            }
        }
        if got > need {
            return Err(Silence::Ended(self.obituary("answered rubbish")));
        }
        body.truncate(need);
        body.drain(..8);
        Ok(())
    }

    /// Some bytes, at least one. Sleeps in slices, so that the usual wait costs one system call and no timer to set.
    fn receive(&mut self, deadline: Deadline, into: &mut [u8]) -> Result<usize, Silence> {
        loop {
            let left = deadline.left();
            if left.is_zero() {
                return Err(Silence::Deadline);
            }
            let slice = left.min(SLICE);
            if self.slice != slice {
                let set = self.socket.set_read_timeout(Some(slice));
                set.map_err(|e| Silence::Ended(self.obituary(&format!("cannot be waited for ({e})"))))?;
                self.slice = slice;
            }
            linger(&self.socket);
            match self.socket.read(into) {
                Ok(0) => return Err(Silence::Ended(self.obituary("closed its socket"))),
                Ok(n) => return Ok(n),
                Err(e)
                    if matches!(
                        e.kind(),
                        io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
                    ) => {}
                Err(e) => return Err(Silence::Ended(self.obituary(&format!("cannot be read from ({e})")))),
            }
        }
    }

    /// Ends the process and says how it ended, with the end of what it wrote to standard error.
    fn obituary(&mut self, seen: &str) -> String {
        // A process that closes its socket is about to end by itself; its own status tells more than our kill.
        let mut status = None;
        for _ in 0..100 {
            match self.child.try_wait() {
                Ok(Some(s)) => {
                    status = Some(s);
                    break;
                }
                _ => std::thread::sleep(Duration::from_millis(2)),
            }
        }
        let end = match status {
            Some(s) if s.signal().is_some() => format!("killed by signal {}", s.signal().unwrap_or_default()),
            Some(s) => format!("exited with code {}", s.code().unwrap_or_default()),
            None => format!("{seen} and was killed"),
        };
        let tail = self.errors_tail();
        let pause = if tail.is_empty() { "" } else { ": " };
        format!(
            "the executor {}{pause}{tail}",
            if status.is_some() && seen.contains("rubbish") { format!("{seen} and {end}") } else { end }
        )
    }

    fn errors_tail(&self) -> String {
        let size = rustix::fs::fstat(&self.errors).map_or(0, |s| s.st_size as u64);
        let mut text = vec![0; size.min(2048) as usize];
        let got = rustix::io::pread(&self.errors, &mut text, size.saturating_sub(2048)).unwrap_or(0);
        String::from_utf8_lossy(&text[..got]).trim().to_string()
    }

    /// Launch of the batch and block that ran last, as the executor noted them.
    pub fn progress(&self) -> (u32, u64) {
        let mut page = [0u8; 16];
        if rustix::io::pread(self.status.as_fd(), &mut page, 0) != Ok(16) {
            return (u32::MAX, 0);
        }
        let word = |i: usize| u64::from_le_bytes(page[i..i + 8].try_into().expect("8 bytes"));
        (word(0) as u32, word(8))
    }

    /// Process id of the executor.
    pub fn id(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

type Job = (Command, mpsc::Sender<io::Result<Child>>);

/// Starts a process from a thread that lives as long as we do: PR_SET_PDEATHSIG fires when the *thread* that started it ends.
fn spawn(command: Command) -> io::Result<Child> {
    static SPAWNER: OnceLock<mpsc::Sender<Job>> = OnceLock::new();
    let spawner = SPAWNER.get_or_init(|| {
        let (send, receive) = mpsc::channel::<Job>();
        std::thread::spawn(move || {
            for (mut command, answer) in receive {
                let _ = answer.send(command.spawn());
            }
        });
        send
    });
    let (send, receive) = mpsc::channel();
    spawner.send((command, send)).map_err(|_| io::Error::other("the thread that starts executors has ended"))?;
    receive.recv().map_err(|_| io::Error::other("the thread that starts executors has ended"))?
}
