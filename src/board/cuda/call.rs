//! Results of driver calls. Refuses to guess: every refusal carries the driver's own name and words.

use crate::board::device::{Class, Refused};
use cudarc::driver::sys::{self, CUresult};
use std::ffi::{CStr, c_char};

/// The result of `call`.
///
/// # Errors
/// When it is not CUDA_SUCCESS.
pub fn check(call: &'static str, code: CUresult) -> Result<(), Refused> {
    if code == CUresult::CUDA_SUCCESS {
        return Ok(());
    }
    // SAFETY: both functions set the pointer to a static string, or leave it null.
    let words = unsafe {
        let (mut name, mut words) = (std::ptr::null(), std::ptr::null());
        let _ = sys::cuGetErrorName(code, &raw mut name);
        let _ = sys::cuGetErrorString(code, &raw mut words);
        format!("{} ({})", text(name), text(words))
    };
    Err(Refused { call, words, class: class(code) })
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

fn class(code: CUresult) -> Class {
    use CUresult::*;
    match code {
        CUDA_ERROR_OUT_OF_MEMORY => Class::Memory,
        CUDA_ERROR_ILLEGAL_ADDRESS
        | CUDA_ERROR_MISALIGNED_ADDRESS
        | CUDA_ERROR_INVALID_ADDRESS_SPACE
        | CUDA_ERROR_INVALID_PC
        | CUDA_ERROR_ILLEGAL_INSTRUCTION
        | CUDA_ERROR_HARDWARE_STACK_ERROR
        | CUDA_ERROR_ASSERT
        | CUDA_ERROR_LAUNCH_FAILED => Class::Fault,
        CUDA_ERROR_INVALID_VALUE | CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES | CUDA_ERROR_INVALID_HANDLE => Class::Launch,
        CUDA_ERROR_INVALID_IMAGE
        | CUDA_ERROR_NO_BINARY_FOR_GPU
        | CUDA_ERROR_INVALID_PTX
        | CUDA_ERROR_UNSUPPORTED_PTX_VERSION
        | CUDA_ERROR_INVALID_SOURCE
        | CUDA_ERROR_JIT_COMPILER_NOT_FOUND => Class::Image,
        CUDA_ERROR_NOT_FOUND => Class::Missing,
        _ => Class::Lost,
    }
}
