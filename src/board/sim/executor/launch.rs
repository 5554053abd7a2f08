//! One launch: checked against the facts, then run block by block.
#![allow(unsafe_code)]

use super::super::wire::Launch;
use super::block::{Blocks, Engine};
use super::lanes;
use super::library::{Kernel, Library};
use super::sanitise;
use crate::board::{BoardError, Facts, Finding, ThreadOrder};
use std::ops::Range;

fn refused<T>(what: String, need: impl ToString, have: impl ToString) -> Result<T, BoardError> {
    Err(BoardError::Refused { what, need: need.to_string(), have: have.to_string() })
}

/// Checks a launch against the profile and the kernel's own bounds.
fn check(f: &Facts, k: &Kernel, l: &Launch) -> Result<(), BoardError> {
    let name = &l.kernel;
    for (i, axis) in ["x", "y", "z"].iter().enumerate() {
        let (grid, block) = (u64::from(l.grid[i]), u64::from(l.block[i]));
        if grid == 0 || block == 0 {
            return refused(
                format!("launch of {name}, extent {axis}"),
                format!("grid {grid}, block {block}"),
                "extents of at least 1",
            );
        }
        if block > f.max_block[i].into() {
            return refused(format!("launch of {name}, block extent {axis}"), block, f.max_block[i]);
        }
        if grid > f.max_grid[i] {
            return refused(format!("launch of {name}, grid extent {axis}"), grid, f.max_grid[i]);
        }
        if grid * block > f.max_grid_threads {
            return refused(format!("launch of {name}, threads along {axis}"), grid * block, f.max_grid_threads);
        }
    }
    let threads: u64 = l.block.iter().map(|&b| u64::from(b)).product();
    if threads > f.max_threads.into() {
        return refused(format!("launch of {name}, threads of a block"), threads, f.max_threads);
    }
    if k.max_threads != 0 && threads > k.max_threads.into() {
        return refused(
            format!("launch of {name}, threads of a block"),
            threads,
            format!("{} by its __launch_bounds__", k.max_threads),
        );
    }
    let lds = u64::from(k.lds) + u64::from(l.lds);
    if lds > f.lds.into() {
        let need = format!("{lds} bytes ({} static and {} dynamic)", k.lds, l.lds);
        return refused(format!("launch of {name}, shared memory of a block"), need, format!("{} bytes", f.lds));
    }
    Ok(())
}

/// Byte that fills shared memory before every block: NaN, large, or NaN in float formats, and another one in the next launch of a plan.
fn poison(order: ThreadOrder) -> u8 {
    match order {
        ThreadOrder::Ascending => 0xff,
        ThreadOrder::Descending => 0x7f,
        ThreadOrder::Shuffled => 0xfe,
    }
}

/// Runs a launch to its end.
///
/// # Safety
/// `e` is the engine of this process, on its device thread, and no reference into it is live: kernels reach it by its pointer.
pub unsafe fn run(e: *mut Engine, library: &Library, l: &Launch) -> Result<Vec<Finding>, BoardError> {
    // SAFETY: as the caller promises; every reference made here ends before a kernel runs. The state of a loaded library is
    // valid for ever.
    unsafe {
        let engine = &mut *e;
        engine.index = engine.index.wrapping_add(1);
        engine.note(0);
        let kernel = library.kernel(&l.kernel)?;
        check(&engine.facts, kernel, l)?;
        kernel.pack(&l.args, &mut engine.packed)?;
        engine.arrange(l.block, l.order);
        engine.kernel.clone_from(&kernel.name);
        engine.state = library.state;
        engine.grid = l.grid;
        engine.findings.clear();
        engine.sanitised = l.sanitise;
        *engine.state.block_dim = l.block;
        *engine.state.grid_dim = l.grid;
        let exact = shared_extents(library, l.lds);
        if l.sanitise {
            library.check_sanitised()?;
            let dynamic = library.lds_dynamic as u64;
            let shared = library.lds_start as u64..dynamic + u64::from(l.lds);
            sanitise::sanitiser().begin(library, engine.facts.wave, shared);
        } else {
            sanitise::sanitiser().unseen_launch();
        }
        let outcome = blocks(e, library, kernel, l, &exact);
        sanitise::sanitiser().end();
        outcome?;
        Ok(std::mem::take(&mut (*e).findings))
    }
}

/// Runs every block.
///
/// # Safety
/// As for [`run`], with the launch set up.
unsafe fn blocks(
    e: *mut Engine,
    library: &Library,
    kernel: &Kernel,
    l: &Launch,
    exact: &[(String, Range<u64>)],
) -> Result<(), BoardError> {
    let [gx, gy, gz] = l.grid.map(u64::from);
    let (count, blocks) = (gx * gy * gz, Blocks::new(gx * gy * gz, l.order));
    let shared = kernel.uses_lds.then(|| {
        let bytes = library.lds_dynamic as usize - library.lds_start as usize + l.lds as usize;
        (library.lds_start, bytes)
    });
    let byte = poison(l.order);
    for i in 0..count {
        let linear = blocks.at(i);
        // SAFETY: state and shared memory belong to the loaded library and to this thread; the kernel's functions take the
        // argument buffer that was packed for them.
        unsafe {
            (*e).note(i);
            *(*e).state.block = [(linear % gx) as u32, (linear / gx % gy) as u32, (linear / (gx * gy)) as u32];
            if let Some((start, bytes)) = shared {
                std::ptr::write_bytes(start, byte, bytes);
            }
            if l.sanitise {
                sanitise::sanitiser().begin_block(linear, exact);
            }
            match (kernel.waits, l.sanitise) {
                (true, _) => lanes::run_block(e, kernel)?,
                (false, true) => watched_lanes(e, kernel),
                (false, false) => {
                    (*e).running = true;
                    let (list, n) = ((*e).list.as_ptr(), (*e).list.len() as u32);
                    (kernel.lanes)((*e).packed.as_ptr().cast(), list, n);
                    (*e).running = false;
                }
            }
        }
    }
    Ok(())
}

/// Runs the lanes of a kernel that never waits one by one, so that the sanitiser knows which one runs.
///
/// # Safety
/// As for [`blocks`].
unsafe fn watched_lanes(e: *mut Engine, kernel: &Kernel) {
    // SAFETY: as the caller promises; sequence and list are as long as the block and do not change while it runs.
    unsafe {
        (*e).lanes.without_stacks();
        (*e).running = true;
        let (n, sequence, list) = ((*e).sequence.len(), (*e).sequence.as_ptr(), (*e).list.as_ptr());
        let (lane, packed, thread) = (kernel.lane, (*e).packed.as_ptr().cast(), (*e).state.thread);
        for i in 0..n {
            let current = *sequence.add(i);
            (*e).lanes.current = current;
            sanitise::sanitiser().enter(current);
            *thread = *list.add(i);
            lane(packed);
        }
        (*e).running = false;
    }
}

/// Shared memory of a launch, exactly: the library's variables and the dynamic part.
fn shared_extents(library: &Library, dynamic: u32) -> Vec<(String, Range<u64>)> {
    let start = library.lds_dynamic as u64;
    let mut all = library.statics.clone();
    all.push(("extern __shared__".into(), start..start + u64::from(dynamic)));
    all
}
