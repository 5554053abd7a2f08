//! Divergent barriers and wave operations, exited lanes, poison in shared memory, orders and atomics.

mod sim;

use assay::board::*;
use sim::*;

fn kernel(body: &str) -> String {
    format!("extern \"C\" __global__ void k(int* out, int n) {{\n    int t = threadIdx.x;\n{body}\n}}\n")
}

#[test]
fn two_barrier_sites_stop_the_launch_and_name_sites_and_lanes() {
    let source = kernel(
        "    if (t < 40) {\n        __syncthreads();\n    } else {\n        __syncthreads();\n    }\n    out[t] = 1;",
    );
    match run_ints("gfx1151", &source, 1, 64, 64) {
        Err(BoardError::Launch { kernel, why }) => {
            assert_eq!(kernel, "k");
            for part in ["divergent barrier", "lanes 0-39 wait at k.hip:5", "lanes 40-63 at k.hip:7", "block [0, 0, 0]"]
            {
                assert!(why.contains(part), "{part}: {why}");
            }
        }
        other => panic!("not stopped: {other:?}"),
    }
}

#[test]
fn the_board_goes_on_after_a_divergent_barrier_with_the_same_executor() {
    let kernels = build(
        "extern \"C\" __global__ void bad(int* p) { if (threadIdx.x & 1) __syncthreads(); else __syncthreads(); }\n\
         extern \"C\" __global__ void good(int* p) { __shared__ int s[64]; s[threadIdx.x] = threadIdx.x; __syncthreads(); p[threadIdx.x] = s[63 - threadIdx.x]; }\n",
    );
    let mut b = board("gfx942");
    let module = b.load(&kernels.image).expect("loads");
    let out = upload(&mut b, &i32s(&[0; 64]));
    let pid = b.executor_id();
    for _ in 0..3 {
        b.launch(cmd(module, "bad", 2, 64, vec![ptr(&out)]));
        assert!(matches!(b.wait(soon()), Err(BoardError::Launch { .. })));
        b.launch(cmd(module, "good", 2, 64, vec![ptr(&out)]));
        b.copy_out(&out, 0, 256);
        assert_eq!(to_i32(&b.wait(soon()).expect("runs").copied[0]), (0..64).rev().collect::<Vec<_>>());
    }
    assert_eq!(b.executor_id(), pid);
}

#[test]
fn lanes_that_returned_before_a_barrier_are_let_pass_and_are_a_finding() {
    let source = kernel("    if (t >= n) return;\n    __syncthreads();\n    out[t] = t;");
    let (out, findings) = run_ints("gfx1151", &source, 1, 64, 50).expect("runs");
    assert_eq!(out, (0..50).collect::<Vec<_>>());
    assert_eq!((findings[0].kind, findings[0].place.as_str()), (FindingKind::ExitedBeforeBarrier, "k.hip:5"));
    assert!(findings[0].detail.contains("lanes 50-63"), "{}", findings[0].detail);
}

#[test]
fn block_wide_votes_count_live_lanes() {
    let source = kernel(
        "    int c = __syncthreads_count(t < 5), a = __syncthreads_and(t < 64), o = __syncthreads_or(t == 99);\n    if (t == 0) { out[0] = c; out[1] = a; out[2] = o; }",
    );
    assert_eq!(run_ints("gfx942", &source, 1, 64, 3).expect("runs").0, [5, 1, 0]);
}

#[test]
fn two_wave_sites_at_once_are_a_finding_unless_the_kernel_says_so() {
    let body = "    int v = t < 16 ? __shfl(t, 3) : __shfl(t, 20);\n    out[t] = v;";
    let (out, findings) = run_ints("gfx1151", &kernel(body), 1, 32, 32).expect("runs");
    assert_eq!((out[0], out[31]), (3, 20));
    assert_eq!(findings.len(), 1);
    assert_eq!(findings[0].kind, FindingKind::DivergentWave);
    assert!(
        findings[0].detail.contains("lanes 0-15") && findings[0].detail.contains("lanes 16-31"),
        "{}",
        findings[0].detail
    );
    let quiet = format!("// wave: divergent\n{}", kernel(body));
    assert_eq!(run_ints("gfx1151", &quiet, 1, 32, 32).expect("runs").1, []);
}

#[test]
fn reading_an_inactive_lane_yields_poison_and_a_finding() {
    let source = kernel("    if (t < 8) out[t] = __shfl(t, 8 + t);");
    for profile in ["gfx1151", "gfx942"] {
        let (out, findings) = run_ints(profile, &source, 1, 64, 8).expect("runs");
        assert_eq!(out, [-1; 8]);
        assert_eq!((findings[0].kind, findings[0].count), (FindingKind::DivergentWave, 8));
        assert!(
            findings[0].detail.contains("reads lane 8") && findings[0].detail.contains("active: 0-7"),
            "{}",
            findings[0].detail
        );
    }
}

#[test]
fn a_part_of_a_wave_may_shuffle_among_itself_while_others_wait_at_a_barrier() {
    let source = kernel(
        "    int v = t;\n    if (t < 16) for (int d = 8; d; d >>= 1) v += __shfl_xor(v, d, 16);\n    unsigned long long m = 0;\n    if (t < 3) m = __activemask();\n    __syncthreads();\n    out[t] = t < 3 ? (int)m : v;",
    );
    for profile in ["gfx1151", "gfx942"] {
        let (out, findings) = run_ints(profile, &source, 1, 64, 64).expect("runs");
        assert_eq!(findings, []);
        assert_eq!((out[0], out[3], out[15], out[16]), (7, 120, 120, 16));
    }
}

#[test]
fn a_mask_that_names_lanes_elsewhere_is_a_finding() {
    let source = kernel("    if (t < 16) out[t] = __shfl_sync(0xffffffffull, t, 0);");
    let (_, findings) = run_ints("gfx1151", &source, 1, 32, 16).expect("runs");
    assert_eq!(findings, [], "lanes that have returned cannot be waited for");
    let source = kernel("    if (t < 16) out[t] = __shfl_sync(0xffffffffull, t, 0);\n    __syncthreads();");
    let (_, findings) = run_ints("gfx1151", &source, 1, 32, 16).expect("runs");
    assert_eq!(findings[0].kind, FindingKind::DivergentWave);
}

#[test]
fn shared_memory_holds_poison_that_differs_between_orders_and_is_new_for_every_block() {
    let source = kernel("    __shared__ int s[64];\n    if (t == 0) { out[blockIdx.x] = s[7]; s[7] = 5; }");
    let kernels = build(&source);
    let mut b = board("gfx1151");
    let module = b.load(&kernels.image).expect("loads");
    let out = upload(&mut b, &i32s(&[0; 2]));
    let mut seen = Vec::new();
    for order in [ThreadOrder::Ascending, ThreadOrder::Descending, ThreadOrder::Shuffled] {
        let mut c = cmd(module, "k", 2, 64, vec![ptr(&out), Bound::I32(2)]);
        c.mode.order = order;
        b.launch(c);
        b.copy_out(&out, 0, 8);
        let got = to_i32(&b.wait(soon()).expect("runs").copied[0]);
        assert_eq!(got[0], got[1]);
        assert_ne!(got[0], 5);
        seen.push(got[0]);
    }
    seen.dedup();
    assert_eq!(seen.len(), 3);
}

#[test]
fn shared_arrays_in_templates_are_one_per_instance_and_dynamic_ones_have_their_size() {
    let source = r#"
template <class T> __device__ void turn(T* out, int n) {
    __shared__ T part[64];
    part[threadIdx.x] = out[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = part[n - 1 - threadIdx.x];
}
extern "C" __global__ void k(int* out, int n) {
    extern __shared__ int more[];
    more[threadIdx.x] = threadIdx.x;
    out[threadIdx.x] = threadIdx.x;
    __syncthreads();
    turn<int>(out, n);
    float f[1];
    (void)f;
    out[threadIdx.x] += more[(threadIdx.x + 1) % n];
}
extern "C" __global__ void other(float* out, int n) { turn<float>(out, n); }
"#;
    let kernels = build(source);
    let mut b = board("gfx942");
    let module = b.load(&kernels.image).expect("loads");
    let out = upload(&mut b, &i32s(&[0; 64]));
    let mut c = cmd(module, "k", 1, 64, vec![ptr(&out), Bound::I32(64)]);
    (c.lds, c.mode.sanitise) = (256, true);
    b.launch(c);
    b.copy_out(&out, 0, 256);
    let done = b.wait(soon()).expect("runs");
    assert_eq!(done.findings[0], []);
    assert_eq!(to_i32(&done.copied[0]), (0..64).map(|t| 63 - t + (t + 1) % 64).collect::<Vec<_>>());
}

#[test]
fn atomics_return_old_values_in_the_order_of_the_launch() {
    let source = kernel("    out[1 + t] = atomicAdd(&out[0], 1);");
    let kernels = build(&source);
    let mut b = board("gfx1151");
    let module = b.load(&kernels.image).expect("loads");
    let out = b.alloc(Kind::Device, 132).expect("memory");
    for (order, first) in [(ThreadOrder::Ascending, 0), (ThreadOrder::Descending, 31)] {
        b.copy_in(&out, 0, &i32s(&[0; 33]));
        let mut c = cmd(module, "k", 1, 32, vec![ptr(&out), Bound::I32(32)]);
        c.mode.order = order;
        b.launch(c);
        b.copy_out(&out, 0, 132);
        let got = to_i32(&b.wait(soon()).expect("runs").copied[0]);
        assert_eq!((got[0], got[1]), (32, first));
    }
}
