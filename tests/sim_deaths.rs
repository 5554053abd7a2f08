//! Faults, deaths and silence of the executor: each is reported with its cause, and the board goes on with a fresh one.

mod sim;

use assay::board::*;
use sim::*;
use std::time::{Duration, Instant};

const KERNELS: &str = r#"
extern "C" __global__ void good(int* p, int v) { p[threadIdx.x] = v; }
extern "C" __global__ void bad_pointer(int* p, long long address, int v) {
    if (threadIdx.x == 5 && blockIdx.x == 1) *(int*)address = v;
}
extern "C" __global__ void past_end(int* p, int v) { p[(1 << 22) + threadIdx.x] = v; }
extern "C" __global__ void waits_then_faults(int* p, int v) {
    __syncthreads();
    if (threadIdx.x == 7) *(volatile int*)16 = v;
    __syncthreads();
}
extern "C" __global__ void divides(int* p, int v) { p[0] = v / (p[0] - 1); }
extern "C" __global__ void aborts(int* p, int v) { abort(); }
extern "C" __global__ void exits(int* p, int v) { exit(3); }
extern "C" __global__ void spins(int* p, int v) { while (*(volatile int*)p != v + 1) {} }
extern "C" __global__ void overflows(int* p, int v) {
    __syncthreads();
    volatile char deep[400000];
    for (int i = 0; i < 400000; ++i) deep[i] = v;
    p[0] = deep[v];
}
"#;

struct Bench {
    board: assay::board::sim::SimBoard,
    module: Module,
    out: Buffer,
    _kernels: Kernels,
}

fn bench() -> Bench {
    let kernels = build(KERNELS);
    let mut board = board("gfx942");
    let module = board.load(&kernels.image).expect("loads");
    let out = upload(&mut board, &i32s(&[0; 64]));
    Bench { board, module, out, _kernels: kernels }
}

impl Bench {
    fn launch(&mut self, kernel: &str, grid: u32, args: Vec<Bound>) {
        let mut all = vec![ptr(&self.out)];
        all.extend(args);
        self.board.launch(cmd(self.module, kernel, grid, 64, all));
    }

    /// The fresh executor runs the same module on the same memory.
    fn goes_on(&mut self) {
        self.launch("good", 1, vec![Bound::I32(77)]);
        self.board.copy_out(&self.out, 0, 256);
        let done = self.board.wait(soon()).expect("a fresh executor");
        assert_eq!(to_i32(&done.copied[0]), [77; 64]);
    }

    fn fault(&mut self, kernel: &str, grid: u32, args: Vec<Bound>) -> (u64, String, String) {
        self.launch("good", 1, vec![Bound::I32(1)]);
        self.launch(kernel, grid, args);
        match self.board.wait(soon()) {
            Err(BoardError::Fault { address, kernel, detail }) => {
                self.goes_on();
                (address, kernel, detail)
            }
            other => panic!("no fault: {other:?}"),
        }
    }
}

#[test]
fn a_followed_host_pointer_faults_with_lane_and_address() {
    let mut b = bench();
    let mine = Box::new(5i32);
    let address = std::ptr::from_ref(&*mine) as i64;
    let (at, kernel, detail) = b.fault("bad_pointer", 2, vec![Bound::I64(address), Bound::I32(1)]);
    assert_eq!((at, kernel.as_str()), (address as u64, "bad_pointer"));
    assert!(detail.contains("block [1, 0, 0], thread [5, 0, 0]"), "{detail}");
    assert_eq!(*mine, 5);
}

#[test]
fn faults_name_the_nearest_allocation() {
    let mut b = bench();
    let (_, _, detail) = b.fault("past_end", 1, vec![Bound::I32(1)]);
    assert!(detail.contains(&format!("bytes past the end of buffer {}", b.out.id)), "{detail}");
}

#[test]
fn faults_of_waiting_lanes_traps_aborts_and_stack_overflows_are_faults() {
    let mut b = bench();
    let (at, _, detail) = b.fault("waits_then_faults", 1, vec![Bound::I32(1)]);
    assert!(at == 16 && detail.contains("thread [7, 0, 0]"), "{detail}");
    assert!(b.fault("divides", 1, vec![Bound::I32(1)]).2.contains("arithmetic trap"));
    assert!(b.fault("aborts", 1, vec![Bound::I32(1)]).2.contains("abort"));
    b.fault("overflows", 1, vec![Bound::I32(1)]);
}

#[test]
fn sealed_pages_fault_and_copies_still_reach_them() {
    let mut b = bench();
    let big = b.board.alloc(Kind::Device, 12288).expect("memory");
    b.board.copy_in(&big, 0, &std::sync::Arc::new(vec![1; 12288]));
    b.board.seal(&big, &[0..4096, 8192..12288]).expect("sealed");
    let at = |offset| vec![Bound::Ptr { buffer: big.id, offset }, Bound::I32(3)];
    b.board.launch(cmd(b.module, "good", 1, 64, at(4096)));
    b.board.launch(cmd(b.module, "good", 1, 64, at(8192 - 256)));
    b.board.copy_out(&big, 0, 12288);
    let done = b.board.wait(soon()).expect("runs up to the page");
    assert_eq!(done.copied[0].iter().filter(|&&x| x == 1).count(), 12288 - 512);
    b.board.launch(cmd(b.module, "good", 1, 64, at(8192 - 252)));
    match b.board.wait(soon()) {
        Err(BoardError::Fault { detail, .. }) => {
            assert!(detail.contains("byte 8192") && detail.contains("sealed"), "{detail}")
        }
        other => panic!("no fault: {other:?}"),
    }
    // The fresh executor knows the seal; taking it off opens the pages.
    b.board.launch(cmd(b.module, "good", 1, 64, at(0)));
    assert!(matches!(b.board.wait(soon()), Err(BoardError::Fault { .. })));
    b.board.seal(&big, &[]).expect("open");
    b.board.launch(cmd(b.module, "good", 1, 64, at(0)));
    b.board.wait(soon()).expect("open again");
    assert!(b.board.seal(&big, std::slice::from_ref(&(0..100))).is_err());
}

#[test]
fn a_kernel_that_never_ends_is_killed_at_the_deadline() {
    let mut b = bench();
    b.launch("good", 1, vec![Bound::I32(1)]);
    b.launch("spins", 3, vec![Bound::I32(1)]);
    b.launch("good", 1, vec![Bound::I32(1)]);
    let started = Instant::now();
    match b.board.wait(Deadline::after(Duration::from_millis(400))) {
        Err(BoardError::Deadline { waited_ms, state }) => {
            assert!(waited_ms >= 390, "{waited_ms}");
            assert!(
                state.contains("spins (launch 1 of the batch, block 0)") && state.contains("3 launches"),
                "{state}"
            );
        }
        other => panic!("no deadline: {other:?}"),
    }
    assert!(started.elapsed() < Duration::from_secs(5));
    b.goes_on();
}

#[test]
fn a_kernel_that_exits_loses_the_device_with_its_code() {
    let mut b = bench();
    b.launch("exits", 1, vec![Bound::I32(1)]);
    match b.board.wait(soon()) {
        Err(BoardError::Lost { why }) => assert!(why.contains("exited with code 3") && why.contains("exits"), "{why}"),
        other => panic!("not lost: {other:?}"),
    }
    b.goes_on();
}

fn kill(pid: u32) {
    let done = std::process::Command::new("kill").args(["-9", &pid.to_string()]).status().expect("kill");
    assert!(done.success());
}

#[test]
fn a_killed_executor_is_lost_with_its_signal_and_replaced() {
    let mut b = bench();
    b.board.wait(soon()).expect("runs");
    kill(b.board.executor_id().expect("runs"));
    b.launch("good", 1, vec![Bound::I32(1)]);
    match b.board.wait(soon()) {
        Err(BoardError::Lost { why }) => assert!(why.contains("killed by signal 9"), "{why}"),
        other => panic!("not lost: {other:?}"),
    }
    b.goes_on();
}

#[test]
fn rubbish_from_the_executor_loses_the_device() {
    // An executor that answers, but not us.
    let dir = tempfile::tempdir().expect("folder");
    let script = dir.path().join("fake");
    let text = "#!/bin/bash\nfd=$(sed 's/.*\"socket\":\\([0-9]*\\).*/\\1/' <<< \"$2\")\nprintf 'rubbish, rubbish' >&\"$fd\"\nsleep 5\n";
    std::fs::write(&script, text).expect("written");
    std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("executable");
    let facts = assay::board::sim::profile("gfx942").expect("known");
    let mut b = assay::board::sim::SimBoard::open(facts, script).expect("starts");
    let buffer = b.alloc(Kind::Device, 4).expect("memory");
    b.copy_out(&buffer, 0, 4);
    match b.wait(soon()) {
        Err(BoardError::Lost { why }) => assert!(why.contains("rubbish") || why.contains("signal"), "{why}"),
        other => panic!("not lost: {other:?}"),
    }
}

#[test]
fn executors_end_with_their_board_even_in_the_middle_of_a_kernel() {
    let mut b = bench();
    let pid = b.board.executor_id().expect("runs");
    b.launch("spins", 1, vec![Bound::I32(1)]);
    let _ = b.board.wait(Deadline::after(Duration::from_millis(50)));
    drop(b);
    assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists());
}
