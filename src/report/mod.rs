//! Reports: folds over the journal, in every format. Refuses to judge anything again.
//!
//! A report in any format carries the same verdict, counts and exit code, because all of them render one [`Report`].

mod csv;
mod docs;
mod explain;
mod fold;
mod junit;
mod markdown;
mod power;
mod power_docs;
mod resemble;
mod text;

pub use csv::csv;
pub use docs::{
    Check, DoctorDoc, Element, ExplainDoc, Hint, KernelDoc, ListDoc, OpDoc, OpsDoc, OutputDoc, ParamDoc, schema, tool,
};
pub use explain::{explain_case, explain_record, explain_text};
pub use fold::{FoldError, fold, merge};
pub use junit::junit;
pub use markdown::markdown;
pub use power::power_text;
pub use power_docs::{
    BlindSpotDoc, CellDoc, FloorDoc, NullDoc, OpPowerDoc, OutputPowerDoc, PowerDoc, RateDoc, UnmeasuredDoc,
};
pub use resemble::{Likeness, Sample, resemble};
pub use text::{dearest, failure, op_rows, summary, verdict_line, verdict_word};

use crate::record::Report;

/// The JSON text of a report, as it stands in `report.json`.
pub fn json(report: &Report) -> String {
    let mut text = serde_json::to_string_pretty(report).expect("a report has string keys only");
    text.push('\n');
    text
}
