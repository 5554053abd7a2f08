//! Bad input: each is refused with a clear message and exit code 2, before anything runs.

use std::path::Path;
use std::process::{Command, Output, Stdio};

fn assay(args: &[&str]) -> Output {
    let out = Command::new(env!("CARGO_BIN_EXE_assay")).args(args).stdin(Stdio::null()).output();
    out.expect("the binary runs")
}

fn refused(args: &[&str], message: &str) {
    let out = assay(args);
    let stderr = String::from_utf8_lossy(&out.stderr);
    assert!(stderr.contains(message), "{args:?}: wanted '{message}' in: {stderr}");
    assert_eq!(out.status.code(), Some(2), "{args:?}: {stderr}");
    assert!(out.stdout.is_empty(), "{args:?} printed to standard output");
}

fn suite(folder: &Path, text: &str) -> String {
    let path = folder.join("s.toml");
    std::fs::write(&path, text).unwrap();
    path.to_string_lossy().into_owned()
}

const HEAD: &str = "[suite]\nname = \"mine\"\n[[case]]\nop = \"cast\"\ndtype = \"f32\"\nto = \"bf16\"\n";

#[test]
fn bad_words_on_the_command_line_are_refused() {
    let table: &[(&[&str], &str)] = &[
        (&["list", "op=cats"], "did you mean 'cast'?"),
        (&["list", "dtype=bf61"], "did you mean 'bf16'?"),
        (&["list", "dtyp=bf16"], "no op has a key 'dtyp'; did you mean 'dtype'?"),
        (&["list", "data=norml"], "did you mean 'normal'?"),
        (&["list", "catss"], "did you mean 'cast'?"),
        (&["list", "zzzzzz"], "matches no case"),
        (&["power", "op=cats"], "did you mean 'cast'?"),
        (&["power", "--suite", "smokee"], "did you mean 'smoke'?"),
        (&["list", "/(/"], "unclosed group"),
        (&["list", "op=cast", "/^nothing/"], "matches no case"),
        (&["list", "dtype=f32", "to=f32,x"], "matches no case"),
        (&["list", "--case", "cats/dtype=f32"], "unknown op 'cats'; did you mean 'cast'?"),
        (&["list", "--case", "cast/dtype=f32,to=bf16,rows=-1,cols=3"], "outside 0..="),
        (&["list", "--case", "cast/dtype=f32,to=bf16,rows=3"], "needs the key 'cols'"),
        (&["list", "--case", "cast/dtype=f32,to=bf16,rows=3,clos=3"], "has no key 'clos'; did you mean 'cols'?"),
        (&["list", "--shard", "0/4"], "1 <= i <= n"),
        (&["list", "--shard", "5/4"], "1 <= i <= n"),
        (&["list", "--seed=-1"], "--seed"),
        (&["list", "--suite", "elementwisee"], "did you mean 'elementwise'?"),
        (&["list", "--suite", "./no/such.toml"], "cannot read suite ./no/such.toml"),
        (&["list", "--suite", "/"], "cannot read suite /"),
        (&["ops", "show", "cats"], "unknown op 'cats'; did you mean 'cast'?"),
        (&["explain", "cats"], "unknown op 'cats'"),
        (&["run", "--timeout", "1x"], "unknown unit 'x'"),
        (&["run", "--timeout", "0s"], "longer than 0"),
        (&["run", "--jobs", "0"], "--jobs"),
        (&["run", "--repeat", "1"], "--repeat"),
        (&["run", "--require-hardware"], "--require-hardware refuses it"),
        (&["run", "--resume", "/no/such/folder"], "cannot read the journal"),
        (&["run", "--resume", "x", "--case", "cast"], "cannot be used with"),
        (&["report", "/no/such/file.json"], "cannot read /no/such/file.json"),
        (&["report", "/no/such/journal"], "cannot read the journal"),
        (&["report"], "FILE"),
        (&["report", "x", "--format", "xml"], "invalid value 'xml'"),
        (&["rnu"], "unrecognized subcommand"),
        (&[], "Usage"),
    ];
    for (args, message) in table {
        refused(args, message);
    }
}

#[test]
fn bad_suites_are_refused_with_file_and_line() {
    let folder = tempfile::tempdir().unwrap();
    let table: &[(String, usize, &str)] = &[
        (HEAD.replace("cast", "cats"), 4, "unknown op 'cats'; did you mean 'cast'?"),
        (HEAD.replace("\"f32\"", "\"f322\""), 5, "did you mean 'f32'?"),
        (format!("{HEAD}rows = 3\ncosl = 3\n"), 8, "has no key 'cosl'; did you mean 'cols'?"),
        (format!("{HEAD}rows = 3\ncols = 3\nbars.ulpp = 1.0\n"), 9, "unknown bar 'ulpp'; did you mean 'ulp'?"),
        (format!("{HEAD}rows = 3\ncols = 3\nbars.ulp = nan\n"), 9, "a limit is a finite number >= 0"),
        (format!("{HEAD}rows = 3\ncols = 3\nbars.ulp = -1\n"), 9, "a limit is a finite number >= 0"),
        (format!("{HEAD}rows = 3\ncols = 3\nbars.ulp = inf\n"), 9, "a limit is a finite number >= 0"),
        (format!("{HEAD}rows = 3\ncols = 3\nbars.ulp = 1e400\n"), 9, "a limit is a finite number >= 0"),
        (format!("{HEAD}rows = 3\ncols = 3\nbars.ulp = \"\"\n"), 9, "a limit is a finite number >= 0"),
        (format!("{HEAD}rows = 3\ncols = 3\nbars.ulp = \"loose\"\n"), 9, "a limit is a finite number >= 0"),
        (format!("{HEAD}rows = 3\ncols = 3\nbars.ulp =\n"), 9, ""),
        (
            format!("{HEAD}rows = {:?}\ncols = {:?}\n", (1..500).collect::<Vec<_>>(), (1..500).collect::<Vec<_>>()),
            4,
            "249001 cases",
        ),
        (
            format!(
                "{HEAD}rows = 3\ncols = 3\n[[case]]\nop = \"cast\"\ndtype = \"f32\"\nto = \"bf16\"\nrows = 3\ncols = 3\n"
            ),
            10,
            "is planned twice",
        ),
    ];
    for (text, line, message) in table {
        let path = suite(folder.path(), text);
        refused(&["list", "--suite", &path], &format!("s.toml:{line}: "));
        refused(&["run", "--suite", &path], message);
    }
}

#[test]
fn a_suite_that_is_no_text_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.toml");
    std::fs::write(&path, [0xff, 0xfe, 0x00]).unwrap();
    refused(&["list", "--suite", path.to_str().unwrap()], "cannot read suite");
}

#[test]
fn a_closed_pipe_is_no_panic() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_assay"))
        .arg("list")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let out = child.wait_with_output().unwrap();
    assert_eq!(out.status.code(), Some(0));
    assert!(out.stderr.is_empty(), "{}", String::from_utf8_lossy(&out.stderr));
}

#[test]
fn a_full_disk_behind_standard_output_is_told() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let out = Command::new(env!("CARGO_BIN_EXE_assay")).arg("list").stdout(full).output().unwrap();
    assert_eq!(out.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&out.stderr).contains("cannot write standard output"));
}

#[test]
fn help_names_the_exit_codes() {
    for args in [&["--help"][..], &["run", "--help"]] {
        let out = assay(args);
        assert_eq!(out.status.code(), Some(0));
        let text = String::from_utf8(out.stdout).unwrap();
        assert!(text.contains("70  a defect of assay itself"), "{text}");
    }
}

#[test]
fn shards_part_the_plan() {
    let lines = |args: &[&str]| -> Vec<String> {
        String::from_utf8(assay(args).stdout).unwrap().lines().map(str::to_string).collect()
    };
    let mut whole = lines(&["list"]);
    let mut parts: Vec<String> = (1..=3).flat_map(|i| lines(&["list", "--shard", &format!("{i}/3")])).collect();
    whole.sort();
    parts.sort();
    assert_eq!(whole, parts);
    assert!(!whole.is_empty());
}

#[test]
fn a_standard_error_that_cannot_be_written_changes_no_exit_code() {
    for words in [&["list", "zzz"][..], &["list", "/(/"], &["run", "--case", "nothing/x=1"]] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_assay"));
        assert_eq!(command.args(words).stderr(full).status().unwrap().code(), Some(2), "{words:?}");
    }
}

#[test]
fn a_journal_that_is_no_regular_file_is_refused_and_not_read_for_ever() {
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink("/dev/zero", folder.path().join("journal.jsonl")).unwrap();
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_assay"));
    let out = command.arg("report").arg(folder.path()).output().unwrap();
    assert_eq!(out.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&out.stderr).contains("not a regular file"));
}
