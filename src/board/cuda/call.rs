//! Results of driver calls as errors of a board. Refuses to guess: every error names the call and the driver's own words.

use crate::board::BoardError;
use cudarc::driver::sys::{self, CUresult};
use std::ffi::{CStr, c_char};
use std::fmt;

/// A call that the driver refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The call.
    pub call: &'static str,
    /// Its result.
    pub code: CUresult,
}

/// The result of `call`.
///
/// # Errors
/// When it is not CUDA_SUCCESS.
pub fn check(call: &'static str, code: CUresult) -> Result<(), Refused> {
    if code == CUresult::CUDA_SUCCESS { Ok(()) } else { Err(Refused { call, code }) }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        // SAFETY: both functions set the pointer to a static string, or leave it null.
        let (name, words) = unsafe {
            let (mut name, mut words) = (std::ptr::null(), std::ptr::null());
            let _ = sys::cuGetErrorName(self.code, &raw mut name);
            let _ = sys::cuGetErrorString(self.code, &raw mut words);
            (text(name), text(words))
        };
        write!(f, "{}: {name} ({words})", self.call)
    }
}

/// # Safety
/// Null, or a string that lives on.
unsafe fn text(p: *const c_char) -> String {
    if p.is_null() {
        return "unknown error".into();
    }
    // SAFETY: as the caller promises.
    unsafe { CStr::from_ptr(p) }.to_string_lossy().into_owned()
}

impl Refused {
    /// The error of a board: what happened while `kernel` was the last one launched.
    pub fn of(self, kernel: &str) -> BoardError {
        use CUresult::*;
        let kernel = kernel.to_string();
        match self.code {
            CUDA_ERROR_ILLEGAL_ADDRESS
            | CUDA_ERROR_MISALIGNED_ADDRESS
            | CUDA_ERROR_INVALID_ADDRESS_SPACE
            | CUDA_ERROR_INVALID_PC
            | CUDA_ERROR_ILLEGAL_INSTRUCTION
            | CUDA_ERROR_HARDWARE_STACK_ERROR
            | CUDA_ERROR_ASSERT
            | CUDA_ERROR_LAUNCH_FAILED => {
                // The driver does not tell the address; its own words tell the kind of fault.
                BoardError::Fault { address: 0, kernel, detail: format!("{self}; the driver names no address") }
            }
            CUDA_ERROR_INVALID_VALUE
            | CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES
            | CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING
            | CUDA_ERROR_INVALID_HANDLE => BoardError::Launch { kernel, why: self.to_string() },
            _ => BoardError::Lost { why: format!("{self}; last launch: {kernel}") },
        }
    }

    /// The error of an allocation of `need` bytes.
    pub fn of_memory(self, need: usize) -> BoardError {
        if self.code != CUresult::CUDA_ERROR_OUT_OF_MEMORY {
            return BoardError::Refused {
                what: "an allocation".into(),
                need: format!("{need} bytes"),
                have: self.to_string(),
            };
        }
        let (mut free, mut total) = (0, 0);
        // SAFETY: the pointers are to locals.
        let _ = unsafe { sys::cuMemGetInfo_v2(&raw mut free, &raw mut total) };
        BoardError::OutOfMemory { need: need as u64, free: free as u64 }
    }
}
