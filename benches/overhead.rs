//! Fixed overhead of a case: 10,000 cases of 64 elements on the mock board, everything but the board's own work included (inputs,
//! reference, oracle, guards, three launches, bars, canaries, journal, pipeline). Run with `cargo bench --bench overhead`.

#[path = "../tests/run_support/mod.rs"]
mod run_support;

use assay::fixture::place::{self, Content, Space};
use assay::ops::REGISTRY;
use assay::suite::{Case, parse_id};
use assay::tensor::{DType, View};
use run_support::quietly;
use std::time::Instant;

const CASES: u64 = 10_000;

/// Cases of 64 elements with 2, 3 and 4 buffers.
const IDS: [(usize, &str); 3] = [
    (2, "cast/dtype=f32,to=bf16,rows=1,cols=64"),
    (3, "add/dtype=f32,rows=4,cols=16"),
    (4, "rms_norm/dtype=f32,residual=f32,rows=4,cols=16"),
];

fn main() {
    println!("{:<58} {:>12}", "what", "figure");
    for (buffers, id) in IDS {
        for jobs in [1, 2] {
            run(buffers, id, jobs);
        }
    }
    paint();
}

fn run(buffers: usize, id: &str, jobs: usize) {
    let (op, params, place) = parse_id(REGISTRY, id).expect("a legal id");
    let dir = tempfile::tempdir().expect("a folder");
    let mut options = run_support::options("", dir.path());
    options.jobs = Some(jobs);
    let case = |index| Case {
        index,
        id: format!("{id},n={index}"),
        suite: "bench".to_string(),
        op: op.name().to_string(),
        params: params.clone(),
        place,
        limits: Default::default(),
        seed: 0,
    };
    let cases = (0..CASES).map(case).collect();
    let begun = Instant::now();
    let outcome = quietly(&options, cases).expect("a run");
    let each = begun.elapsed().as_secs_f64() * 1e6 / CASES as f64;
    assert_eq!(outcome.counts.pass, CASES);
    let bytes = std::fs::metadata(&outcome.journal).map_or(0, |m| m.len()) / CASES;
    println!("{:<58} {each:>9.1} us", format!("wall a case, {buffers} buffers, {jobs} worker(s)"));
    println!("{:<58} {bytes:>9} B", "journal a case");
}

/// Painting both images of a large region.
fn paint() {
    let view = View::packed(DType::F32, &[1024, 4096]);
    let space = Space { bytes: view.bytes(), guard: place::guard(&view, 4096) };
    let region = place::guarded(&[space, space]).expect("small");
    let given = vec![1u8; view.bytes()];
    let whole = vec![std::ops::Range { start: 0, end: view.bytes() }];
    let buffers = [(&view, Content::Given { packed: &given, nan_gap: true }), (&view, Content::Poisoned(&whole))];
    let mut image = vec![];
    place::paint(&region, &buffers, &mut image);
    let begun = Instant::now();
    for _ in 0..10 {
        place::paint(&region, &buffers, &mut image);
    }
    let each = begun.elapsed().as_secs_f64() * 1e9 / (10 * region.bytes) as f64;
    println!("{:<58} {each:>9.3} ns", "painting an image, a byte");
}
