//! The sanitised launch: every access is checked against exact extents and their state, and against a shadow of who else
//! touched the bytes. Refuses to judge what it saw; accesses outside device memory that are a lane's own are none of its business.
#![allow(unsafe_code)]

mod access;
mod hooks;
mod order;
mod places;
mod region;
mod report;
mod shadow;
mod watch;

pub use hooks::{atomic, fence, memory, range, read, write};
use order::{Order, Who};
use places::Places;
use region::Region;
pub use watch::Watch;

use super::block::Engine;
use super::library::Library;
use crate::board::{Extent, FindingKind};
use std::cell::UnsafeCell;
use std::collections::HashMap;
use std::mem::MaybeUninit;
use std::ops::Range;

/// Everything a sanitised launch needs, reached by the hooks of the instrumented code.
pub struct Sanitiser {
    /// Region 0 is the shared memory of the block that runs; the others are declared buffers.
    regions: Vec<Region>,
    /// Region that was hit last, and the one before.
    hit: *mut Region,
    before: *mut Region,
    /// What the running library sees of all this.
    watch: *mut Watch,
    order: Order,
    /// A sanitised launch is running.
    on: bool,
    /// The library's own image: its globals.
    image: Range<u64>,
    library: String,
    /// Main stack.
    stack: Range<u64>,
    places: HashMap<String, Option<Places>>,
    /// Place of each code address that a finding came from.
    known: HashMap<u64, String>,
}

/// Room for the sanitiser of this process: at a fixed address, since every access of a kernel asks for it.
struct Place(UnsafeCell<MaybeUninit<Sanitiser>>);

// SAFETY: only the device thread uses what is in it.
unsafe impl Sync for Place {}

static SANITISER: Place = Place(UnsafeCell::new(MaybeUninit::uninit()));

/// Makes the sanitiser of this process.
///
/// # Safety
/// Device thread only, once, before any library is loaded.
pub unsafe fn install() {
    let mut sanitiser = Sanitiser {
        regions: vec![Region::shared()],
        hit: std::ptr::null_mut(),
        before: std::ptr::null_mut(),
        watch: Box::into_raw(Box::default()),
        order: Order::default(),
        on: false,
        image: 0..0,
        library: String::new(),
        stack: main_stack(),
        places: HashMap::new(),
        known: HashMap::new(),
    };
    sanitiser.aim();
    // SAFETY: as the caller promises.
    unsafe { (*SANITISER.0.get()).write(sanitiser) };
}

/// The sanitiser of this process.
///
/// # Safety
/// Device thread only, after [`install`]; the reference must end before anything else asks for one.
#[inline(always)]
pub unsafe fn sanitiser<'a>() -> &'a mut Sanitiser {
    // SAFETY: as the caller promises.
    unsafe { (*SANITISER.0.get()).assume_init_mut() }
}

/// Bounds of the calling thread's stack.
fn main_stack() -> Range<u64> {
    // SAFETY: plain queries with out-parameters of the right types; the attributes are destroyed after use.
    unsafe {
        let mut attributes: libc::pthread_attr_t = std::mem::zeroed();
        let (mut low, mut size) = (std::ptr::null_mut(), 0usize);
        if libc::pthread_getattr_np(libc::pthread_self(), &mut attributes) != 0 {
            return 0..0;
        }
        libc::pthread_attr_getstack(&attributes, &mut low, &mut size);
        libc::pthread_attr_destroy(&mut attributes);
        low as u64..low as u64 + size as u64
    }
}

impl Sanitiser {
    /// Takes exact extents of a buffer; none forgets it.
    pub fn declare(&mut self, address: u64, bytes: u64, extents: Vec<Extent>) {
        self.regions.retain(|r| r.is_shared() || !r.overlaps(address, bytes));
        if !extents.is_empty() {
            self.regions.push(Region::new(address, bytes, extents));
        }
        self.aim();
    }

    /// Points at a region of the list, whatever was hit: the list may have moved.
    fn aim(&mut self) {
        self.hit = self.regions.as_mut_ptr();
        self.before = self.hit;
    }

    /// The region that was hit last.
    fn hit(&self) -> &Region {
        // SAFETY: `aim` follows every change of the list, and the first region is never removed.
        unsafe { &*self.hit }
    }

    /// Bytes were copied to the device: what was declared uninitialised there is so again.
    pub fn copied_in(&mut self, address: u64, bytes: u64) {
        for r in &mut self.regions[1..] {
            r.copied_in(address, bytes);
        }
    }

    /// A plain launch ran: what it wrote is unknown.
    pub fn unseen_launch(&mut self) {
        self.regions[1..].iter_mut().for_each(Region::unseen_launch);
    }

    /// Begins a sanitised launch.
    pub fn begin(&mut self, library: &Library, wave: u32, shared: Range<u64>) {
        self.order.set_wave(wave);
        self.order.begin_launch();
        if self.order.wrapped() {
            self.regions.iter_mut().for_each(Region::forget);
        }
        self.regions[0].place(shared);
        self.regions[0].extents.clear();
        self.regions[1..].iter_mut().for_each(Region::prepare);
        if self.library != library.path {
            self.library.clone_from(&library.path);
            self.image = library.image.clone();
            self.known.clear();
        }
        self.watch = library.state.watch;
        self.on = true;
    }

    /// Begins a block: its shared memory holds nothing.
    pub fn begin_block(&mut self, block: u64, exact: &[(String, Range<u64>)]) {
        self.order.begin_block(block);
        self.regions[0].fresh(exact);
        self.show();
    }

    /// This lane runs from here on.
    #[inline(always)]
    pub fn enter(&mut self, lane: u32) {
        // SAFETY: a watch is that of a loaded library, or our own.
        unsafe { (*self.watch).now = self.order.now(lane) };
    }

    /// The running lane, now.
    fn now(&self) -> Who {
        // SAFETY: as for `enter`.
        unsafe { (*self.watch).now }
    }

    /// Ends a launch.
    pub fn end(&mut self) {
        self.on = false;
    }

    /// All live lanes of the block passed a barrier.
    pub fn barrier(&mut self) {
        self.order.barrier();
        self.show();
    }

    /// Lanes of a wave passed a wave barrier.
    pub fn wave_barrier(&mut self, wave: usize) {
        self.order.wave_barrier(wave);
        self.show();
    }

    /// `file:line` of the user's source that `pc` belongs to.
    fn place(&mut self, pc: u64) -> String {
        if let Some(place) = self.known.get(&pc) {
            return place.clone();
        }
        let library = &self.library;
        let places = self.places.entry(library.clone()).or_insert_with(|| Places::open(library));
        let relative = pc.wrapping_sub(self.image.start);
        // A return address may already belong to the next line.
        let place =
            places.as_ref().and_then(|p| p.find(relative.wrapping_sub(1))).unwrap_or_else(|| "unknown line".into());
        self.known.insert(pc, place.clone());
        place
    }

    /// Records a finding of the instruction at `pc`.
    #[cold]
    fn report(&mut self, e: &mut Engine, kind: FindingKind, pc: u64, detail: String) {
        let place = self.place(pc);
        e.find(kind, &place, || detail);
    }
}

impl Engine {
    /// Tells the sanitiser of a wave barrier.
    pub fn sanitised_wave_barrier(&self, wave: usize) {
        // SAFETY: device thread, and no other reference is live.
        unsafe { sanitiser() }.wave_barrier(wave);
    }
}
