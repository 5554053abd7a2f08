//! Cubins for NVIDIA targets through NVRTC, which is opened at run time. Refuses to need a board or a CUDA install.
#![allow(unsafe_code)]

use super::cache::Product;
use super::find::Stamp;
use super::util::key_of;
use super::{BuildError, Headers, KernelFile, Toolchain};
use libloading::{Library, Symbol};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};

const OBJECT: &str = "kernel.cubin";
/// `--fmad=false` is NVRTC's contraction off.
const FLAGS: [&str; 3] = ["--std=c++17", "--fmad=false", "--device-as-default-execution-space"];

/// Builds `source` for one architecture, such as `sm_90`, and returns the cubin.
///
/// # Errors
/// `NoCompiler`, `Compile` with NVRTC's whole log, `Changed`, `Io`.
pub fn build(tools: &Toolchain, source: &KernelFile, arch: &str) -> Result<PathBuf, BuildError> {
    let library = tools.nvrtc()?;
    let stamp = Stamp::of(library).map_err(|e| BuildError::io("cannot read", library, &e))?;
    let own = [tools.headers(Headers::Nv)?, tools.headers(Headers::Nvrtc)?, tools.headers(Headers::Shared)?];
    let mut parts = vec!["nvrtc".into(), tools.fingerprint().into(), stamp.key(), arch.into()];
    parts.extend(own.iter().map(|p| p.display().to_string()));
    parts.extend(source.key());
    let key = key_of(parts.iter().map(String::as_bytes));
    let entry = tools.cache().get(&key, source.read_at, |out| {
        let text = std::fs::read(&source.path).map_err(|e| BuildError::io("cannot read", &source.path, &e))?;
        let folder = source.path.parent().unwrap_or(Path::new("."));
        let includes = [folder]
            .into_iter()
            .chain(source.include.iter().map(PathBuf::as_path))
            .chain(own.iter().map(PathBuf::as_path));
        let mut options: Vec<String> = FLAGS.map(String::from).to_vec();
        options.push(format!("--gpu-architecture={arch}"));
        options.extend(includes.clone().map(|i| format!("--include-path={}", i.display())));
        let (cubin, log) = compile(library, source, &text, &options)?;
        let object = out.join(OBJECT);
        std::fs::write(&object, cubin).map_err(|e| BuildError::io("cannot write", &object, &e))?;
        // NVRTC writes no depfile: everything it could have read counts as read.
        let mut dependencies = vec![source.path.clone()];
        for folder in includes {
            super::source::walk(folder, &mut dependencies)?;
        }
        dependencies.sort();
        dependencies.dedup();
        Ok(Product { files: vec![OBJECT.into()], dependencies, symbols: vec![], log })
    })?;
    Ok(entry.folder.join(OBJECT))
}

type Program = *mut c_void;
type Create = unsafe extern "C" fn(
    *mut Program,
    *const c_char,
    *const c_char,
    c_int,
    *const *const c_char,
    *const *const c_char,
) -> c_int;
type Compile = unsafe extern "C" fn(Program, c_int, *const *const c_char) -> c_int;
type Size = unsafe extern "C" fn(Program, *mut usize) -> c_int;
type Bytes = unsafe extern "C" fn(Program, *mut c_char) -> c_int;
type Destroy = unsafe extern "C" fn(*mut Program) -> c_int;
type Describe = unsafe extern "C" fn(c_int) -> *const c_char;

/// A program that is destroyed with its owner.
struct Live<'l> {
    program: Program,
    destroy: Symbol<'l, Destroy>,
}

impl Drop for Live<'_> {
    fn drop(&mut self) {
        // SAFETY: `program` came from nvrtcCreateProgram and is destroyed once, here.
        unsafe { (self.destroy)(&raw mut self.program) };
    }
}

fn compile(
    library: &Path,
    source: &KernelFile,
    text: &[u8],
    options: &[String],
) -> Result<(Vec<u8>, String), BuildError> {
    let unusable = |why: String| BuildError::Io { what: "cannot use", path: library.to_path_buf(), why };
    let refused = |output: String| BuildError::Compile {
        file: source.path.clone(),
        compiler: library.display().to_string(),
        output,
    };
    let c_string =
        |bytes: &[u8]| CString::new(bytes).map_err(|_| refused("the source or a path holds a zero byte".into()));
    let code = c_string(text)?;
    let name = c_string(source.path.as_os_str().as_encoded_bytes())?;
    let options: Vec<CString> = options.iter().map(|o| c_string(o.as_bytes())).collect::<Result<_, _>>()?;
    let pointers: Vec<*const c_char> = options.iter().map(|o| o.as_ptr()).collect();

    // SAFETY: the file was found under NVRTC's name or named by the user; its initialisers are NVIDIA's.
    let lib = unsafe { Library::new(library) }.map_err(|e| unusable(e.to_string()))?;
    // SAFETY: the types are those of nvrtc.h, the same since CUDA 11.2.
    let describe: Symbol<Describe> = unsafe { symbol(&lib, "nvrtcGetErrorString") }.map_err(unusable)?;
    // SAFETY: as above.
    let (create, build, destroy) = unsafe {
        let create: Symbol<Create> = symbol(&lib, "nvrtcCreateProgram").map_err(unusable)?;
        let build: Symbol<Compile> = symbol(&lib, "nvrtcCompileProgram").map_err(unusable)?;
        (create, build, symbol::<Destroy>(&lib, "nvrtcDestroyProgram").map_err(unusable)?)
    };
    let check = |what: &str, status: c_int| {
        if status == 0 {
            return Ok(());
        }
        // SAFETY: NVRTC returns a static string for every status.
        let words = unsafe { CStr::from_ptr(describe(status)) };
        Err(unusable(format!("{what}: {}", words.to_string_lossy())))
    };
    let mut program: Program = std::ptr::null_mut();
    // SAFETY: the strings are zero-terminated and outlive the call, which copies them; there are no header arrays.
    let status =
        unsafe { create(&raw mut program, code.as_ptr(), name.as_ptr(), 0, std::ptr::null(), std::ptr::null()) };
    check("nvrtcCreateProgram", status)?;
    let live = Live { program, destroy };
    // SAFETY: `pointers` holds as many zero-terminated strings as are announced.
    let status = unsafe { build(live.program, pointers.len() as c_int, pointers.as_ptr()) };
    // SAFETY: the names belong to the type pair that `fetch` calls them by.
    let log = unsafe { fetch(&lib, live.program, "nvrtcGetProgramLogSize", "nvrtcGetProgramLog") }.map_err(unusable)?;
    let log = String::from_utf8_lossy(log.strip_suffix(b"\0").unwrap_or(&log)).into_owned();
    if status != 0 {
        return Err(if log.trim().is_empty() {
            check("nvrtcCompileProgram", status).unwrap_err()
        } else {
            refused(log)
        });
    }
    // SAFETY: as above.
    let cubin = unsafe { fetch(&lib, live.program, "nvrtcGetCUBINSize", "nvrtcGetCUBIN") }.map_err(unusable)?;
    if cubin.is_empty() {
        return Err(refused(
            "NVRTC made no cubin: the architecture must be real (sm_NN), not virtual (compute_NN)".into(),
        ));
    }
    Ok((cubin, log))
}

/// # Safety
/// `T` must be the type of the function `name`.
unsafe fn symbol<'l, T>(lib: &'l Library, name: &str) -> Result<Symbol<'l, T>, String> {
    // SAFETY: by the caller's promise.
    unsafe { lib.get(name.as_bytes()) }.map_err(|e| e.to_string())
}

/// What a pair of NVRTC functions gives, one the size and one the bytes.
///
/// # Safety
/// `size` and `bytes` must name functions of the types `Size` and `Bytes`, and `program` must be live.
unsafe fn fetch(lib: &Library, program: Program, size: &str, bytes: &str) -> Result<Vec<u8>, String> {
    // SAFETY: by the caller's promise; the buffer is as large as the library asks for.
    unsafe {
        let (measure, copy): (Symbol<Size>, Symbol<Bytes>) = (symbol(lib, size)?, symbol(lib, bytes)?);
        let mut n = 0;
        let status = measure(program, &raw mut n);
        let mut buffer = vec![0u8; n];
        if status != 0 || (n > 0 && copy(program, buffer.as_mut_ptr().cast()) != 0) {
            return Err(format!("{bytes} failed"));
        }
        Ok(buffer)
    }
}
