//! Speed of the judge on one core: the bars of a float output from memory, canaries, tiny outputs and byte bars.

use assay::fixture::place::Poison;
use assay::judge::runtime::{ByteMap, Order, Run, Snapshot, agreement, integrity};
use assay::judge::spec::{BarLimits, Class, Determinism, Exact, Flush, Oracle, Output, OutputSpec, UlpLimit};
use assay::judge::{canary, figures::Input, limits::Limits, output};
use assay::record::Tier;
use assay::tensor::{DType, codec};
use std::hint::black_box;
use std::time::Instant;

/// Seconds this thread has run, so that a busy machine does not count against the judge; `None` off Linux.
fn on_cpu() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(text.split(' ').next()?.parse::<f64>().ok()? * 1e-9)
}

/// Best of a few rounds, seconds.
fn best(rounds: usize, mut f: impl FnMut()) -> f64 {
    let once = |f: &mut dyn FnMut()| {
        let (start, wall) = (on_cpu(), Instant::now());
        f();
        match (start, on_cpu()) {
            (Some(a), Some(b)) => b - a,
            _ => wall.elapsed().as_secs_f64(),
        }
    };
    (0..rounds).map(|_| once(&mut f)).fold(f64::INFINITY, f64::min)
}

struct Owned {
    dtype: DType,
    shape: [usize; 2],
    spec: OutputSpec,
    bytes: Vec<u8>,
    reference: Vec<u8>,
    oracle: Oracle,
    limits: BarLimits,
}

impl Owned {
    fn new(dtype: DType, n: usize, row_len: usize) -> Self {
        let value: Vec<f64> = (0..n).map(|i| ((i * 7919 % 10_007) as f64 - 5003.5) / 997.0).collect();
        let bytes = codec::encode_f64(dtype, &value);
        let bound = value.iter().map(|v| v.abs() * 1e-7).collect();
        let spec = OutputSpec {
            class: Class::Rounded,
            row_len,
            skipped_rows: vec![],
            determinism: Determinism::Bytes,
            exact: Exact::No,
            ulp: UlpLimit { l: Some(4.0), l32: 0.0 },
            path: dtype != DType::F32,
            non_finite_declared: false,
            degenerate: None,
        };
        let oracle = Oracle { value, bound, ..Oracle::default() };
        let reference = bytes.clone();
        Self { dtype, shape: [n / row_len, row_len], spec, bytes, reference, oracle, limits: BarLimits::new() }
    }

    fn out(&self) -> Output<'_> {
        Output {
            name: "y",
            dtype: self.dtype,
            shape: &self.shape,
            spec: &self.spec,
            device: &self.bytes,
            reference: &self.reference,
            oracle: &self.oracle,
            other_paths: &[],
            limits: &self.limits,
            flush: Flush::default(),
        }
    }
}

fn large() {
    println!("{:<34} {:>12} {:>12}", "output from memory, one core", "baseline", "best vector");
    for (dtype, row) in
        [(DType::F32, 5120), (DType::F32, 128), (DType::F32, 3), (DType::F16, 5120), (DType::Bf16, 5120)]
    {
        let n = (1usize << 22) / row * row;
        let o = Owned::new(dtype, n, row);
        let out = o.out();
        let fast = Input::new(&out, &Limits::derived(dtype, &o.spec));
        let plain = Input { arch: pulp::Arch::Scalar, ..fast };
        let rate = |i: &Input| {
            // Long enough that the kernel's accounting (4 ms) does not show.
            let rounds = 16;
            let s = best(3, || {
                (0..rounds).for_each(|_| {
                    black_box(i.fold(&i.partials()));
                });
            });
            (n * rounds) as f64 / s / 1e6
        };
        println!("{:<34} {:>7.0} M/s {:>8.0} M/s", format!("{dtype} rows of {row}"), rate(&plain), rate(&fast));
    }
}

fn canaries() {
    println!("\n{:<34} {:>12} {:>12} {:>8}", "judging and canaries", "judge", "canaries", "share");
    for (dtype, n, row) in
        [(DType::F32, 64, 64), (DType::Bf16, 64, 64), (DType::F32, 4096, 128), (DType::F32, 1 << 22, 4096)]
    {
        let o = Owned::new(dtype, n, row);
        let out = o.out();
        let repeats = ((1 << 22) / n).max(16);
        let judged = output(&out, Tier::Device);
        assert!(judged.accepted() && canary(&out, &judged).canaries.refused > 0);
        let each = |n: usize, f: &mut dyn FnMut()| best(3, || (0..n).for_each(|_| f())) / n as f64 * 1e6;
        let a = each(repeats, &mut || {
            let _ = black_box(output(&out, Tier::Device));
        });
        let b = each(100_000, &mut || {
            let _ = black_box(canary(&out, &judged));
        });
        println!("{:<34} {a:>9.2} us {b:>9.2} us {:>7.0}%", format!("{dtype} {n} elements"), 100.0 * b / a);
    }
}

fn byte_bars() {
    let n = 32 << 20;
    let image: Vec<u8> = vec![0xa5; n];
    let other: Vec<u8> = vec![0x5a; n];
    let after: Vec<u8> = (0..n).map(|i| (i % 251) as u8 & 0x7f).collect();
    let copy = after.clone();
    let map = [ByteMap {
        name: "y",
        start: 0,
        guards: vec![],
        read_only: vec![],
        untouched: vec![],
        written: vec![Run { bytes: 0..n, element: 0 }],
        poisoned: true,
        determinism: Determinism::Bytes,
        element: 4,
        row_len: 1024,
    }];
    let a = Snapshot { poison: Poison::A, order: Order::Ascending, before: &image, after: &after };
    let b = Snapshot { poison: Poison::B, order: Order::Descending, before: &other, after: &copy };
    let written = best(3, || (0..8).for_each(|_| drop(black_box(integrity(&map, &[a, b]))))) / 8.0;
    let agree = best(3, || (0..8).for_each(|_| drop(black_box(agreement(&map, &[a, b]))))) / 8.0;
    println!(
        "\nwritten {:.3} ns/byte, repeat and schedule {:.3} ns/byte",
        written * 1e9 / n as f64,
        agree * 1e9 / n as f64
    );
}

fn main() {
    large();
    canaries();
    byte_bars();
}
