//! Loaded images and the parameter lists of their kernels. Refuses a launch whose arguments do not fit.

use super::{Class, Driver, Handle, Packed};
use crate::board::BoardError;
use std::collections::HashMap;
use std::ffi::CString;
use std::path::{Path, PathBuf};

/// A loaded image.
pub struct Loaded {
    /// Its file.
    pub path: PathBuf,
    image: Vec<u8>,
    module: Handle,
    kernels: HashMap<String, Kernel>,
}

#[derive(Clone)]
struct Kernel {
    handle: Handle,
    /// Bytes of each parameter, where image or driver tells.
    sizes: Option<Vec<usize>>,
}

impl Loaded {
    /// Loads an image; `arch` is the board's, for messages.
    ///
    /// # Errors
    /// `BadImage` when it is for another target or no image; `Lost`.
    pub fn new(driver: &impl Driver, path: &Path, arch: &str) -> Result<Self, BoardError> {
        let bad = |present: String| BoardError::BadImage { wanted: arch.to_string(), present };
        let image = std::fs::read(path).map_err(|e| bad(format!("nothing readable in {}: {e}", path.display())))?;
        match driver.load(&image) {
            Ok(module) => Ok(Self { path: path.to_path_buf(), image, module, kernels: HashMap::new() }),
            Err(e) if e.class == Class::Lost => Err(e.lost()),
            Err(e) => Err(bad(format!("{} ({e})", path.display()))),
        }
    }

    /// The kernel of that name, once its parameters were compared with `args`.
    ///
    /// # Errors
    /// `MissingSymbol`; `Launch` when number or sizes of the parameters differ.
    pub fn kernel(&mut self, driver: &impl Driver, name: &str, args: &Packed) -> Result<Handle, BoardError> {
        let kernel = match self.kernels.get(name) {
            Some(kernel) => kernel,
            None => {
                let found = self.find(driver, name)?;
                self.kernels.entry(name.to_string()).or_insert(found)
            }
        };
        match &kernel.sizes {
            Some(sizes) if *sizes != args.sizes => {
                let why = format!("it takes parameters of {sizes:?} bytes and was given {:?}", args.sizes);
                Err(BoardError::Launch { kernel: name.to_string(), why })
            }
            _ => Ok(kernel.handle),
        }
    }

    fn find(&self, driver: &impl Driver, name: &str) -> Result<Kernel, BoardError> {
        let missing =
            || BoardError::MissingSymbol { library: self.path.display().to_string(), symbol: name.to_string() };
        let symbol = CString::new(name).map_err(|_| missing())?;
        // SAFETY: the module is loaded.
        unsafe {
            let handle = driver.kernel(self.module, &symbol).map_err(|e| match e.class {
                Class::Lost => e.lost(),
                _ => missing(),
            })?;
            Ok(Kernel { handle, sizes: driver.parameters(handle, name, &self.image) })
        }
    }

    /// Unloads it.
    pub fn unload(self, driver: &impl Driver) {
        // SAFETY: loaded once, unloaded once, and nothing of it is queued.
        unsafe { driver.unload(self.module) };
    }
}
