//! Signals that a kernel raises: told to the worker from a handler on its own stack, and the end of the process.
//! Refuses to resume anything.
#![allow(unsafe_code)]

use super::super::wire::{Fault, MAGIC, status};
use super::block::Engine;
use std::io;
use std::sync::atomic::{AtomicI32, AtomicPtr, Ordering};

static SOCKET: AtomicI32 = AtomicI32::new(-1);
static ENGINE: AtomicPtr<Engine> = AtomicPtr::new(std::ptr::null_mut());

const SIGNALS: [i32; 5] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGABRT];

/// Installs the handlers; `engine` must live as long as the process.
pub fn install(socket: i32, engine: *mut Engine) -> io::Result<()> {
    SOCKET.store(socket, Ordering::Relaxed);
    ENGINE.store(engine, Ordering::Relaxed);
    let stack = Box::leak(vec![0u8; 64 << 10].into_boxed_slice());
    let alternate = libc::stack_t { ss_sp: stack.as_mut_ptr().cast(), ss_flags: 0, ss_size: stack.len() };
    // SAFETY: the stack is leaked, so it outlives the handlers; the handler only reads plain data and calls write and _exit.
    unsafe {
        if libc::sigaltstack(&alternate, std::ptr::null_mut()) != 0 {
            return Err(io::Error::last_os_error());
        }
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        for signal in SIGNALS {
            if libc::sigaction(signal, &action, std::ptr::null_mut()) != 0 {
                return Err(io::Error::last_os_error());
            }
        }
        // The worker decides what an interrupt of the terminal means.
        libc::signal(libc::SIGINT, libc::SIG_IGN);
    }
    Ok(())
}

extern "C" fn handler(signal: i32, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: the kernel passes a valid siginfo; the engine lives as long as the process and is plain data to us, on the
    // thread that runs it; write and _exit are async-signal-safe.
    unsafe {
        let engine = &*ENGINE.load(Ordering::Relaxed);
        let Some((launch, block, thread)) = engine.position() else {
            // Not in a kernel: a defect of our own, which the worker reports as such.
            libc::signal(signal, libc::SIG_DFL);
            libc::raise(signal);
            libc::_exit(1)
        };
        let fault = Fault {
            magic: MAGIC,
            length: (Fault::BYTES - 8) as u32,
            status: u32::from(status::FAULT),
            signal: signal as u32,
            address: (*info).si_addr() as u64,
            launch,
            block,
            thread,
            unused: 0,
        };
        libc::write(SOCKET.load(Ordering::Relaxed), std::ptr::from_ref(&fault).cast(), Fault::BYTES);
        libc::_exit(1);
    }
}
