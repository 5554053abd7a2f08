//! Judges one output of one case for one tier: every bar of its class as an assertion, or a reason why it is absent.

use super::error::JudgeError;
use super::figures::{self, BarFigure, Input, Partial};
use super::limits::Limits;
use super::spec::{Class, Oracle, Output};
use super::{exact, worst};
use crate::record::{Absent, Assertion, PathCount, Tier};
use crate::tensor::DType;

/// What the bars say of one output.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Judged {
    /// Assertions.
    pub assertions: Vec<Assertion>,
    /// Bars that do not apply.
    pub absent: Vec<Absent>,
    /// Mismatch counts per rounding path (device tier).
    pub paths: Vec<PathCount>,
    /// Why it could not be judged; empty when it could.
    pub errors: Vec<JudgeError>,
    /// Partials of the pass, for canaries. Empty for outputs that are compared by bits.
    pub(super) partials: Vec<Partial>,
}

impl Judged {
    /// Judged without error, something was compared, and everything passed.
    pub fn accepted(&self) -> bool {
        self.errors.is_empty() && !self.assertions.is_empty() && self.assertions.iter().all(|a| a.pass)
    }
}

/// Judges `out`. For [`Tier::Reference`] give the reference's bytes as `device`: it is held against the oracle alone.
pub fn output(out: &Output, tier: Tier) -> Judged {
    let mut judged = Judged::default();
    if let Err(e) = check(out) {
        judged.errors.push(e);
        return judged;
    }
    if let Some(why) = nothing_to_compare(out) {
        let bars: &[&str] = match out.spec.class {
            Class::Rounded => &["class", "nmse", "nmse_oracle", "row_nmse", "ulp", "bound", "bias", "path"],
            Class::Copy | Class::Integer => &["exact"],
        };
        for bar in bars {
            judged.absent.push(Absent { bar: (*bar).into(), on: out.name.into(), why: why.into() });
        }
        return judged;
    }
    match out.spec.class {
        Class::Rounded => rounded(out, tier, &mut judged),
        Class::Copy | Class::Integer => by_bits(out, tier, &mut judged),
    }
    vacuous(out, &mut judged);
    judged
}

/// Why no element of the output is to be written, if so.
pub(super) fn nothing_to_compare(out: &Output) -> Option<&'static str> {
    if out.oracle.value.is_empty() {
        return Some("empty by design");
    }
    let skipped = &out.spec.skipped_rows;
    (!skipped.is_empty() && skipped.iter().all(|&s| s)).then_some("the op writes no row of it here")
}

/// Sizes first: nothing is compared when one of them is wrong.
fn check(out: &Output) -> Result<(), JudgeError> {
    let n: usize = out.shape.iter().product();
    let want = n * out.dtype.size();
    for (who, bytes) in [("device", out.device), ("reference tier", out.reference)] {
        if bytes.len() != want {
            return Err(JudgeError::WrongSize { on: out.name.into(), who, got: bytes.len(), want });
        }
    }
    let column = |column, got: usize, want: usize| {
        if got == want { Ok(()) } else { Err(JudgeError::Columns { on: out.name.into(), column, got, want }) }
    };
    let oracle = out.oracle;
    column("value", oracle.value.len(), n)?;
    if out.spec.class == Class::Rounded {
        column("bound", oracle.bound.len(), n)?;
        if !oracle.other.is_empty() {
            column("other", oracle.other.len(), n)?;
        }
        if !oracle.magnitude.is_empty() || out.spec.ulp.l32 != 0.0 {
            column("magnitude", oracle.magnitude.len(), n)?;
        }
        if out.dtype.float().is_none() {
            return Err(JudgeError::Columns { on: out.name.into(), column: "float dtype", got: 0, want: 1 });
        }
    }
    if n > 0 {
        let row_len = out.spec.row_len;
        if row_len == 0 || !n.is_multiple_of(row_len) {
            return Err(JudgeError::Columns { on: out.name.into(), column: "row_len", got: row_len, want: n });
        }
        if !out.spec.skipped_rows.is_empty() {
            column("skipped_rows", out.spec.skipped_rows.len(), n / row_len)?;
        }
    }
    Limits::derived(DType::F32, out.spec).with(out.name, out.limits).map(|_| ())
}

/// Limits of a rounded output, and the derived ones they are compared with. Checked before.
pub(super) fn limits(out: &Output) -> (Limits, Limits) {
    let derived = Limits::derived(out.dtype, out.spec);
    (derived.with(out.name, out.limits).unwrap_or(derived), derived)
}

fn rounded(out: &Output, tier: Tier, judged: &mut Judged) {
    let (used, derived) = limits(out);
    let input = Input::new(out, &used);
    judged.partials = input.partials();
    let total = input.fold(&judged.partials);
    unusable(out, &total, judged);
    let device = tier == Tier::Device;
    let (bars, absent) = figures::bars(&total, &used, out.spec, out.dtype, device);
    for (bar, why) in absent {
        judged.absent.push(Absent { bar: bar.into(), on: out.name.into(), why });
    }
    let nearest = nearest_limit(&bars);
    for (i, bar) in bars.into_iter().enumerate() {
        let place = (!bar.pass || (device && nearest == Some(i)))
            .then(|| worst::place(&input, &judged.partials, bar.bar, bar.row));
        let mut assertion = assertion(out, tier, &bar);
        assertion.worst = place;
        if let Some(mark) = loosened(bar.bar, &derived, &used) {
            assertion.note = Some(assertion.note.map_or(mark.clone(), |n| format!("{mark}; {n}")));
        }
        judged.assertions.push(assertion);
    }
    if device && out.spec.path {
        paths(out, &input, &total, judged);
    }
}

fn assertion(out: &Output, tier: Tier, bar: &BarFigure) -> Assertion {
    Assertion {
        bar: bar.bar.into(),
        on: out.name.into(),
        tier,
        pass: bar.pass,
        figure: bar.figure,
        limit: Some(bar.limit),
        elements: bar.elements,
        worst: None,
        note: bar.note.clone(),
    }
}

fn loosened(bar: &str, derived: &Limits, used: &Limits) -> Option<String> {
    let (d, u) = match bar {
        "nmse" | "nmse_oracle" => (derived.nmse, used.nmse),
        "row_nmse" => (derived.row_nmse, used.row_nmse),
        "ulp" => (derived.ulp?, used.ulp?),
        "bound" => (derived.bound, used.bound),
        "bias" => (derived.bias, used.bias),
        _ => return None,
    };
    Limits::loosened(d, u)
}

/// The passed bar that is nearest to its limit.
fn nearest_limit(bars: &[BarFigure]) -> Option<usize> {
    let ratio = |b: &BarFigure| b.figure.filter(|_| b.limit > 0.0).map(|f| f / b.limit);
    let rated = bars.iter().enumerate().filter_map(|(i, b)| Some((i, ratio(b)?)));
    rated.max_by(|a, b| a.1.total_cmp(&b.1)).map(|(i, _)| i)
}

/// What makes the oracle or the reference unusable.
fn unusable(out: &Output, total: &Partial, judged: &mut Judged) {
    let on = || out.name.to_string();
    if total.counts.bad_bound.count > 0 {
        judged.errors.push(JudgeError::BadBound { on: on(), index: total.counts.bad_bound.first });
    }
    if total.counts.undeclared.count > 0 {
        judged.errors.push(JudgeError::UndeclaredNonFinite { on: on(), index: total.counts.undeclared.first });
    }
    if total.counts.reference.count > 0 {
        let (index, count) = (total.counts.reference.first, total.counts.reference.count);
        judged.errors.push(JudgeError::UnusableReference { on: on(), index, count });
    }
}

/// Mismatch counts for the declared path and for each other one.
fn paths(out: &Output, input: &Input, total: &Partial, judged: &mut Judged) {
    let count = |path: &str, p: &Partial| PathCount {
        on: out.name.into(),
        path: path.into(),
        unexplained: p.counts.unexplained.count,
        differing: p.differing,
    };
    judged.paths.push(count("declared", total));
    for (name, oracle) in out.other_paths {
        if let Err(e) = check(&Output { oracle, other_paths: &[], ..*out }) {
            judged.errors.push(e);
            continue;
        }
        let other = along(input, oracle);
        judged.paths.push(count(name, &other.fold(&other.partials())));
    }
}

fn along<'a>(input: &Input<'a>, oracle: &'a Oracle) -> Input<'a> {
    let mut other = *input;
    other.value = &oracle.value;
    other.other = &oracle.other;
    other.bound = &oracle.bound;
    other.magnitude = &oracle.magnitude;
    other
}

fn by_bits(out: &Output, tier: Tier, judged: &mut Judged) {
    let found = match tier {
        Tier::Device => {
            exact::bytes(out.device, out.reference, out.dtype.size(), out.spec.row_len, &out.spec.skipped_rows)
        }
        Tier::Reference => exact::oracle(out),
    };
    let wrong = found.differ.count as f64;
    let place = (found.differ.count > 0).then(|| {
        let index = found.differ.first as usize;
        match tier {
            Tier::Device => worst::bits(out, index, out.reference),
            Tier::Reference => worst::bits(out, index, &oracle_bytes(out)),
        }
    });
    judged.assertions.push(Assertion {
        bar: "exact".into(),
        on: out.name.into(),
        tier,
        pass: wrong <= 0.0,
        figure: Some(wrong),
        limit: Some(0.0),
        elements: found.seen,
        worst: place,
        note: None,
    });
}

fn oracle_bytes(out: &Output) -> Vec<u8> {
    use crate::tensor::codec::{encode_f64, encode_i64};
    match out.dtype.float() {
        Some(_) => encode_f64(out.dtype, &out.oracle.value),
        None => encode_i64(out.dtype, &out.oracle.value.iter().map(|&o| o as i64).collect::<Vec<_>>()),
    }
}

/// A bar that applies and compared nothing proves nothing.
fn vacuous(out: &Output, judged: &mut Judged) {
    const NAMES: [&str; 9] = ["class", "nmse", "nmse_oracle", "row_nmse", "ulp", "bound", "bias", "path", "exact"];
    let empty: Vec<&'static str> = judged
        .assertions
        .iter()
        .filter(|a| a.elements == 0)
        .filter_map(|a| NAMES.into_iter().find(|n| *n == a.bar))
        .collect();
    judged.assertions.retain(|a| a.elements > 0);
    judged.errors.extend(empty.into_iter().map(|bar| JudgeError::Vacuous { on: out.name.into(), bar }));
}
