//! Loaded images and the parameter lists of their kernels. Refuses a launch whose arguments do not fit.

use super::call::check;
use crate::board::{BoardError, Bound};
use cudarc::driver::sys::{self, CUfunction, CUmodule, CUresult};
use std::collections::HashMap;
use std::ffi::CString;
use std::path::{Path, PathBuf};

/// A loaded image.
pub struct Loaded {
    /// Its file.
    pub path: PathBuf,
    module: CUmodule,
    kernels: HashMap<String, Kernel>,
}

#[derive(Clone)]
struct Kernel {
    function: CUfunction,
    /// Bytes of each parameter.
    sizes: Vec<usize>,
}

// SAFETY: handles of the driver, which may be used from any thread that has the context current.
unsafe impl Send for Loaded {}

impl Loaded {
    /// Loads an image; `arch` is the board's, for messages.
    ///
    /// # Errors
    /// `BadImage` when it is for another target or no image; `Lost`.
    pub fn new(path: &Path, arch: &str) -> Result<Self, BoardError> {
        let bad = |present: String| BoardError::BadImage { wanted: arch.to_string(), present };
        let bytes = std::fs::read(path).map_err(|e| bad(format!("nothing readable in {}: {e}", path.display())))?;
        let mut module = std::ptr::null_mut();
        // SAFETY: a cubin says its own length; the driver refuses what is none.
        let done = check("cuModuleLoadData", unsafe { sys::cuModuleLoadData(&raw mut module, bytes.as_ptr().cast()) });
        match done {
            Ok(()) => Ok(Self { path: path.to_path_buf(), module, kernels: HashMap::new() }),
            Err(e) if is_fatal(e.code) => Err(BoardError::Lost { why: e.to_string() }),
            Err(e) => Err(bad(format!("{} ({e})", path.display()))),
        }
    }

    /// The kernel of that name, once its parameters were compared with `args`.
    ///
    /// # Errors
    /// `MissingSymbol`; `Launch` when number or sizes of the parameters differ.
    pub fn kernel(&mut self, name: &str, args: &[Bound]) -> Result<CUfunction, BoardError> {
        let kernel = match self.kernels.get(name) {
            Some(kernel) => kernel,
            None => {
                let found = self.find(name)?;
                self.kernels.entry(name.to_string()).or_insert(found)
            }
        };
        let given: Vec<usize> = args.iter().map(size).collect();
        if given != kernel.sizes {
            let why = format!("it takes parameters of {:?} bytes and was given {given:?}", kernel.sizes);
            return Err(BoardError::Launch { kernel: name.to_string(), why });
        }
        Ok(kernel.function)
    }

    fn find(&self, name: &str) -> Result<Kernel, BoardError> {
        let missing =
            || BoardError::MissingSymbol { library: self.path.display().to_string(), symbol: name.to_string() };
        let symbol = CString::new(name).map_err(|_| missing())?;
        let mut function = std::ptr::null_mut();
        // SAFETY: the module is loaded and the name ends in zero.
        let done = unsafe { sys::cuModuleGetFunction(&raw mut function, self.module, symbol.as_ptr()) };
        check("cuModuleGetFunction", done).map_err(|_| missing())?;
        let mut sizes = Vec::new();
        let (mut offset, mut size) = (0, 0);
        // SAFETY: the function was found; the pointers are to locals. An index past the last parameter is refused.
        while unsafe { sys::cuFuncGetParamInfo(function, sizes.len(), &raw mut offset, &raw mut size) }
            == CUresult::CUDA_SUCCESS
        {
            sizes.push(size);
        }
        Ok(Kernel { function, sizes })
    }

    /// Unloads it.
    pub fn unload(self) {
        // SAFETY: loaded once, unloaded once.
        let _ = unsafe { sys::cuModuleUnload(self.module) };
    }
}

/// Errors after which no image can be loaded.
fn is_fatal(code: CUresult) -> bool {
    use CUresult::*;
    !matches!(
        code,
        CUDA_ERROR_INVALID_IMAGE
            | CUDA_ERROR_NO_BINARY_FOR_GPU
            | CUDA_ERROR_INVALID_PTX
            | CUDA_ERROR_UNSUPPORTED_PTX_VERSION
            | CUDA_ERROR_INVALID_SOURCE
            | CUDA_ERROR_JIT_COMPILER_NOT_FOUND
            | CUDA_ERROR_INVALID_VALUE
    )
}

/// Bytes of an argument.
pub fn size(arg: &Bound) -> usize {
    match arg {
        Bound::Ptr { .. } | Bound::Null | Bound::I64(_) => 8,
        Bound::I32(_) | Bound::F32(_) => 4,
        Bound::Raw { bytes, .. } => usize::from(*bytes),
    }
}
