//! The hooks that a library calls: accesses that its own `assay/watch.h` does not settle, and atomics, copies and fences.
//! Refuses to report.
#![allow(unsafe_code)]

use super::access::{Act, access};
use super::sanitiser;

/// A read of `N` bytes.
pub unsafe extern "C" fn read<const N: u64>(address: u64, _: u64, pc: u64) {
    // SAFETY: instrumented code runs on the device thread only.
    unsafe { access(address, N, Act::Read, pc) }
}

/// A write of `N` bytes.
pub unsafe extern "C" fn write<const N: u64>(address: u64, _: u64, pc: u64) {
    // SAFETY: as for `read`.
    unsafe { access(address, N, Act::Write, pc) }
}

/// A read-modify-write, announced by our header; bit 63 of `bytes` says that the old value does not matter.
pub unsafe extern "C" fn atomic(address: u64, bytes: u64, pc: u64) {
    let act = if bytes >> 63 == 0 { Act::Atomic } else { Act::Exchange };
    // SAFETY: as for `read`.
    unsafe {
        access(address, bytes & (u64::MAX >> 1), act, pc);
        let s = sanitiser();
        s.order.synchronise(address, s.now().lane());
    }
}

/// `__threadfence`.
pub unsafe extern "C" fn fence() {
    // SAFETY: as for `read`.
    unsafe { sanitiser().order.fence() }
}

/// A read, or with bit 63 of `bytes` a write, of any length.
pub unsafe extern "C" fn range(address: u64, bytes: u64, pc: u64) {
    let act = if bytes >> 63 == 0 { Act::Read } else { Act::Write };
    // SAFETY: as for `read`.
    unsafe { access(address, bytes & (u64::MAX >> 1), act, pc) }
}

/// `memcpy` (0), `memmove` (1) and `memset` (2) of instrumented code.
pub unsafe extern "C" fn memory(to: *mut u8, from: u64, bytes: usize, which: u32, pc: u64) -> *mut u8 {
    // SAFETY: the arguments are those of the C function, whose promises the kernel makes; the accesses are checked first.
    unsafe {
        if which != 2 {
            access(from, bytes as u64, Act::Read, pc);
        }
        access(to as u64, bytes as u64, Act::Write, pc);
        match which {
            2 => std::ptr::write_bytes(to, from as u8, bytes),
            _ => std::ptr::copy(from as *const u8, to, bytes),
        }
    }
    to
}
