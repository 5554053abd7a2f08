//! libamdhip64, opened at run time. Refuses to need any symbol: one that is missing is an error of the call that wants it.

use crate::board::device::{Class, Refused};
use hip_sys as sys;
use libloading::Library;
use std::ffi::{CStr, c_char, c_int, c_uint, c_ulonglong, c_void};
use std::path::PathBuf;

/// Names of the library, newest last but the plain one first.
const NAMES: [&str; 4] = ["libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"];

macro_rules! api {
    ($($name:ident($($arg:ty),*) -> $result:ty;)*) => {
        /// The symbols we call, as far as the library has them.
        #[allow(non_snake_case)]
        pub struct Api {
            /// Where it was found.
            pub path: PathBuf,
            _library: Library,
            $(pub $name: Option<unsafe extern "C" fn($($arg),*) -> $result>,)*
        }

        impl Api {
            fn of(path: PathBuf, library: Library) -> Self {
                // SAFETY: the types are those of hip_runtime_api.h; the library is kept as long as the pointers.
                unsafe {
                    Self {
                        $($name: library.get(concat!(stringify!($name), "\0").as_bytes()).ok().map(|s| *s),)*
                        _library: library,
                        path,
                    }
                }
            }
        }
    };
}

type Device = c_int;
type Status = sys::hipError_t;

api! {
    hipInit(c_uint) -> Status;
    hipGetDeviceCount(*mut c_int) -> Status;
    hipSetDevice(c_int) -> Status;
    hipDeviceGetAttribute(*mut c_int, sys::hipDeviceAttribute_t, c_int) -> Status;
    hipGetDevicePropertiesR0600(*mut sys::hipDeviceProp_tR0600, c_int) -> Status;
    hipGetDeviceProperties(*mut c_void, c_int) -> Status;
    hipDeviceGetName(*mut c_char, c_int, Device) -> Status;
    hipDeviceGetUuid(*mut sys::hipUUID, Device) -> Status;
    hipDeviceGetPCIBusId(*mut c_char, c_int, c_int) -> Status;
    hipDeviceTotalMem(*mut usize, Device) -> Status;
    hipDriverGetVersion(*mut c_int) -> Status;
    hipRuntimeGetVersion(*mut c_int) -> Status;
    hipMemGetInfo(*mut usize, *mut usize) -> Status;
    hipGetErrorName(Status) -> *const c_char;
    hipGetErrorString(Status) -> *const c_char;
    hipGetLastError() -> Status;
    hipMalloc(*mut *mut c_void, usize) -> Status;
    hipFree(*mut c_void) -> Status;
    hipMallocManaged(*mut *mut c_void, usize, c_uint) -> Status;
    hipHostMalloc(*mut *mut c_void, usize, c_uint) -> Status;
    hipHostFree(*mut c_void) -> Status;
    hipHostRegister(*mut c_void, usize, c_uint) -> Status;
    hipHostUnregister(*mut c_void) -> Status;
    hipHostGetDevicePointer(*mut *mut c_void, *mut c_void, c_uint) -> Status;
    hipModuleLoadData(*mut sys::hipModule_t, *const c_void) -> Status;
    hipModuleUnload(sys::hipModule_t) -> Status;
    hipModuleGetFunction(*mut sys::hipFunction_t, sys::hipModule_t, *const c_char) -> Status;
    hipModuleLaunchKernel(sys::hipFunction_t, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, sys::hipStream_t, *mut *mut c_void, *mut *mut c_void) -> Status;
    hipMemcpyAsync(*mut c_void, *const c_void, usize, sys::hipMemcpyKind, sys::hipStream_t) -> Status;
    hipStreamCreateWithFlags(*mut sys::hipStream_t, c_uint) -> Status;
    hipStreamDestroy(sys::hipStream_t) -> Status;
    hipEventCreate(*mut sys::hipEvent_t) -> Status;
    hipEventDestroy(sys::hipEvent_t) -> Status;
    hipEventRecord(sys::hipEvent_t, sys::hipStream_t) -> Status;
    hipEventQuery(sys::hipEvent_t) -> Status;
    hipEventElapsedTime(*mut f32, sys::hipEvent_t, sys::hipEvent_t) -> Status;
    hipMemGetAllocationGranularity(*mut usize, *const sys::hipMemAllocationProp, sys::hipMemAllocationGranularity_flags) -> Status;
    hipMemAddressReserve(*mut *mut c_void, usize, usize, *mut c_void, c_ulonglong) -> Status;
    hipMemAddressFree(*mut c_void, usize) -> Status;
    hipMemCreate(*mut sys::hipMemGenericAllocationHandle_t, usize, *const sys::hipMemAllocationProp, c_ulonglong) -> Status;
    hipMemRelease(sys::hipMemGenericAllocationHandle_t) -> Status;
    hipMemMap(*mut c_void, usize, usize, sys::hipMemGenericAllocationHandle_t, c_ulonglong) -> Status;
    hipMemUnmap(*mut c_void, usize) -> Status;
    hipMemSetAccess(*mut c_void, usize, *const sys::hipMemAccessDesc, usize) -> Status;
}

/// Calls a function of the library and checks its status; a function that is not there is a refusal too.
macro_rules! call {
    ($api:expr, $name:ident($($arg:expr),* $(,)?)) => {
        match $api.$name {
            // SAFETY: by the caller of this macro: pointers are to locals, or vouched for by its own caller.
            Some(function) => {
                let status = unsafe { function($($arg),*) };
                $api.check(stringify!($name), status)
            }
            None => Err($api.missing(stringify!($name))),
        }
    };
}
pub(super) use call;

/// Folders in which the library may lie, besides those of the loader.
fn folders() -> Vec<PathBuf> {
    let var = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    [var("ROCM_PATH"), var("HIP_PATH"), Some("/opt/rocm".into())].into_iter().flatten().map(|f| f.join("lib")).collect()
}

/// Opens the library.
///
/// # Errors
/// Where it was looked for; one sentence.
pub fn open() -> Result<Api, String> {
    let folders = folders();
    let named = folders.iter().flat_map(|folder| NAMES.map(|name| folder.join(name)));
    for path in named.chain(NAMES.map(PathBuf::from)) {
        // SAFETY: the name is AMD's; its initialisers are too.
        if let Ok(library) = unsafe { Library::new(&path) } {
            return Ok(Api::of(path, library));
        }
    }
    let looked: Vec<String> = folders.iter().map(|f| f.display().to_string()).collect();
    Err(format!(
        "libamdhip64.so is not there (looked in {} and where the loader looks); install the ROCm runtime or set ROCM_PATH",
        looked.join(", ")
    ))
}

impl Api {
    /// The refusal of a function that the library lacks.
    pub fn missing(&self, call: &'static str) -> Refused {
        Refused { call, words: format!("{} has no such symbol", self.path.display()), class: Class::Missing }
    }

    /// The result of `call`. An error is drained, so that no later call reports it again.
    ///
    /// # Errors
    /// When it is not hipSuccess.
    pub fn check(&self, call: &'static str, status: Status) -> Result<(), Refused> {
        if status == sys::hipError_t_hipSuccess {
            return Ok(());
        }
        // SAFETY: no arguments; both describing functions return a static string or null.
        unsafe {
            if let Some(drain) = self.hipGetLastError {
                let _ = drain();
            }
            let name = self.hipGetErrorName.map_or_else(String::new, |f| text(f(status)));
            let words = self.hipGetErrorString.map_or_else(String::new, |f| text(f(status)));
            let words = if words == name { name } else { format!("{name} ({words})") };
            Err(Refused { call, words: format!("{words}, code {status}"), class: class(status) })
        }
    }
}

/// # Safety
/// Null, or a string that lives on.
unsafe fn text(p: *const c_char) -> String {
    if p.is_null() {
        return String::new();
    }
    // SAFETY: as the caller promises.
    unsafe { CStr::from_ptr(p) }.to_string_lossy().into_owned()
}

fn class(status: Status) -> Class {
    match status {
        sys::hipError_t_hipErrorOutOfMemory => Class::Memory,
        sys::hipError_t_hipErrorIllegalAddress
        | sys::hipError_t_hipErrorLaunchFailure
        | sys::hipError_t_hipErrorAssert => Class::Fault,
        sys::hipError_t_hipErrorInvalidValue
        | sys::hipError_t_hipErrorInvalidConfiguration
        | sys::hipError_t_hipErrorInvalidHandle
        | sys::hipError_t_hipErrorNotSupported
        | sys::hipError_t_hipErrorLaunchOutOfResources => Class::Launch,
        sys::hipError_t_hipErrorInvalidImage
        | sys::hipError_t_hipErrorNoBinaryForGpu
        | sys::hipError_t_hipErrorInvalidKernelFile
        | sys::hipError_t_hipErrorFileNotFound => Class::Image,
        sys::hipError_t_hipErrorNotFound => Class::Missing,
        _ => Class::Lost,
    }
}
