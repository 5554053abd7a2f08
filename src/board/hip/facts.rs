//! What the runtime says of a device, asked for twice. Refuses to guess: where two answers differ there is no board.

use super::arch;
use super::library::{Api, call};
use crate::board::device::{Class, Refused};
use crate::board::{BoardError, Facts, Kind};
use crate::survey::model::Fact;
use hip_sys as sys;
use std::ffi::{CStr, c_char};

/// Where the architecture name lies in the old layout of the device properties (HIP 5), bytes.
const OLD_ARCH: usize = 396;
/// Bytes that the old layout may fill, generously.
const OLD_BYTES: usize = 4096;

/// What a device is, known without allocating on it.
#[derive(Clone, Debug, PartialEq)]
pub struct Identity {
    /// Facts.
    pub facts: Facts,
    /// UUID, hex digits; the PCI bus id where the runtime has none.
    pub uuid: String,
    /// PCI bus id.
    pub pci: String,
    /// Architecture name with features, as the runtime gives it.
    pub arch: String,
    /// Versions of driver and runtime, as the runtime gives them.
    pub versions: (i32, i32),
    /// Raw `multiProcessorCount`: work-group processors on RDNA, compute units on CDNA.
    pub multiprocessors: u32,
    /// Attributes of host addressability, as declared; none where the runtime does not know one.
    pub attributes: Vec<(&'static str, Option<i64>)>,
}

impl Identity {
    /// The facts besides name and architecture, each with its source.
    pub fn describe(&self) -> Vec<Fact> {
        let fact = |name: &str, value: String, source: &str| Fact {
            name: name.to_string(),
            value,
            source: source.to_string(),
        };
        let count = if is_rdna(&self.facts.arch) { "work-group processors" } else { "compute units" };
        let units = compute_units(&self.pci).unwrap_or_else(|| "unknown".to_string());
        vec![
            fact("architecture with features", self.arch.clone(), "gcnArchName"),
            fact("uuid", self.uuid.clone(), "hipDeviceGetUuid"),
            fact("PCI id", self.pci.clone(), "hipDeviceGetPCIBusId"),
            fact("driver version", self.versions.0.to_string(), "hipDriverGetVersion"),
            fact("runtime version", self.versions.1.to_string(), "hipRuntimeGetVersion"),
            fact(count, self.multiprocessors.to_string(), "multiProcessorCount"),
            fact("compute units", units, "simd_count / simd_per_cu of the KFD topology"),
        ]
    }
}

fn is_rdna(arch: &str) -> bool {
    ["gfx10", "gfx11", "gfx12"].iter().any(|family| arch.starts_with(family))
}

/// Compute units of the device at that PCI id, from the kernel's own topology.
fn compute_units(pci: &str) -> Option<String> {
    for node in std::fs::read_dir("/sys/class/kfd/kfd/topology/nodes").ok()?.flatten() {
        let text = std::fs::read_to_string(node.path().join("properties")).unwrap_or_default();
        let get = |key: &str| text.lines().find_map(|l| l.strip_prefix(key)?.trim().parse::<u64>().ok());
        let (simds, per_unit) = (get("simd_count ")?, get("simd_per_cu ").unwrap_or(0));
        if per_unit > 0 && get("location_id ").map(location) == short(pci) {
            return Some((simds / per_unit).to_string());
        }
    }
    None
}

/// `bus:device.function` of a KFD location id.
fn location(id: u64) -> String {
    format!("{:02x}:{:02x}.{:x}", id >> 8 & 0xff, id >> 3 & 0x1f, id & 7)
}

/// A PCI id without its domain.
fn short(pci: &str) -> Option<String> {
    pci.to_lowercase().split_once(':').map(|(_, rest)| rest.to_string())
}

/// Attributes that say who may reach which memory.
const DECLARED: [(&str, sys::hipDeviceAttribute_t); 11] = [
    ("Integrated", sys::hipDeviceAttribute_t_hipDeviceAttributeIntegrated),
    ("PageableMemoryAccess", sys::hipDeviceAttribute_t_hipDeviceAttributePageableMemoryAccess),
    (
        "PageableMemoryAccessUsesHostPageTables",
        sys::hipDeviceAttribute_t_hipDeviceAttributePageableMemoryAccessUsesHostPageTables,
    ),
    ("ManagedMemory", sys::hipDeviceAttribute_t_hipDeviceAttributeManagedMemory),
    ("ConcurrentManagedAccess", sys::hipDeviceAttribute_t_hipDeviceAttributeConcurrentManagedAccess),
    ("DirectManagedMemAccessFromHost", sys::hipDeviceAttribute_t_hipDeviceAttributeDirectManagedMemAccessFromHost),
    (
        "CanUseHostPointerForRegisteredMem",
        sys::hipDeviceAttribute_t_hipDeviceAttributeCanUseHostPointerForRegisteredMem,
    ),
    ("HostRegisterSupported", sys::hipDeviceAttribute_t_hipDeviceAttributeHostRegisterSupported),
    ("UnifiedAddressing", sys::hipDeviceAttribute_t_hipDeviceAttributeUnifiedAddressing),
    ("CanMapHostMemory", sys::hipDeviceAttribute_t_hipDeviceAttributeCanMapHostMemory),
    ("LargeBar", sys::hipDeviceAttribute_t_hipDeviceAttributeIsLargeBar),
];

/// Properties that both layouts and the single attributes give.
struct Properties {
    arch: String,
    /// Wave width, multiprocessors and bytes of memory, where the layout is the current one.
    known: Option<(i32, i32, u64)>,
}

/// Facts and identity of a device.
///
/// # Errors
/// `Lost` when the runtime refuses or contradicts itself.
pub fn identity(api: &Api, index: i32) -> Result<Identity, BoardError> {
    let get = |which| attribute(api, which, index).map_err(Refused::lost);
    let properties = properties(api, index).map_err(Refused::lost)?;
    let wave = get(sys::hipDeviceAttribute_t_hipDeviceAttributeWarpSize)?;
    let multiprocessors = get(sys::hipDeviceAttribute_t_hipDeviceAttributeMultiprocessorCount)?;
    let mut memory = 0usize;
    call!(api, hipDeviceTotalMem(&raw mut memory, index)).map_err(Refused::lost)?;
    agree(&properties, wave, multiprocessors, memory as u64).map_err(|why| BoardError::Lost { why })?;
    let parsed = arch::parse(&properties.arch).map_err(|why| BoardError::Lost { why })?;
    let pci = pci(api, index);
    let mut facts = facts(api, index, parsed.base)?;
    facts.wave = wave.max(0) as u32;
    facts.memory = memory as u64;
    facts.name = name(api, index).map_err(Refused::lost)?;
    Ok(Identity {
        facts,
        uuid: uuid(api, index).unwrap_or_else(|| pci.clone()),
        pci,
        arch: properties.arch,
        versions: versions(api),
        multiprocessors: multiprocessors.max(0) as u32,
        attributes: DECLARED
            .iter()
            .map(|(name, which)| (*name, attribute(api, *which, index).ok().map(i64::from)))
            .collect(),
    })
}

/// The two ways to ask must give the same answers.
fn agree(p: &Properties, wave: i32, multiprocessors: i32, memory: u64) -> Result<(), String> {
    if wave != 32 && wave != 64 {
        return Err(format!("the runtime says that a wave has {wave} lanes; 32 and 64 are known"));
    }
    match p.known {
        Some(known) if known != (wave, multiprocessors, memory) => Err(format!(
            "the runtime contradicts itself: properties say wave, processors and memory {known:?}, single attributes \
             {:?}; its version may not fit this library",
            (wave, multiprocessors, memory)
        )),
        _ => Ok(()),
    }
}

fn properties(api: &Api, index: i32) -> Result<Properties, Refused> {
    if api.hipGetDevicePropertiesR0600.is_some() {
        let mut p = std::mem::MaybeUninit::<sys::hipDeviceProp_tR0600>::zeroed();
        call!(api, hipGetDevicePropertiesR0600(p.as_mut_ptr(), index))?;
        // SAFETY: zeroed first, which is a value of every field; the call filled it.
        let p = unsafe { p.assume_init() };
        let known = Some((p.warpSize, p.multiProcessorCount, p.totalGlobalMem as u64));
        return Ok(Properties { arch: text(&p.gcnArchName), known });
    }
    // The unversioned symbol of a library without the versioned one fills the old layout, of which we read the name alone.
    let mut old = [0 as c_char; OLD_BYTES];
    call!(api, hipGetDeviceProperties(old.as_mut_ptr().cast(), index))?;
    Ok(Properties { arch: text(&old[OLD_ARCH..OLD_ARCH + 256]), known: None })
}

fn facts(api: &Api, index: i32, arch: String) -> Result<Facts, BoardError> {
    use sys::*;
    let get = |which| attribute(api, which, index).map_err(Refused::lost);
    let count = |which| get(which).map(|x| x.max(0) as u32);
    // An attribute that an older runtime does not know is not there.
    let flag = |which| attribute(api, which, index).is_ok_and(|x| x != 0);
    let pageable = flag(hipDeviceAttribute_t_hipDeviceAttributePageableMemoryAccess);
    let managed = flag(hipDeviceAttribute_t_hipDeviceAttributeManagedMemory);
    let mut device_reads = vec![Kind::Device, Kind::Managed, Kind::Pinned, Kind::Registered];
    if pageable {
        device_reads.extend([Kind::MappedFile, Kind::Pageable]);
    }
    Ok(Facts {
        name: String::new(),
        wave: 0,
        memory: 0,
        max_threads: count(hipDeviceAttribute_t_hipDeviceAttributeMaxThreadsPerBlock)?,
        max_block: [
            count(hipDeviceAttribute_t_hipDeviceAttributeMaxBlockDimX)?,
            count(hipDeviceAttribute_t_hipDeviceAttributeMaxBlockDimY)?,
            count(hipDeviceAttribute_t_hipDeviceAttributeMaxBlockDimZ)?,
        ],
        max_grid: [
            count(hipDeviceAttribute_t_hipDeviceAttributeMaxGridDimX)?.into(),
            count(hipDeviceAttribute_t_hipDeviceAttributeMaxGridDimY)?.into(),
            count(hipDeviceAttribute_t_hipDeviceAttributeMaxGridDimZ)?.into(),
        ],
        max_grid_threads: u32::MAX.into(),
        lds: count(hipDeviceAttribute_t_hipDeviceAttributeMaxSharedMemoryPerBlock)?,
        integrated: flag(hipDeviceAttribute_t_hipDeviceAttributeIntegrated),
        pageable,
        managed,
        concurrent_managed: flag(hipDeviceAttribute_t_hipDeviceAttributeConcurrentManagedAccess),
        // As the runtime declares; the survey observes.
        host_reads: vec![Kind::Managed, Kind::Pinned, Kind::Registered, Kind::MappedFile, Kind::Pageable],
        device_reads,
        fp8: fp8(&arch).into(),
        flush_f32: false,
        page: super::driver::piece(api, index).map_or(0, |bytes| bytes as u32),
        sources: vec![format!("HIP runtime {}: properties and hipDeviceGetAttribute", api.path.display())],
        arch,
    })
}

/// Flavour of fp8 by generation: the runtime has no attribute for it.
fn fp8(arch: &str) -> &'static str {
    match arch {
        "gfx940" | "gfx941" | "gfx942" => "fnuz",
        "gfx950" => "fn",
        _ if arch.starts_with("gfx12") => "fn",
        _ => "none",
    }
}

fn attribute(api: &Api, which: sys::hipDeviceAttribute_t, index: i32) -> Result<i32, Refused> {
    let mut value = 0;
    call!(api, hipDeviceGetAttribute(&raw mut value, which, index))?;
    Ok(value)
}

fn name(api: &Api, index: i32) -> Result<String, Refused> {
    let mut name = [0 as c_char; 256];
    call!(api, hipDeviceGetName(name.as_mut_ptr(), 256, index))?;
    Ok(text(&name))
}

fn pci(api: &Api, index: i32) -> String {
    let mut id = [0 as c_char; 64];
    match call!(api, hipDeviceGetPCIBusId(id.as_mut_ptr(), 64, index)) {
        Ok(()) => text(&id),
        Err(_) => format!("device {index}"),
    }
}

fn uuid(api: &Api, index: i32) -> Option<String> {
    let mut uuid = std::mem::MaybeUninit::<sys::hipUUID>::zeroed();
    call!(api, hipDeviceGetUuid(uuid.as_mut_ptr(), index)).ok()?;
    // SAFETY: zeroed first; bytes only.
    let bytes = unsafe { uuid.assume_init() }.bytes;
    // The runtime packs ASCII digits where others pack bytes; all zeros is no id.
    bytes.iter().any(|b| *b != 0).then(|| bytes.iter().map(|b| format!("{:02x}", *b as u8)).collect())
}

fn versions(api: &Api) -> (i32, i32) {
    let (mut driver, mut runtime) = (0, 0);
    // A version that is not told stays 0.
    let _ = call!(api, hipDriverGetVersion(&raw mut driver));
    let _ = call!(api, hipRuntimeGetVersion(&raw mut runtime));
    (driver, runtime)
}

/// A C string in a fixed field.
fn text(field: &[c_char]) -> String {
    let bytes: Vec<u8> = field.iter().map(|c| *c as u8).chain([0]).collect();
    CStr::from_bytes_until_nul(&bytes).unwrap_or_default().to_string_lossy().into_owned()
}

/// The refusal to work with a class of its own for "no device".
pub fn is_no_device(e: &Refused) -> bool {
    e.class == Class::Lost && (e.words.contains("code 100") || e.words.contains("code 101"))
}
