//! The CUDA driver API behind [`Driver`].

use super::call::check;
use crate::board::device::{Driver, Handle, Packed, Refused};
use cudarc::driver::sys::{self, CUdevice, CUresult};
use std::ffi::{CStr, c_void};

/// A device with its primary context and a stream.
pub struct Cuda {
    device: CUdevice,
    context: sys::CUcontext,
    stream: sys::CUstream,
}

// SAFETY: handles of the driver, which may be used from any thread that has the context current.
unsafe impl Send for Cuda {}

impl Cuda {
    /// Retains the primary context of a device and makes a stream.
    ///
    /// # Errors
    /// When the driver refuses.
    pub fn open(device: CUdevice) -> Result<Self, Refused> {
        let (mut context, mut stream) = (std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: the device exists; the pointers are to locals.
        unsafe {
            let retained = sys::cuDevicePrimaryCtxRetain(&raw mut context, device);
            check("cuDevicePrimaryCtxRetain", retained)?;
            check("cuCtxSetCurrent", sys::cuCtxSetCurrent(context))?;
            let flags = sys::CUstream_flags::CU_STREAM_NON_BLOCKING as u32;
            check("cuStreamCreate", sys::cuStreamCreate(&raw mut stream, flags))?;
        }
        Ok(Self { device, context, stream })
    }

    fn location(&self) -> sys::CUmemLocation {
        location(self.device)
    }
}

fn location(device: CUdevice) -> sys::CUmemLocation {
    sys::CUmemLocation { type_: sys::CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE, id: device }
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

/// Bytes of the smallest piece of memory that a device maps.
///
/// # Errors
/// When it has no memory management of that kind.
pub fn piece(device: CUdevice) -> Result<usize, Refused> {
    let mut bytes = 0;
    let wanted = properties(device);
    let smallest = sys::CUmemAllocationGranularity_flags::CU_MEM_ALLOC_GRANULARITY_MINIMUM;
    // SAFETY: the pointers are to locals.
    let done = unsafe { sys::cuMemGetAllocationGranularity(&raw mut bytes, &raw const wanted, smallest) };
    check("cuMemGetAllocationGranularity", done)?;
    Ok(bytes)
}

// SAFETY (all calls below): pointers are to locals, or addresses and handles that the caller of an unsafe method vouches for.
impl Driver for Cuda {
    fn enter(&self) -> Result<(), Refused> {
        // SAFETY: the context is retained.
        check("cuCtxSetCurrent", unsafe { sys::cuCtxSetCurrent(self.context) })
    }

    fn memory(&self) -> Result<(u64, u64), Refused> {
        let (mut free, mut total) = (0, 0);
        // SAFETY: locals.
        check("cuMemGetInfo", unsafe { sys::cuMemGetInfo_v2(&raw mut free, &raw mut total) })?;
        Ok((free as u64, total as u64))
    }

    fn device_alloc(&self, bytes: usize) -> Result<u64, Refused> {
        let mut at = 0;
        // SAFETY: a local.
        check("cuMemAlloc", unsafe { sys::cuMemAlloc_v2(&raw mut at, bytes) })?;
        Ok(at)
    }

    unsafe fn device_free(&self, at: u64) {
        // SAFETY: as the caller promises. A failure leaks, which is all that could be done; so below.
        let _ = unsafe { sys::cuMemFree_v2(at) };
    }

    fn managed_alloc(&self, bytes: usize) -> Result<u64, Refused> {
        let mut at = 0;
        let global = sys::CUmemAttach_flags::CU_MEM_ATTACH_GLOBAL as u32;
        // SAFETY: a local.
        check("cuMemAllocManaged", unsafe { sys::cuMemAllocManaged(&raw mut at, bytes, global) })?;
        Ok(at)
    }

    fn pinned_alloc(&self, bytes: usize) -> Result<*mut u8, Refused> {
        let mut at = std::ptr::null_mut();
        // SAFETY: a local.
        check("cuMemHostAlloc", unsafe { sys::cuMemHostAlloc(&raw mut at, bytes, sys::CU_MEMHOSTALLOC_DEVICEMAP) })?;
        Ok(at.cast())
    }

    unsafe fn pinned_free(&self, at: *mut u8) {
        // SAFETY: as the caller promises.
        let _ = unsafe { sys::cuMemFreeHost(at.cast()) };
    }

    unsafe fn register(&self, at: *mut u8, bytes: usize) -> Result<(), Refused> {
        // SAFETY: as the caller promises.
        let done = unsafe { sys::cuMemHostRegister_v2(at.cast(), bytes, sys::CU_MEMHOSTREGISTER_DEVICEMAP) };
        check("cuMemHostRegister", done)
    }

    unsafe fn unregister(&self, at: *mut u8) {
        // SAFETY: as the caller promises.
        let _ = unsafe { sys::cuMemHostUnregister(at.cast()) };
    }

    fn device_address(&self, host: *mut u8) -> Result<u64, Refused> {
        let mut at = 0;
        // SAFETY: a local; a host address that is not known is refused.
        check("cuMemHostGetDevicePointer", unsafe { sys::cuMemHostGetDevicePointer_v2(&raw mut at, host.cast(), 0) })?;
        Ok(at)
    }

    fn load(&self, image: &[u8]) -> Result<Handle, Refused> {
        let mut module = std::ptr::null_mut();
        // SAFETY: a cubin says its own length; the driver refuses what is none.
        check("cuModuleLoadData", unsafe { sys::cuModuleLoadData(&raw mut module, image.as_ptr().cast()) })?;
        Ok(module as Handle)
    }

    unsafe fn unload(&self, module: Handle) {
        // SAFETY: as the caller promises.
        let _ = unsafe { sys::cuModuleUnload(module as sys::CUmodule) };
    }

    unsafe fn kernel(&self, module: Handle, name: &CStr) -> Result<Handle, Refused> {
        let mut function = std::ptr::null_mut();
        // SAFETY: as the caller promises.
        let done = unsafe { sys::cuModuleGetFunction(&raw mut function, module as sys::CUmodule, name.as_ptr()) };
        check("cuModuleGetFunction", done)?;
        Ok(function as Handle)
    }

    unsafe fn parameters(&self, kernel: Handle, _: &str, _: &[u8]) -> Option<Vec<usize>> {
        let mut sizes = Vec::new();
        let (mut offset, mut size) = (0, 0);
        let function = kernel as sys::CUfunction;
        // SAFETY: as the caller promises. An index past the last parameter is refused.
        while unsafe { sys::cuFuncGetParamInfo(function, sizes.len(), &raw mut offset, &raw mut size) }
            == CUresult::CUDA_SUCCESS
        {
            sizes.push(size);
        }
        Some(sizes)
    }

    unsafe fn copy(&self, to: u64, from: u64, bytes: usize) -> Result<(), Refused> {
        // SAFETY: as the caller promises.
        check("cuMemcpyAsync", unsafe { sys::cuMemcpyAsync(to, from, bytes, self.stream) })
    }

    unsafe fn launch(
        &self,
        kernel: Handle,
        [gx, gy, gz]: [u32; 3],
        [bx, by, bz]: [u32; 3],
        lds: u32,
        args: &mut Packed,
    ) -> Result<(), Refused> {
        let mut bytes = args.bytes.len();
        // CU_LAUNCH_PARAM_BUFFER_POINTER, the buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, its size, CU_LAUNCH_PARAM_END.
        let mut extra: [*mut c_void; 5] = [
            std::ptr::without_provenance_mut(1),
            args.bytes.as_mut_ptr().cast(),
            std::ptr::without_provenance_mut(2),
            (&raw mut bytes).cast(),
            std::ptr::null_mut(),
        ];
        let function = kernel as sys::CUfunction;
        // SAFETY: as the caller promises; the driver copies the arguments.
        let done = unsafe {
            let (none, extra) = (std::ptr::null_mut(), extra.as_mut_ptr());
            sys::cuLaunchKernel(function, gx, gy, gz, bx, by, bz, lds, self.stream, none, extra)
        };
        check("cuLaunchKernel", done)
    }

    fn event(&self) -> Result<Handle, Refused> {
        let mut event = std::ptr::null_mut();
        // SAFETY: a local.
        let made = unsafe { sys::cuEventCreate(&raw mut event, sys::CUevent_flags::CU_EVENT_DEFAULT as u32) };
        check("cuEventCreate", made)?;
        Ok(event as Handle)
    }

    unsafe fn record(&self, event: Handle) -> Result<(), Refused> {
        // SAFETY: as the caller promises.
        check("cuEventRecord", unsafe { sys::cuEventRecord(event as sys::CUevent, self.stream) })
    }

    unsafe fn passed(&self, event: Handle) -> Result<bool, Refused> {
        // SAFETY: as the caller promises.
        match unsafe { sys::cuEventQuery(event as sys::CUevent) } {
            CUresult::CUDA_ERROR_NOT_READY => Ok(false),
            code => check("cuEventQuery", code).map(|()| true),
        }
    }

    unsafe fn milliseconds(&self, from: Handle, to: Handle) -> Result<f32, Refused> {
        let mut milliseconds = 0.0;
        // SAFETY: as the caller promises.
        let done = unsafe { sys::cuEventElapsedTime(&raw mut milliseconds, from as sys::CUevent, to as sys::CUevent) };
        check("cuEventElapsedTime", done)?;
        Ok(milliseconds)
    }

    unsafe fn drop_event(&self, event: Handle) {
        // SAFETY: as the caller promises.
        let _ = unsafe { sys::cuEventDestroy_v2(event as sys::CUevent) };
    }

    fn reserve(&self, bytes: usize) -> Result<u64, Refused> {
        let mut at = 0;
        // SAFETY: a local; the driver chooses the address.
        check("cuMemAddressReserve", unsafe { sys::cuMemAddressReserve(&raw mut at, bytes, 0, 0, 0) })?;
        Ok(at)
    }

    unsafe fn unreserve(&self, at: u64, bytes: usize) {
        // SAFETY: as the caller promises.
        let _ = unsafe { sys::cuMemAddressFree(at, bytes) };
    }

    fn piece(&self, bytes: usize) -> Result<Handle, Refused> {
        let mut handle = 0;
        let wanted = properties(self.device);
        // SAFETY: locals.
        check("cuMemCreate", unsafe { sys::cuMemCreate(&raw mut handle, bytes, &raw const wanted, 0) })?;
        Ok(handle)
    }

    unsafe fn drop_piece(&self, piece: Handle) {
        // SAFETY: as the caller promises.
        let _ = unsafe { sys::cuMemRelease(piece) };
    }

    unsafe fn map(&self, at: u64, bytes: usize, piece: Handle) -> Result<(), Refused> {
        let flags = sys::CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
        let access = sys::CUmemAccessDesc { location: self.location(), flags };
        // SAFETY: as the caller promises.
        unsafe {
            check("cuMemMap", sys::cuMemMap(at, bytes, 0, piece, 0))?;
            check("cuMemSetAccess", sys::cuMemSetAccess(at, bytes, &raw const access, 1))
        }
    }

    unsafe fn unmap(&self, at: u64, bytes: usize) -> Result<(), Refused> {
        // SAFETY: as the caller promises.
        check("cuMemUnmap", unsafe { sys::cuMemUnmap(at, bytes) })
    }

    fn close(&mut self) {
        // SAFETY: each was made once and is given back once.
        unsafe {
            let _ = sys::cuStreamDestroy_v2(self.stream);
            let _ = sys::cuDevicePrimaryCtxRelease_v2(self.device);
        }
    }
}
