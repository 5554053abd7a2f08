//! Candidate kernels with one fault each must be caught for the right reason, and good ones must pass.
//!
//! Each candidate is a file in `tests/candidates`, laid over the embedded kernels as a user would: `assay run --kernels DIR --case ID`.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// What `assay run` made of a candidate.
struct Judged {
    exit: i32,
    stdout: String,
    stderr: String,
    case: Value,
}

impl Judged {
    /// Assertions of the device tier that failed, as `(bar, worst row, worst col)`.
    fn failed(&self) -> Vec<(String, Option<u64>, Option<u64>)> {
        let place = |a: &Value, key: &str| a["worst"][key].as_u64();
        self.case["assertions"]
            .as_array()
            .expect("assertions")
            .iter()
            .filter(|a| a["pass"] == false)
            .map(|a| (a["bar"].as_str().expect("bar").to_string(), place(a, "row"), place(a, "col")))
            .collect()
    }

    #[track_caller]
    fn fails_by(&self, bar: &str) -> (Option<u64>, Option<u64>) {
        assert_eq!(self.case["verdict"], "fail", "{}\n{}\n{:#}", self.stdout, self.stderr, self.case);
        assert_eq!(self.exit, 1, "{}", self.stdout);
        let failed = self.failed();
        let hit = failed.iter().find(|(b, ..)| b == bar);
        let (_, row, col) = hit.unwrap_or_else(|| panic!("not by {bar} but by {failed:?}"));
        (*row, *col)
    }

    #[track_caller]
    fn is_error_saying(&self, words: &[&str]) {
        assert_eq!(self.case["verdict"], "error", "{}\n{}\n{:#}", self.stdout, self.stderr, self.case);
        assert_eq!(self.exit, 3, "{}", self.stdout);
        let reason = self.case["reason"].as_str().expect("an ERROR has a reason");
        for word in words {
            assert!(reason.contains(word), "no '{word}' in: {reason}");
        }
    }
}

fn overlay(candidate: &str) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().expect("temp folder");
    let kernels = dir.path().join("kernels");
    std::fs::create_dir(&kernels).expect("folder");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/candidates").join(format!("{candidate}.hip"));
    std::fs::copy(source.with_file_name("common.h"), kernels.join("common.h")).expect("header is there");
    std::fs::copy(&source, kernels.join(format!("{candidate}.hip"))).expect("candidate is there");
    (dir, kernels)
}

fn assay(dir: &Path, kernels: &Path, case: &str, more: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_assay"))
        .args(["run", "--board", "sim:gfx1151", "--case", case, "--jobs", "1"])
        .arg("--kernels")
        .arg(kernels)
        .arg("--out")
        .arg(dir.join("out"))
        .args(more)
        .output()
        .expect("assay starts")
}

fn run(candidate: &str, case: &str, more: &[&str]) -> Judged {
    let (dir, kernels) = overlay(candidate);
    let output = assay(dir.path(), &kernels, case, more);
    let text = |b: &[u8]| String::from_utf8_lossy(b).into_owned();
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    let report = std::fs::read_to_string(dir.path().join("out/report.json"))
        .unwrap_or_else(|e| panic!("no report: {e}\n{stdout}\n{stderr}"));
    let report: Value = serde_json::from_str(&report).expect("report is JSON");
    Judged { exit: output.status.code().expect("exit code"), stdout, stderr, case: report["cases"][0].clone() }
}

const CAST: &str = "cast/dtype=f32,to=bf16,rows=9,cols=67";
const STRIDED: &str = "cast/dtype=f32,to=bf16,rows=11,cols=37,layout=strided_in";

const NORM: &str = "rms_norm/dtype=f32,rows=9,cols=100";
const SILU: &str = "silu_and_mul/dtype=bf16,rows=9,cols=67";
const MANY_ROWS: &str = "rms_norm/dtype=f32,rows=600,cols=17";
const ROPE: &str = "rope_from_cache/dtype=f32,pos_dtype=i32,tokens=11,heads=4,kv_heads=2,head_dim=16,rot=16";

fn cast(candidate: &str) -> Judged {
    run(candidate, CAST, &[])
}

#[test]
fn a_right_kernel_that_is_unlike_ours_passes() {
    let judged = cast("good_cast");
    assert_eq!(judged.case["verdict"], "pass", "{}\n{:#}", judged.stdout, judged.case);
    assert_eq!(judged.exit, 0);
    assert!(judged.stdout.contains("simulated"), "{}", judged.stdout);
}

#[test]
fn a_lost_last_row_is_found_unwritten_at_that_row() {
    assert_eq!(cast("row_tail_lost").fails_by("written"), (Some(8), Some(0)));
}

#[test]
fn a_lost_column_tail_is_found_unwritten_at_its_first_column() {
    assert_eq!(cast("unwritten_tail").fails_by("written"), (Some(0), Some(64)));
}

#[test]
fn a_store_past_the_end_breaks_the_guard_and_the_memory_bar() {
    let judged = cast("out_of_bounds_store");
    judged.fails_by("guard");
    judged.fails_by("memory");
}

#[test]
fn a_load_past_the_end_is_seen_though_the_numbers_are_right() {
    let judged = cast("read_past_the_end");
    judged.fails_by("memory");
    assert!(judged.failed().iter().all(|(bar, ..)| bar == "memory"), "{:?}", judged.failed());
}

#[test]
fn an_output_that_only_the_first_launch_computes_is_not_repeatable() {
    cast("stale_output").fails_by("repeat");
}

#[test]
fn truncation_is_told_from_rounding() {
    let judged = cast("truncated_rounding");
    judged.fails_by("bias");
    judged.fails_by("exact");
    judged.fails_by("path");
}

#[test]
fn one_nan_is_a_class_failure_at_its_place() {
    assert_eq!(cast("one_nan").fails_by("class"), (Some(4), Some(13)));
}

#[test]
fn one_infinity_is_a_class_failure_at_its_place() {
    assert_eq!(cast("one_infinity").fails_by("class"), (Some(4), Some(13)));
}

#[test]
fn an_ignored_row_stride_fails_from_the_first_row_on() {
    let judged = run("wrong_row_stride", STRIDED, &[]);
    judged.fails_by("row_nmse");
    judged.fails_by("bound");
}

#[test]
fn exchanged_rows_fail_by_their_own_rows() {
    let (row, _) = cast("rows_exchanged").fails_by("row_nmse");
    assert!(matches!(row, Some(2 | 3)), "{row:?}");
}

#[test]
fn a_written_input_is_seen_though_the_first_output_is_right() {
    let judged = cast("input_written");
    judged.fails_by("inputs");
    judged.fails_by("memory");
}

#[test]
fn a_followed_host_pointer_is_a_fault_with_its_address() {
    cast("host_pointer_followed").is_error_saying(&["fault", "0x5a0000001000", "cast_f32_bf16"]);
}

#[test]
fn a_divergent_barrier_is_an_error_with_both_places() {
    cast("divergent_barrier").is_error_saying(&["divergent barrier", "cast_f32_bf16", "divergent_barrier.hip"]);
}

#[test]
fn a_kernel_that_never_ends_costs_its_deadline_and_no_more() {
    run("never_ends", CAST, &["--timeout", "2s"]).is_error_saying(&["no completion within 2", "cast_f32_bf16"]);
}

#[test]
fn a_kernel_that_does_not_compile_shows_the_compilers_words() {
    cast("does_not_compile").is_error_saying(&["does_not_compile.hip", "error"]);
}

#[test]
fn a_case_of_size_0_cannot_pass_where_its_kernel_was_not_built() {
    let judged = run("does_not_compile", "cast/dtype=f32,to=bf16,rows=0,cols=67", &[]);
    judged.is_error_saying(&["was not built", "does_not_compile.hip"]);
}

#[test]
fn a_candidate_that_defines_nothing_we_ask_for_is_refused_with_the_nearest_name() {
    let (dir, kernels) = overlay("defines_nothing");
    let output = assay(dir.path(), &kernels, CAST, &[]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    for word in ["cast_f32_bf17", "cast_f32_bf16", "defines_nothing.hip"] {
        assert!(stderr.contains(word), "no '{word}' in: {stderr}");
    }
}

#[test]
fn a_norm_summed_in_another_order_passes() {
    let judged = run("good_rms_norm", NORM, &[]);
    assert_eq!(judged.case["verdict"], "pass", "{}\n{:#}", judged.stdout, judged.case);
}

#[test]
fn a_missing_barrier_is_a_race_whatever_the_numbers_are() {
    run("barrier_missing", NORM, &[]).fails_by("memory");
}

#[test]
fn shared_memory_reused_without_a_barrier_is_a_race() {
    // One block must walk several rows for the reuse to happen; many more rows than blocks do that.
    run("reuse_barrier_missing", MANY_ROWS, &[]).fails_by("memory");
}

#[test]
fn uninitialised_shared_memory_is_named_and_changes_the_result() {
    let judged = run("uninitialised_lds", NORM, &[]);
    judged.fails_by("memory");
    judged.fails_by("class");
}

#[test]
fn a_plain_read_modify_write_by_all_threads_is_a_race() {
    run("non_atomic_accumulation", NORM, &[]).fails_by("memory");
}

#[test]
fn silu_kept_in_f32_is_off_the_declared_path() {
    run("kept_f32_silu", SILU, &[]).fails_by("path");
}

#[test]
fn a_dropped_sine_term_fails_by_bound_and_row() {
    let judged = run("sin_term_dropped", ROPE, &[]);
    judged.fails_by("bound");
    judged.fails_by("row_nmse");
}
