//! The executor: the process that is the simulated device. Owns the mapped device memory and the loaded libraries.
//! Refuses to know cases, inputs or verdicts; ends with its worker, and at the first fault.
#![allow(unsafe_code)]

mod block;
mod fault;
mod lanes;
mod launch;
mod library;
mod memory;
mod sanitise;
mod wave;

use super::wire::{Command, Config, IN_PLACE, MAGIC, Reader, Writer, status};
use crate::board::{BoardError, Finding};
use block::Engine;
use library::Library;
use memory::Memory;
use std::collections::HashMap;
use std::io::{Read, Write};
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Instant;

/// Entry of the hidden subcommand `assay __sim-device CONFIG`; returns the exit code.
///
/// The worker closes its end of the socket to end the process; a watching thread makes that work in the middle of a kernel.
pub fn main() -> i32 {
    let Some(config) = std::env::args().nth(2).and_then(|a| serde_json::from_str::<Config>(&a).ok()) else {
        crate::complain(format_args!("assay __sim-device is started by assay itself"));
        return 2;
    };
    // SAFETY: the worker passed these descriptors to us alone, and this is the only place that takes them.
    let (socket, files) = unsafe {
        let file = |fd| OwnedFd::from_raw_fd(fd);
        let files = memory::Files {
            arena: file(config.arena),
            host: file(config.host),
            staging_in: file(config.staging_in),
            staging_out: file(config.staging_out),
            status: file(config.status),
        };
        (UnixStream::from_raw_fd(config.socket), files)
    };
    match Executor::new(config, socket, files).and_then(Executor::serve) {
        Ok(()) => 0,
        Err(e) => {
            crate::complain(format_args!("{e}"));
            1
        }
    }
}

struct Executor {
    socket: UnixStream,
    memory: Memory,
    libraries: HashMap<(u64, bool), Library>,
    engine: *mut Engine,
    wave: u32,
}

/// What a batch came to.
struct Outcome {
    nanos: u64,
    launches: u64,
    findings: Vec<Vec<Finding>>,
}

impl Executor {
    fn new(config: Config, socket: UnixStream, files: memory::Files) -> std::io::Result<Self> {
        die_with_parent(&socket)?;
        let memory = Memory::map(&config, files)?;
        // SAFETY: the device thread, which has loaded nothing yet.
        unsafe { sanitise::install() };
        let wave = config.facts.wave;
        let engine = Engine::new(config.facts, memory.status());
        fault::install(config.socket, engine)?;
        Ok(Self { socket, memory, libraries: HashMap::new(), engine, wave })
    }

    fn serve(mut self) -> std::io::Result<()> {
        let (mut request, mut reply) = (vec![0; 64 << 10], Vec::new());
        loop {
            // A request seldom needs a second read.
            let (mut got, mut need) = (0, 8);
            while got < need {
                super::link::linger(&self.socket);
                match self.socket.read(&mut request[got..])? {
                    0 if got == 0 => return Ok(()),
                    0 => return Err(std::io::Error::other("the worker stopped in the middle of a request")),
                    n => got += n,
                }
                if got >= 8 && need == 8 {
                    let word = |i: usize| u32::from_le_bytes(request[i..i + 4].try_into().expect("4 bytes"));
                    if word(0) != MAGIC {
                        return Err(std::io::Error::other("the worker sent rubbish"));
                    }
                    need = 8 + word(4) as usize;
                    if request.len() < need {
                        request.resize(need, 0);
                    }
                }
            }
            let mut w = Writer::reuse(reply);
            match self.batch(&request[8..got]) {
                Ok(done) => done.write(&mut w),
                Err(error) => {
                    w.u8(status::ERROR);
                    w.u64(0);
                    w.u64(0);
                    w.0.extend(serde_json::to_vec(&error).map_err(std::io::Error::other)?);
                }
            }
            reply = w.finish();
            self.socket.write_all(&reply)?;
        }
    }

    fn batch(&mut self, request: &[u8]) -> Result<Outcome, BoardError> {
        let mut reader = Reader(request);
        let mut done = Outcome { nanos: 0, launches: 0, findings: Vec::new() };
        // SAFETY: no kernel runs, and the reference ends with the statement.
        unsafe { (*self.engine).begin_batch() };
        while !reader.0.is_empty() {
            let command = reader.command().ok_or_else(|| BoardError::Lost { why: "the worker sent rubbish".into() })?;
            match command {
                Command::Protect { address, bytes, open } => self.memory.protect(address, bytes, open)?,
                Command::Load { module, sanitised, path } => {
                    if let std::collections::hash_map::Entry::Vacant(slot) = self.libraries.entry((module, sanitised)) {
                        slot.insert(Library::open(&path, self.wave)?);
                    }
                }
                Command::Declare { address, bytes, extents } => watch().declare(address, bytes, extents),
                Command::CopyIn { address, bytes, from } => {
                    if from != IN_PLACE {
                        self.memory.copy_in(address, bytes, from)?;
                    }
                    watch().copied_in(address, bytes);
                }
                Command::CopyOut { address, bytes, to } => self.memory.copy_out(address, bytes, to)?,
                Command::Launch(l) => {
                    let library = self.libraries.get(&(l.module, l.sanitise)).ok_or_else(|| {
                        BoardError::MissingSymbol { library: format!("module {}", l.module), symbol: l.kernel.clone() }
                    })?;
                    let started = Instant::now();
                    // SAFETY: this is the device thread, and nobody holds a reference into the engine.
                    done.findings.push(unsafe { launch::run(self.engine, library, &l) }?);
                    done.nanos += started.elapsed().as_nanos() as u64;
                    done.launches += 1;
                }
            }
        }
        Ok(done)
    }
}

impl Outcome {
    fn write(&self, w: &mut Writer) {
        let quiet = self.findings.iter().all(Vec::is_empty);
        w.u8(if quiet { status::DONE } else { status::FINDINGS });
        w.u64(self.nanos);
        w.u64(self.launches);
        if !quiet {
            w.0.extend(serde_json::to_vec(&self.findings).expect("findings are plain data"));
        }
    }
}

/// The sanitiser, between launches.
fn watch() -> &'static mut sanitise::Sanitiser {
    // SAFETY: this is the device thread, no kernel runs, and the reference ends with the statement.
    unsafe { sanitise::sanitiser() }
}

/// Ends the process when the worker is gone: by the kernel where it can, by a thread that watches the socket besides.
fn die_with_parent(socket: &UnixStream) -> std::io::Result<()> {
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    let watched = socket.try_clone()?;
    std::thread::Builder::new().name("worker-watch".into()).stack_size(64 << 10).spawn(move || {
        loop {
            let mut fds = [rustix::event::PollFd::new(&watched, rustix::event::PollFlags::empty())];
            let polled = rustix::event::poll(&mut fds, None);
            if polled.is_ok() && fds[0].revents().contains(rustix::event::PollFlags::HUP) {
                // SAFETY: ends the process without running anything of it.
                unsafe { libc::_exit(0) };
            }
        }
    })?;
    Ok(())
}
