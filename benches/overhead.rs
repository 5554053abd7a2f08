//! Fixed overhead of a case: 10,000 cases of 64 elements on the mock board, everything but the board's own work included (guards, three
//! launches, journal, pipeline). Run with `cargo bench --bench overhead`.

#[path = "../tests/run_support/mod.rs"]
mod run_support;

use assay::fixture::place::{self, Content, Space};
use assay::tensor::{DType, View};
use run_support::{cast, quietly};
use std::time::Instant;

const CASES: u64 = 10_000;

fn main() {
    println!("{:<58} {:>12}", "what", "figure");
    for jobs in [1, 2] {
        let dir = tempfile::tempdir().expect("a folder");
        let mut options = run_support::options("", dir.path());
        options.jobs = Some(jobs);
        let cases = (0..CASES).map(|i| {
            let mut case = cast(i, 1, 64);
            case.id = format!("{},n={i}", case.id);
            case
        });
        let cases = cases.collect();
        let begun = Instant::now();
        let outcome = quietly(&options, cases).expect("a run");
        let each = begun.elapsed().as_secs_f64() * 1e6 / CASES as f64;
        assert_eq!(outcome.counts.pass, CASES);
        let bytes = std::fs::metadata(&outcome.journal).map_or(0, |m| m.len()) / CASES;
        println!("{:<58} {each:>9.1} us", format!("wall a case, {jobs} worker(s)"));
        println!("{:<58} {bytes:>9} B", "journal a case");
    }
    paint();
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
