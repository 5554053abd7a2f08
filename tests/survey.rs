//! `assay survey` on simulated boards: every probe answers yes and no, and agrees with what the profile enforces.

use assay::survey::model::{Drain, Seen, Survey};
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn assay(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_assay")).args(args).stdin(Stdio::null()).output().expect("the binary runs")
}

fn survey(board: &str) -> Survey {
    let out = assay(&["survey", "--json", "--board", board]);
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    serde_json::from_slice(&out.stdout).expect("a survey")
}

/// (host reads, host writes, kernel reads, kernel reads from the middle) of a kind.
fn seen(survey: &Survey, kind: &str) -> [Seen; 4] {
    let row = survey.memory.iter().find(|m| m.kind == kind).expect("a row for every kind");
    [row.host.reads.seen, row.host.writes.seen, row.device.reads.seen, row.device.reads_middle.seen]
}

const WORKS: [Seen; 4] = [Seen::Works; 4];
const HOST_ONLY: [Seen; 4] = [Seen::Works, Seen::Works, Seen::Faults, Seen::Faults];
const DEVICE_ONLY: [Seen; 4] = [Seen::Faults, Seen::Faults, Seen::Works, Seen::Works];

#[test]
fn an_integrated_board_without_pageable_access_gives_two_different_answers() {
    let survey = survey("sim:gfx1151");
    for kind in ["device", "managed", "pinned", "registered"] {
        assert_eq!(seen(&survey, kind), WORKS, "{kind}");
    }
    for kind in ["mapped_file", "pageable"] {
        assert_eq!(seen(&survey, kind), HOST_ONLY, "{kind}");
    }
    assert!(survey.findings.is_empty(), "{:?}", survey.findings);
    assert!(!survey.policy.reference_tier && !survey.policy.host_memory_on_device);
    assert!(survey.policy.why.starts_with("the host could use device memory, but"), "{}", survey.policy.why);
    assert!(matches!(survey.drain, Drain::Shown { .. }));
    assert!(survey.board.simulated && survey.conforming);
}

#[test]
fn a_discrete_board_of_64_lanes_keeps_its_memory_to_itself() {
    let survey = survey("sim:gfx942");
    assert_eq!(seen(&survey, "device"), DEVICE_ONLY);
    assert!(survey.findings.is_empty(), "{:?}", survey.findings);
    let lanes = survey.capabilities.iter().find(|f| f.name == "lanes that vote together").expect("measured");
    assert_eq!(lanes.value, "64");
}

/// A profile made from gfx1151's by exchanging text.
fn profile(folder: &Path, changes: &[(&str, &str)]) -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/board/profiles/gfx1151.toml");
    let mut text = std::fs::read_to_string(path).unwrap();
    for (from, to) in changes {
        assert!(text.contains(from), "{from}");
        text = text.replacen(from, to, 1);
    }
    let path = folder.join("p.toml");
    std::fs::write(&path, text).unwrap();
    format!("sim:{}", path.display())
}

#[test]
fn a_board_whose_kernels_read_ordinary_memory_is_eligible_for_the_reference_tier() {
    let folder = tempfile::tempdir().unwrap();
    let all = r#"device_reads = ["device", "managed", "pinned", "registered", "mapped_file", "pageable"]"#;
    let board =
        profile(folder.path(), &[("pageable = false", "pageable = true"), ("device_reads = ", &format!("{all} #"))]);
    let survey = survey(&board);
    for kind in ["device", "managed", "pinned", "registered", "mapped_file", "pageable"] {
        assert_eq!(seen(&survey, kind), WORKS, "{kind}");
    }
    assert!(survey.policy.reference_tier && survey.policy.host_memory_on_device, "{:?}", survey.policy);
}

#[test]
fn managed_memory_that_is_not_there_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let board = profile(folder.path(), &[("managed = true", "managed = false")]);
    assert_eq!(seen(&survey(&board), "managed"), [Seen::Refused; 4]);
}

#[test]
fn a_published_survey_fails_after_any_one_byte_edit() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("pub");
    let place = dir.to_str().unwrap();
    assert!(assay(&["survey", "--publish", place]).status.success());
    assert!(assay(&["report", "--verify", place]).status.success());
    for entry in std::fs::read_dir(&dir).unwrap().flatten() {
        let good = std::fs::read(entry.path()).unwrap();
        for at in [0, good.len() / 2, good.len() - 1] {
            let mut bytes = good.clone();
            bytes[at] ^= 1;
            std::fs::write(entry.path(), &bytes).unwrap();
            assert_eq!(assay(&["report", "--verify", place]).status.code(), Some(1), "{:?} byte {at}", entry.path());
        }
        std::fs::write(entry.path(), good).unwrap();
    }
    std::fs::write(dir.join("more"), "").unwrap();
    assert_eq!(assay(&["report", "--verify", place]).status.code(), Some(1), "an unlisted file");
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    let text = std::fs::read_to_string(dir.join("survey.json")).unwrap();
    assert!(!text.contains(folder.path().to_str().unwrap()));
    assert!(host.trim().is_empty() || !text.contains(&format!("\"{}\"", host.trim())));
}

#[test]
fn without_a_board_there_is_no_survey() {
    let out = assay(&["survey", "--board", "sim:nothing"]);
    assert_eq!(out.status.code(), Some(2));
    let out = assay(&["survey", "--board", "cuda:99"]);
    assert_eq!(out.status.code(), Some(3), "{}", String::from_utf8_lossy(&out.stderr));
}
