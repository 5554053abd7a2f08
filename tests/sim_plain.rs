//! The simulated board runs kernels: plain loops, barriers, wave operations, orders, queue.

mod sim;

use assay::board::*;
use sim::*;

const SCALE: &str = r#"
extern "C" __global__ __launch_bounds__(256) void scale(const float* x, float* y, int n, float a) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i];
}
"#;

#[test]
fn an_elementwise_kernel_computes_what_it_says() {
    let kernels = build(SCALE);
    let mut b = board("gfx1151");
    let module = b.load(&kernels.image).expect("loads");
    let x: Vec<f32> = (0..1000).map(|i| i as f32).collect();
    let (xb, yb) = (upload(&mut b, &f32s(&x)), upload(&mut b, &f32s(&[0.0; 1000])));
    b.launch(cmd(module, "scale", 4, 256, vec![ptr(&xb), ptr(&yb), Bound::I32(1000), Bound::F32(2.5)]));
    b.copy_out(&yb, 0, 4000);
    let done = b.wait(soon()).expect("runs");
    assert_eq!(to_f32(&done.copied[0]), x.iter().map(|v| v * 2.5).collect::<Vec<_>>());
    assert_eq!((done.launches, done.findings.len()), (1, 1));
}

#[test]
fn nothing_runs_before_a_wait_and_copies_keep_their_place_in_the_queue() {
    let kernels = build(SCALE);
    let mut b = board("gfx1151");
    let module = b.load(&kernels.image).expect("loads");
    let (xb, yb) = (upload(&mut b, &f32s(&[1.0, 2.0])), upload(&mut b, &f32s(&[0.0; 2])));
    let view = b.host_view(&yb).expect("gfx1151 device memory is host addressable");
    let args = vec![ptr(&xb), ptr(&yb), Bound::I32(2), Bound::F32(3.0)];
    b.launch(cmd(module, "scale", 1, 64, args.clone()));
    b.copy_out(&yb, 0, 8);
    b.copy_in(&xb, 0, &f32s(&[5.0, 6.0]));
    b.launch(cmd(module, "scale", 1, 64, args));
    b.copy_out(&yb, 0, 8);
    // SAFETY is the board's promise here; tests may not use unsafe code, so the view is only checked for its address.
    assert_eq!(view.address, b.device_ptr(&yb));
    let done = b.wait(soon()).expect("runs");
    let copied: Vec<_> = done.copied.iter().map(|c| to_f32(c)).collect();
    assert_eq!(copied, [vec![3.0, 6.0], vec![15.0, 18.0]]);
    assert_eq!(b.wait(soon()).expect("empty").launches, 0);
}

const REDUCE: &str = r#"
extern "C" __global__ void k(int* out, int n) {
    __shared__ int part[256];
    extern __shared__ int more[];
    int t = threadIdx.x, sum = 0;
    for (int i = t; i < 1000; i += blockDim.x) sum += i;
    part[t] = sum;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (t < s) part[t] += part[t + s];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = part[0] + blockIdx.x;
}
"#;

#[test]
fn a_block_reduction_waits_at_its_barriers_in_every_order() {
    let kernels = build(REDUCE);
    let mut b = board("gfx942");
    let module = b.load(&kernels.image).expect("loads");
    let out = upload(&mut b, &i32s(&[0; 7]));
    for order in [ThreadOrder::Ascending, ThreadOrder::Descending, ThreadOrder::Shuffled] {
        let mut c = cmd(module, "k", 7, 256, vec![ptr(&out), Bound::I32(7)]);
        c.mode.order = order;
        b.copy_in(&out, 0, &i32s(&[0; 7]));
        b.launch(c);
        b.copy_out(&out, 0, 28);
        let done = b.wait(soon()).expect("runs");
        assert_eq!(to_i32(&done.copied[0]), (0..7).map(|i| 499_500 + i).collect::<Vec<_>>(), "{order:?}");
        assert!(done.findings[0].is_empty());
    }
}

const WAVES: &str = r#"
extern "C" __global__ void k(int* out, int n) {
    int t = threadIdx.x, v = t;
    for (int d = warpSize / 2; d > 0; d >>= 1) v += __shfl_down(v, d);
    unsigned long long odd = __ballot(t & 1);
    int all = __all(t >= 0), any = __any(t == 5), x = __shfl_xor(t, 3, 8), up = __shfl_up(t, 1), at = __shfl(t, 2);
    if (t % warpSize == 0) out[t / warpSize] = v;
    if (t == 1) { out[16] = warpSize; out[17] = __popcll(odd); out[18] = all; out[19] = any; out[20] = x; out[21] = up; out[22] = at; }
}
"#;

#[test]
fn wave_operations_work_at_both_widths() {
    for (profile, wave) in [("gfx1151", 32), ("gfx942", 64)] {
        let (out, findings) = run_ints(profile, WAVES, 1, 128, 23).expect("runs");
        assert!(findings.is_empty(), "{findings:?}");
        for w in 0..128 / wave {
            assert_eq!(out[w as usize], (w * wave..(w + 1) * wave).sum::<i32>());
        }
        assert_eq!(out[16..23], [wave, wave / 2, 1, i32::from(true), 2, 0, 2], "{profile}");
    }
}

#[test]
fn a_kernel_of_three_dimensions_sees_its_indices() {
    let source = r#"
extern "C" __global__ void k(int* out, int n) {
    int t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    int b = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    out[b * blockDim.x * blockDim.y * blockDim.z + t] = b * 100 + t;
}"#;
    let kernels = build(source);
    let mut b = board("gfx1151");
    let module = b.load(&kernels.image).expect("loads");
    let out = upload(&mut b, &i32s(&[0; 24 * 24]));
    let mut c = cmd(module, "k", 0, 0, vec![ptr(&out), Bound::I32(0)]);
    (c.grid, c.block) = ([4, 3, 2], [2, 3, 4]);
    b.launch(c);
    b.copy_out(&out, 0, 24 * 24 * 4);
    let done = b.wait(soon()).expect("runs");
    let want: Vec<i32> = (0..24).flat_map(|b| (0..24).map(move |t| b * 100 + t)).collect();
    assert_eq!(to_i32(&done.copied[0]), want);
}
