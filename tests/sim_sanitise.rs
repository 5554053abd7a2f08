//! Sanitised launches: what they find, that they name it, and that right kernels come out clean.

mod sim;

use assay::board::*;
use sim::*;

/// Runs `k(const float* x, float* y, int n)` sanitised over one block of `block` threads; x has 64 elements, y 64 that hold nothing.
fn watched(source: &str, grid: u32, block: u32) -> Vec<Finding> {
    let kernels = build(source);
    let mut b = board("gfx1151");
    let module = b.load(&kernels.image).expect("loads");
    let buffer = b.alloc(Kind::Device, 4096).expect("memory");
    let extent = |name: &str, start, writable, initialised| Extent {
        name: name.into(),
        start,
        end: start + 256,
        writable,
        initialised,
    };
    b.declare(&buffer, &[extent("x", 512, false, true), extent("y", 1024, true, false)]);
    b.copy_in(&buffer, 0, &std::sync::Arc::new(vec![0; 4096]));
    let at = |offset| Bound::Ptr { buffer: buffer.id, offset };
    let mut c = cmd(module, "k", grid, block, vec![at(512), at(1024), Bound::I32(64)]);
    c.mode.sanitise = true;
    b.launch(c);
    b.wait(soon()).expect("runs").findings.remove(0)
}

fn kinds(findings: &[Finding]) -> Vec<FindingKind> {
    findings.iter().map(|f| f.kind).collect()
}

fn body(text: &str) -> String {
    format!(
        "extern \"C\" __global__ void k(const float* x, float* y, int n) {{\n    int t = threadIdx.x;\n{text}\n}}\n"
    )
}

#[test]
fn a_right_kernel_has_no_findings() {
    let source = body(
        "    __shared__ float s[64];\n    s[t] = x[t];\n    __syncthreads();\n    y[t] = s[63 - t] + 1.0f;\n    __syncthreads();\n    y[t] += y[t];",
    );
    assert_eq!(watched(&source, 1, 64), []);
}

#[test]
fn a_read_past_an_argument_names_the_line_the_thread_and_the_argument() {
    let found = watched(&body("    y[t] = x[t + 1];"), 1, 64);
    assert_eq!(kinds(&found), [FindingKind::OutOfRange], "{found:?}");
    assert_eq!(found[0].place, "k.hip:4");
    for part in ["thread [63, 0, 0]", "block [0, 0, 0]", "reads 4 bytes", "'x'"] {
        assert!(found[0].detail.contains(part), "{part}: {}", found[0].detail);
    }
}

#[test]
fn a_write_past_an_argument_and_a_write_to_a_read_only_one_are_found() {
    let found = watched(&body("    y[t + 1] = 1.0f;"), 1, 64);
    assert_eq!(kinds(&found), [FindingKind::OutOfRange], "{found:?}");
    let found = watched(&body("    ((float*)x)[t] = 1.0f;"), 1, 64);
    assert_eq!(kinds(&found), [FindingKind::ReadOnly], "{found:?}");
    assert_eq!(found[0].count, 64);
}

#[test]
fn reads_of_bytes_that_nobody_wrote_are_found_in_buffers_and_in_shared_memory() {
    let found = watched(&body("    if (t == 3) y[t] = y[5];"), 1, 64);
    assert_eq!(kinds(&found), [FindingKind::Uninitialised], "{found:?}");
    let found = watched(
        &body("    __shared__ float s[64];\n    if (t) s[t] = x[t];\n    __syncthreads();\n    y[t] = s[t];"),
        1,
        64,
    );
    assert_eq!(kinds(&found), [FindingKind::Uninitialised], "{found:?}");
    assert_eq!((found[0].place.as_str(), found[0].count), ("k.hip:7", 1));
}

#[test]
fn a_missing_barrier_is_a_race_that_names_both_threads() {
    let found = watched(&body("    __shared__ float s[64];\n    s[t] = x[t];\n    y[t] = s[t ^ 1];"), 1, 64);
    assert!(
        found.iter().any(|f| f.kind == FindingKind::Race
            && f.detail.contains("thread [0, 0, 0]")
            && f.detail.contains("thread [1, 0, 0]")),
        "{found:?}"
    );
}

#[test]
fn blocks_that_add_without_atomics_race_and_with_atomics_do_not() {
    let setup = "    if (blockIdx.x == 0 && t == 0) ;\n";
    let found = watched(&body(&format!("{setup}    if (t == 0) y[0] = 1.0f;")), 2, 1);
    assert_eq!(kinds(&found), [FindingKind::Race], "{found:?}");
    assert!(found[0].detail.contains("block [0, 0, 0]") && found[0].detail.contains("block [1, 0, 0]"), "{found:?}");
    let source =
        "extern \"C\" __global__ void k(const float* x, float* y, int n) {\n    atomicAdd((float*)&x[0], 1.0f);\n}";
    assert_eq!(kinds(&watched(source, 4, 8)), [FindingKind::ReadOnly]);
    let source = "extern \"C\" __global__ void k(const float* x, float* y, int n) {\n    atomicExch(&y[0], 1.0f);\n    atomicAdd(&y[0], 1.0f);\n}";
    let found = watched(source, 4, 8);
    assert!(!kinds(&found).contains(&FindingKind::Race), "{found:?}");
}

#[test]
fn an_atomic_races_with_a_plain_access_of_the_same_word() {
    let found = watched(&body("    if (t == 0) y[0] = 0.0f;\n    if (t == 9) atomicAdd(&y[0], 1.0f);"), 1, 64);
    assert_eq!(kinds(&found), [FindingKind::Race], "{found:?}");
}

#[test]
fn the_last_block_may_read_what_others_fenced_before_their_ticket() {
    let source = r#"
__device__ unsigned ticket;
extern "C" __global__ void k(const float* x, float* y, int n) {
    __shared__ bool last;
    y[blockIdx.x + 1] = x[blockIdx.x];
    __threadfence();
    if (threadIdx.x == 0) last = atomicAdd(&ticket, 1u) == gridDim.x - 1;
    __syncthreads();
    if (last && threadIdx.x == 0) {
        float sum = 0;
        for (unsigned i = 0; i < gridDim.x; ++i) sum += y[i + 1];
        y[0] = sum;
        ticket = 0;
    }
}"#;
    assert_eq!(watched(source, 8, 1), []);
    let found = watched(&source.replace("__threadfence();", ""), 8, 1);
    assert_eq!(kinds(&found), [FindingKind::Race], "{found:?}");
}

#[test]
fn neighbouring_bytes_and_halves_of_different_threads_do_not_race() {
    let found = watched(&body("    ((unsigned char*)y)[t] = t;\n    ((unsigned short*)y)[t + 64] = t;"), 1, 64);
    assert_eq!(found, []);
    let found = watched(&body("    ((unsigned char*)y)[t] = t;\n    if (t == 7) ((unsigned short*)y)[1] = t;"), 1, 64);
    assert_eq!(kinds(&found), [FindingKind::Race], "{found:?}");
}

#[test]
fn copies_by_memcpy_and_of_structs_are_checked_whole() {
    let found = watched(&body("    struct S { float a[12]; };\n    if (t == 0) *(S*)(y + 60) = *(const S*)x;"), 1, 64);
    assert!(kinds(&found).contains(&FindingKind::OutOfRange), "{found:?}");
    let found = watched(&body("    if (t == 0) memcpy(y, x, 4 * n + 4);"), 1, 64);
    assert!(found.iter().all(|f| f.kind == FindingKind::OutOfRange) && !found.is_empty(), "{found:?}");
    assert_eq!(watched(&body("    if (t == 0) memcpy(y, x, 4 * n);\n    if (t == 0) memset(y, 0, 4 * n);"), 1, 64), []);
}

#[test]
fn shared_memory_ends_where_its_array_ends() {
    let found = watched(
        &body("    __shared__ float s[63];\n    s[t] = x[t];\n    __syncthreads();\n    if (t == 0) y[0] = s[n - 4];"),
        1,
        64,
    );
    assert_eq!(kinds(&found), [FindingKind::OutOfRange], "{found:?}");
    let found = watched(
        &body(
            "    extern __shared__ float s[];\n    s[t] = x[t];\n    __syncthreads();\n    if (t == 0) y[0] = s[n - 4];",
        ),
        1,
        64,
    );
    assert!(kinds(&found).contains(&FindingKind::OutOfRange), "{found:?}");
}

#[test]
fn what_a_plain_launch_wrote_is_not_called_uninitialised() {
    let kernels = build("extern \"C\" __global__ void k(float* y, int n) { y[threadIdx.x] += 1.0f; }");
    let mut b = board("gfx1151");
    let module = b.load(&kernels.image).expect("loads");
    let buffer = b.alloc(Kind::Device, 256).expect("memory");
    b.declare(&buffer, &[Extent { name: "y".into(), start: 0, end: 256, writable: true, initialised: false }]);
    let zeros = std::sync::Arc::new(vec![0; 256]);
    for (sanitise, copy) in [(false, true), (true, false), (true, true)] {
        let mut c = cmd(module, "k", 1, 64, vec![ptr(&buffer), Bound::I32(64)]);
        c.mode.sanitise = sanitise;
        if copy {
            b.copy_in(&buffer, 0, &zeros);
        }
        b.launch(c);
    }
    let done = b.wait(soon()).expect("runs");
    let counts: Vec<usize> = done.findings.iter().map(Vec::len).collect();
    assert_eq!(counts, [0, 0, 1]);
    assert_eq!(done.findings[2][0].kind, FindingKind::Uninitialised);
}

#[test]
fn scoped_atomics_are_atomics() {
    let source = r#"
extern "C" __global__ void k(const float* x, float* y, int n) {
    unsigned* u = (unsigned*)y;
    if (threadIdx.x == 0) __hip_atomic_store(u, 0u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    __syncthreads();
    __hip_atomic_fetch_add(u, 1u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    unsigned seen = __hip_atomic_load(u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    while (!__hip_atomic_compare_exchange_strong(u, &seen, seen + 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)) {}
    __syncthreads();
    if (threadIdx.x == 0 && *u != 128) y[9] = x[999];
}"#;
    let found = watched(source, 1, 64);
    assert!(found.iter().all(|f| f.kind == FindingKind::Uninitialised), "{found:?}");
}

#[test]
fn an_atomic_of_another_block_races_with_a_plain_read_after_ones_own() {
    let found = watched(&body("    if (t == 0) { atomicExch(&y[0], 1.0f); if (blockIdx.x == 3) y[1] = y[0]; }"), 4, 32);
    assert_eq!(kinds(&found), [FindingKind::Race], "{found:?}");
}

#[test]
fn a_read_by_an_earlier_block_races_with_a_later_blocks_write() {
    let source = body(
        "    if (blockIdx.x == 0 && t == 0) y[0] = 0.0f;\n    float v = 0;\n    if (blockIdx.x == 1) v = ((volatile float*)y)[5];\n    if (blockIdx.x == 2) { v = ((volatile float*)y)[5]; __syncthreads(); if (t == 1) y[5] = v; }",
    );
    let found = watched(&source, 3, 32);
    assert!(kinds(&found).contains(&FindingKind::Race), "{found:?}");
    assert!(found.iter().any(|f| f.detail.contains("block [1, 0, 0]")), "{found:?}");
}

#[test]
fn the_compilers_own_atomics_are_atomics() {
    let source = r#"
#include <atomic>
extern "C" __global__ void k(const float* x, float* y, int n) {
    unsigned* u = (unsigned*)y;
    if (threadIdx.x == 0) __atomic_store_n(u, 0u, __ATOMIC_RELAXED);
    __syncthreads();
    __atomic_fetch_add(u, 1u, __ATOMIC_RELAXED);
    unsigned seen = __atomic_load_n(u, __ATOMIC_ACQUIRE);
    while (!__atomic_compare_exchange_n(u, &seen, seen + 1, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {}
    ((std::atomic<unsigned>*)u)->fetch_add(1);
    __syncthreads();
    if (threadIdx.x == 0 && *u != 192) y[9] = x[999];
    if (threadIdx.x == 1) *u = 5;
}"#;
    let found = watched(source, 1, 64);
    assert_eq!(kinds(&found), [FindingKind::Race], "{found:?}");
    assert_eq!(found[0].place, "k.hip:14");
}
