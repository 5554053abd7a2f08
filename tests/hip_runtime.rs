//! The HIP runtime's loader and its errors, against a stand-in library built here: what needs a board with a fault needs none.

use assay::board::Image;
use assay::toolchain::Target;
use assay::toolchain::pack::Pack;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const CASE: &str = "mul_scalar/dtype=f32,rows=9,cols=67";

/// Builds the stand-in into `folder/lib`, as a ROCm install has it.
fn stand_in(folder: &Path, old: bool) -> PathBuf {
    let lib = folder.join("lib");
    std::fs::create_dir_all(&lib).unwrap();
    let mut cc = Command::new(std::env::var("CC").unwrap_or("cc".into()));
    cc.args(["-shared", "-fPIC", "-w", "-O1", "-o"]).arg(lib.join("libamdhip64.so"));
    cc.args(old.then_some("-DOLD")).arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/standin/hip.c"));
    assert!(cc.status().expect("a C compiler").success());
    folder.to_path_buf()
}

/// A pack with an image that no board would take, so that no compiler for AMD targets is needed.
fn pack(folder: &Path) -> PathBuf {
    let image = folder.join("image");
    std::fs::write(&image, "no code object").unwrap();
    let image = Image { path: image, sanitised: None };
    let mut pack = Pack::new();
    for target in ["gfx1151", "gfx90a"] {
        let symbols = vec!["mul_scalar_f32".to_string()];
        pack.add(&Target::Amd(target.into()), "elementwise/mul_scalar.hip", symbols, &image).unwrap();
    }
    let path = folder.join("kernels.pack");
    pack.write(&path, None).unwrap();
    path
}

fn run(root: &Path, mode: &str, args: &[&str]) -> (Output, String) {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_assay"));
    command.args(["run", "--board", "hip:0", "--case", CASE, "--timeout", "500ms"]).args(args);
    command.arg("--kernels-pack").arg(pack(folder.path())).arg("--out").arg(folder.path().join("out"));
    command.env("ROCM_PATH", root).env("ASSAY_STANDIN", mode).env("TMPDIR", folder.path()).stdin(Stdio::null());
    let out = command.output().unwrap();
    let text = String::from_utf8_lossy(&out.stdout).into_owned() + &String::from_utf8_lossy(&out.stderr);
    (out, text)
}

#[test]
fn what_goes_wrong_on_a_board_is_named_and_never_passes() {
    let folder = tempfile::tempdir().unwrap();
    let root = stand_in(folder.path(), false);
    let table = [
        ("no_device", 3, "no device: hipGetDeviceCount: hipErrorNoDevice, code 100; /dev/kfd"),
        ("old_no_device", 3, "no device: hipInit: hipErrorInvalidDevice, code 101; /dev/kfd"),
        ("contradiction", 3, "the runtime contradicts itself: properties say"),
        ("no_arch", 3, "'something' is no architecture name"),
        ("no_memory", 3, "out of memory: "),
        ("wrong_arch", 3, "the board needs gfx1151"),
        ("fault", 3, "memory fault in mul_scalar_f32: hipEventQuery: hipErrorIllegalAddress"),
        ("hang", 3, "no completion within 500 ms (--timeout)"),
        ("lost", 4, "hipStreamCreateWithFlags"),
        // The launch is said to be done and nothing was computed.
        ("nothing", 1, "FAIL mul_scalar"),
    ];
    for (mode, code, words) in table {
        let (out, text) = run(&root, mode, &[]);
        assert!(text.contains(words), "{mode}: wanted '{words}' in: {text}");
        assert_eq!(out.status.code(), Some(code), "{mode}: {text}");
    }
}

#[test]
fn a_kernel_that_does_nothing_is_caught_as_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let root = stand_in(folder.path(), false);
    let (_, text) = run(&root, "nothing", &[]);
    assert!(text.contains("written on out"), "{text}");
}

#[test]
fn a_library_of_the_old_layout_gives_the_architecture_with_its_features() {
    let folder = tempfile::tempdir().unwrap();
    let root = stand_in(folder.path(), true);
    let (_, text) = run(&root, "wrong_arch", &[]);
    assert!(text.contains("the board needs gfx90a"), "{text}");
}

#[test]
fn an_index_that_no_device_has_is_no_board() {
    let folder = tempfile::tempdir().unwrap();
    let root = stand_in(folder.path(), false);
    let (out, text) = run(&root, "", &["--board", "hip:3"]);
    assert!(out.status.code() == Some(2) || text.contains("needs hip:3"), "{text}");
}
