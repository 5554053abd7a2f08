//! NVIDIA boards through the driver API, whose library is opened at run time. Refuses to call it before it is known to be there.
#![allow(unsafe_code)]

mod call;
mod driver;
mod facts;

pub use facts::{Identity, identity};

use super::BoardError;
use super::device::{DeviceBoard, Refused};
use call::check;
use cudarc::driver::sys;
use driver::Cuda;

/// An open NVIDIA board.
pub type CudaBoard = DeviceBoard<Cuda>;

/// Opens `cuda:index`.
///
/// # Errors
/// `Lost` without driver or device, `Refused` for an index that no device has.
pub fn open(index: u32) -> Result<CudaBoard, BoardError> {
    let facts = identity(index)?.facts;
    let driver = Cuda::open(device(index)?).map_err(Refused::lost)?;
    Ok(DeviceBoard::new(format!("cuda:{index}"), facts, driver))
}

/// The device of that index, with the driver initialised.
///
/// # Errors
/// `Lost` without driver or device; `Refused` for an index that no device has.
fn device(index: u32) -> Result<sys::CUdevice, BoardError> {
    // SAFETY: only opens the library by its usual names; its first call would panic without it.
    if !unsafe { sys::is_culib_present() } {
        return Err(BoardError::Lost { why: "libcuda.so.1 is not there: no NVIDIA driver is installed".into() });
    }
    let (mut count, mut device) = (0, 0);
    // SAFETY: the library is there; the pointers are to locals.
    unsafe {
        check("cuInit", sys::cuInit(0)).map_err(Refused::lost)?;
        check("cuDeviceGetCount", sys::cuDeviceGetCount(&raw mut count)).map_err(Refused::lost)?;
        if i64::from(index) >= i64::from(count) {
            let have = format!("{count} device(s); CUDA_VISIBLE_DEVICES may hide some");
            return Err(BoardError::Refused { what: "board".into(), need: format!("cuda:{index}"), have });
        }
        check("cuDeviceGet", sys::cuDeviceGet(&raw mut device, index as i32)).map_err(Refused::lost)?;
    }
    Ok(device)
}
