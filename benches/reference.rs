//! Speed of the host side of the heavy ops: `cargo bench --bench reference`. Figures are for one core.

use assay::ops::numerics::matmul::{Operands, matmul_bt, matmul_bt_portable, oracle};
use assay::ops::numerics::norm::{RowOracle, inverse_rms, scale};
use std::hint::black_box;
use std::time::Instant;

/// Best of seven runs, seconds.
fn best(mut f: impl FnMut()) -> f64 {
    let one = |f: &mut dyn FnMut()| {
        let start = Instant::now();
        f();
        start.elapsed().as_secs_f64()
    };
    (0..7).map(|_| one(&mut f)).fold(f64::INFINITY, f64::min)
}

fn noise(n: usize) -> Vec<f32> {
    (0..n).map(|i| ((i * 7919 % 10007) as f32 - 5003.5) / 2500.0).collect()
}

fn main() {
    let (m, n, k) = (128, 1024, 2048);
    let (a, b) = (noise(m * k), noise(n * k));
    let op = Operands { a: &a, b: &b, k, n };
    let flops = 2.0 * (m * n * k) as f64 / 1e9;
    println!("matmul_bt {m}x{n}x{k}");
    println!("  reference          {:7.1} GFLOP/s", flops / best(|| drop(black_box(matmul_bt(op, 0..m)))));
    println!("  reference, no AVX2 {:7.1} GFLOP/s", flops / best(|| drop(black_box(matmul_bt_portable(op, 0..m)))));
    println!("  oracle with bound  {:7.1} GFLOP/s", flops / best(|| drop(black_box(oracle(op, 0..m)))));

    let cols = 5120;
    let (x, w) = (noise(64 * cols), noise(cols));
    let mut out = vec![0f32; cols];
    let reference = best(|| {
        for row in x.chunks_exact(cols) {
            scale(row, inverse_rms(black_box(row), 1e-6), &w, false, &mut out);
        }
    });
    let wide: Vec<f64> = x.iter().map(|&v| v as f64).collect();
    let oracle = best(|| {
        for row in wide.chunks_exact(cols) {
            black_box(RowOracle::new(black_box(row), 1e-6, false, 0.0, 0.0));
        }
    });
    println!("rms_norm 64x{cols}");
    println!("  reference          {:7.2} ns an element", reference * 1e9 / x.len() as f64);
    println!("  oracle statistics  {:7.2} ns an element", oracle * 1e9 / x.len() as f64);
}
