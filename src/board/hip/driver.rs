//! The HIP runtime behind [`Driver`].

use super::library::{Api, call};
use crate::board::device::{Driver, Handle, Packed, Refused};
use crate::toolchain::inspect;
use hip_sys as sys;
use std::ffi::{CStr, c_void};
use std::sync::Arc;

/// A device and a stream.
pub struct Hip {
    api: Arc<Api>,
    index: i32,
    stream: sys::hipStream_t,
}

// SAFETY: handles of the runtime, which may be used from any thread.
unsafe impl Send for Hip {}

impl Hip {
    /// Makes a stream on a device.
    ///
    /// # Errors
    /// When the runtime refuses.
    pub fn open(api: Arc<Api>, index: i32) -> Result<Self, Refused> {
        let mut stream = std::ptr::null_mut();
        call!(api, hipSetDevice(index))?;
        call!(api, hipStreamCreateWithFlags(&raw mut stream, sys::hipStreamNonBlocking))?;
        Ok(Self { api, index, stream })
    }
}

fn location(index: i32) -> sys::hipMemLocation {
    sys::hipMemLocation { type_: sys::hipMemLocationType_hipMemLocationTypeDevice, id: index }
}

fn properties(index: i32) -> sys::hipMemAllocationProp {
    // SAFETY: plain integers, pointers and a union of them: zero is a value of all.
    let mut wanted: sys::hipMemAllocationProp = unsafe { std::mem::zeroed() };
    wanted.type_ = sys::hipMemAllocationType_hipMemAllocationTypePinned;
    wanted.location = location(index);
    wanted
}

/// Bytes of the smallest piece of memory that a device maps.
///
/// # Errors
/// When it has no memory management of that kind.
pub fn piece(api: &Api, index: i32) -> Result<usize, Refused> {
    let mut bytes = 0;
    let wanted = properties(index);
    let smallest = sys::hipMemAllocationGranularity_flags_hipMemAllocationGranularityMinimum;
    call!(api, hipMemGetAllocationGranularity(&raw mut bytes, &raw const wanted, smallest))?;
    Ok(bytes)
}

// SAFETY (all calls below): pointers are to locals, or addresses and handles that the caller of an unsafe method vouches for.
impl Driver for Hip {
    fn enter(&self) -> Result<(), Refused> {
        call!(self.api, hipSetDevice(self.index))
    }

    fn memory(&self) -> Result<(u64, u64), Refused> {
        let (mut free, mut total) = (0, 0);
        call!(self.api, hipMemGetInfo(&raw mut free, &raw mut total))?;
        Ok((free as u64, total as u64))
    }

    fn device_alloc(&self, bytes: usize) -> Result<u64, Refused> {
        let mut at = std::ptr::null_mut();
        call!(self.api, hipMalloc(&raw mut at, bytes))?;
        Ok(at as u64)
    }

    unsafe fn device_free(&self, at: u64) {
        // A failure leaks, which is all that could be done; so below.
        let _ = call!(self.api, hipFree(at as *mut c_void));
    }

    fn managed_alloc(&self, bytes: usize) -> Result<u64, Refused> {
        let mut at = std::ptr::null_mut();
        call!(self.api, hipMallocManaged(&raw mut at, bytes, sys::hipMemAttachGlobal))?;
        Ok(at as u64)
    }

    fn pinned_alloc(&self, bytes: usize) -> Result<*mut u8, Refused> {
        let mut at = std::ptr::null_mut();
        call!(self.api, hipHostMalloc(&raw mut at, bytes, sys::hipHostMallocMapped))?;
        Ok(at.cast())
    }

    unsafe fn pinned_free(&self, at: *mut u8) {
        let _ = call!(self.api, hipHostFree(at.cast()));
    }

    unsafe fn register(&self, at: *mut u8, bytes: usize) -> Result<(), Refused> {
        call!(self.api, hipHostRegister(at.cast(), bytes, sys::hipHostRegisterMapped))
    }

    unsafe fn unregister(&self, at: *mut u8) {
        let _ = call!(self.api, hipHostUnregister(at.cast()));
    }

    fn device_address(&self, host: *mut u8) -> Result<u64, Refused> {
        let mut at = std::ptr::null_mut();
        call!(self.api, hipHostGetDevicePointer(&raw mut at, host.cast(), 0))?;
        Ok(at as u64)
    }

    fn load(&self, image: &[u8]) -> Result<Handle, Refused> {
        let mut module = std::ptr::null_mut();
        call!(self.api, hipModuleLoadData(&raw mut module, image.as_ptr().cast()))?;
        Ok(module as Handle)
    }

    unsafe fn unload(&self, module: Handle) {
        let _ = call!(self.api, hipModuleUnload(module as sys::hipModule_t));
    }

    unsafe fn kernel(&self, module: Handle, name: &CStr) -> Result<Handle, Refused> {
        let mut function = std::ptr::null_mut();
        call!(self.api, hipModuleGetFunction(&raw mut function, module as sys::hipModule_t, name.as_ptr()))?;
        Ok(function as Handle)
    }

    unsafe fn parameters(&self, _: Handle, name: &str, image: &[u8]) -> Option<Vec<usize>> {
        let object = inspect::code_object(image).ok()?;
        let kernel = object.kernels.into_iter().find(|k| k.name == name)?;
        Some(kernel.parameters.into_iter().map(|(_, size)| size).collect())
    }

    unsafe fn copy(&self, to: u64, from: u64, bytes: usize) -> Result<(), Refused> {
        let kind = sys::hipMemcpyKind_hipMemcpyDefault;
        call!(self.api, hipMemcpyAsync(to as *mut c_void, from as *const c_void, bytes, kind, self.stream))
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
        // HIP_LAUNCH_PARAM_BUFFER_POINTER, the buffer, HIP_LAUNCH_PARAM_BUFFER_SIZE, its size, HIP_LAUNCH_PARAM_END.
        let mut extra: [*mut c_void; 5] = [
            std::ptr::without_provenance_mut(1),
            args.bytes.as_mut_ptr().cast(),
            std::ptr::without_provenance_mut(2),
            (&raw mut bytes).cast(),
            std::ptr::without_provenance_mut(3),
        ];
        let (function, none, extra) = (kernel as sys::hipFunction_t, std::ptr::null_mut(), extra.as_mut_ptr());
        call!(self.api, hipModuleLaunchKernel(function, gx, gy, gz, bx, by, bz, lds, self.stream, none, extra))
    }

    fn event(&self) -> Result<Handle, Refused> {
        let mut event = std::ptr::null_mut();
        call!(self.api, hipEventCreate(&raw mut event))?;
        Ok(event as Handle)
    }

    unsafe fn record(&self, event: Handle) -> Result<(), Refused> {
        call!(self.api, hipEventRecord(event as sys::hipEvent_t, self.stream))
    }

    unsafe fn passed(&self, event: Handle) -> Result<bool, Refused> {
        let query = self.api.hipEventQuery.ok_or_else(|| self.api.missing("hipEventQuery"))?;
        // SAFETY: as the caller promises.
        match unsafe { query(event as sys::hipEvent_t) } {
            sys::hipError_t_hipErrorNotReady => Ok(false),
            status => self.api.check("hipEventQuery", status).map(|()| true),
        }
    }

    unsafe fn milliseconds(&self, from: Handle, to: Handle) -> Result<f32, Refused> {
        let mut milliseconds = 0.0;
        let (from, to) = (from as sys::hipEvent_t, to as sys::hipEvent_t);
        call!(self.api, hipEventElapsedTime(&raw mut milliseconds, from, to))?;
        Ok(milliseconds)
    }

    unsafe fn drop_event(&self, event: Handle) {
        let _ = call!(self.api, hipEventDestroy(event as sys::hipEvent_t));
    }

    fn reserve(&self, bytes: usize) -> Result<u64, Refused> {
        let mut at = std::ptr::null_mut();
        call!(self.api, hipMemAddressReserve(&raw mut at, bytes, 0, std::ptr::null_mut(), 0))?;
        Ok(at as u64)
    }

    unsafe fn unreserve(&self, at: u64, bytes: usize) {
        let _ = call!(self.api, hipMemAddressFree(at as *mut c_void, bytes));
    }

    fn piece(&self, bytes: usize) -> Result<Handle, Refused> {
        let mut handle = std::ptr::null_mut();
        let wanted = properties(self.index);
        call!(self.api, hipMemCreate(&raw mut handle, bytes, &raw const wanted, 0))?;
        Ok(handle as Handle)
    }

    unsafe fn drop_piece(&self, piece: Handle) {
        let _ = call!(self.api, hipMemRelease(piece as sys::hipMemGenericAllocationHandle_t));
    }

    unsafe fn map(&self, at: u64, bytes: usize, piece: Handle) -> Result<(), Refused> {
        let access = sys::hipMemAccessDesc {
            location: location(self.index),
            flags: sys::hipMemAccessFlags_hipMemAccessFlagsProtReadWrite,
        };
        let at = at as *mut c_void;
        call!(self.api, hipMemMap(at, bytes, 0, piece as sys::hipMemGenericAllocationHandle_t, 0))?;
        call!(self.api, hipMemSetAccess(at, bytes, &raw const access, 1))
    }

    unsafe fn unmap(&self, at: u64, bytes: usize) -> Result<(), Refused> {
        call!(self.api, hipMemUnmap(at as *mut c_void, bytes))
    }

    fn close(&mut self) {
        let _ = call!(self.api, hipStreamDestroy(self.stream));
    }
}
