//! From what the board brought back to the record of the case. Refuses to compute figures: the judge does.

use super::job::{Bench, Job, Ran, Refusal, ms};
use super::plan::unjudged;
use crate::record::{Assertion, CaseRecord, Tier, Verdict};
use std::time::Instant;

/// Judges a case.
pub fn judge(job: &Job, ran: Ran, bench: &Bench) -> CaseRecord {
    let begun = Instant::now();
    let mut record = unjudged(&bench.options, &job.case, Verdict::Pass, String::new());
    record.reason = None;
    for snapshot in &ran.snapshots {
        if snapshot.bytes.len() != job.region.bytes {
            let text = format!("the board brought back {} bytes of {}", snapshot.bytes.len(), job.region.bytes);
            return super::worker::unjudged(&bench.options, job, Refusal::error(text));
        }
    }
    for ((i, arg, _), reference) in job.plan.outputs().zip(&job.reference) {
        let got = arg.view.gather(&ran.snapshots[0].bytes[job.region.slots[i].data.clone()]);
        let pass = got == *reference;
        record.assertions.push(Assertion {
            bar: "exact".to_string(),
            on: arg.name.to_string(),
            tier: Tier::Device,
            pass,
            figure: None,
            limit: None,
            elements: got.len() as u64,
            worst: None,
            note: None,
        });
        if !pass {
            record.verdict = Verdict::Fail;
        }
    }
    record.timings = job.timings.clone();
    record.timings.judge_ms = ms(begun);
    record
}
