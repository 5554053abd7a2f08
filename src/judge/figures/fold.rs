//! From folded sums to bars: figure, limit, pass. One function for the ordinary pass and for canaries.

use super::partial::{Energy, Partial, RESIDUES};
use crate::judge::limits::{BIAS_MIN, Limits};
use crate::judge::spec::{Exact, OutputSpec};
use crate::tensor::DType;

/// One bar with its figure.
#[derive(Clone, Debug, PartialEq)]
pub struct BarFigure {
    /// Name.
    pub bar: &'static str,
    /// Figure; `None` when undefined or not finite (then `note` says which).
    pub figure: Option<f64>,
    /// Limit that the figure was held against.
    pub limit: f64,
    /// Passed.
    pub pass: bool,
    /// Elements compared.
    pub elements: u64,
    /// Row the figure belongs to, for row figures.
    pub row: Option<u64>,
    /// Remark.
    pub note: Option<String>,
}

/// A bar that is not asserted, and why.
pub type NotAsserted = (&'static str, String);

/// Every bar of a rounded output. `with_reference`: the output is a device's and is held against the reference tier too.
///
/// The second list names the bars that do not apply.
#[must_use]
pub fn bars(
    total: &Partial,
    limits: &Limits,
    spec: &OutputSpec,
    dtype: DType,
    with_reference: bool,
) -> (Vec<BarFigure>, Vec<NotAsserted>) {
    let n = total.energy.n;
    let mut out = Vec::with_capacity(9);
    let mut absent = Vec::new();
    out.push(count("class", total.counts.class.count, total.counts.seen));
    if with_reference {
        let against_r = Energy { n, e2: total.er2, o2: total.r2, t2: total.energy.t2 };
        out.push(energy("nmse", &against_r, limits.nmse));
    }
    out.push(energy("nmse_oracle", &total.energy, limits.nmse));
    out.push(rows(total, limits.row_nmse));
    match limits.ulp {
        Some(limit) => out.push(plain("ulp", total.ulp, limit, n)),
        None => absent.push((
            "ulp",
            format!("reported only ({:.3e}): the op declares no depth of its reduction tree", total.ulp),
        )),
    }
    out.push(count("bound", total.counts.bound.count, n));
    bias(total, limits.bias, dtype, &mut out, &mut absent);
    if spec.path {
        out.push(count("path", total.counts.unexplained.count, n));
    } else {
        absent.push(("path", "no inner rounding point is declared".into()));
    }
    if spec.exact != Exact::No {
        out.push(count("exact", total.counts.exact.count, total.counts.exact_seen));
    }
    (out, absent)
}

/// A number of wrong elements, limit 0.
fn count(bar: &'static str, wrong: u64, elements: u64) -> BarFigure {
    plain(bar, wrong as f64, 0.0, elements)
}

fn plain(bar: &'static str, figure: f64, limit: f64, elements: u64) -> BarFigure {
    let pass = figure <= limit;
    let (figure, note) = finite(figure);
    BarFigure { bar, figure, limit, pass, elements, row: None, note }
}

/// Documents cannot hold a NaN or an infinity: such a figure is left out and named.
fn finite(figure: f64) -> (Option<f64>, Option<String>) {
    if figure.is_finite() { (Some(figure), None) } else { (None, Some(format!("figure is {figure}"))) }
}

fn energy(bar: &'static str, sums: &Energy, limit: f64) -> BarFigure {
    let pass = sums.within(limit);
    let Some(figure) = sums.figure() else {
        let note = Some("undefined (zero energy)".into());
        return BarFigure { bar, figure: None, limit, pass, elements: sums.n, row: None, note };
    };
    let (shown, mut note) = finite(figure);
    let mut used = limit;
    if shown.is_some() && figure > limit {
        used = limit + sums.t2 / sums.o2;
        note = Some("limit includes the floor sum T^2".into());
    }
    BarFigure { bar, figure: shown, limit: used, pass, elements: sums.n, row: None, note }
}

fn rows(total: &Partial, limit: f64) -> BarFigure {
    let r = &total.rows;
    let shown = if r.bad == 0 { r.worst } else { r.first_bad.or(r.worst) };
    let (row, sums) = shown.unwrap_or((0, Energy::default()));
    // With a bad row, the worst one is shown when it is bad itself.
    let (row, sums) = match r.worst {
        Some((w, s)) if r.bad > 0 && !s.within(limit) => (w, s),
        _ => (row, sums),
    };
    let mut bar = energy("row_nmse", &sums, limit);
    bar.pass = r.bad as f64 <= 0.0 && bar.pass;
    bar.elements = total.energy.n;
    bar.row = Some(row);
    if r.bad > 0 {
        let more = format!("{} of {} rows outside", r.bad, r.rows);
        bar.note = Some(bar.note.map_or(more.clone(), |n| format!("{more}; {n}")));
    }
    bar
}

fn bias(total: &Partial, limit: f64, dtype: DType, out: &mut Vec<BarFigure>, absent: &mut Vec<NotAsserted>) {
    if dtype == DType::F32 {
        let mean = total.bias.mean().0;
        let n = total.energy.n as f64;
        let sum: f64 = total.bias.e.iter().sum();
        debug_assert!(mean == 0.0, "f32 outputs count no bias elements");
        absent.push(("bias", format!("reported only for f32: mean (d-o)/ulp(o) = {:.3e}", sum / n.max(1.0))));
        return;
    }
    let (n, mean) = total.bias.mean();
    if n < BIAS_MIN {
        absent.push(("bias", format!("{n} elements count, {BIAS_MIN} are needed")));
        return;
    }
    let (mut worst, mut place) = (mean, None);
    for i in 0..RESIDUES {
        let (n, mean) = total.bias.residue(i);
        if n >= BIAS_MIN && (mean.is_nan() || mean > worst) {
            (worst, place) = (mean, Some(format!("columns with residue {i} modulo {RESIDUES}")));
        }
    }
    let mut row = None;
    if let Some((at, mean)) = total.rows.bias
        && (mean.is_nan() || mean > worst)
    {
        (worst, place, row) = (mean, Some(format!("row {at}")), Some(at));
    }
    let mut bar = plain("bias", worst, limit, n as u64);
    bar.row = row;
    bar.note = bar.note.or(place);
    out.push(bar);
}
