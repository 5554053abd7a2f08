//! The queue of an NVIDIA board. Refuses to wait anywhere but in `wait`, and to wait there beyond its deadline.

use super::call::{Refused, check};
use super::memory::Allocation;
use super::module::Loaded;
use super::staging::Staging;
use super::{device, facts};
use crate::board::{
    Board, BoardError, Bound, Buffer, Completion, Deadline, Extent, Facts, HostView, Image, Kind, LaunchCmd, Module,
    NotAddressable,
};
use cudarc::driver::sys::{self, CUdevice, CUevent, CUresult, CUstream};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Time to look for the end of the queue before sleeping between looks.
const SPIN: Duration = Duration::from_micros(200);
/// Longest sleep between looks.
const SLEEP: Duration = Duration::from_millis(1);

/// An NVIDIA board.
pub struct CudaBoard {
    id: String,
    facts: Facts,
    device: CUdevice,
    context: sys::CUcontext,
    stream: CUstream,
    buffers: HashMap<u64, Allocation>,
    next_id: u64,
    modules: Vec<Loaded>,
    staging: Staging,
    /// Copies to the host in the queue: where they land, bytes.
    outs: Vec<(*const u8, usize)>,
    launched: Vec<Launched>,
    events: Vec<CUevent>,
    /// First error of the queue.
    failed: Option<BoardError>,
    /// The context is lost: nothing of it may be touched again.
    dead: bool,
}

/// A launch in the queue.
struct Launched {
    kernel: String,
    begin: CUevent,
    end: CUevent,
}

// SAFETY: handles of the driver, which may be used from any thread; every method makes the context current first.
unsafe impl Send for CudaBoard {}

impl CudaBoard {
    /// Opens `cuda:index`: its primary context and a stream.
    ///
    /// # Errors
    /// `Lost` without driver or device, `Refused` for an index that no device has.
    pub fn open(index: u32) -> Result<Self, BoardError> {
        let device = device(index)?;
        let facts = facts::identity(index)?.facts;
        let (mut context, mut stream) = (std::ptr::null_mut(), std::ptr::null_mut());
        let lost = |e: Refused| BoardError::Lost { why: e.to_string() };
        // SAFETY: the device exists; the pointers are to locals.
        unsafe {
            let retained = sys::cuDevicePrimaryCtxRetain(&raw mut context, device);
            check("cuDevicePrimaryCtxRetain", retained).map_err(lost)?;
            check("cuCtxSetCurrent", sys::cuCtxSetCurrent(context)).map_err(lost)?;
            let flags = sys::CUstream_flags::CU_STREAM_NON_BLOCKING as u32;
            check("cuStreamCreate", sys::cuStreamCreate(&raw mut stream, flags)).map_err(lost)?;
        }
        Ok(Self {
            id: format!("cuda:{index}"),
            facts,
            device,
            context,
            stream,
            buffers: HashMap::new(),
            next_id: 1,
            modules: vec![],
            staging: Staging::default(),
            outs: vec![],
            launched: vec![],
            events: vec![],
            failed: None,
            dead: false,
        })
    }

    /// Makes the context current on this thread.
    fn enter(&self) -> Result<(), BoardError> {
        if self.dead {
            return Err(BoardError::Lost { why: format!("the context of {} was lost to an earlier fault", self.id) });
        }
        // SAFETY: the context is retained.
        check("cuCtxSetCurrent", unsafe { sys::cuCtxSetCurrent(self.context) })
            .map_err(|e| BoardError::Lost { why: e.to_string() })
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
            let done = unsafe { sys::cuMemcpyAsync(to, from, part.len(), self.stream) };
            check("cuMemcpyAsync", done).map_err(|e| e.of(&self.last_kernel()))?;
        }
        Ok(())
    }

    fn last_kernel(&self) -> String {
        self.launched.last().map_or("none".to_string(), |l| l.kernel.clone())
    }

    fn event(&mut self) -> Result<CUevent, BoardError> {
        if let Some(event) = self.events.pop() {
            return Ok(event);
        }
        let mut event = std::ptr::null_mut();
        // SAFETY: the pointer is to a local.
        let made = unsafe { sys::cuEventCreate(&raw mut event, sys::CUevent_flags::CU_EVENT_DEFAULT as u32) };
        check("cuEventCreate", made).map_err(|e| e.of("none"))?;
        Ok(event)
    }

    fn record(&mut self) -> Result<CUevent, BoardError> {
        let event = self.event()?;
        // SAFETY: event and stream are live.
        let done = check("cuEventRecord", unsafe { sys::cuEventRecord(event, self.stream) });
        done.map_err(|e| e.of(&self.last_kernel()))?;
        Ok(event)
    }

    fn start(&mut self, cmd: LaunchCmd) -> Result<(), BoardError> {
        let kernel = cmd.kernel;
        let why = |why: &str| BoardError::Launch { kernel: kernel.clone(), why: why.to_string() };
        if cmd.mode.sanitise {
            return Err(why("a real board has no sanitised build"));
        }
        let mut words: Vec<[u8; 32]> = Vec::with_capacity(cmd.args.len());
        for arg in &cmd.args {
            words.push(self.word(arg)?);
        }
        let module = self.modules.get_mut(cmd.module as usize).ok_or_else(|| why("no such module"))?;
        let function = module.kernel(&kernel, &cmd.args)?;
        let mut parameters: Vec<*mut std::ffi::c_void> = words.iter_mut().map(|w| w.as_mut_ptr().cast()).collect();
        let begin = self.record()?;
        let ([gx, gy, gz], [bx, by, bz]) = (cmd.grid, cmd.block);
        // SAFETY: number and sizes of the parameters were compared with the image's own; the driver copies them.
        let done = unsafe {
            let (stream, parameters, none) = (self.stream, parameters.as_mut_ptr(), std::ptr::null_mut());
            sys::cuLaunchKernel(function, gx, gy, gz, bx, by, bz, cmd.lds, stream, parameters, none)
        };
        check("cuLaunchKernel", done).map_err(|e| e.of(&kernel))?;
        let end = self.record()?;
        self.launched.push(Launched { kernel, begin, end });
        Ok(())
    }

    /// The bytes of an argument.
    fn word(&self, arg: &Bound) -> Result<[u8; 32], BoardError> {
        let mut word = [0; 32];
        match *arg {
            Bound::Ptr { buffer, offset } => {
                word[..8].copy_from_slice(&self.place(buffer, offset as usize, 0)?.to_ne_bytes());
            }
            Bound::Null => {}
            Bound::I32(x) => word[..4].copy_from_slice(&x.to_ne_bytes()),
            Bound::I64(x) => word[..8].copy_from_slice(&x.to_ne_bytes()),
            Bound::F32(x) => word[..4].copy_from_slice(&x.to_ne_bytes()),
            Bound::Raw { image, .. } => word = image,
        }
        Ok(word)
    }

    /// Looks for the end of the queue until the deadline.
    fn finish(&mut self, deadline: Deadline) -> Result<(), BoardError> {
        let begun = Instant::now();
        let last = self.record()?;
        self.events.push(last);
        let mut sleep = Duration::from_micros(10);
        loop {
            // SAFETY: the event is live.
            match unsafe { sys::cuEventQuery(last) } {
                CUresult::CUDA_SUCCESS => return Ok(()),
                CUresult::CUDA_ERROR_NOT_READY => {}
                code => return Err(Refused { call: "cuEventQuery", code }.of(&self.running())),
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
        // SAFETY: the events are live.
        let open = |l: &&Launched| unsafe { sys::cuEventQuery(l.end) } != CUresult::CUDA_SUCCESS;
        self.launched.iter().find(open).map_or_else(|| "a copy".to_string(), |l| l.kernel.clone())
    }

    fn elapsed(&self) -> Duration {
        let one = |l: &Launched| {
            let mut milliseconds = 0.0;
            // SAFETY: both events were recorded and have passed.
            let done = unsafe { sys::cuEventElapsedTime(&raw mut milliseconds, l.begin, l.end) };
            if done == CUresult::CUDA_SUCCESS {
                Duration::from_secs_f64(f64::from(milliseconds) / 1e3)
            } else {
                Duration::ZERO
            }
        };
        self.launched.iter().map(one).sum()
    }

    /// Empties the queue's books.
    fn reset(&mut self) {
        for l in self.launched.drain(..) {
            self.events.extend([l.begin, l.end]);
        }
        self.outs.clear();
        self.staging.clear();
    }
}

impl Board for CudaBoard {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn alloc(&mut self, kind: Kind, bytes: usize) -> Result<Buffer, BoardError> {
        self.enter()?;
        let allocation = Allocation::new(kind, bytes)?;
        let id = self.next_id;
        self.next_id += 1;
        self.buffers.insert(id, allocation);
        Ok(Buffer { id, kind, bytes })
    }

    fn free(&mut self, buffer: Buffer) {
        if let Some(a) = self.buffers.remove(&buffer.id)
            && self.enter().is_ok()
        {
            a.free();
        }
    }

    fn host_view(&self, buffer: &Buffer) -> Result<HostView, NotAddressable> {
        let no = |why: &str| NotAddressable { board: self.id.clone(), kind: buffer.kind, why: why.into() };
        let a = self.buffers.get(&buffer.id).ok_or_else(|| no("it is not allocated"))?;
        let host = a.host.ok_or_else(|| no("cuMemAlloc gives memory of the device alone"))?;
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
            Some(allocation) => allocation.seal(self.device, ranges),
            None => Err(refused(format!("buffer {}", buffer.id), "no such allocation".into())),
        }
    }

    fn load(&mut self, image: &Image) -> Result<Module, BoardError> {
        self.enter()?;
        if let Some(i) = self.modules.iter().position(|m| m.path == image.path) {
            return Ok(Module(i as u64));
        }
        self.modules.push(Loaded::new(&image.path, &self.facts.arch)?);
        Ok(Module(self.modules.len() as u64 - 1))
    }

    /// Nothing checks single accesses on a real board.
    fn declare(&mut self, _: &Buffer, _: &[Extent]) {}

    fn copy_in(&mut self, dst: &Buffer, offset: usize, bytes: &Arc<Vec<u8>>) {
        self.put(|board| {
            board.place(dst.id, offset, bytes.len())?;
            let from = board.staging.take(bytes.len()).map_err(|e| e.of_memory(bytes.len()))?;
            // SAFETY: the staging is as long as the bytes and nobody else's; the queue has it until the next wait.
            unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), from, bytes.len()) };
            board.copy(dst.id, offset..offset + bytes.len(), from, true)
        });
    }

    fn copy_out(&mut self, src: &Buffer, offset: usize, bytes: usize) {
        self.put(|board| {
            board.place(src.id, offset, bytes)?;
            let to = board.staging.take(bytes).map_err(|e| e.of_memory(bytes))?;
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

impl Drop for CudaBoard {
    fn drop(&mut self) {
        // A lost context takes everything with it, and asking it for anything may wait for ever.
        if self.enter().is_err() {
            return;
        }
        self.staging.free();
        self.buffers.drain().for_each(|(_, a)| a.free());
        self.modules.drain(..).for_each(Loaded::unload);
        // SAFETY: each was made once and is destroyed once.
        unsafe {
            for event in self.events.drain(..) {
                let _ = sys::cuEventDestroy_v2(event);
            }
            let _ = sys::cuStreamDestroy_v2(self.stream);
            let _ = sys::cuDevicePrimaryCtxRelease_v2(self.device);
        }
    }
}
