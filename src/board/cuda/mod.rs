//! NVIDIA boards through the driver API, whose library is opened at run time. Refuses to retry, and to go on after a fault: the
//! context is lost with it, and the worker retires.
#![allow(unsafe_code)]

mod board;
mod call;
mod facts;
mod memory;
mod module;
mod pages;
mod staging;

pub use board::CudaBoard;
pub use facts::{Identity, identity};

use super::BoardError;
use call::check;
use cudarc::driver::sys;

/// Is the driver's library there? Its first call panics without it.
fn present() -> Result<(), BoardError> {
    // SAFETY: only opens the library by its usual names.
    if unsafe { sys::is_culib_present() } {
        return Ok(());
    }
    Err(BoardError::Lost { why: "libcuda.so.1 is not there: no NVIDIA driver is installed".into() })
}

/// The device of that index, with the driver initialised.
///
/// # Errors
/// `Lost` without driver or device; `Refused` for an index that no device has.
fn device(index: u32) -> Result<sys::CUdevice, BoardError> {
    present()?;
    let lost = |e: call::Refused| BoardError::Lost { why: e.to_string() };
    let (mut count, mut device) = (0, 0);
    // SAFETY: the library is there; the pointers are to locals.
    unsafe {
        check("cuInit", sys::cuInit(0)).map_err(lost)?;
        check("cuDeviceGetCount", sys::cuDeviceGetCount(&raw mut count)).map_err(lost)?;
        if i64::from(index) >= i64::from(count) {
            let have = format!("{count} device(s); CUDA_VISIBLE_DEVICES may hide some");
            return Err(BoardError::Refused { what: "board".into(), need: format!("cuda:{index}"), have });
        }
        check("cuDeviceGet", sys::cuDeviceGet(&raw mut device, index as i32)).map_err(lost)?;
    }
    Ok(device)
}
