//! Allocations of every kind. Refuses to make one kind pass for another.

use super::call::{Refused, check};
use super::pages::Pages;
use crate::board::{BoardError, Kind};
use cudarc::driver::sys::{self, CUdevice, CUdeviceptr};
use rustix::mm::{MapFlags, ProtFlags, mmap, mmap_anonymous, munmap};
use std::ops::Range;

/// A live allocation.
pub struct Allocation {
    /// Kind.
    pub kind: Kind,
    /// Bytes asked for.
    pub bytes: usize,
    /// Address for kernels.
    pub device: CUdeviceptr,
    /// Address for the host, where it has one.
    pub host: Option<*mut u8>,
    /// Device memory that was sealed once: mapped piece by piece since.
    pages: Option<Pages>,
}

// SAFETY: the addresses are handed to the driver and dereferenced only through host views, under their own promise.
unsafe impl Send for Allocation {}

impl Allocation {
    /// Allocates.
    ///
    /// # Errors
    /// `OutOfMemory`, `Refused`.
    pub fn new(kind: Kind, bytes: usize) -> Result<Self, BoardError> {
        // No runtime makes an allocation of no bytes.
        let size = bytes.max(1);
        let made = match kind {
            Kind::Device => on_device(size).map(|device| (device, None)),
            Kind::Managed => managed(size).map(|device| (device, Some(device as *mut u8))),
            Kind::Pinned => pinned(size),
            Kind::Registered => host_block(size).and_then(registered(size)),
            Kind::Pageable => host_block(size).map(|at| (at as CUdeviceptr, Some(at))),
            Kind::MappedFile => mapped_file(size).map(|at| (at as CUdeviceptr, Some(at))),
        };
        let (device, host) = made.map_err(|e| match e {
            Failure::Driver(refused) => refused.of_memory(bytes),
            Failure::System(e) => {
                BoardError::Refused { what: "host memory".into(), need: format!("{bytes} bytes"), have: e.to_string() }
            }
        })?;
        Ok(Self { kind, bytes, device, host, pages: None })
    }

    /// Makes these whole pieces fault, and only these. Device memory that never was sealed moves: what it held is lost.
    ///
    /// # Errors
    /// `Refused` for other kinds and where the driver refuses; `OutOfMemory`.
    pub fn seal(&mut self, device: CUdevice, ranges: &[Range<usize>]) -> Result<(), BoardError> {
        if self.kind != Kind::Device {
            let (what, need) = ("sealing pages".into(), "device memory".into());
            return Err(BoardError::Refused { what, need, have: format!("{:?} memory", self.kind) });
        }
        let pages = match self.pages.take() {
            Some(pages) => pages,
            None => {
                let pages = Pages::new(device, self.bytes).map_err(|e| e.of_memory(self.bytes))?;
                // SAFETY: it came from cuMemAlloc and is given back once: from here on the pages are the memory.
                let _ = unsafe { sys::cuMemFree_v2(self.device) };
                self.device = pages.address;
                pages
            }
        };
        self.pages.insert(pages).seal(ranges).map_err(|e| e.of_memory(self.bytes))
    }

    /// The parts of a byte range that kernels and copies may touch.
    pub fn open(&self, range: Range<usize>) -> Vec<Range<usize>> {
        match &self.pages {
            Some(pages) => pages.open(range),
            None => vec![range],
        }
    }

    /// Gives the memory back.
    pub fn free(self) {
        if let Some(pages) = self.pages {
            return pages.free();
        }
        let size = self.bytes.max(1);
        // SAFETY: each address came from the call that this one undoes, and is given back once. A failure leaks, which is all that
        // could be done.
        unsafe {
            match (self.kind, self.host) {
                (Kind::Device | Kind::Managed, _) => drop(sys::cuMemFree_v2(self.device)),
                (Kind::Pinned, Some(host)) => drop(sys::cuMemFreeHost(host.cast())),
                (Kind::Registered, Some(host)) => {
                    let _ = sys::cuMemHostUnregister(host.cast());
                    let _ = munmap(host.cast(), size);
                }
                (_, Some(host)) => drop(munmap(host.cast(), size)),
                (_, None) => {}
            }
        }
    }
}

enum Failure {
    Driver(Refused),
    System(std::io::Error),
}

impl From<Refused> for Failure {
    fn from(e: Refused) -> Self {
        Self::Driver(e)
    }
}

impl From<std::io::Error> for Failure {
    fn from(e: std::io::Error) -> Self {
        Self::System(e)
    }
}

type Both = (CUdeviceptr, Option<*mut u8>);

fn on_device(size: usize) -> Result<CUdeviceptr, Failure> {
    let mut at = 0;
    // SAFETY: the pointer is to a local.
    check("cuMemAlloc", unsafe { sys::cuMemAlloc_v2(&raw mut at, size) })?;
    Ok(at)
}

fn managed(size: usize) -> Result<CUdeviceptr, Failure> {
    let (mut free, mut total, mut at) = (0, 0, 0);
    // SAFETY: the pointers are to locals.
    unsafe {
        check("cuMemGetInfo", sys::cuMemGetInfo_v2(&raw mut free, &raw mut total))?;
        // More managed memory than is free can hang a board instead of being refused.
        if size > free {
            return Err(Refused { call: "cuMemAllocManaged", code: sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY }.into());
        }
        let global = sys::CUmemAttach_flags::CU_MEM_ATTACH_GLOBAL as u32;
        check("cuMemAllocManaged", sys::cuMemAllocManaged(&raw mut at, size, global))?;
    }
    Ok(at)
}

fn pinned(size: usize) -> Result<Both, Failure> {
    let mut host = std::ptr::null_mut();
    // SAFETY: the pointer is to a local.
    check("cuMemHostAlloc", unsafe { sys::cuMemHostAlloc(&raw mut host, size, sys::CU_MEMHOSTALLOC_DEVICEMAP) })?;
    Ok((device_address(host.cast())?, Some(host.cast())))
}

fn registered(size: usize) -> impl FnOnce(*mut u8) -> Result<Both, Failure> {
    move |host| {
        // SAFETY: the block is mapped and `size` bytes long.
        let done = unsafe { sys::cuMemHostRegister_v2(host.cast(), size, sys::CU_MEMHOSTREGISTER_DEVICEMAP) };
        if let Err(e) = check("cuMemHostRegister", done) {
            // SAFETY: mapped just now, used by nobody.
            let _ = unsafe { munmap(host.cast(), size) };
            return Err(e.into());
        }
        Ok((device_address(host)?, Some(host)))
    }
}

/// The device's own address of host memory, which may differ from the host's.
fn device_address(host: *mut u8) -> Result<CUdeviceptr, Failure> {
    let mut at = 0;
    // SAFETY: the pointer is to a local; a bad host address is refused.
    check("cuMemHostGetDevicePointer", unsafe { sys::cuMemHostGetDevicePointer_v2(&raw mut at, host.cast(), 0) })?;
    Ok(at)
}

fn host_block(size: usize) -> Result<*mut u8, Failure> {
    // SAFETY: a fresh mapping wherever the system likes.
    let at =
        unsafe { mmap_anonymous(std::ptr::null_mut(), size, ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE) };
    Ok(at.map_err(std::io::Error::from)?.cast())
}

fn mapped_file(size: usize) -> Result<*mut u8, Failure> {
    let file = tempfile::tempfile()?;
    file.set_len(size as u64)?;
    // SAFETY: a fresh mapping of a file that nobody else has.
    let at =
        unsafe { mmap(std::ptr::null_mut(), size, ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED, &file, 0) };
    Ok(at.map_err(std::io::Error::from)?.cast())
}
