//! `assay power`: what the bars refuse, and that a suite which cannot see a fault says so.

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn assay(args: &[&str]) -> Output {
    let out = Command::new(env!("CARGO_BIN_EXE_assay")).args(args).stdin(Stdio::null()).output();
    out.expect("the binary runs")
}

fn power(args: &[&str]) -> (Value, i32) {
    let out = assay(&[&["power", "--json"], args].concat());
    let code = out.status.code().expect("an exit code");
    let doc = serde_json::from_slice(&out.stdout);
    (doc.unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&out.stderr))), code)
}

/// Measures a suite file with one block of cases; only its own cases.
fn suite(folder: &Path, case: &str) -> (Value, i32) {
    let path = folder.join("weak.toml");
    std::fs::write(&path, format!("[suite]\nname = \"weak\"\n\n[[case]]\n{case}\n")).unwrap();
    power(&["--suite", &path.to_string_lossy(), "suite=weak"])
}

fn blind(doc: &Value) -> Vec<&str> {
    doc["blind"].as_array().unwrap().iter().map(|b| b["null"].as_str().unwrap()).collect()
}

#[test]
fn the_smoke_suite_sees_every_fault_and_its_document_meets_the_schema() {
    let (doc, code) = power(&["--suite", "smoke"]);
    assert_eq!((code, blind(&doc)), (0, vec![]));
    let schema: Value = serde_json::from_slice(&assay(&["schema"]).stdout).unwrap();
    assert!(jsonschema::validator_for(&schema).unwrap().is_valid(&doc));
    let (again, _) = power(&["--suite", "smoke"]);
    assert_eq!(doc, again, "the same seed gives the same document");
    let add = doc["ops"].as_array().unwrap().iter().find(|o| o["op"] == "add").unwrap();
    let zeros = add["nulls"].as_array().unwrap().iter().find(|n| n["null"] == "zeros").unwrap();
    assert_eq!((&zeros["caught"], &zeros["material"], &zeros["bars"]["bound"]), (&2.into(), &2.into(), &2.into()));
    let floor = |null: &str, dtype: &str, bar: &str| {
        let floors = doc["floors"].as_array().unwrap();
        let found = floors.iter().find(|f| f["null"] == null && f["dtype"] == dtype && f["bar"] == bar);
        found.unwrap_or_else(|| panic!("no floor of {null} {dtype} {bar}"))["smallest"].as_f64().unwrap()
    };
    assert_eq!((floor("steps", "bf16", "ulp"), floor("scaled", "bf16", "bound")), (1.0, 1.01));
    assert!(floor("steps", "f32", "nmse") > floor("steps", "f32", "row_nmse"));
    for rate in doc["rates"].as_array().unwrap() {
        let [rate, low, high] = ["rate", "low", "high"].map(|k| rate[k].as_f64().unwrap());
        assert!(rate <= 0.15 && 0.5 < low && low <= high && high <= 1.0, "{rate} {low} {high}");
    }
}

#[test]
fn the_text_names_every_op_and_fault() {
    let out = assay(&["power", "--suite", "smoke"]);
    let text = String::from_utf8(out.stdout).unwrap();
    for word in ["rms_norm", "rows_exchanged", "not applicable: nothing is rounded", "blind spots: none", "19 cases"] {
        assert!(text.contains(word), "no '{word}' in {text}");
    }
}

#[test]
fn a_suite_with_loosened_bars_shows_its_blind_spots() {
    let folder = tempfile::tempdir().unwrap();
    let case = "op = \"add\"\ndtype = \"f32\"\nrows = 4\ncols = 16\n";
    let loose = "bars.ulp = 1e30\nbars.bound = 1e30\nbars.nmse = 1e30\nbars.row_nmse = 1e30\n";
    let (doc, code) = suite(folder.path(), &format!("{case}{loose}"));
    let wanted = ["zeros", "input_copied", "rows_shifted", "last_row_lost", "tail_lost", "rows_exchanged"];
    assert_eq!(code, 3);
    for null in wanted {
        assert!(blind(&doc).contains(&null), "{null} is not among {:?}", blind(&doc));
    }
    assert!(!blind(&doc).contains(&"nan"), "the class bar takes no limit");
    let (doc, code) = suite(folder.path(), case);
    assert_eq!((code, blind(&doc)), (0, vec![]));
}

#[test]
fn data_that_cannot_show_a_fault_is_a_blind_spot() {
    let folder = tempfile::tempdir().unwrap();
    let (doc, code) = suite(folder.path(), "op = \"add\"\ndtype = \"f32\"\ndata = \"constant\"\nrows = 4\ncols = 16\n");
    assert_eq!(code, 3);
    for null in ["rows_shifted", "rows_exchanged"] {
        let spot = doc["blind"].as_array().unwrap().iter().find(|b| b["null"] == null).unwrap();
        assert!(spot["why"].as_str().unwrap().contains("their data cannot show it"), "{spot}");
    }
}

#[test]
fn where_nothing_can_be_told_apart_nothing_was_asserted() {
    let (doc, code) = power(&["--case", "add/dtype=f32,rows=0,cols=4"]);
    assert_eq!((&doc["material"], code), (&0.into(), 3));
}

#[test]
fn declared_zeros_are_declared_blind_spots_and_no_failure() {
    let (doc, code) = power(&["--case", "matmul_bt/dtype=f32,m=4,n=6,k=0"]);
    assert!(doc["blind"].as_array().unwrap().iter().all(|b| b["declared"] == true), "{}", doc["blind"]);
    assert!(!blind(&doc).is_empty() && code == 0);
}
