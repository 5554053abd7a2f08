//! One worker process as its supervisor sees it: started, heard, killed. Refuses to know what cases are.

use super::protocol;
use super::slate::Slate;
use crate::run::Options;
use rustix::process::{Pid, Signal, kill_process_group};
use std::collections::VecDeque;
use std::io::{Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex};

/// Bytes of stderr that are kept.
const TAIL: usize = 4096;
/// A line longer than this is rubbish.
const LONGEST: usize = 256 << 20;

/// Something a worker's pipe brought.
#[derive(Debug)]
pub enum Heard {
    /// Whole lines, newlines included.
    Lines(Vec<u8>),
    /// The pipe is closed; what stood behind the last newline is dropped.
    Closed,
}

/// A worker process.
pub struct Process {
    child: Child,
    /// What it has on the board.
    pub slate: Slate,
    stdin: Option<ChildStdin>,
    tail: Arc<Mutex<VecDeque<u8>>>,
    stderr: Option<std::thread::JoinHandle<()>>,
}

impl Process {
    /// Starts a worker, gives it `setup` and sends whatever it says to `to` under `name`.
    ///
    /// # Errors
    /// When the process cannot be started.
    pub fn start(options: &Options, setup: &[u8], name: u64, to: Sender<(u64, Heard)>) -> std::io::Result<Self> {
        let slate = Slate::create()?;
        let mut command = Command::new(&options.exe);
        command.arg("__worker").arg(slate.path());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // A group of its own: Ctrl-C is the supervisor's to handle, and a kill reaches the executor too.
        command.process_group(0);
        let mut child = command.spawn()?;
        let stdin = child.stdin.take();
        let stdout = child.stdout.take();
        let stderr = child.stderr.take();
        let tail = Arc::new(Mutex::new(VecDeque::new()));
        if let Some(pipe) = stdout {
            std::thread::Builder::new().name(format!("worker-{name}")).spawn(move || listen(pipe, name, &to))?;
        }
        let kept = Arc::clone(&tail);
        let stderr = match stderr {
            Some(pipe) => Some(std::thread::Builder::new().spawn(move || keep_tail(pipe, &kept))?),
            None => None,
        };
        let mut process = Self { child, slate, stdin, tail, stderr };
        process.tell(setup);
        Ok(process)
    }

    /// Writes lines to the worker. A worker that is dead hears nothing; its end shows on its own pipe.
    pub fn tell(&mut self, lines: &[u8]) {
        if let Some(pipe) = &mut self.stdin
            && pipe.write_all(lines).is_err()
        {
            self.stdin = None;
        }
    }

    /// Asks the worker to finish.
    pub fn finish(&mut self) {
        if let Ok(line) = protocol::line(&protocol::Hand::Finish) {
            self.tell(&line);
        }
    }

    /// Kills the worker and everything it started.
    pub fn kill(&mut self) {
        if let Some(group) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.child.kill();
    }

    /// The exit status, once the process is gone.
    pub fn gone(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// Process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// What the worker wrote last on stderr; call it when the process is gone.
    pub fn last_words(&mut self) -> String {
        // An executor that outlives the worker for a moment may hold the pipe: what is there by now must do.
        for _ in 0..20 {
            match &self.stderr {
                Some(thread) if !thread.is_finished() => std::thread::sleep(std::time::Duration::from_millis(5)),
                _ => break,
            }
        }
        let bytes: Vec<u8> = self.tail.lock().map(|t| t.iter().copied().collect()).unwrap_or_default();
        String::from_utf8_lossy(&bytes).trim().to_string()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.gone().is_none() {
            self.kill();
            let _ = self.child.wait();
        }
    }
}

/// How a process ended, in words.
pub fn ending(status: ExitStatus) -> String {
    match (status.signal(), status.code()) {
        (Some(signal), _) => {
            let name = match signal {
                1 => "SIGHUP",
                2 => "SIGINT",
                4 => "SIGILL",
                6 => "SIGABRT",
                7 => "SIGBUS",
                8 => "SIGFPE",
                9 => "SIGKILL",
                11 => "SIGSEGV",
                15 => "SIGTERM",
                _ => "signal",
            };
            format!("died by {name} ({signal})")
        }
        (None, Some(code)) => format!("exited with code {code}"),
        (None, None) => "ended".to_string(),
    }
}

/// Passes on whole lines until the pipe closes.
fn listen(mut pipe: impl Read, name: u64, to: &Sender<(u64, Heard)>) {
    let mut pending = Vec::new();
    let mut chunk = vec![0u8; 64 << 10];
    loop {
        match pipe.read(&mut chunk) {
            Ok(0) => break,
            Ok(n) => {
                let searched = pending.len();
                pending.extend_from_slice(&chunk[..n]);
                let end = pending[searched..].iter().rposition(|&b| b == b'\n').map(|p| searched + p + 1);
                if let Some(end) = end {
                    let rest = pending.split_off(end);
                    if to.send((name, Heard::Lines(std::mem::replace(&mut pending, rest)))).is_err() {
                        return;
                    }
                } else if pending.len() > LONGEST {
                    break;
                }
            }
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    let _ = to.send((name, Heard::Closed));
}

/// Keeps the last bytes of a stream.
fn keep_tail(mut pipe: impl Read, tail: &Mutex<VecDeque<u8>>) {
    let mut chunk = [0u8; 4096];
    loop {
        match pipe.read(&mut chunk) {
            Ok(0) => return,
            Ok(n) => {
                let Ok(mut tail) = tail.lock() else { return };
                tail.extend(&chunk[..n]);
                let extra = tail.len().saturating_sub(TAIL);
                tail.drain(..extra);
            }
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}
