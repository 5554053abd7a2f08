//! What the driver says of a device. Refuses to look anything up by name.

use super::call::check;
use super::{device, driver};
use crate::board::device::Refused;
use crate::board::{BoardError, Facts, Kind};
use cudarc::driver::sys::{self, CUdevice, CUdevice_attribute as A};
use std::ffi::{CStr, c_char};

/// What a device is, known without making a context on it.
#[derive(Clone, Debug, PartialEq)]
pub struct Identity {
    /// Facts.
    pub facts: Facts,
    /// UUID, hex digits.
    pub uuid: String,
    /// Version of the driver's API, such as `13.0`.
    pub driver: String,
    /// Multiprocessors.
    pub multiprocessors: u32,
    /// Attributes of host addressability, as declared; none where the driver does not know one.
    pub attributes: Vec<(&'static str, Option<i64>)>,
}

/// Facts and identity of a device.
///
/// # Errors
/// `Lost` without driver or device, `Refused` for an index that no device has.
pub fn identity(index: u32) -> Result<Identity, BoardError> {
    let device = device(index)?;
    read(device).map_err(Refused::lost)
}

fn read(device: CUdevice) -> Result<Identity, Refused> {
    let mut name = [0 as c_char; 256];
    let (mut memory, mut version) = (0usize, 0);
    let mut uuid = sys::CUuuid { bytes: [0; 16] };
    // SAFETY: the pointers are to locals; the name is told its length and ends in zero.
    let name = unsafe {
        check("cuDeviceGetName", sys::cuDeviceGetName(name.as_mut_ptr(), 256, device))?;
        check("cuDeviceTotalMem", sys::cuDeviceTotalMem_v2(&raw mut memory, device))?;
        check("cuDriverGetVersion", sys::cuDriverGetVersion(&raw mut version))?;
        check("cuDeviceGetUuid", sys::cuDeviceGetUuid_v2(&raw mut uuid, device))?;
        CStr::from_ptr(name.as_ptr()).to_string_lossy().into_owned()
    };
    let get = |a: A| attribute(device, a);
    let count = |a: A| get(a).map(|x| x.max(0) as u32);
    let flag = |a: A| get(a).map(|x| x != 0);
    let (major, minor) =
        (get(A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?, get(A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?);
    let pageable = flag(A::CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS)?;
    let mut device_reads = vec![Kind::Device, Kind::Managed, Kind::Pinned, Kind::Registered];
    if pageable {
        device_reads.extend([Kind::MappedFile, Kind::Pageable]);
    }
    let facts = Facts {
        name,
        arch: format!("sm_{major}{minor}"),
        wave: count(A::CU_DEVICE_ATTRIBUTE_WARP_SIZE)?,
        max_threads: count(A::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
        max_block: [
            count(A::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X)?,
            count(A::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y)?,
            count(A::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z)?,
        ],
        max_grid: [
            count(A::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X)?.into(),
            count(A::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y)?.into(),
            count(A::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z)?.into(),
        ],
        // CUDA limits blocks, not threads of a grid.
        max_grid_threads: u64::MAX,
        lds: count(A::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK)?,
        memory: memory as u64,
        integrated: flag(A::CU_DEVICE_ATTRIBUTE_INTEGRATED)?,
        pageable,
        managed: flag(A::CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY)?,
        concurrent_managed: flag(A::CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS)?,
        // As the driver declares; the survey observes.
        host_reads: vec![Kind::Managed, Kind::Pinned, Kind::Registered, Kind::MappedFile, Kind::Pageable],
        device_reads,
        fp8: if (major, minor) >= (8, 9) { "fn" } else { "none" }.into(),
        flush_f32: false,
        page: driver::piece(device).map_or(0, |bytes| bytes as u32),
        sources: vec!["CUDA driver API: cuDeviceGetAttribute, cuDeviceGetName, cuDeviceTotalMem".into()],
    };
    let uuid = uuid.bytes.iter().map(|b| format!("{:02x}", *b as u8)).collect();
    Ok(Identity {
        facts,
        uuid,
        driver: format!("{}.{}", version / 1000, version % 1000 / 10),
        multiprocessors: count(A::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
        attributes: DECLARED.iter().map(|(name, which)| (*name, get(*which).ok().map(i64::from))).collect(),
    })
}

/// Attributes that say who may reach which memory.
const DECLARED: [(&str, A); 11] = [
    ("Integrated", A::CU_DEVICE_ATTRIBUTE_INTEGRATED),
    ("PageableMemoryAccess", A::CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS),
    ("PageableMemoryAccessUsesHostPageTables", A::CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES),
    ("ManagedMemory", A::CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY),
    ("ConcurrentManagedAccess", A::CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS),
    ("DirectManagedMemAccessFromHost", A::CU_DEVICE_ATTRIBUTE_DIRECT_MANAGED_MEM_ACCESS_FROM_HOST),
    ("CanUseHostPointerForRegisteredMem", A::CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM),
    ("HostRegisterSupported", A::CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED),
    ("UnifiedAddressing", A::CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING),
    ("CanMapHostMemory", A::CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY),
    ("HostNativeAtomicSupported", A::CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED),
];

fn attribute(device: CUdevice, which: A) -> Result<i32, Refused> {
    let mut value = 0;
    // SAFETY: the pointer is to a local.
    check("cuDeviceGetAttribute", unsafe { sys::cuDeviceGetAttribute(&raw mut value, which, device) })?;
    Ok(value)
}
