//! Lanes that can wait: one persistent coroutine per lane of a block, barriers, and the calls that libraries make.
//! Refuses to go on past a divergent barrier, and to drop a suspended coroutine (that would abort the process).
#![allow(unsafe_code)]

use super::block::{Engine, ranges};
use super::library::{Kernel, LaneFn};
use super::sanitise;
use crate::board::{BoardError, FindingKind};
use corosensei::stack::{Stack, StackPointer};
use corosensei::{Coroutine, Yielder};
use std::ffi::{CStr, c_char};
use std::sync::atomic::{AtomicPtr, Ordering};

/// Stack of a lane, besides its guard page.
const STACK: usize = 256 << 10;

static ENGINE: AtomicPtr<Engine> = AtomicPtr::new(std::ptr::null_mut());

/// Makes `engine` the one that libraries call.
pub fn register(engine: *mut Engine) {
    ENGINE.store(engine, Ordering::Relaxed);
}

/// The engine of this process.
pub fn engine() -> *mut Engine {
    ENGINE.load(Ordering::Relaxed)
}

/// A place in the source that lanes can wait at.
#[repr(C)]
#[derive(Debug)]
pub struct Site {
    pub id: u32,
    line: u32,
    file: *const c_char,
}

impl Site {
    /// `file:line`.
    pub fn place(&self) -> String {
        // SAFETY: the library's constant, a C string.
        let file = unsafe { CStr::from_ptr(self.file) }.to_string_lossy();
        format!("{}:{}", file.rsplit('/').next().unwrap_or_default(), self.line)
    }
}

/// What a lane does when it is not running.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wait {
    Ready,
    Barrier,
    Wave,
    Done,
}

/// One lane's request.
#[derive(Clone, Copy)]
pub struct Slot {
    pub wait: Wait,
    pub kind: u32,
    pub site: *const Site,
    pub value: u64,
    pub arg: i32,
    pub width: i32,
    pub mask: u64,
}

impl Slot {
    const IDLE: Self = Self { wait: Wait::Done, kind: 0, site: std::ptr::null(), value: 0, arg: 0, width: 0, mask: 0 };

    /// The place it waits at.
    pub fn site(&self) -> &Site {
        // SAFETY: only asked of a waiting lane, whose site is a constant of a loaded library.
        unsafe { &*self.site }
    }
}

struct LaneStack {
    low: usize,
    base: usize,
}

// SAFETY: the lowest page stays inaccessible and the rest is far more than the minimum.
unsafe impl Stack for LaneStack {
    fn base(&self) -> StackPointer {
        StackPointer::new(self.base).expect("not null")
    }
    fn limit(&self) -> StackPointer {
        StackPointer::new(self.low).expect("not null")
    }
}

impl LaneStack {
    /// A stack; never unmapped. Tops are staggered, so that lanes do not all use the same cache sets.
    fn new(lane: usize) -> Result<Self, BoardError> {
        let bytes = STACK + 4096;
        // SAFETY: a fresh private mapping, whose lowest page is then made inaccessible.
        let low = unsafe {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
            let at = libc::mmap(std::ptr::null_mut(), bytes, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0);
            if at == libc::MAP_FAILED || libc::mprotect(at, 4096, libc::PROT_NONE) != 0 {
                let why = format!("stack of a simulated lane: {}", std::io::Error::last_os_error());
                return Err(BoardError::Lost { why });
            }
            at as usize
        };
        Ok(Self { low, base: low + bytes - lane * 192 % 4096 })
    }
}

/// All lanes of a block.
pub struct Lanes {
    coroutines: Vec<Coroutine<(), (), (), LaneStack>>,
    yielders: Vec<*const Yielder<(), ()>>,
    stacks: Vec<std::ops::Range<u64>>,
    pub slots: Vec<Slot>,
    pub wave: usize,
    /// The lane that runs.
    pub current: u32,
    run: Option<LaneFn>,
    /// Some lane waits at a wave operation.
    wave_waits: bool,
}

impl Lanes {
    /// No lanes yet.
    pub fn new(wave: u32) -> Self {
        let (coroutines, yielders, stacks, slots) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { coroutines, yielders, stacks, slots, wave: wave as usize, current: 0, run: None, wave_waits: false }
    }

    fn grow(&mut self, lanes: usize) -> Result<(), BoardError> {
        while self.coroutines.len() < lanes {
            let stack = LaneStack::new(self.coroutines.len())?;
            self.stacks.push(stack.low as u64..stack.base as u64);
            self.coroutines.push(coroutine(stack));
            self.yielders.push(std::ptr::null());
            self.slots.push(Slot::IDLE);
        }
        Ok(())
    }

    /// Stack of the lane that runs, where it has one of its own.
    pub fn stack(&self) -> Option<std::ops::Range<u64>> {
        self.run?;
        self.stacks.get(self.current as usize).cloned()
    }

    /// Lanes run on the main stack.
    pub fn without_stacks(&mut self) {
        self.run = None;
    }

    /// Gives up whatever the lanes were doing. They hold no Rust values, so nothing is lost but their frames.
    fn reset(&mut self) {
        for mut c in std::mem::take(&mut self.coroutines) {
            // SAFETY: kernels are C++ without destructors that matter to us; the frames are abandoned.
            unsafe { c.force_reset() };
            self.coroutines.push(coroutine(c.into_stack()));
        }
        self.slots.fill(Slot::IDLE);
    }
}

/// A lane: runs one thread of a block each time it is resumed from its top.
fn coroutine(stack: LaneStack) -> Coroutine<(), (), (), LaneStack> {
    Coroutine::with_stack(stack, |yielder, ()| {
        loop {
            // SAFETY: resumed by `run_block` only, with a launch set up; no reference into the engine lives across a switch.
            unsafe {
                let e = engine();
                let lane = (*e).lanes.current as usize;
                (&mut (*e).lanes.yielders)[lane] = yielder;
                let (run, packed) = ((*e).lanes.run, (*e).packed.as_ptr());
                if let Some(run) = run {
                    run(packed.cast());
                }
                (&mut (*e).lanes.slots)[lane].wait = Wait::Done;
            }
            yielder.suspend(());
        }
    })
}

/// Runs the lanes of the block that the engine is set up for.
///
/// # Safety
/// `e` is the registered engine, arranged for the launch, and the kernel belongs to its library.
pub unsafe fn run_block(e: *mut Engine, kernel: &Kernel) -> Result<(), BoardError> {
    // SAFETY: single-threaded; references end before a lane is resumed, since lanes reach the engine themselves.
    unsafe {
        let n = (*e).ids.len();
        (*e).lanes.grow(n)?;
        let lanes = &mut (*e).lanes;
        lanes.run = Some(kernel.lane);
        lanes.slots[..n].iter_mut().for_each(|s| s.wait = Wait::Ready);
        loop {
            (*e).lanes.wave_waits = false;
            (*e).running = true;
            resume_ready(e, n);
            (*e).running = false;
            let engine = &mut *e;
            if engine.lanes.wave_waits {
                engine.fire_waves(n, kernel.divergent);
            } else if engine.lanes.slots[..n].iter().any(|s| s.wait == Wait::Barrier) {
                if let Err(error) = engine.fire_barrier(n) {
                    engine.lanes.reset();
                    return Err(error);
                }
            } else {
                return Ok(());
            }
        }
    }
}

/// Resumes every lane that is ready, in order.
///
/// # Safety
/// As [`run_block`].
unsafe fn resume_ready(e: *mut Engine, n: usize) {
    // SAFETY: as the caller promises; the three arrays have at least `n` entries and are not resized by lanes.
    unsafe {
        let (sequence, ids) = ((*e).sequence.as_ptr(), (*e).ids.as_ptr());
        let (slots, coroutines) = ((*e).lanes.slots.as_ptr(), (*e).lanes.coroutines.as_mut_ptr());
        let (thread, sanitised) = ((*e).state.thread, (*e).sanitised);
        for i in 0..n {
            let lane = *sequence.add(i) as usize;
            if (*slots.add(lane)).wait == Wait::Ready {
                (*e).lanes.current = lane as u32;
                if sanitised {
                    sanitise::sanitiser().enter(lane as u32);
                }
                *thread = *ids.add(lane);
                (*coroutines.add(lane)).resume(());
            }
        }
    }
}

impl Engine {
    /// Every live lane waits at a barrier, or the launch stops.
    fn fire_barrier(&mut self, n: usize) -> Result<(), BoardError> {
        let slots = &self.lanes.slots[..n];
        let first = slots.iter().find(|s| s.wait == Wait::Barrier).expect("a lane waits at a barrier");
        let (id, kind, site) = (first.site().id, first.kind, first.site);
        // SAFETY: a constant of the loaded library.
        let place = || unsafe { &*site }.place();
        let waiting = |s: &Slot| s.wait == Wait::Barrier;
        let elsewhere = slots.iter().find(|s| waiting(s) && s.site().id != id);
        let at = |site: u32| {
            ranges((0..n as u32).filter(|&i| waiting(&slots[i as usize]) && slots[i as usize].site().id == site))
        };
        // SAFETY: a launch is set up.
        let block = unsafe { *self.state.block };
        if let Some(other) = elsewhere {
            let (here, there) = (at(id), at(other.site().id));
            let why = format!(
                "divergent barrier in block {block:?}: lanes {here} wait at {}, lanes {there} at {}",
                place(),
                other.site().place()
            );
            return Err(BoardError::Launch { kernel: self.kernel.clone(), why });
        }
        let yes = slots.iter().filter(|s| waiting(s) && s.value != 0).count() as u64;
        let live = slots.iter().filter(|s| waiting(s)).count() as u64;
        let value = match kind {
            1 => yes,
            2 => (yes == live).into(),
            3 => (yes > 0).into(),
            _ => 0,
        };
        if live < n as u64 {
            let gone = ranges((0..n as u32).filter(|&i| slots[i as usize].wait == Wait::Done));
            let (here, place) = (at(id), place());
            self.find(FindingKind::ExitedBeforeBarrier, &place, || {
                format!(
                    "lanes {gone} of block {block:?} returned before the barrier at {place} that lanes {here} wait at"
                )
            });
        }
        for s in &mut self.lanes.slots[..n] {
            if s.wait == Wait::Barrier {
                s.wait = Wait::Ready;
                s.value = value;
            }
        }
        if self.sanitised {
            // SAFETY: device thread, and no other reference is live.
            unsafe { sanitise::sanitiser() }.barrier();
        }
        Ok(())
    }
}

type Hook = unsafe extern "C" fn(u64, u64, u64);

/// What libraries call, in the order of the stub's table.
#[repr(C)]
pub struct Runtime {
    barrier: unsafe extern "C" fn(*const Site, u32, u32) -> u32,
    wave: unsafe extern "C" fn(*const Site, u32, u64, i32, i32, u64) -> u64,
    atomic: Hook,
    fence: unsafe extern "C" fn(),
    reads: [Hook; 5],
    writes: [Hook; 5],
    range: Hook,
    memory: unsafe extern "C" fn(*mut u8, u64, usize, u32, u64) -> *mut u8,
}

/// The table that every library gets a copy of: a hook is one jump away.
pub const RUNTIME: Runtime = Runtime {
    barrier,
    wave,
    atomic: sanitise::atomic,
    fence: sanitise::fence,
    reads: [sanitise::read::<1>, sanitise::read::<2>, sanitise::read::<4>, sanitise::read::<8>, sanitise::read::<16>],
    writes: [
        sanitise::write::<1>,
        sanitise::write::<2>,
        sanitise::write::<4>,
        sanitise::write::<8>,
        sanitise::write::<16>,
    ],
    range: sanitise::range,
    memory: sanitise::memory,
};

/// Files the current lane's request and lets the others run; the answer.
///
/// # Safety
/// Called from a lane's coroutine.
unsafe fn wait(request: Slot) -> u64 {
    // SAFETY: as the caller promises; the yielder lives on this very stack, and no reference crosses the switch.
    unsafe {
        let e = engine();
        let lane = (*e).lanes.current as usize;
        (&mut (*e).lanes.slots)[lane] = request;
        let yielder = (&(*e).lanes.yielders)[lane];
        (*yielder).suspend(());
        (&(*e).lanes.slots)[lane].value
    }
}

unsafe extern "C" fn barrier(site: *const Site, kind: u32, predicate: u32) -> u32 {
    // SAFETY: libraries call this from a lane.
    unsafe { wait(Slot { wait: Wait::Barrier, kind, site, value: predicate.into(), ..Slot::IDLE }) as u32 }
}

unsafe extern "C" fn wave(site: *const Site, kind: u32, value: u64, arg: i32, width: i32, mask: u64) -> u64 {
    // SAFETY: libraries call this from a lane.
    unsafe {
        (*engine()).lanes.wave_waits = true;
        wait(Slot { wait: Wait::Wave, kind, site, value, arg, width, mask })
    }
}
