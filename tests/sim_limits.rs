//! The simulated board enforces its profile and the kernel's own parameter list; memory kinds are reachable as the profile says.

mod sim;

use assay::board::sim::profile;
use assay::board::*;
use sim::*;

const KERNEL: &str = r#"
extern "C" __global__ __launch_bounds__(128) void k(int* out, unsigned n, long long wide, float a) {
    __shared__ char big[1024];
    big[threadIdx.x] = n;
    __syncthreads();
    if (blockIdx.x + threadIdx.x == 0) out[0] = big[0] + (int)wide + (int)a;
}
extern "C" __global__ void two(double d, bool b, int* out) { *out = (int)d + b; }
"#;

struct Bench {
    board: assay::board::sim::SimBoard,
    module: Module,
    out: Buffer,
    _kernels: Kernels,
}

fn bench(name: &str) -> Bench {
    let kernels = build(KERNEL);
    let mut board = board(name);
    let module = board.load(&kernels.image).expect("loads");
    let out = upload(&mut board, &i32s(&[0]));
    Bench { board, module, out, _kernels: kernels }
}

impl Bench {
    fn good(&self) -> LaunchCmd {
        let args = vec![ptr(&self.out), Bound::I32(5), Bound::I64(6), Bound::F32(7.0)];
        cmd(self.module, "k", 1, 64, args)
    }

    fn refusal(&mut self, change: impl Fn(&mut LaunchCmd)) -> String {
        let mut c = self.good();
        change(&mut c);
        self.board.launch(c);
        let error = self.board.wait(soon()).expect_err("refused");
        assert!(matches!(
            error,
            BoardError::Refused { .. } | BoardError::Launch { .. } | BoardError::MissingSymbol { .. }
        ));
        // A refusal costs nothing: the next launch runs.
        let good = self.good();
        self.board.launch(good);
        self.board.copy_out(&self.out, 0, 4);
        assert_eq!(to_i32(&self.board.wait(soon()).expect("runs").copied[0]), [18]);
        error.to_string()
    }
}

fn has(text: &str, parts: &[&str]) {
    for p in parts {
        assert!(text.contains(p), "'{p}' is not in: {text}");
    }
}

#[test]
fn launches_beyond_the_profile_are_refused_with_need_and_have() {
    let mut b = bench("gfx1151");
    has(&b.refusal(|c| c.block = [129, 1, 1]), &["k", "129", "128", "__launch_bounds__"]);
    has(&b.refusal(|c| c.block = [1025, 1, 1]), &["block extent x", "1025", "1024"]);
    has(&b.refusal(|c| c.block = [64, 32, 1]), &["threads of a block", "2048", "1024"]);
    has(&b.refusal(|c| c.block = [0, 1, 1]), &["block 0", "at least 1"]);
    has(&b.refusal(|c| c.grid = [1, 65537, 1]), &["grid extent y", "65537", "65536"]);
    has(&b.refusal(|c| c.grid = [u32::MAX / 2, 1, 1]), &["threads along x", "4294967295"]);
    has(
        &b.refusal(|c| c.lds = 65536),
        &["shared memory", "66560 bytes (1024 static and 65536 dynamic)", "65536 bytes"],
    );
    has(&b.refusal(|c| c.kernel = "nothing".into()), &["nothing"]);
    has(&b.refusal(|c| c.module = 9), &["module 9"]);
}

#[test]
fn argument_lists_are_checked_against_the_compilers_own() {
    let mut b = bench("gfx942");
    has(&b.refusal(|c| c.args.truncate(3)), &["3 arguments were given, the kernel takes 4"]);
    has(&b.refusal(|c| c.args[1] = Bound::F32(1.0)), &["argument 1 is a float", "32-bit unsigned integer"]);
    has(&b.refusal(|c| c.args[2] = Bound::I32(1)), &["argument 2 is a 32-bit integer", "64-bit integer"]);
    has(&b.refusal(|c| c.args.swap(0, 1)), &["argument 0", "pointer"]);
    has(&b.refusal(|c| c.args[3] = Bound::Raw { image: [0; 32], bytes: 4 }), &["argument 3", "float"]);
    has(&b.refusal(|c| c.args[0] = Bound::Ptr { buffer: 999, offset: 0 }), &["buffer 999"]);
    has(&b.refusal(|c| c.args[0] = Bound::Ptr { buffer: 1, offset: 1 << 40 }), &["buffer 1"]);
}

#[test]
fn values_of_other_types_are_passed_by_their_bytes() {
    let mut b = bench("gfx1151");
    let raw = |bytes: &[u8]| {
        let mut image = [0; 32];
        image[..bytes.len()].copy_from_slice(bytes);
        Bound::Raw { image, bytes: bytes.len() as u8 }
    };
    b.board.launch(cmd(b.module, "two", 1, 1, vec![raw(&40.0f64.to_le_bytes()), raw(&[1]), ptr(&b.out)]));
    b.board.copy_out(&b.out, 0, 4);
    assert_eq!(to_i32(&b.board.wait(soon()).expect("runs").copied[0]), [41]);
}

#[test]
fn a_file_that_is_no_library_and_one_that_is_not_ours_are_told_apart() {
    let mut b = board("gfx1151");
    let dir = tempfile::tempdir().expect("folder");
    let text = dir.path().join("text.so");
    std::fs::write(&text, "no library").expect("written");
    let error = b.load(&Image { path: text, sanitised: None }).expect_err("refused");
    assert!(matches!(error, BoardError::BadImage { .. }), "{error}");
    let c = dir.path().join("c.cpp");
    std::fs::write(&c, "extern \"C\" int f() { return 1; }").expect("written");
    let so = dir.path().join("c.so");
    let made =
        std::process::Command::new("c++").args(["-shared", "-fPIC", "-o"]).arg(&so).arg(&c).status().expect("c++");
    assert!(made.success());
    let error = b.load(&Image { path: so, sanitised: None }).expect_err("refused");
    assert!(matches!(error, BoardError::MissingSymbol { .. }), "{error}");
}

#[test]
fn memory_ends_where_the_profile_says() {
    let mut b = board("gfx1151");
    let memory = profile("gfx1151").expect("known").memory as usize;
    let most = b.alloc(Kind::Device, memory - (1 << 30)).expect("reserved, not touched");
    let error = b.alloc(Kind::Device, 2 << 30).expect_err("refused");
    assert_eq!(error, BoardError::OutOfMemory { need: 2 << 30, free: 1 << 30 });
    b.free(most);
    b.alloc(Kind::Device, 2 << 30).expect("free again");
}

#[test]
fn offsets_beyond_two_to_the_31_cost_only_the_pages_touched() {
    let kernels = build("extern \"C\" __global__ void k(char* p, long long at) { p[at] = 42; }");
    let mut b = board("gfx942");
    let module = b.load(&kernels.image).expect("loads");
    let buffer = b.alloc(Kind::Device, 6 << 30).expect("memory");
    let at = 5usize << 30;
    b.launch(cmd(module, "k", 1, 1, vec![ptr(&buffer), Bound::I64(at as i64)]));
    b.copy_out(&buffer, at, 1);
    assert_eq!(b.wait(soon()).expect("runs").copied, [vec![42]]);
}

#[test]
fn a_kernel_reaches_host_kinds_as_the_profile_says_and_no_others() {
    let source = "extern \"C\" __global__ void k(int* p, int v) { p[0] = v; }";
    let kernels = build(source);
    for kind in [Kind::Managed, Kind::Pinned, Kind::Registered, Kind::MappedFile, Kind::Pageable] {
        let mut b = board("gfx942");
        let module = b.load(&kernels.image).expect("loads");
        let buffer = b.alloc(kind, 64).expect("memory");
        let allowed = b.facts().device_reads.contains(&kind);
        assert!(b.host_view(&buffer).is_ok());
        b.copy_in(&buffer, 0, &i32s(&[1]));
        b.launch(cmd(module, "k", 1, 1, vec![ptr(&buffer), Bound::I32(9)]));
        b.copy_out(&buffer, 0, 4);
        match b.wait(soon()) {
            Ok(done) => assert!(allowed && to_i32(&done.copied[0]) == [9], "{kind:?}"),
            Err(BoardError::Fault { detail, .. }) => {
                assert!(!allowed && detail.contains("not addressable by kernels"), "{kind:?}: {detail}");
            }
            Err(other) => panic!("{kind:?}: {other}"),
        }
    }
}

#[test]
fn device_memory_is_host_addressable_only_where_the_profile_says_so() {
    for (name, mapped) in [("gfx1151", true), ("gfx942", false)] {
        let mut b = board(name);
        let buffer = b.alloc(Kind::Device, 64).expect("memory");
        let view = b.host_view(&buffer);
        assert_eq!(view.is_ok(), mapped, "{name}");
        let address = b.device_ptr(&buffer);
        assert_ne!(address, 0);
        let maps = std::fs::read_to_string("/proc/self/maps").expect("maps");
        let inside = maps.lines().any(|l| {
            let (start, rest) = l.split_once('-').expect("a range");
            let end = rest.split(' ').next().expect("an end");
            let hex = |s| u64::from_str_radix(s, 16).expect("hex");
            (hex(start)..hex(end)).contains(&address)
        });
        assert_eq!(inside, mapped, "{name}");
        if let Err(e) = view {
            has(&e.to_string(), &["Device", "sim:gfx942", "host_reads"]);
        }
    }
}

#[test]
fn copies_outside_a_buffer_are_refused() {
    let mut b = board("gfx1151");
    let buffer = b.alloc(Kind::Device, 64).expect("memory");
    b.copy_out(&buffer, 61, 4);
    has(&b.wait(soon()).expect_err("refused").to_string(), &["bytes 61 to 65", "64 bytes"]);
    b.copy_in(&buffer, 62, &i32s(&[1]));
    has(&b.wait(soon()).expect_err("refused").to_string(), &["bytes 62 to 66", "64 bytes"]);
}

#[test]
fn a_template_kernel_and_one_without_c_linkage_do_not_build() {
    let error = try_build("template <class T> __global__ void k(T* p) { *p = 0; }").err().expect("refused").to_string();
    has(&error, &["k.hip:2", "template", "extern \"C\""]);
    let error = try_build("__global__ void k(int* p) { *p = 0; }").err().expect("refused").to_string();
    has(&error, &["k.hip:2", "C linkage"]);
    let error =
        try_build("extern \"C\" __global__ void k(int* p) { *p = nothing; }").err().expect("refused").to_string();
    has(&error, &["k.hip:2", "nothing"]);
    assert!(
        try_build("// extern \"C\" __global__ void k() {}\n")
            .err()
            .expect("refused")
            .to_string()
            .contains("defines no kernel")
    );
}

#[test]
fn kernels_made_by_macros_are_kernels() {
    let source = "#define DEFINE(name, T) extern \"C\" __global__ void name##_##T(T* p, T v) { p[threadIdx.x] = v; }\nDEFINE(fill, int)\nDEFINE(fill, float)\n";
    let kernels = build(source);
    let mut b = board("gfx1151");
    let module = b.load(&kernels.image).expect("loads");
    let out = upload(&mut b, &f32s(&[0.0; 2]));
    b.launch(cmd(module, "fill_float", 1, 2, vec![ptr(&out), Bound::F32(1.5)]));
    b.copy_out(&out, 0, 8);
    assert_eq!(to_f32(&b.wait(soon()).expect("runs").copied[0]), [1.5, 1.5]);
}
