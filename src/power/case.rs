//! The null candidates of one case, each judged by the case's own bars.

use crate::judge::nulls::{self, Candidate, FACTORS, Null, PLAIN, Right};
use crate::judge::spec::{Flush, Oracle, Output, OutputSpec};
use crate::judge::{self, Judged};
use crate::ops::{self, Arg, Inputs, Plan};
use crate::record::Tier;
use crate::run::answer::{self, Answer};
use crate::suite::Case;
use crate::tensor::DType;
use std::collections::BTreeMap;

/// What became of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A bar refuses it.
    Caught,
    /// Every bar passes it.
    Missed,
    /// It gives the right output.
    Immaterial,
    /// It cannot happen here, and why.
    Inapplicable(&'static str),
}

/// Smallest error that a bar refuses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Floor {
    /// Steps of the format, or the factor.
    pub size: f64,
    /// Relative to the right value.
    pub relative: f64,
}

/// A fault in one output.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// Kind of the fault.
    pub null: &'static str,
    /// What became of it.
    pub outcome: Outcome,
    /// Bars that refuse it, with the smallest size that they refuse where the fault has sizes.
    pub bars: BTreeMap<&'static str, Option<Floor>>,
}

/// Every fault in one output.
#[derive(Clone, Debug, PartialEq)]
pub struct Sheet {
    /// Output.
    pub output: &'static str,
    /// Its dtype.
    pub dtype: DType,
    /// Elements.
    pub elements: usize,
    /// Declared: no corruption can show.
    pub degenerate: bool,
    /// `bias` is asserted.
    pub biased: bool,
    /// One entry per kind of fault.
    pub cells: Vec<Cell>,
}

/// Every output of one case, or why it has none.
pub type Measured = Result<Vec<Sheet>, String>;

/// Measures a case.
pub fn measure(case: &Case) -> Measured {
    let solved = Solved::new(case)?;
    (0..solved.outputs().len()).map(|place| solved.sheet(case, place)).collect()
}

/// A case with its right answer.
pub(super) struct Solved {
    plan: Plan,
    inputs: Inputs,
    answer: Answer,
}

impl Solved {
    pub fn new(case: &Case) -> Result<Self, String> {
        let op = ops::find(&case.op).ok_or_else(|| format!("this assay has no op '{}'", case.op))?;
        let plan = op.plan(&case.params).map_err(|e| format!("illegal parameters: {e}"))?;
        let inputs = answer::inputs(&plan, case);
        let answer = answer::answer(op, case, &plan, &inputs);
        Ok(Self { plan, inputs, answer })
    }

    pub fn outputs(&self) -> Vec<(&Arg, &OutputSpec)> {
        self.plan.outputs().map(|(_, arg, spec)| (arg, spec)).collect()
    }

    /// Judges output `place` as the right answer has it, and passes it on with its result.
    pub fn with<R>(&self, case: &Case, place: usize, f: impl FnOnce(&Output, &Judged, &Right) -> R) -> R {
        let (arg, spec) = self.outputs()[place];
        let limits = case.limits_of(arg.name);
        let empty = Oracle::default();
        let reference = self.answer.reference.get(place).map_or(&[][..], |bytes| bytes);
        let out = Output {
            name: arg.name,
            dtype: arg.view.dtype,
            shape: &arg.view.shape,
            spec,
            device: reference,
            reference,
            oracle: self.answer.oracles.first().and_then(|(_, c)| c.get(place)).unwrap_or(&empty),
            other_paths: &[],
            limits: &limits,
            flush: Flush::default(),
        };
        let right = Right {
            dtype: out.dtype,
            class: spec.class,
            bytes: reference,
            row_len: spec.row_len.max(1),
            skipped: &spec.skipped_rows,
            oracle: &out.oracle.value,
            input: answer::twin(&self.plan, &self.inputs, arg),
        };
        f(&out, &judge::output(&out, Tier::Device), &right)
    }

    fn sheet(&self, case: &Case, place: usize) -> Result<Sheet, String> {
        let (arg, spec) = self.outputs()[place];
        self.with(case, place, |out, judged, right| {
            // Where the op writes nothing, no bar has anything to say.
            let silent = judged.assertions.is_empty() && judged.errors.is_empty();
            if !silent && !judged.accepted() {
                let failed = judged.assertions.iter().find(|a| !a.pass).map(|a| format!("bar '{}' fails", a.bar));
                let why = judged.errors.first().map(ToString::to_string).or(failed).unwrap_or_default();
                return Err(format!("output '{}': the right answer is not accepted: {why}", arg.name));
            }
            Ok(Sheet {
                output: arg.name,
                dtype: out.dtype,
                elements: right.len(),
                degenerate: spec.degenerate.is_some(),
                biased: judged.assertions.iter().any(|a| a.bar == "bias"),
                cells: cells(out, judged, right),
            })
        })
    }
}

fn cells(out: &Output, judged: &Judged, right: &Right) -> Vec<Cell> {
    let plain = PLAIN.iter().map(|&null| cell(out, judged, right, null.kind(), &[(null, None)]));
    let struck = right.place(|x| x.is_finite() && x != 0.0);
    let x = struck.map_or(1.0, |i| right.value(i).abs());
    let step = out.dtype.float().map_or(1.0, |f| f.ulp(x)) / x;
    let steps: Vec<_> = nulls::steps(out.dtype)
        .map(|k| (Null::Steps(k), Some(Floor { size: k as f64, relative: k as f64 * step })))
        .collect();
    let factors = FACTORS.map(|f| (Null::Scaled(f), Some(Floor { size: f, relative: f - 1.0 })));
    let sized = [steps.as_slice(), &factors].map(|sizes| cell(out, judged, right, sizes[0].0.kind(), sizes));
    plain.chain(sized).collect()
}

/// One kind of fault in its sizes, the smallest first.
fn cell(out: &Output, judged: &Judged, right: &Right, null: &'static str, sizes: &[(Null, Option<Floor>)]) -> Cell {
    let mut cell = Cell { null, outcome: Outcome::Immaterial, bars: BTreeMap::new() };
    for (null, floor) in sizes {
        match null.apply(right) {
            Candidate::Inapplicable(why) => cell.outcome = Outcome::Inapplicable(why),
            Candidate::Immaterial => {}
            Candidate::Wrong(bytes, touched) => {
                for bar in judge::refusing(out, judged, &bytes, &touched) {
                    cell.bars.entry(bar).or_insert(*floor);
                }
                cell.outcome = if cell.bars.is_empty() { Outcome::Missed } else { Outcome::Caught };
            }
        }
    }
    cell
}
