//! Cases on the simulated board: every bar that a case owes is asserted, and what cannot run says so.

mod run_support;

use assay::record::{CaseRecord, Tier, Verdict};
use assay::run::Options;
use assay::suite::Placement;
use run_support::{cast, finish, options, reason};
use std::collections::BTreeSet;
use std::path::Path;

fn sim(out: &Path) -> Options {
    let mut options = options("", out);
    options.board = "sim:gfx1151".to_string();
    options
}

fn bars(record: &CaseRecord, tier: Tier) -> BTreeSet<&str> {
    record.assertions.iter().filter(|a| a.tier == tier).map(|a| a.bar.as_str()).collect()
}

#[test]
fn a_case_asserts_every_run_time_bar_and_both_tiers() {
    let dir = tempfile::tempdir().unwrap();
    let (_, journal) = finish(&sim(dir.path()), vec![cast(0, 9, 67)]);
    let record = &journal.records[&0];
    assert_eq!(record.verdict, Verdict::Pass, "{:?}", record.reason);
    let device = bars(record, Tier::Device);
    for bar in
        ["guard", "inputs", "written", "repeat", "schedule", "memory", "launches", "native", "class", "ulp", "bound"]
    {
        assert!(device.contains(bar), "no {bar} in {device:?}");
    }
    assert!(bars(record, Tier::Reference).contains("bound"));
    assert!(record.canaries.run > 0 && record.canaries.refused == record.canaries.run);
    assert!(record.assertions.iter().all(|a| a.elements > 0));
}

#[test]
fn a_case_of_no_rows_asserts_what_it_can_and_the_next_one_passes() {
    let dir = tempfile::tempdir().unwrap();
    let (_, journal) = finish(&sim(dir.path()), vec![cast(0, 0, 67), cast(1, 3, 67)]);
    let record = &journal.records[&0];
    assert_eq!(record.verdict, Verdict::Pass, "{:?}", record.reason);
    assert!(bars(record, Tier::Device).is_superset(&["guard", "launches", "no_error"].into()));
    assert_eq!(journal.records[&1].verdict, Verdict::Pass);
}

#[test]
fn buffers_that_end_against_a_sealed_page_pass_too() {
    let dir = tempfile::tempdir().unwrap();
    let mut case = cast(0, 5, 33);
    case.place = Placement::Flush;
    let (_, journal) = finish(&sim(dir.path()), vec![case]);
    assert_eq!(journal.records[&0].verdict, Verdict::Pass, "{:?}", journal.records[&0].reason);
}

#[test]
fn what_a_simulator_cannot_do_in_time_is_left_to_hardware() {
    let dir = tempfile::tempdir().unwrap();
    let (outcome, journal) = finish(&sim(dir.path()), vec![cast(0, 1 << 14, 1 << 16), cast(1, 2, 20)]);
    let first = &journal.records[&0];
    assert_eq!(first.verdict, Verdict::NotRun);
    assert!(reason(first).contains("left to hardware") || reason(first).contains("out of memory"), "{}", reason(first));
    assert_eq!(journal.records[&1].verdict, Verdict::Pass);
    assert_eq!((outcome.counts.not_run, outcome.counts.pass), (1, 1));
}

#[test]
fn a_dump_holds_inputs_reference_oracle_and_device_outputs() {
    let dir = tempfile::tempdir().unwrap();
    let mut options = sim(dir.path());
    options.dump = Some(dir.path().join("dump"));
    finish(&options, vec![cast(0, 3, 20)]);
    let file = std::fs::read_dir(dir.path().join("dump")).unwrap().next().unwrap().unwrap().path();
    let bytes = std::fs::read(file).unwrap();
    let tensors = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    let names: BTreeSet<&str> = tensors.names().into_iter().collect();
    assert_eq!(names, ["bound.out", "device.out", "input.in", "oracle.out", "reference.out"].into());
    assert_eq!(tensors.tensor("device.out").unwrap().data(), tensors.tensor("reference.out").unwrap().data());
    assert_eq!(tensors.tensor("oracle.out").unwrap().shape(), [3, 20]);
}

#[test]
fn an_unknown_board_is_refused_with_the_known_ones() {
    let dir = tempfile::tempdir().unwrap();
    let mut options = sim(dir.path());
    for (id, word) in [("sim:gfx9", "gfx1151"), ("tpu:0", "sim:"), ("mock:explode", "exit-hang")] {
        options.board = id.to_string();
        let error = run_support::quietly(&options, vec![cast(0, 1, 1)]).unwrap_err();
        assert!(error.to_string().contains(word) && error.exit_code() == 2, "{error}");
    }
}
