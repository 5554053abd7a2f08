//! AMD boards through the HIP runtime, which is opened at run time. Refuses to need a symbol that a call does not want, and to take
//! the runtime's word where two of its answers differ.
#![allow(unsafe_code)]

pub mod arch;
mod driver;
mod facts;
mod library;

pub use facts::Identity;

use super::BoardError;
use super::device::{DeviceBoard, Refused};
use driver::Hip;
use library::{Api, call};
use std::sync::Arc;

/// An open AMD board.
pub type HipBoard = DeviceBoard<Hip>;

/// Environment variables that change what runs.
pub const VARIABLES: [&str; 10] = [
    "HSA_OVERRIDE_GFX_VERSION",
    "HIP_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",
    "GPU_DEVICE_ORDINAL",
    "HSA_XNACK",
    "AMD_SERIALIZE_KERNEL",
    "AMD_SERIALIZE_COPY",
    "HSA_ENABLE_SDMA",
    "HIP_LAUNCH_BLOCKING",
    "AMD_LOG_LEVEL",
];

/// Facts and identity of a device.
///
/// # Errors
/// `Lost` without runtime or device, or where the runtime contradicts itself; `Refused` for an index that no device has.
pub fn identity(index: u32) -> Result<Identity, BoardError> {
    let api = library::open().map_err(|why| BoardError::Lost { why })?;
    device(&api, index)?;
    facts::identity(&api, index as i32)
}

/// Opens `hip:index`.
///
/// # Errors
/// As [`identity`].
pub fn open(index: u32) -> Result<HipBoard, BoardError> {
    let api = Arc::new(library::open().map_err(|why| BoardError::Lost { why })?);
    device(&api, index)?;
    let facts = facts::identity(&api, index as i32)?.facts;
    let driver = Hip::open(api, index as i32).map_err(Refused::lost)?;
    Ok(DeviceBoard::new(format!("hip:{index}"), facts, driver))
}

/// Is there a device of that index?
fn device(api: &Api, index: u32) -> Result<(), BoardError> {
    let mut count = 0;
    // Older runtimes say "invalid device" (101) where newer ones say "no device" (100), and some only when devices are counted.
    let counted = call!(api, hipInit(0)).and_then(|()| call!(api, hipGetDeviceCount(&raw mut count)));
    match counted {
        Err(e) if facts::is_no_device(&e) => Err(BoardError::Lost { why: format!("{e}; {}", node()) }),
        Err(e) => Err(e.lost()),
        Ok(()) if i64::from(index) >= i64::from(count) => {
            let have = format!("{count} device(s); HIP_VISIBLE_DEVICES and ROCR_VISIBLE_DEVICES may hide some");
            Err(BoardError::Refused { what: "board".into(), need: format!("hip:{index}"), have })
        }
        Ok(()) => Ok(()),
    }
}

/// What the kernel's device node says: without it, or without permission, the runtime sees no device.
fn node() -> String {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let path = "/dev/kfd";
    let meta = match std::fs::metadata(path) {
        Ok(meta) => meta,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            return format!("{path} is not there: the amdgpu driver is not loaded, or the container was not given it");
        }
        Err(e) => return format!("{path}: {e}"),
    };
    match std::fs::OpenOptions::new().read(true).write(true).open(path) {
        Ok(_) => format!("{path} opens"),
        Err(e) => format!(
            "{path} does not open ({e}): owner {}, group {}, mode {:o}; the user must be in that group (render or video)",
            meta.uid(),
            meta.gid(),
            meta.permissions().mode() & 0o7777
        ),
    }
}
