//! What the tests of the simulated board share: kernels built from text, and a board to run them on.
#![allow(dead_code)]

use assay::board::sim::{SimBoard, profile};
use assay::board::*;
use assay::toolchain::host;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

pub const EXE: &str = env!("CARGO_BIN_EXE_assay");

/// A built source; its folder lives as long as it does.
pub struct Kernels {
    pub image: Image,
    pub dir: tempfile::TempDir,
}

pub fn try_build(source: &str) -> Result<Kernels, host::BuildError> {
    let dir = tempfile::tempdir().expect("temporary folder");
    let file = dir.path().join("k.hip");
    std::fs::write(&file, format!("#include <hip/hip_runtime.h>\n{source}")).expect("written");
    let headers = Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels/include/sim");
    let built = host::build(&host::Request {
        source: &file,
        includes: &[],
        headers: &headers,
        compiler: Path::new("c++"),
        out: dir.path(),
        extra: &[],
        sanitise: true,
    })?;
    Ok(Kernels { image: built.image, dir })
}

pub fn build(source: &str) -> Kernels {
    try_build(source).unwrap_or_else(|e| panic!("{e}"))
}

pub fn board(name: &str) -> SimBoard {
    SimBoard::open(profile(name).expect("known profile"), PathBuf::from(EXE)).expect("a simulated board")
}

pub const PLAIN: Mode = Mode { order: ThreadOrder::Ascending, sanitise: false };

pub fn cmd(module: Module, kernel: &str, grid: u32, block: u32, args: Vec<Bound>) -> LaunchCmd {
    LaunchCmd {
        module: module.0,
        kernel: kernel.into(),
        grid: [grid, 1, 1],
        block: [block, 1, 1],
        lds: 0,
        args,
        mode: PLAIN,
    }
}

pub fn ptr(b: &Buffer) -> Bound {
    Bound::Ptr { buffer: b.id, offset: 0 }
}

pub fn f32s(values: &[f32]) -> Arc<Vec<u8>> {
    Arc::new(values.iter().flat_map(|v| v.to_le_bytes()).collect())
}

pub fn i32s(values: &[i32]) -> Arc<Vec<u8>> {
    Arc::new(values.iter().flat_map(|v| v.to_le_bytes()).collect())
}

pub fn to_f32(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks_exact(4).map(|c| f32::from_le_bytes(c.try_into().expect("4 bytes"))).collect()
}

pub fn to_i32(bytes: &[u8]) -> Vec<i32> {
    bytes.chunks_exact(4).map(|c| i32::from_le_bytes(c.try_into().expect("4 bytes"))).collect()
}

pub fn soon() -> Deadline {
    Deadline::after(Duration::from_secs(20))
}

/// A device buffer with these bytes queued into it.
pub fn upload(b: &mut SimBoard, data: &Arc<Vec<u8>>) -> Buffer {
    let buffer = b.alloc(Kind::Device, data.len()).expect("memory");
    b.copy_in(&buffer, 0, data);
    buffer
}

/// Runs one kernel of `source` that takes (int* out, int n) over `grid` x `block`; what `out` holds, and the findings.
pub fn run_ints(
    profile: &str,
    source: &str,
    grid: u32,
    block: u32,
    n: usize,
) -> Result<(Vec<i32>, Vec<Finding>), BoardError> {
    let kernels = build(source);
    let mut b = board(profile);
    let module = b.load(&kernels.image)?;
    let out = upload(&mut b, &i32s(&vec![-7; n]));
    b.launch(cmd(module, "k", grid, block, vec![ptr(&out), Bound::I32(n as i32)]));
    b.copy_out(&out, 0, n * 4);
    let mut done = b.wait(soon())?;
    Ok((to_i32(&done.copied[0]), done.findings.remove(0)))
}
