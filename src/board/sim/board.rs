//! The worker's side of a simulated board: allocations, the lazy queue, and the executor that comes and goes.
#![allow(unsafe_code)]

mod batch;
mod death;

use batch::Queued;
use death::describe;

use super::arena::{PAGE, SPAN, Segment, memory_file};
use super::link::{Link, Silence};
use super::wire::{self, Command, Config, Fault, Reader, Value, Writer, status};
use crate::board::{
    Board, BoardError, Bound, Buffer, Completion, Deadline, Extent, Facts, Finding, HostView, Image, Kind, LaunchCmd,
    Module, NotAddressable,
};
use rustix::fs::FallocateFlags;
use std::collections::{HashMap, HashSet};
use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// A simulated board.
pub struct SimBoard {
    facts: Facts,
    exe: PathBuf,
    arena: Segment,
    host: Segment,
    staging_in: OwnedFd,
    staging_out: OwnedFd,
    mapped: Vec<Mapping>,
    link: Option<Link>,
    images: Vec<Image>,
    loaded: HashSet<(u64, bool)>,
    buffers: HashMap<u64, Allocation>,
    next_id: u64,
    used: u64,
    /// Freed and not yet closed in the executor; an allocation of the same size takes one over as it is.
    retired: Vec<Allocation>,
    setup: Vec<Command>,
    queue: Vec<Queued>,
    refused: Option<BoardError>,
    message: Vec<u8>,
    reply: Vec<u8>,
}

#[derive(Clone, Debug)]
struct Allocation {
    address: u64,
    bytes: usize,
    pages: u64,
    kind: Kind,
    sealed: Vec<Range<usize>>,
    extents: Vec<Extent>,
}

/// A mapping in the worker.
struct Mapping(*mut libc::c_void);

// SAFETY: the address is only used to unmap, once, by whichever thread drops it.
unsafe impl Send for Mapping {}

impl Mapping {
    fn new(segment: &Segment) -> io::Result<Self> {
        // SAFETY: a fresh mapping at an address range that only this segment uses; NOREPLACE refuses to cover anything.
        let at = unsafe {
            libc::mmap(
                segment.base as *mut _,
                SPAN as usize,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_NORESERVE | libc::MAP_FIXED_NOREPLACE,
                segment.file.as_raw_fd(),
                0,
            )
        };
        if at == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(Self(at)) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: exactly the range that was mapped; host views end with the board, as their documentation says.
        unsafe { libc::munmap(self.0, SPAN as usize) };
    }
}

fn lost(what: &str, e: impl std::fmt::Display) -> BoardError {
    BoardError::Lost { why: format!("{what}: {e}") }
}

impl SimBoard {
    /// Opens a simulated board with these facts; `exe` is the `assay` binary, which plays the executor.
    ///
    /// Host views are good until the board is dropped.
    ///
    /// # Errors
    /// `Lost` when the memory files or the executor cannot be made.
    pub fn open(facts: Facts, exe: PathBuf) -> Result<Self, BoardError> {
        let file = |name| memory_file(name).map_err(|e| lost("simulated device memory", e));
        let segment = |name| Segment::new(name).map_err(|e| lost("simulated device memory", e));
        let (arena, host) = (segment("assay-device")?, segment("assay-host")?);
        let map = |s: &Segment| Mapping::new(s).map_err(|e| lost("mapping simulated memory", e));
        let mut mapped = vec![map(&host)?];
        if facts.host_reads.contains(&Kind::Device) {
            mapped.push(map(&arena)?);
        }
        let mut board = Self {
            facts,
            exe,
            arena,
            host,
            staging_in: file("assay-in")?,
            staging_out: file("assay-out")?,
            mapped,
            link: None,
            images: Vec::new(),
            loaded: HashSet::new(),
            buffers: HashMap::new(),
            next_id: 1,
            used: 0,
            retired: Vec::new(),
            setup: Vec::new(),
            queue: Vec::new(),
            refused: None,
            message: Vec::new(),
            reply: Vec::new(),
        };
        board.executor()?;
        Ok(board)
    }

    /// Process id of the executor, where one runs.
    pub fn executor_id(&self) -> Option<u32> {
        self.link.as_ref().map(Link::id)
    }

    /// The running executor; a fresh one is told of everything that is allocated.
    fn executor(&mut self) -> Result<&mut Link, BoardError> {
        if self.link.is_none() {
            let config = Config {
                facts: self.facts.clone(),
                socket: -1,
                arena: self.arena.file.as_raw_fd(),
                host: self.host.file.as_raw_fd(),
                staging_in: self.staging_in.as_raw_fd(),
                staging_out: self.staging_out.as_raw_fd(),
                status: -1,
                arena_base: self.arena.base,
                host_base: self.host.base,
                span: SPAN,
            };
            let files = [&self.arena.file, &self.host.file, &self.staging_in, &self.staging_out];
            self.link = Some(Link::start(&self.exe, config, &files).map_err(|e| lost("starting the executor", e))?);
            self.loaded.clear();
            self.setup.clear();
            let live: Vec<Allocation> = self.buffers.values().chain(&self.retired).cloned().collect();
            for a in live {
                self.open_pages(&a);
                self.declare_pages(&a);
            }
        }
        Ok(self.link.as_mut().expect("just made"))
    }

    fn reaches(&self, kind: Kind) -> bool {
        self.facts.device_reads.contains(&kind)
    }

    fn segment(&mut self, kind: Kind) -> &mut Segment {
        if kind == Kind::Device { &mut self.arena } else { &mut self.host }
    }

    fn open_pages(&mut self, a: &Allocation) {
        if !self.reaches(a.kind) || a.pages == 0 {
            return;
        }
        self.setup.push(Command::Protect { address: a.address, bytes: a.pages, open: true });
        for r in &a.sealed {
            let (address, bytes) = (a.address + r.start as u64, (r.end - r.start) as u64);
            self.setup.push(Command::Protect { address, bytes, open: false });
        }
    }

    fn declare_pages(&mut self, a: &Allocation) {
        if !a.extents.is_empty() {
            self.setup.push(Command::Declare { address: a.address, bytes: a.bytes as u64, extents: a.extents.clone() });
        }
    }

    /// Buffers that nobody declared count as wholly defined and writable.
    fn declare_rest(&mut self) {
        for (id, a) in self.buffers.iter_mut().filter(|(_, a)| a.extents.is_empty()) {
            let (address, bytes) = (a.address, a.bytes as u64);
            let whole =
                Extent { name: format!("buffer {id}"), start: 0, end: bytes, writable: true, initialised: true };
            a.extents = vec![whole];
            self.setup.push(Command::Declare { address, bytes, extents: a.extents.clone() });
        }
    }

    /// Closes what was freed and not taken over.
    fn close_retired(&mut self) {
        for a in std::mem::take(&mut self.retired) {
            if self.reaches(a.kind) && a.pages != 0 {
                self.setup.push(Command::Protect { address: a.address, bytes: a.pages, open: false });
            }
            let segment = self.segment(a.kind);
            // Only gives memory back; what a later allocation finds there is undefined on every board.
            let _ = rustix::fs::fallocate(
                &segment.file,
                FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE,
                segment.offset(a.address),
                a.pages.max(1),
            );
            segment.give(a.address, a.pages);
        }
    }

    fn refuse(&mut self, what: impl Into<String>, need: impl Into<String>, have: impl Into<String>) {
        let error = BoardError::Refused { what: what.into(), need: need.into(), have: have.into() };
        self.refused.get_or_insert(error);
    }

    /// Address of `bytes` at `offset` of a buffer.
    fn place(&self, id: u64, offset: u64, bytes: u64) -> Result<u64, (String, String)> {
        let a = self.buffers.get(&id).ok_or_else(|| (format!("buffer {id}"), "no such allocation".to_string()))?;
        match offset.checked_add(bytes) {
            Some(end) if end <= a.bytes as u64 => Ok(a.address + offset),
            _ => Err((
                format!("bytes {offset} to {}", offset.saturating_add(bytes)),
                format!("{} bytes in buffer {id}", a.bytes),
            )),
        }
    }

    fn resolve(&self, args: &[Bound]) -> Result<Vec<Value>, (String, String)> {
        let one = |b: &Bound| match *b {
            Bound::Ptr { buffer, offset } => self.place(buffer, offset, 0).map(Value::pointer),
            other => Ok(Value::plain(other).expect("no buffer")),
        };
        args.iter().map(one).collect()
    }

    /// Sends commands and takes the reply apart.
    fn exchange(&mut self, commands: &[Command], deadline: Deadline) -> Result<Completion, BoardError> {
        self.executor()?;
        let mut w = Writer::reuse(std::mem::take(&mut self.message));
        for c in self.setup.drain(..).as_slice().iter().chain(commands) {
            w.command(c);
        }
        self.message = w.finish();
        let started = std::time::Instant::now();
        let mut body = std::mem::take(&mut self.reply);
        let answer = self.link.as_mut().expect("running").ask(&self.message, deadline, &mut body);
        let result = match answer {
            Ok(()) => self.decode(&body, commands),
            Err(Silence::Ended(why)) => {
                let at = self.link.as_ref().map(Link::progress).and_then(|(i, block)| describe(commands, i, block));
                Err(BoardError::Lost { why: why + &at.map_or(String::new(), |at| format!("; last launch: {at}")) })
            }
            Err(Silence::Deadline) => {
                let (i, block) = self.link.as_ref().map_or((u32::MAX, 0), Link::progress);
                let launches = commands.iter().filter(|c| matches!(c, Command::Launch(_))).count();
                let at = describe(commands, i, block).unwrap_or_else(|| "none".into());
                let state =
                    format!("last launch: {at}; {launches} launches and {} commands in the queue", commands.len());
                Err(BoardError::Deadline { waited_ms: started.elapsed().as_millis() as u64, state })
            }
        };
        self.reply = body;
        if matches!(result, Err(BoardError::Lost { .. } | BoardError::Deadline { .. } | BoardError::Fault { .. })) {
            self.link = None;
        }
        result
    }

    fn decode(&self, body: &[u8], commands: &[Command]) -> Result<Completion, BoardError> {
        let rubbish = || BoardError::Lost { why: "the executor answered rubbish".into() };
        let launches = commands.iter().filter(|c| matches!(c, Command::Launch(_))).count();
        if body[0] == status::FAULT {
            return Err(self.fault(Fault::decode(body).ok_or_else(rubbish)?, commands));
        }
        let mut r = Reader(&body[1..]);
        let (nanos, ran) = (r.u64().ok_or_else(rubbish)?, r.u64().ok_or_else(rubbish)?);
        let mut findings = vec![Vec::new(); launches];
        match body[0] {
            status::DONE if r.0.is_empty() => {}
            status::FINDINGS => findings = serde_json::from_slice::<Vec<Vec<Finding>>>(r.0).map_err(|_| rubbish())?,
            status::ERROR => return Err(serde_json::from_slice(r.0).map_err(|_| rubbish())?),
            _ => return Err(rubbish()),
        }
        if ran != launches as u64 || findings.len() != launches {
            return Err(rubbish());
        }
        Ok(Completion { elapsed: Duration::from_nanos(nanos), copied: Vec::new(), findings, launches: ran })
    }
}

impl Board for SimBoard {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn alloc(&mut self, kind: Kind, bytes: usize) -> Result<Buffer, BoardError> {
        if kind == Kind::Managed && !self.facts.managed {
            let (what, need) = ("managed memory".into(), "hipDeviceAttributeManagedMemory".into());
            return Err(BoardError::Refused { what, need, have: "0".into() });
        }
        let pages = (bytes as u64).div_ceil(PAGE) * PAGE;
        let free = self.facts.memory.saturating_sub(self.used);
        if pages > free || pages > SPAN / 2 {
            return Err(BoardError::OutOfMemory { need: bytes as u64, free });
        }
        let allocation = match self.retired.iter().position(|a| a.pages == pages && a.kind == kind) {
            Some(i) => Allocation { bytes, ..self.retired.swap_remove(i) },
            None => {
                self.close_retired();
                let address =
                    self.segment(kind).take(pages).ok_or(BoardError::OutOfMemory { need: bytes as u64, free })?;
                let a = Allocation { address, bytes, pages, kind, sealed: Vec::new(), extents: Vec::new() };
                self.open_pages(&a);
                a
            }
        };
        self.used += pages;
        let id = self.next_id;
        self.next_id += 1;
        self.buffers.insert(id, allocation);
        Ok(Buffer { id, kind, bytes })
    }

    fn free(&mut self, buffer: Buffer) {
        let Some(mut a) = self.buffers.remove(&buffer.id) else { return };
        self.used -= a.pages;
        if !a.sealed.is_empty() {
            a.sealed.clear();
            self.open_pages(&a);
        }
        if !a.extents.is_empty() {
            a.extents.clear();
            self.setup.push(Command::Declare { address: a.address, bytes: a.bytes as u64, extents: Vec::new() });
        }
        self.retired.push(a);
    }

    fn host_view(&self, buffer: &Buffer) -> Result<HostView, NotAddressable> {
        let no = |why: &str| NotAddressable {
            board: format!("sim:{}", self.facts.arch),
            kind: buffer.kind,
            why: why.into(),
        };
        if !self.facts.host_reads.contains(&buffer.kind) {
            return Err(no("the profile's host_reads does not name it"));
        }
        let a = self.buffers.get(&buffer.id).ok_or_else(|| no("it is not allocated"))?;
        Ok(HostView { address: a.address, bytes: a.bytes })
    }

    fn device_ptr(&self, buffer: &Buffer) -> u64 {
        self.buffers.get(&buffer.id).map_or(0, |a| a.address)
    }

    fn seal(&mut self, buffer: &Buffer, ranges: &[Range<usize>]) -> Result<(), BoardError> {
        let refused = |need: String, have: String| BoardError::Refused { what: "sealing pages".into(), need, have };
        let Some(a) = self.buffers.get_mut(&buffer.id) else {
            return Err(refused(format!("buffer {}", buffer.id), "no such allocation".into()));
        };
        let page = PAGE as usize;
        for r in ranges {
            if r.start % page != 0 || r.end % page != 0 || r.start > r.end || r.end as u64 > a.pages {
                return Err(refused(
                    format!("whole pages in {r:?}"),
                    format!("pages of {page} bytes, {} bytes", a.pages),
                ));
            }
        }
        a.sealed = ranges.iter().filter(|r| !r.is_empty()).cloned().collect();
        let a = a.clone();
        self.open_pages(&a);
        Ok(())
    }

    fn load(&mut self, image: &Image) -> Result<Module, BoardError> {
        if let Some(i) = self.images.iter().position(|i| i == image) {
            return Ok(Module(i as u64));
        }
        self.images.push(image.clone());
        let module = self.images.len() as u64 - 1;
        let load = Command::Load { module, sanitised: false, path: image.path.display().to_string() };
        match self.exchange(&[load], Deadline::after(Duration::from_secs(30))) {
            Ok(_) => {
                self.loaded.insert((module, false));
                Ok(Module(module))
            }
            Err(e) => {
                self.images.pop();
                Err(e)
            }
        }
    }

    fn declare(&mut self, buffer: &Buffer, extents: &[Extent]) {
        let Some(a) = self.buffers.get_mut(&buffer.id) else { return };
        if a.extents != extents {
            a.extents = extents.to_vec();
            let (address, bytes) = (a.address, a.bytes as u64);
            self.setup.push(Command::Declare { address, bytes, extents: extents.to_vec() });
        }
    }

    fn copy_in(&mut self, dst: &Buffer, offset: usize, bytes: &Arc<Vec<u8>>) {
        match self.place(dst.id, offset as u64, bytes.len() as u64) {
            Ok(address) => self.queue.push(Queued::In { address, bytes: Arc::clone(bytes) }),
            Err((need, have)) => self.refuse("a copy to the device", need, have),
        }
    }

    fn copy_out(&mut self, src: &Buffer, offset: usize, bytes: usize) {
        match self.place(src.id, offset as u64, bytes as u64) {
            Ok(address) => self.queue.push(Queued::Out { address, bytes }),
            Err((need, have)) => self.refuse("a copy from the device", need, have),
        }
    }

    fn launch(&mut self, cmd: LaunchCmd) {
        if cmd.module >= self.images.len() as u64 {
            return self.refuse(
                format!("launch of {}", cmd.kernel),
                format!("module {}", cmd.module),
                "no such module",
            );
        }
        if cmd.mode.sanitise {
            self.declare_rest();
        }
        match self.resolve(&cmd.args) {
            Ok(args) => self.queue.push(Queued::Launch(wire::Launch {
                module: cmd.module,
                kernel: cmd.kernel,
                grid: cmd.grid,
                block: cmd.block,
                lds: cmd.lds,
                order: cmd.mode.order,
                sanitise: cmd.mode.sanitise,
                args,
            })),
            Err((need, have)) => self.refuse(format!("launch of {}", cmd.kernel), need, have),
        }
    }

    fn wait(&mut self, deadline: Deadline) -> Result<Completion, BoardError> {
        let queue = std::mem::take(&mut self.queue);
        if let Some(error) = self.refused.take() {
            return Err(error);
        }
        if queue.is_empty() {
            return Ok(Completion::default());
        }
        self.executor()?;
        let batch = self.stage(queue)?;
        let result = self.exchange(&batch.commands, deadline);
        if result.is_err() {
            // Whether a library of this batch got loaded is unknown: the next batch asks again.
            for c in &batch.commands {
                if let Command::Load { module, sanitised, .. } = c {
                    self.loaded.remove(&(*module, *sanitised));
                }
            }
        }
        let mut done = result?;
        done.copied = self.collect(&batch)?;
        Ok(done)
    }
}

impl Drop for SimBoard {
    fn drop(&mut self) {
        self.link = None;
        self.mapped.clear();
    }
}
