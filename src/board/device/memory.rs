//! Allocations of every kind. Refuses to make one kind pass for another.

use super::pages::Pages;
use super::{Class, Driver, Refused};
use crate::board::{BoardError, Kind};
use rustix::mm::{MapFlags, ProtFlags, mmap, mmap_anonymous, munmap};
use std::ops::Range;

/// A live allocation.
pub struct Allocation {
    /// Kind.
    pub kind: Kind,
    /// Bytes asked for.
    pub bytes: usize,
    /// Address for kernels.
    pub device: u64,
    /// Address for the host, where it has one.
    pub host: Option<*mut u8>,
    /// Device memory that was sealed once: mapped piece by piece since.
    pages: Option<Pages>,
}

// SAFETY: the addresses are handed to the driver and dereferenced only through host views, under their own promise.
unsafe impl Send for Allocation {}

type Both = (u64, Option<*mut u8>);

impl Allocation {
    /// Allocates.
    ///
    /// # Errors
    /// `OutOfMemory`, `Refused`, `Lost`.
    pub fn new(driver: &impl Driver, kind: Kind, bytes: usize) -> Result<Self, BoardError> {
        // No runtime makes an allocation of no bytes.
        let size = bytes.max(1);
        let made = match kind {
            Kind::Device => driver.device_alloc(size).map(|device| (device, None)).map_err(Failure::Driver),
            Kind::Managed => managed(driver, size),
            Kind::Pinned => pinned(driver, size),
            Kind::Registered => host_block(size).and_then(|at| registered(driver, at, size)),
            Kind::Pageable => host_block(size).map(|at| (at as u64, Some(at))),
            Kind::MappedFile => mapped_file(size).map(|at| (at as u64, Some(at))),
        };
        let (device, host) = made.map_err(|e| match e {
            Failure::Driver(refused) => refused.of_memory(bytes, free_bytes(driver)),
            Failure::System(e) => {
                BoardError::Refused { what: "host memory".into(), need: format!("{bytes} bytes"), have: e.to_string() }
            }
        })?;
        Ok(Self { kind, bytes, device, host, pages: None })
    }

    /// Makes these whole pieces of `piece` bytes fault, and only these. Device memory that never was sealed moves: what it held is
    /// lost. The queue must be idle.
    ///
    /// # Errors
    /// `Refused` for other kinds and where the driver refuses; `OutOfMemory`.
    pub fn seal(&mut self, driver: &impl Driver, piece: usize, ranges: &[Range<usize>]) -> Result<(), BoardError> {
        if self.kind != Kind::Device {
            let (what, need) = ("sealing pages".into(), "device memory".into());
            return Err(BoardError::Refused { what, need, have: format!("{:?} memory", self.kind) });
        }
        let refused = |e: Refused| e.of_memory(self.bytes, free_bytes(driver));
        let pages = match self.pages.take() {
            Some(pages) => pages,
            None => {
                let pages = Pages::new(driver, piece, self.bytes).map_err(refused)?;
                // SAFETY: it came from this driver and is given back once: from here on the pages are the memory.
                unsafe { driver.device_free(self.device) };
                self.device = pages.address;
                pages
            }
        };
        self.pages.insert(pages).seal(driver, ranges).map_err(refused)
    }

    /// The parts of a byte range that kernels and copies may touch.
    pub fn open(&self, range: Range<usize>) -> Vec<Range<usize>> {
        match &self.pages {
            Some(pages) => pages.open(range),
            None => vec![range],
        }
    }

    /// Gives the memory back.
    pub fn free(self, driver: &impl Driver) {
        if let Some(pages) = self.pages {
            return pages.free(driver);
        }
        let size = self.bytes.max(1);
        // SAFETY: each address came from the call that this one undoes, and is given back once.
        unsafe {
            match (self.kind, self.host) {
                (Kind::Device | Kind::Managed, _) => driver.device_free(self.device),
                (Kind::Pinned, Some(host)) => driver.pinned_free(host),
                (Kind::Registered, Some(host)) => {
                    driver.unregister(host);
                    let _ = munmap(host.cast(), size);
                }
                (_, Some(host)) => drop(munmap(host.cast(), size)),
                (_, None) => {}
            }
        }
    }
}

/// Free device memory, 0 where the driver does not tell.
fn free_bytes(driver: &impl Driver) -> u64 {
    driver.memory().map_or(0, |(free, _)| free)
}

enum Failure {
    Driver(Refused),
    System(std::io::Error),
}

fn managed(driver: &impl Driver, size: usize) -> Result<Both, Failure> {
    let (free, _) = driver.memory().map_err(Failure::Driver)?;
    // More managed memory than is free can hang a board instead of being refused.
    if size as u64 > free {
        let words = format!("{size} bytes of managed memory asked for, {free} free");
        return Err(Failure::Driver(Refused { call: "managed memory", words, class: Class::Memory }));
    }
    let device = driver.managed_alloc(size).map_err(Failure::Driver)?;
    Ok((device, Some(device as *mut u8)))
}

fn pinned(driver: &impl Driver, size: usize) -> Result<Both, Failure> {
    let host = driver.pinned_alloc(size).map_err(Failure::Driver)?;
    driver.device_address(host).map(|device| (device, Some(host))).map_err(|e| {
        // SAFETY: allocated just now, used by nobody.
        unsafe { driver.pinned_free(host) };
        Failure::Driver(e)
    })
}

fn registered(driver: &impl Driver, host: *mut u8, size: usize) -> Result<Both, Failure> {
    // SAFETY: the block is mapped and `size` bytes long, and is unmapped after it is unregistered.
    let known = unsafe { driver.register(host, size) };
    let address = known.and_then(|()| {
        driver.device_address(host).inspect_err(|_| {
            // SAFETY: registered just now.
            unsafe { driver.unregister(host) }
        })
    });
    address.map(|device| (device, Some(host))).map_err(|e| {
        // SAFETY: mapped by the caller, used by nobody.
        let _ = unsafe { munmap(host.cast(), size) };
        Failure::Driver(e)
    })
}

fn host_block(size: usize) -> Result<*mut u8, Failure> {
    let (access, private) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE);
    // SAFETY: a fresh mapping wherever the system likes.
    let at = unsafe { mmap_anonymous(std::ptr::null_mut(), size, access, private) };
    at.map(<*mut _>::cast).map_err(|e| Failure::System(e.into()))
}

fn mapped_file(size: usize) -> Result<*mut u8, Failure> {
    let file = tempfile::tempfile().map_err(Failure::System)?;
    file.set_len(size as u64).map_err(Failure::System)?;
    let access = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: a fresh mapping of a file that nobody else has.
    let at = unsafe { mmap(std::ptr::null_mut(), size, access, MapFlags::SHARED, &file, 0) };
    at.map(<*mut _>::cast).map_err(|e| Failure::System(e.into()))
}
