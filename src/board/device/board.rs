//! The queue of a real board. Refuses to wait anywhere but in `wait`, and to wait there beyond its deadline.

use super::memory::Allocation;
use super::module::Loaded;
use super::staging::Staging;
use super::{Driver, Handle, Packed};
use crate::board::{
    Board, BoardError, Bound, Buffer, Completion, Deadline, Extent, Facts, HostView, Image, Kind, LaunchCmd, Module,
    NotAddressable,
};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Time to look for the end of the queue before sleeping between looks.
const SPIN: Duration = Duration::from_micros(200);
/// Longest sleep between looks.
const SLEEP: Duration = Duration::from_millis(1);

/// A real board behind a driver.
pub struct DeviceBoard<D: Driver> {
    id: String,
    facts: Facts,
    driver: D,
    buffers: HashMap<u64, Allocation>,
    next_id: u64,
    modules: Vec<Loaded>,
    staging: Staging,
    /// Copies to the host in the queue: where they land, bytes.
    outs: Vec<(*const u8, usize)>,
    launched: Vec<Launched>,
    events: Vec<Handle>,
    /// First error of the queue.
    failed: Option<BoardError>,
    /// The context is lost: nothing of it may be touched again.
    dead: bool,
}

/// A launch in the queue.
struct Launched {
    kernel: String,
    begin: Handle,
    end: Handle,
}

// SAFETY: the pointers are to staging, which belongs to the board; drivers are Send, and every method makes the board current first.
unsafe impl<D: Driver> Send for DeviceBoard<D> {}

impl<D: Driver> DeviceBoard<D> {
    /// A board with that id and those facts.
    pub fn new(id: String, facts: Facts, driver: D) -> Self {
        Self {
            id,
            facts,
            driver,
            buffers: HashMap::new(),
            next_id: 1,
            modules: vec![],
            staging: Staging::default(),
            outs: vec![],
            launched: vec![],
            events: vec![],
            failed: None,
            dead: false,
        }
    }

    /// Makes the board current on this thread.
    fn enter(&self) -> Result<(), BoardError> {
        if self.dead {
            return Err(BoardError::Lost { why: format!("the context of {} was lost to an earlier fault", self.id) });
        }
        self.driver.enter().map_err(super::Refused::lost)
    }

    /// Puts a command into the queue; after the first failure nothing more goes in.
    fn put(&mut self, what: impl FnOnce(&mut Self) -> Result<(), BoardError>) {
        if self.failed.is_none()
            && let Err(e) = self.enter().and_then(|()| what(self))
        {
            self.failed = Some(e);
        }
    }

    /// Address of `bytes` at `offset` of a buffer.
    fn place(&self, id: u64, offset: usize, bytes: usize) -> Result<u64, BoardError> {
        let refused = |have: String| {
            let need = format!("bytes {offset} to {}", offset.saturating_add(bytes));
            BoardError::Refused { what: format!("buffer {id}"), need, have }
        };
        let a = self.buffers.get(&id).ok_or_else(|| refused("no such allocation".into()))?;
        match offset.checked_add(bytes) {
            Some(end) if end <= a.bytes => Ok(a.device + offset as u64),
            _ => Err(refused(format!("{} bytes", a.bytes))),
        }
    }

    /// Puts a copy between a range of a buffer, as far as it is open, and staging into the queue.
    fn copy(&self, id: u64, range: Range<usize>, staged: *mut u8, to_device: bool) -> Result<(), BoardError> {
        let Some(a) = self.buffers.get(&id) else { return Ok(()) };
        for part in a.open(range.clone()) {
            let there = a.device + part.start as u64;
            let here = staged as u64 + (part.start - range.start) as u64;
            let (to, from) = if to_device { (there, here) } else { (here, there) };
            // SAFETY: both sides are as long as the part, which the caller checked; the queue has them until the next wait.
            let done = unsafe { self.driver.copy(to, from, part.len()) };
            done.map_err(|e| e.of(&self.last_kernel()))?;
        }
        Ok(())
    }

    fn last_kernel(&self) -> String {
        self.launched.last().map_or("none".to_string(), |l| l.kernel.clone())
    }

    fn record(&mut self) -> Result<Handle, BoardError> {
        let event = match self.events.pop() {
            Some(event) => event,
            None => self.driver.event().map_err(|e| e.of("none"))?,
        };
        // SAFETY: the event is live.
        unsafe { self.driver.record(event) }.map_err(|e| e.of(&self.last_kernel()))?;
        Ok(event)
    }

    fn start(&mut self, cmd: LaunchCmd) -> Result<(), BoardError> {
        let kernel = cmd.kernel;
        let why = |why: &str| BoardError::Launch { kernel: kernel.clone(), why: why.to_string() };
        if cmd.mode.sanitise {
            return Err(why("a real board has no sanitised build"));
        }
        let mut args = self.pack(&cmd.args)?;
        let module = self.modules.get_mut(cmd.module as usize).ok_or_else(|| why("no such module"))?;
        let handle = module.kernel(&self.driver, &kernel, &args)?;
        let begin = self.record()?;
        // SAFETY: number and sizes of the parameters were compared with the image's own; buffers are live.
        let done = unsafe { self.driver.launch(handle, cmd.grid, cmd.block, cmd.lds, &mut args) };
        done.map_err(|e| e.of(&kernel))?;
        let end = self.record()?;
        self.launched.push(Launched { kernel, begin, end });
        Ok(())
    }

    fn pack(&self, args: &[Bound]) -> Result<Packed, BoardError> {
        let mut packed = Packed::default();
        for arg in args {
            match *arg {
                Bound::Ptr { buffer, offset } => {
                    packed.push(&self.place(buffer, offset as usize, 0)?.to_ne_bytes(), 8);
                }
                Bound::Null => packed.push(&0u64.to_ne_bytes(), 8),
                Bound::I32(x) => packed.push(&x.to_ne_bytes(), 4),
                Bound::I64(x) => packed.push(&x.to_ne_bytes(), 8),
                Bound::F32(x) => packed.push(&x.to_ne_bytes(), 4),
                Bound::Raw { image, bytes } => packed.push(&image[..usize::from(bytes).min(32)], 8),
            }
        }
        Ok(packed)
    }

    /// Looks for the end of the queue until the deadline.
    fn finish(&mut self, deadline: Deadline) -> Result<(), BoardError> {
        let begun = Instant::now();
        let last = self.record()?;
        self.events.push(last);
        let mut sleep = Duration::from_micros(10);
        loop {
            // SAFETY: the event is live and recorded.
            match unsafe { self.driver.passed(last) } {
                Ok(true) => return Ok(()),
                Ok(false) => {}
                Err(e) => return Err(e.of(&self.running())),
            }
            if deadline.left().is_zero() {
                let state = format!("running: {}; {} launches in the queue", self.running(), self.launched.len());
                return Err(BoardError::Deadline { waited_ms: begun.elapsed().as_millis() as u64, state });
            }
            if begun.elapsed() > SPIN {
                std::thread::sleep(sleep.min(deadline.left()));
                sleep = (2 * sleep).min(SLEEP);
            }
        }
    }

    /// The first launch of the queue that has not ended.
    fn running(&self) -> String {
        // SAFETY: the events are live and recorded.
        let open = |l: &&Launched| !matches!(unsafe { self.driver.passed(l.end) }, Ok(true));
        self.launched.iter().find(open).map_or_else(|| "a copy".to_string(), |l| l.kernel.clone())
    }

    fn elapsed(&self) -> Duration {
        // SAFETY: both events have passed.
        let one = |l: &Launched| unsafe { self.driver.milliseconds(l.begin, l.end) }.unwrap_or(0.0).max(0.0);
        self.launched.iter().map(|l| Duration::from_secs_f64(f64::from(one(l)) / 1e3)).sum()
    }

    /// Empties the queue's books.
    fn reset(&mut self) {
        for l in self.launched.drain(..) {
            self.events.extend([l.begin, l.end]);
        }
        self.outs.clear();
        self.staging.clear(&self.driver);
    }
}

impl<D: Driver> Board for DeviceBoard<D> {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn alloc(&mut self, kind: Kind, bytes: usize) -> Result<Buffer, BoardError> {
        self.enter()?;
        let allocation = Allocation::new(&self.driver, kind, bytes)?;
        let id = self.next_id;
        self.next_id += 1;
        self.buffers.insert(id, allocation);
        Ok(Buffer { id, kind, bytes })
    }

    fn free(&mut self, buffer: Buffer) {
        if let Some(a) = self.buffers.remove(&buffer.id)
            && self.enter().is_ok()
        {
            a.free(&self.driver);
        }
    }

    fn host_view(&self, buffer: &Buffer) -> Result<HostView, NotAddressable> {
        let no = |why: &str| NotAddressable { board: self.id.clone(), kind: buffer.kind, why: why.into() };
        let a = self.buffers.get(&buffer.id).ok_or_else(|| no("it is not allocated"))?;
        let host = a.host.ok_or_else(|| no("the runtime gives no host address for it"))?;
        Ok(HostView { address: host as u64, bytes: a.bytes })
    }

    fn device_ptr(&self, buffer: &Buffer) -> u64 {
        self.buffers.get(&buffer.id).map_or(0, |a| a.device)
    }

    fn seal(&mut self, buffer: &Buffer, ranges: &[Range<usize>]) -> Result<(), BoardError> {
        self.enter()?;
        let refused = |need: String, have: String| BoardError::Refused { what: "sealing pages".into(), need, have };
        let page = self.facts.page as usize;
        if page == 0 {
            return Err(refused("virtual memory management".into(), "a driver without it".into()));
        }
        if let Some(r) = ranges.iter().find(|r| r.start % page != 0 || r.end % page != 0) {
            return Err(refused(format!("whole pages in {r:?}"), format!("pages of {page} bytes")));
        }
        match self.buffers.get_mut(&buffer.id) {
            Some(allocation) => allocation.seal(&self.driver, page, ranges),
            None => Err(refused(format!("buffer {}", buffer.id), "no such allocation".into())),
        }
    }

    fn load(&mut self, image: &Image) -> Result<Module, BoardError> {
        self.enter()?;
        if let Some(i) = self.modules.iter().position(|m| m.path == image.path) {
            return Ok(Module(i as u64));
        }
        self.modules.push(Loaded::new(&self.driver, &image.path, &self.facts.arch)?);
        Ok(Module(self.modules.len() as u64 - 1))
    }

    /// Nothing checks single accesses on a real board.
    fn declare(&mut self, _: &Buffer, _: &[Extent]) {}

    fn copy_in(&mut self, dst: &Buffer, offset: usize, bytes: &Arc<Vec<u8>>) {
        self.put(|board| {
            board.place(dst.id, offset, bytes.len())?;
            let from = board.staging.take(&board.driver, bytes.len()).map_err(|e| e.of_memory(bytes.len(), 0))?;
            // SAFETY: the staging is as long as the bytes and nobody else's; the queue has it until the next wait.
            unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), from, bytes.len()) };
            board.copy(dst.id, offset..offset + bytes.len(), from, true)
        });
    }

    fn copy_out(&mut self, src: &Buffer, offset: usize, bytes: usize) {
        self.put(|board| {
            board.place(src.id, offset, bytes)?;
            let to = board.staging.take(&board.driver, bytes).map_err(|e| e.of_memory(bytes, 0))?;
            // SAFETY: the staging is that long; what is sealed reads as zero.
            unsafe { std::ptr::write_bytes(to, 0, bytes) };
            board.copy(src.id, offset..offset + bytes, to, false)?;
            board.outs.push((to, bytes));
            Ok(())
        });
    }

    fn launch(&mut self, cmd: LaunchCmd) {
        self.put(|board| board.start(cmd));
    }

    fn wait(&mut self, deadline: Deadline) -> Result<Completion, BoardError> {
        self.enter()?;
        let finished = self.finish(deadline);
        let result = match (self.failed.take(), finished) {
            (_, Err(e @ (BoardError::Fault { .. } | BoardError::Lost { .. } | BoardError::Deadline { .. }))) => Err(e),
            (Some(e), _) | (None, Err(e)) => Err(e),
            (None, Ok(())) => Ok(()),
        };
        if let Err(e) = result {
            self.dead |= matches!(e, BoardError::Fault { .. } | BoardError::Lost { .. } | BoardError::Deadline { .. });
            if !self.dead {
                self.reset();
            }
            return Err(e);
        }
        // SAFETY: the queue is done with the staging, which holds that many bytes at each place.
        let copied = self.outs.iter().map(|&(at, n)| unsafe { std::slice::from_raw_parts(at, n) }.to_vec()).collect();
        let launches = self.launched.len();
        let done =
            Completion { elapsed: self.elapsed(), copied, findings: vec![vec![]; launches], launches: launches as u64 };
        self.reset();
        Ok(done)
    }
}

impl<D: Driver> Drop for DeviceBoard<D> {
    fn drop(&mut self) {
        // A lost context takes everything with it, and asking it for anything may wait for ever.
        if self.enter().is_err() {
            return;
        }
        self.staging.free(&self.driver);
        self.buffers.drain().for_each(|(_, a)| a.free(&self.driver));
        self.modules.drain(..).for_each(|m| m.unload(&self.driver));
        for event in self.events.drain(..) {
            // SAFETY: made once, dropped once, not in the queue.
            unsafe { self.driver.drop_event(event) };
        }
        self.driver.close();
    }
}
