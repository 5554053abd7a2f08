//! Speed of the simulated board: coroutine switches, elementwise kernels, the sanitised build, and the fixed cost of a batch.
//! `cargo bench --bench sim`

#[path = "../tests/sim/mod.rs"]
mod sim;

use assay::board::*;
use sim::*;
use std::time::Instant;

const KERNELS: &str = r#"
extern "C" __global__ void scale(const float* x, float* y, int n, float a) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i];
}
extern "C" __global__ void silu(const float* x, float* y, int n, float a) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] / (1.0f + expf(-a * x[i]));
}
extern "C" __global__ void barriers(const float* x, float* y, int n, float a) {
    for (int i = 0; i < n; ++i) __syncthreads();
}
extern "C" __global__ void shuffles(const float* x, float* y, int n, float a) {
    float v = a;
    for (int i = 0; i < n; ++i) v += __shfl_xor(v, 1);
    if (v == 1.5f) y[0] = v;
}
extern "C" __global__ void sums(const float* x, float* y, int n, float a) {
    __shared__ float part[256];
    float s = 0.0f;
    for (int i = threadIdx.x; i < n; i += 256) s += x[i] * a;
    part[threadIdx.x] = s;
    __syncthreads();
    for (int d = 128; d > 0; d >>= 1) {
        if (threadIdx.x < d) part[threadIdx.x] += part[threadIdx.x + d];
        __syncthreads();
    }
    if (threadIdx.x == 0) y[blockIdx.x] = part[0];
}
extern "C" __global__ void matmul(const float* x, float* y, int n, float a) {
    __shared__ float p[16][16], q[16][16];
    int c = threadIdx.x % 16, r = threadIdx.x / 16;
    float s = 0.0f;
    for (int k = 0; k < n; k += 16) {
        p[r][c] = x[r * n + k + c];
        q[r][c] = x[c * n + k + r];
        __syncthreads();
        for (int i = 0; i < 16; ++i) s += p[r][i] * q[i][c];
        __syncthreads();
    }
    y[blockIdx.x * 256 + threadIdx.x] = s;
}
"#;

struct Bench {
    board: assay::board::sim::SimBoard,
    module: Module,
    x: Buffer,
    y: Buffer,
}

impl Bench {
    /// Seconds of device time, the best of twenty.
    fn time(&mut self, kernel: &str, grid: u32, n: i32, sanitise: bool) -> f64 {
        let mut best = f64::MAX;
        for _ in 0..20 {
            let mut c =
                cmd(self.module, kernel, grid, 256, vec![ptr(&self.x), ptr(&self.y), Bound::I32(n), Bound::F32(1.0)]);
            c.mode.sanitise = sanitise;
            self.board.launch(c);
            let done = self.board.wait(Deadline::after(std::time::Duration::from_secs(60))).expect("runs");
            assert_eq!(done.findings[0], []);
            best = best.min(done.elapsed.as_secs_f64());
        }
        best
    }
}

fn main() {
    let kernels = build(KERNELS);
    let mut board = board("gfx1151");
    let module = board.load(&kernels.image).expect("loads");
    let n = 65_536usize;
    let (x, y) = (upload(&mut board, &f32s(&vec![0.5; n])), upload(&mut board, &f32s(&vec![0.0; n])));
    let mut b = Bench { board, module, x, y };
    let threads = n as f64;
    for kernel in ["scale", "silu"] {
        let (plain, watched) = (b.time(kernel, 256, n as i32, false), b.time(kernel, 256, n as i32, true));
        println!(
            "{kernel:10} {:8.2} ns a thread (<= 6), sanitised {:6.2} ns, {:5.2} times",
            plain / threads * 1e9,
            watched / threads * 1e9,
            watched / plain
        );
    }
    for kernel in ["barriers", "shuffles"] {
        // Each lane is switched to and away from, per operation.
        let switches = 2.0 * 50.0 * 256.0;
        println!("{kernel:10} {:8.1} M switches/s (>= 25)", switches / b.time(kernel, 1, 50, false) / 1e6);
    }
    for (kernel, grid, n, flops) in [("sums", 16, 4096, 2.0 * 4096.0), ("matmul", 16, 256, 2.0 * 256.0 * 256.0)] {
        let (plain, watched) = (b.time(kernel, grid, n, false), b.time(kernel, grid, n, true));
        println!(
            "{kernel:10} {:8.3} GFLOP/s, sanitised {:5.2} times slower (<= 8)",
            flops * f64::from(grid) / plain / 1e9,
            watched / plain
        );
    }
    overhead(&mut b);
}

/// Wall time of a batch with three images and launches of 64 elements.
fn overhead(b: &mut Bench) {
    let image = f32s(&[0.5; 4096]);
    let buffer = b.board.alloc(Kind::Device, image.len()).expect("memory");
    let rounds = 2000;
    let started = Instant::now();
    for _ in 0..rounds {
        for _ in 0..3 {
            b.board.copy_in(&buffer, 0, &image);
            let at = |offset| Bound::Ptr { buffer: buffer.id, offset };
            b.board.launch(cmd(b.module, "scale", 1, 64, vec![at(0), at(4096), Bound::I32(64), Bound::F32(2.0)]));
            b.board.copy_out(&buffer, 0, image.len());
        }
        b.board.wait(soon()).expect("runs");
    }
    println!(
        "batch      {:8.2} us for three images of 16 KiB, launches and copies",
        started.elapsed().as_secs_f64() / f64::from(rounds) * 1e6
    );
    let started = Instant::now();
    for _ in 0..rounds {
        b.board.copy_out(&buffer, 0, 64);
        b.board.wait(soon()).expect("runs");
    }
    println!("round trip {:8.2} us (<= 10)", started.elapsed().as_secs_f64() / f64::from(rounds) * 1e6);
}
