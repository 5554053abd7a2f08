//! kill -9 of each process, Ctrl-C, and limits of the file size: what is in the journal stays, and a resume goes on.

mod run_support;

use assay::record::Verdict;
use assay::run::RunError;
use assay::run::journal::{self, FILE, Journal};
use run_support::{casts, finish, only, options, quietly, reason, verdicts};
use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process, setrlimit};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const SCRIPT: &str = "hang@rows=5,";

/// Runs 8 casts in a process of its own. Played by this very test binary: the test below that does nothing on its own.
fn supervisor(out: &Path, limit: Option<u64>) -> Child {
    let exe = std::env::current_exe().unwrap();
    let mut command = Command::new(exe);
    command.args(["--exact", "play_a_supervisor", "--nocapture"]).env("ASSAY_TEST_OUT", out);
    if let Some(limit) = limit {
        command.env("ASSAY_TEST_LIMIT", limit.to_string());
    }
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

#[test]
fn play_a_supervisor() {
    let Some(out) = std::env::var_os("ASSAY_TEST_OUT") else { return };
    let mut options = options(SCRIPT, Path::new(&out));
    options.timeout = Duration::from_secs(30);
    if let Ok(limit) = std::env::var("ASSAY_TEST_LIMIT") {
        let limit = limit.parse().ok();
        setrlimit(Resource::Fsize, Rlimit { current: limit, maximum: limit }).unwrap();
        options.board = "mock:".to_string();
        let error = quietly(&options, casts(500)).unwrap_err();
        assert!(matches!(error, RunError::Write { .. }), "{error}");
        return;
    }
    let _ = quietly(&options, casts(8));
}

/// Waits until the journal says that the hanging case began.
fn wait_for_hang(out: &Path) -> Journal {
    let until = Instant::now() + Duration::from_secs(20);
    loop {
        if let Ok(journal) = journal::read(out)
            && journal.started.contains(&4)
        {
            return journal;
        }
        assert!(Instant::now() < until, "the case never began");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn children(of: u32) -> Vec<u32> {
    let mut found = vec![];
    for task in std::fs::read_dir(format!("/proc/{of}/task")).into_iter().flatten().flatten() {
        let text = std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
        found.extend(text.split_whitespace().filter_map(|p| p.parse::<u32>().ok()));
    }
    found
}

fn signal(pid: u32, signal: Signal) {
    kill_process(Pid::from_raw(pid as i32).unwrap(), signal).unwrap();
}

fn gone(pid: u32) -> bool {
    // A zombie is gone too: its parent has not asked yet.
    std::fs::read_to_string(format!("/proc/{pid}/stat")).map_or(true, |s| s.contains(") Z "))
}

fn wait_until_gone(pid: u32) {
    let until = Instant::now() + Duration::from_secs(5);
    while !gone(pid) {
        assert!(Instant::now() < until, "process {pid} outlives its supervisor");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn kill_9_of_a_worker_costs_the_case_that_was_on_the_board() {
    let dir = tempfile::tempdir().unwrap();
    let mut child = supervisor(dir.path(), None);
    wait_for_hang(dir.path());
    let workers = children(child.id());
    assert_eq!(workers.len(), 1);
    signal(workers[0], Signal::KILL);
    assert!(child.wait().unwrap().success());
    let journal = journal::read(dir.path()).unwrap();
    assert!(reason(only(&journal, 4, Verdict::Error)).contains("SIGKILL"));
}

#[test]
fn kill_9_of_the_supervisor_takes_its_workers_along_and_a_resume_gives_the_same_verdicts() {
    let dir = tempfile::tempdir().unwrap();
    let mut child = supervisor(dir.path(), None);
    wait_for_hang(dir.path());
    let workers = children(child.id());
    signal(child.id(), Signal::KILL);
    child.wait().unwrap();
    workers.into_iter().for_each(wait_until_gone);
    let before = journal::read(dir.path()).unwrap();
    assert!(before.is_cut() && before.end.is_none());
    let mut options = options(SCRIPT, dir.path());
    options.timeout = Duration::from_millis(200);
    options.resume = true;
    let (_, resumed) = finish(&options, casts(8));
    let whole = tempfile::tempdir().unwrap();
    options.out = whole.path().to_path_buf();
    options.resume = false;
    let (_, unbroken) = finish(&options, casts(8));
    assert_eq!(verdicts(&resumed), verdicts(&unbroken));
    for (index, record) in &before.records {
        assert_eq!(record, &resumed.records[index], "a verdict was replaced");
    }
}

#[test]
fn ctrl_c_ends_the_run_with_a_whole_journal() {
    for which in [Signal::INT, Signal::TERM] {
        let dir = tempfile::tempdir().unwrap();
        let mut child = supervisor(dir.path(), None);
        wait_for_hang(dir.path());
        let begun = Instant::now();
        signal(child.id(), which);
        assert!(child.wait().unwrap().success());
        assert!(begun.elapsed() < Duration::from_secs(5));
        let journal = journal::read(dir.path()).unwrap();
        assert!(!journal.is_cut());
        assert_eq!(verdicts(&journal)[..4], [Verdict::Pass; 4]);
        assert!(reason(&journal.records[&4]).contains("interrupted"));
        assert_eq!(journal.records[&7].verdict, Verdict::NotRun);
        assert!(journal.notes.iter().any(|(kind, _)| kind == "interrupted"));
        let mut options = options(SCRIPT, dir.path());
        options.timeout = Duration::from_secs(1);
        options.resume = true;
        let (outcome, resumed) = finish(&options, casts(8));
        assert_eq!((outcome.counts.pass, outcome.counts.error), (7, 1), "a resume runs what was interrupted");
        assert_eq!(resumed.records[&7].verdict, Verdict::Pass);
    }
}

#[test]
fn a_limit_of_the_file_size_stops_the_run_and_keeps_what_is_written() {
    let dir = tempfile::tempdir().unwrap();
    // The header of 500 cases fits; their records do not.
    let mut child = supervisor(dir.path(), Some(120 << 10));
    assert!(child.wait().unwrap().success());
    let journal = journal::read(dir.path()).unwrap();
    assert!(!journal.records.is_empty() && journal.records.len() < 500);
    assert!(journal.dropped.is_empty(), "{:?}", journal.dropped);
    assert!(std::fs::metadata(dir.path().join(FILE)).unwrap().len() <= 120 << 10);
    let mut options = options("", dir.path());
    options.resume = true;
    let (outcome, resumed) = finish(&options, casts(500));
    assert_eq!(outcome.counts.pass, 500);
    assert!(resumed.records.len() == 500);
}

#[test]
fn kill_9_of_the_executor_costs_the_case_that_it_ran() {
    let dir = tempfile::tempdir().unwrap();
    let kernels = dir.path().join("kernels");
    std::fs::create_dir(&kernels).unwrap();
    let candidates = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/candidates");
    for name in ["common.h", "never_ends.hip"] {
        std::fs::copy(candidates.join(name), kernels.join(name)).unwrap();
    }
    let out = dir.path().join("out");
    let mut run = Command::new(env!("CARGO_BIN_EXE_assay"))
        .args(["run", "--board", "sim:gfx1151", "--jobs", "1", "--timeout", "60s", "--out"])
        .arg(&out)
        .arg("--kernels")
        .arg(&kernels)
        .args(["--case", "cast/dtype=f32,to=bf16,rows=9,cols=67", "--case", "cast/dtype=bf16,to=f32,rows=9,cols=67"])
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let until = Instant::now() + Duration::from_secs(60);
    while !journal::read(&out).is_ok_and(|j| !j.started.is_empty()) {
        assert!(Instant::now() < until, "the case never began");
        std::thread::sleep(Duration::from_millis(20));
    }
    let executors: Vec<u32> = children(run.id()).into_iter().flat_map(children).collect();
    assert_eq!(executors.len(), 1);
    signal(executors[0], Signal::KILL);
    assert_eq!(run.wait().unwrap().code(), Some(3));
    let journal = journal::read(&out).unwrap();
    assert!(reason(only(&journal, 0, Verdict::Error)).contains("device lost"));
}
