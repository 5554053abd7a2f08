//! Device memory mapped piece by piece, so that any piece can be taken away and a kernel that touches it faults. Refuses to map a
//! piece that is sealed.

use super::call::{Refused, check};
use cudarc::driver::sys::{self, CUdevice, CUdeviceptr, CUmemGenericAllocationHandle};
use std::ops::Range;

/// A reserved range of addresses with memory of its own behind every piece.
pub struct Pages {
    /// First address.
    pub address: CUdeviceptr,
    device: CUdevice,
    granule: usize,
    handles: Vec<CUmemGenericAllocationHandle>,
    mapped: Vec<bool>,
    sealed: Vec<Range<usize>>,
}

/// Bytes of the smallest piece that a device maps.
///
/// # Errors
/// When it has no memory management of that kind.
pub fn granule(device: CUdevice) -> Result<usize, Refused> {
    let mut bytes = 0;
    let smallest = sys::CUmemAllocationGranularity_flags::CU_MEM_ALLOC_GRANULARITY_MINIMUM;
    let wanted = properties(device);
    // SAFETY: the pointers are to locals.
    let done = unsafe { sys::cuMemGetAllocationGranularity(&raw mut bytes, &raw const wanted, smallest) };
    check("cuMemGetAllocationGranularity", done)?;
    Ok(bytes)
}

fn properties(device: CUdevice) -> sys::CUmemAllocationProp {
    sys::CUmemAllocationProp {
        type_: sys::CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED,
        requestedHandleTypes: sys::CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_NONE,
        location: location(device),
        win32HandleMetaData: std::ptr::null_mut(),
        allocFlags: sys::CUmemAllocationProp_st__bindgen_ty_1 {
            compressionType: 0,
            gpuDirectRDMACapable: 0,
            usage: 0,
            reserved: [0; 4],
        },
    }
}

fn location(device: CUdevice) -> sys::CUmemLocation {
    sys::CUmemLocation { type_: sys::CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE, id: device }
}

impl Pages {
    /// `bytes` of memory, rounded up to whole pieces, all of it mapped.
    ///
    /// # Errors
    /// When there is not that much.
    pub fn new(device: CUdevice, bytes: usize) -> Result<Self, Refused> {
        let granule = granule(device)?;
        let pieces = bytes.div_ceil(granule).max(1);
        let mut address = 0;
        // SAFETY: the pointer is to a local; the system chooses the address.
        let done = unsafe { sys::cuMemAddressReserve(&raw mut address, pieces * granule, 0, 0, 0) };
        check("cuMemAddressReserve", done)?;
        let mut pages = Self { address, device, granule, handles: vec![], mapped: vec![false; pieces], sealed: vec![] };
        for piece in 0..pieces {
            if let Err(e) = pages.create().and_then(|()| pages.map(piece)) {
                pages.free();
                return Err(e);
            }
        }
        Ok(pages)
    }

    fn create(&mut self) -> Result<(), Refused> {
        let mut handle = 0;
        let wanted = properties(self.device);
        // SAFETY: the pointers are to locals.
        let done = unsafe { sys::cuMemCreate(&raw mut handle, self.granule, &raw const wanted, 0) };
        check("cuMemCreate", done)?;
        self.handles.push(handle);
        Ok(())
    }

    fn at(&self, piece: usize) -> CUdeviceptr {
        self.address + (piece * self.granule) as u64
    }

    fn map(&mut self, piece: usize) -> Result<(), Refused> {
        let flags = sys::CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
        let access = sys::CUmemAccessDesc { location: location(self.device), flags };
        // SAFETY: the address is reserved by us and not mapped; the handle is live.
        unsafe {
            check("cuMemMap", sys::cuMemMap(self.at(piece), self.granule, 0, self.handles[piece], 0))?;
            self.mapped[piece] = true;
            check("cuMemSetAccess", sys::cuMemSetAccess(self.at(piece), self.granule, &raw const access, 1))
        }
    }

    fn unmap(&mut self, piece: usize) -> Result<(), Refused> {
        // SAFETY: mapped by `map`, and the queue is idle.
        check("cuMemUnmap", unsafe { sys::cuMemUnmap(self.at(piece), self.granule) })?;
        self.mapped[piece] = false;
        Ok(())
    }

    /// Takes exactly these ranges away; all others are there again. The ranges are whole pieces; the queue must be idle.
    ///
    /// # Errors
    /// When the driver refuses.
    pub fn seal(&mut self, ranges: &[Range<usize>]) -> Result<(), Refused> {
        for piece in 0..self.mapped.len() {
            let bytes = piece * self.granule..(piece + 1) * self.granule;
            let wanted = !ranges.iter().any(|r| r.start <= bytes.start && bytes.end <= r.end);
            match (self.mapped[piece], wanted) {
                (true, false) => self.unmap(piece)?,
                (false, true) => self.map(piece)?,
                _ => {}
            }
        }
        self.sealed = ranges.to_vec();
        Ok(())
    }

    /// The parts of a byte range that are there.
    pub fn open(&self, range: Range<usize>) -> Vec<Range<usize>> {
        let mut open = vec![range];
        for sealed in &self.sealed {
            let cut = |r: Range<usize>| [r.start..r.end.min(sealed.start), r.start.max(sealed.end)..r.end];
            open = open.into_iter().flat_map(cut).filter(|r| r.start < r.end).collect();
        }
        open
    }

    /// Gives everything back.
    pub fn free(mut self) {
        for piece in 0..self.mapped.len() {
            if self.mapped[piece] {
                // A failure leaks, which is all that could be done.
                let _ = self.unmap(piece);
            }
        }
        // SAFETY: each handle was created once and the range reserved once; nothing is mapped any more.
        unsafe {
            for handle in &self.handles {
                let _ = sys::cuMemRelease(*handle);
            }
            let _ = sys::cuMemAddressFree(self.address, self.mapped.len() * self.granule);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sealed_is_cut_out() {
        let sealed = vec![10..20, 30..40];
        let pages = Pages { address: 0, device: 0, granule: 10, handles: vec![], mapped: vec![], sealed };
        assert_eq!(pages.open(0..50), [0..10, 20..30, 40..50]);
        assert!(pages.open(12..18).is_empty());
        assert_eq!(pages.open(5..35), [5..10, 20..30]);
    }
}
