//! One launch: checked against the facts, then run block by block.
#![allow(unsafe_code)]

use super::super::wire::Launch;
use super::block::{Blocks, Engine};
use super::lanes;
use super::library::{Kernel, Library};
use crate::board::{BoardError, Facts, Finding, ThreadOrder};

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

impl Engine {
    /// Runs a launch to its end.
    pub fn launch(&mut self, library: &Library, l: &Launch) -> Result<Vec<Finding>, BoardError> {
        self.index = self.index.wrapping_add(1);
        self.note(0);
        if l.sanitise {
            return refused("a sanitised launch".into(), "the sanitiser", "none in this version");
        }
        let kernel = library.kernel(&l.kernel)?;
        check(&self.facts, kernel, l)?;
        let mut packed = std::mem::take(&mut self.packed);
        let fits = kernel.pack(&l.args, &mut packed);
        self.packed = packed;
        fits?;
        self.arrange(l.block, l.order);
        self.kernel.clone_from(&kernel.name);
        self.state = library.state;
        (self.grid, self.block_dim) = (l.grid, l.block);
        self.findings.clear();
        // SAFETY: the state of a loaded library is valid for ever.
        unsafe {
            *self.state.block_dim = l.block;
            *self.state.grid_dim = l.grid;
        }
        let [gx, gy, gz] = l.grid.map(u64::from);
        let (count, blocks) = (gx * gy * gz, Blocks::new(gx * gy * gz, l.order));
        let shared = kernel.uses_lds.then(|| {
            let bytes = library.lds_dynamic as usize - library.lds_start as usize + l.lds as usize;
            (library.lds_start, bytes)
        });
        let byte = poison(l.order);
        for i in 0..count {
            self.note(i);
            let linear = blocks.at(i);
            // SAFETY: state and shared memory belong to the loaded library and to this thread; the kernel's functions
            // take the argument buffer that was packed for them.
            unsafe {
                *self.state.block = [(linear % gx) as u32, (linear / gx % gy) as u32, (linear / (gx * gy)) as u32];
                if let Some((start, bytes)) = shared {
                    std::ptr::write_bytes(start, byte, bytes);
                }
                if kernel.waits {
                    lanes::run_block(self, kernel)?;
                } else {
                    self.running = true;
                    (kernel.lanes)(self.packed.as_ptr().cast(), self.list.as_ptr(), self.list.len() as u32);
                    self.running = false;
                }
            }
        }
        Ok(std::mem::take(&mut self.findings))
    }
}
