//! A loaded kernel library: its kernels, parameter lists, uses, and where its shared memory lies.
//! Refuses what is not one of ours. Never unloaded.
#![allow(unsafe_code)]

use super::super::wire::Value;
use super::lanes;
use super::sanitise::Watch;
use crate::board::BoardError;
use libloading::os::unix::{Library as Handle, RTLD_LOCAL, RTLD_NOW};
use std::ffi::CStr;
use std::ops::Range;

/// Calls the current lane.
pub type LaneFn = unsafe extern "C" fn(*const u8);
/// Calls lanes in list order.
pub type LanesFn = unsafe extern "C" fn(*const u8, *const [u32; 3], u32);

#[repr(C)]
struct RawParam {
    size: u32,
    align: u32,
    offset: u32,
    code: u32,
}

#[repr(C)]
struct RawKernel {
    name: *const std::ffi::c_char,
    lanes: Option<LanesFn>,
    lane: Option<LaneFn>,
    params: *const RawParam,
    count: u32,
    bytes: u32,
    max_threads: u32,
}

/// Lane state that lives in the library.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct State {
    pub thread: *mut [u32; 3],
    pub block: *mut [u32; 3],
    pub block_dim: *mut [u32; 3],
    pub grid_dim: *mut [u32; 3],
    warp: *mut i32,
    /// Of a sanitised library.
    pub watch: *mut Watch,
}

impl State {
    /// Of no library.
    pub fn none() -> Self {
        let null = std::ptr::null_mut();
        Self {
            thread: null,
            block: null,
            block_dim: null,
            grid_dim: null,
            warp: std::ptr::null_mut(),
            watch: std::ptr::null_mut(),
        }
    }
}

/// A kernel parameter, as the compiler laid it out.
#[derive(Clone, Copy, Debug)]
pub struct Param {
    size: u32,
    offset: u32,
    code: u8,
}

/// A kernel.
pub struct Kernel {
    pub name: String,
    pub lanes: LanesFn,
    pub lane: LaneFn,
    pub params: Vec<Param>,
    pub bytes: u32,
    /// Of `__launch_bounds__`; 0 without.
    pub max_threads: u32,
    /// Static shared memory, bytes.
    pub lds: u32,
    pub waits: bool,
    pub uses_lds: bool,
    pub divergent: bool,
}

/// A library.
pub struct Library {
    pub kernels: Vec<Kernel>,
    pub state: State,
    /// First byte of shared memory.
    pub lds_start: *mut u8,
    /// First byte of dynamic shared memory.
    pub lds_dynamic: *mut u8,
    pub path: String,
    /// Addresses of its code and globals.
    pub image: Range<u64>,
    /// Static shared variables, where the library still has its symbol table.
    pub statics: Vec<(String, Range<u64>)>,
    _handle: std::mem::ManuallyDrop<Handle>,
}

impl Library {
    /// Loads a library that `toolchain::host` built.
    pub fn open(path: &str, wave: u32) -> Result<Self, BoardError> {
        let bad = |e: libloading::Error| BoardError::BadImage {
            wanted: "the simulated board (an x86-64 shared library built by assay)".into(),
            present: format!("{path}: {e}"),
        };
        // SAFETY: libraries are built by us from kernels; their constructors are those of plain C++ globals.
        let handle = unsafe { Handle::open(Some(path), RTLD_NOW | RTLD_LOCAL) }.map_err(bad)?;
        let symbol = |name: &str| -> Result<*mut u8, BoardError> {
            // SAFETY: only the address is taken here.
            let s = unsafe { handle.get::<*mut u8>(name.as_bytes()) };
            s.map(|s| s.as_raw_ptr().cast())
                .map_err(|_| BoardError::MissingSymbol { library: path.into(), symbol: name.into() })
        };
        let (table, usage, state) = (symbol("assay_kernels")?, symbol("assay_usage")?, symbol("assay_state")?);
        let (runtime, lds_dynamic) = (symbol("assay_runtime")?, symbol("assay_lds")?);
        // SAFETY: the symbols are those that the generated unit and stub define, with these layouts.
        unsafe {
            runtime.cast::<lanes::Runtime>().write(lanes::RUNTIME);
            let state = *state.cast::<State>();
            *state.warp = wave as i32;
            let kernels = kernels(table.cast(), usage.cast());
            let (image, lds_start) = segments(state.thread.cast());
            let lds_start = if lds_start.is_null() { lds_dynamic } else { lds_start };
            let statics = shared_variables(path, lds_start as u64);
            Ok(Self {
                kernels,
                state,
                lds_start,
                lds_dynamic,
                path: path.into(),
                image,
                statics,
                _handle: std::mem::ManuallyDrop::new(handle),
            })
        }
    }

    /// It is the sanitised twin of a library.
    pub fn check_sanitised(&self) -> Result<(), BoardError> {
        if self.state.watch.is_null() {
            let wanted = "a sanitised launch (a library that assay built with its sanitised twin)".into();
            return Err(BoardError::BadImage { wanted, present: self.path.clone() });
        }
        Ok(())
    }

    /// The kernel of that name.
    pub fn kernel(&self, name: &str) -> Result<&Kernel, BoardError> {
        self.kernels
            .iter()
            .find(|k| k.name == name)
            .ok_or_else(|| BoardError::MissingSymbol { library: self.path.clone(), symbol: name.into() })
    }
}

/// # Safety
/// Both point at the tables of the generated unit and stub; the first ends with an empty row.
unsafe fn kernels(mut row: *const RawKernel, mut usage: *const [u32; 2]) -> Vec<Kernel> {
    let mut out = Vec::new();
    // SAFETY: as the caller promises.
    unsafe {
        while let (Some(lanes), Some(lane)) = ((*row).lanes, (*row).lane) {
            let k = &*row;
            let raw = std::slice::from_raw_parts(k.params, k.count as usize);
            let params = raw.iter().map(|p| Param { size: p.size, offset: p.offset, code: p.code as u8 }).collect();
            let [lds, flags] = *usage;
            out.push(Kernel {
                name: CStr::from_ptr(k.name).to_string_lossy().into_owned(),
                lanes,
                lane,
                params,
                bytes: k.bytes,
                max_threads: k.max_threads,
                lds,
                waits: flags & 3 != 0,
                uses_lds: lds != 0 || flags & 4 != 0,
                divergent: flags & 8 != 0,
            });
            row = row.add(1);
            usage = usage.add(1);
        }
    }
    out
}

impl Kernel {
    /// Checks arguments against the compiler's parameter list and packs them.
    pub fn pack(&self, args: &[Value], into: &mut Vec<u64>) -> Result<(), BoardError> {
        let refuse = |why: String| BoardError::Launch { kernel: self.name.clone(), why };
        if args.len() != self.params.len() {
            return Err(refuse(format!("{} arguments were given, the kernel takes {}", args.len(), self.params.len())));
        }
        into.clear();
        into.resize((self.bytes as usize).div_ceil(8) + 1, 0);
        // SAFETY: u64 storage seen as bytes.
        let bytes = unsafe { std::slice::from_raw_parts_mut(into.as_mut_ptr().cast::<u8>(), into.len() * 8) };
        for (i, (a, p)) in args.iter().zip(&self.params).enumerate() {
            let same = match p.code {
                b'u' => a.code == b'i',
                b'w' => a.code == b'l',
                code => a.code == code,
            };
            if !same || u32::from(a.bytes) != p.size {
                let (given, taken) = (kind(a.code, a.bytes.into()), kind(p.code, p.size));
                return Err(refuse(format!("argument {i} is {given}, the kernel takes {taken}")));
            }
            let at = p.offset as usize;
            bytes[at..at + p.size as usize].copy_from_slice(&a.image[..p.size as usize]);
        }
        Ok(())
    }
}

fn kind(code: u8, size: u32) -> String {
    match code {
        b'p' => "a pointer".into(),
        b'i' => "a 32-bit integer".into(),
        b'u' => "a 32-bit unsigned integer".into(),
        b'l' => "a 64-bit integer".into(),
        b'w' => "a 64-bit unsigned integer".into(),
        b'f' => "a float".into(),
        _ => format!("a value of {size} bytes"),
    }
}

/// Static shared variables of a library, from its symbol table, with their addresses.
fn shared_variables(path: &str, start: u64) -> Vec<(String, Range<u64>)> {
    use object::{Object, ObjectSymbol, SymbolKind};
    let Ok(bytes) = std::fs::read(path) else { return Vec::new() };
    let Ok(file) = object::File::parse(&*bytes) else { return Vec::new() };
    let variables = file.symbols().filter(|s| s.kind() == SymbolKind::Tls && !s.is_undefined() && s.size() > 0);
    let range = |s: &object::Symbol| start + s.address()..start + s.address() + s.size();
    variables.map(|s| (s.name().unwrap_or("shared").to_string(), range(&s))).collect()
}

/// Addresses of the library that `inside` points into, and the first byte of the calling thread's TLS block of it.
fn segments(inside: *const u8) -> (Range<u64>, *mut u8) {
    struct Search {
        inside: u64,
        image: Range<u64>,
        tls: *mut u8,
    }
    unsafe extern "C" fn visit(info: *mut libc::dl_phdr_info, _: usize, data: *mut libc::c_void) -> i32 {
        // SAFETY: dl_iterate_phdr passes a valid record and our own pointer back.
        unsafe {
            let (info, search) = (&*info, &mut *data.cast::<Search>());
            let headers = std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into());
            let loaded = headers.iter().filter(|h| h.p_type == libc::PT_LOAD);
            let end = loaded.map(|h| info.dlpi_addr + h.p_vaddr + h.p_memsz).max().unwrap_or(0);
            let ours = (info.dlpi_addr..end).contains(&search.inside);
            if ours {
                (search.image, search.tls) = (info.dlpi_addr..end, info.dlpi_tls_data.cast());
            }
            i32::from(ours)
        }
    }
    let mut search = Search { inside: inside as u64, image: 0..0, tls: std::ptr::null_mut() };
    // SAFETY: the callback only runs during the call, with the pointer to `search`.
    unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut search).cast()) };
    (search.image, search.tls)
}
