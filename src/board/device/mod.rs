//! Real boards: one queue, one memory policy and one set of errors over the drivers of two vendors. Refuses to retry, and to go on
//! after a fault: the context is lost with it, and the worker retires.
#![allow(unsafe_code)]

mod board;
mod memory;
mod module;
mod packed;
mod pages;
mod refused;
mod staging;

pub use board::DeviceBoard;
pub use packed::Packed;
pub use refused::{Class, Refused};

use std::ffi::CStr;

/// A handle of a driver: a pointer or a number of its own.
pub type Handle = u64;

/// What a vendor's driver does; each call says which function refused and in whose words.
///
/// Addresses are plain numbers. A call that takes one trusts it: such calls are unsafe, and the caller promises that it came from the
/// same driver, is live and is long enough.
pub trait Driver: Send {
    /// Makes the board current on this thread.
    fn enter(&self) -> Result<(), Refused>;

    /// Free and total bytes of device memory.
    fn memory(&self) -> Result<(u64, u64), Refused>;

    /// Device memory.
    fn device_alloc(&self, bytes: usize) -> Result<u64, Refused>;

    /// Gives device or managed memory back.
    ///
    /// # Safety
    /// As the trait says.
    unsafe fn device_free(&self, at: u64);

    /// Managed memory.
    fn managed_alloc(&self, bytes: usize) -> Result<u64, Refused>;

    /// Pinned host memory.
    fn pinned_alloc(&self, bytes: usize) -> Result<*mut u8, Refused>;

    /// Gives pinned memory back.
    ///
    /// # Safety
    /// As the trait says.
    unsafe fn pinned_free(&self, at: *mut u8);

    /// Makes host memory known to the driver.
    ///
    /// # Safety
    /// `bytes` bytes at `at` are mapped and stay so until [`Driver::unregister`].
    unsafe fn register(&self, at: *mut u8, bytes: usize) -> Result<(), Refused>;

    /// Undoes [`Driver::register`].
    ///
    /// # Safety
    /// As the trait says.
    unsafe fn unregister(&self, at: *mut u8);

    /// The device's own address of pinned or registered host memory, which may differ from the host's.
    fn device_address(&self, host: *mut u8) -> Result<u64, Refused>;

    /// Loads an image.
    fn load(&self, image: &[u8]) -> Result<Handle, Refused>;

    /// Unloads one.
    ///
    /// # Safety
    /// As the trait says.
    unsafe fn unload(&self, module: Handle);

    /// A kernel of an image.
    ///
    /// # Safety
    /// As the trait says.
    unsafe fn kernel(&self, module: Handle, name: &CStr) -> Result<Handle, Refused>;

    /// Bytes of each parameter of a kernel, from the image itself; none where neither image nor driver tells.
    ///
    /// # Safety
    /// As the trait says.
    unsafe fn parameters(&self, kernel: Handle, name: &str, image: &[u8]) -> Option<Vec<usize>>;

    /// Queues a copy between any two addresses.
    ///
    /// # Safety
    /// As the trait says; both sides stay until the copy is done.
    unsafe fn copy(&self, to: u64, from: u64, bytes: usize) -> Result<(), Refused>;

    /// Queues a launch.
    ///
    /// # Safety
    /// As the trait says; `args` are laid out as the kernel takes them.
    unsafe fn launch(
        &self,
        kernel: Handle,
        grid: [u32; 3],
        block: [u32; 3],
        lds: u32,
        args: &mut Packed,
    ) -> Result<(), Refused>;

    /// A new event.
    fn event(&self) -> Result<Handle, Refused>;

    /// Queues an event.
    ///
    /// # Safety
    /// As the trait says.
    unsafe fn record(&self, event: Handle) -> Result<(), Refused>;

    /// Has a recorded event passed?
    ///
    /// # Safety
    /// As the trait says.
    unsafe fn passed(&self, event: Handle) -> Result<bool, Refused>;

    /// Milliseconds between two events that have passed.
    ///
    /// # Safety
    /// As the trait says.
    unsafe fn milliseconds(&self, from: Handle, to: Handle) -> Result<f32, Refused>;

    /// Drops an event.
    ///
    /// # Safety
    /// As the trait says.
    unsafe fn drop_event(&self, event: Handle);

    /// Reserves addresses for memory that is mapped piece by piece.
    fn reserve(&self, bytes: usize) -> Result<u64, Refused>;

    /// Gives reserved addresses back.
    ///
    /// # Safety
    /// As the trait says; nothing is mapped there.
    unsafe fn unreserve(&self, at: u64, bytes: usize);

    /// A piece of device memory without an address.
    fn piece(&self, bytes: usize) -> Result<Handle, Refused>;

    /// Gives a piece back.
    ///
    /// # Safety
    /// As the trait says.
    unsafe fn drop_piece(&self, piece: Handle);

    /// Maps a piece for reading and writing.
    ///
    /// # Safety
    /// As the trait says; the addresses are reserved and nothing is mapped there.
    unsafe fn map(&self, at: u64, bytes: usize, piece: Handle) -> Result<(), Refused>;

    /// Unmaps a piece.
    ///
    /// # Safety
    /// As the trait says; the queue is idle.
    unsafe fn unmap(&self, at: u64, bytes: usize) -> Result<(), Refused>;

    /// Gives the board back; nothing else is called afterwards.
    fn close(&mut self);
}
