//! The slow path: one element at a time, with every class, edge and flush. Gives the fast path's bits where both apply.

use super::elem::{Elem, round_any};
use super::fast::finish;
use super::lanes::{Acc, Element, Sums};
use super::partial::{Counts, Partial};
use super::vector::Scalar;
use super::{Input, Span};

/// What the class bar says of one element.
enum Seen {
    /// Both finite: the difference bars judge it against this value.
    Compare,
    /// Rightly left out of the difference bars.
    LeftOut,
    /// Class differs, and the oracle is finite: every difference bar fails.
    NotFinite,
    /// Class differs, and there is no difference to form.
    WrongClass,
}

/// Judges a span.
///
/// `N` lanes, as many as the fast path's vectors have together.
pub fn span<E: Elem, const N: usize>(c: &Input, span: &Span, device: &[u8], first: usize) -> Partial {
    let len = c.layout.row_len;
    let whole = span.cols.len() == len;
    let mut acc = Acc::<Scalar, N>::new(Scalar);
    let mut p = Partial::default();
    for row in span.rows.clone().filter(|&row| !c.skips(row)) {
        let at = row * len + span.cols.start;
        let mut compared = 0;
        for j in 0..span.cols.len() {
            let i = at + j;
            let lane = &mut acc.sums[j % N];
            compared += u64::from(element::<E>(c, &mut p.counts, lane, i, E::get(device, i - first)));
        }
        let energy = acc.end_row(compared);
        p.energy.add(&energy);
        if whole {
            p.rows.take(row as u64, &energy, c.row_limit);
            if c.row_bias() {
                let bias = acc.take_bias();
                p.rows.take_bias(row as u64, &bias);
                p.bias.add(&bias);
            }
        }
    }
    finish(&mut p, &mut acc, c.round);
    p
}

/// What one element says by itself.
#[derive(Clone, Copy, Debug)]
pub struct Alone {
    /// Its class, its distance to the oracle, or bits that must be R's are wrong.
    pub wrong: bool,
    /// No value within the declared error rounds to it.
    pub unexplained: bool,
    /// Error in steps after the declared error is taken off.
    pub ulp: f64,
}

/// Judges element `i` as if the device had `d` there, without the sums.
pub fn alone<E: Elem>(c: &Input, i: usize, d: f64) -> Alone {
    let mut p = Counts::default();
    let mut acc = Acc::<Scalar, 1>::new(Scalar);
    element::<E>(c, &mut p, &mut acc.sums[0], i, d);
    Alone {
        wrong: p.class.count + p.bound.count + p.exact.count > 0,
        unexplained: p.unexplained.count > 0,
        ulp: acc.sums[0].ulp,
    }
}

/// Adds one element; true when the difference bars compared it.
fn element<E: Elem>(c: &Input, p: &mut Counts, lane: &mut Sums<f64>, i: usize, d: f64) -> bool {
    let r = E::get(c.reference, i);
    let o = c.value[i];
    let other = c.other.get(i).copied().unwrap_or(o);
    let b = if o.is_finite() || other.is_finite() { c.bound[i] } else { 0.0 };
    let m = c.magnitude.get(i).copied().unwrap_or(b);
    p.seen += 1;
    if !usable(b) || (o.is_finite() && !usable(c.consts.slack_m * m)) {
        p.bad_bound.hit(i);
        p.class.hit(i);
        return false;
    }
    let declared = Legal::of::<E>(o, b);
    let legal = [declared, if other == o { declared } else { Legal::of::<E>(other, b) }];
    if !c.non_finite_declared && legal.iter().any(|l| !l.rounded.is_finite() && !l.edge) {
        p.undeclared.hit(i);
    }
    if !legal.iter().any(|l| l.admits::<E>(r)) {
        p.reference.hit(i);
    }
    let seen = classify::<E>(&legal, d);
    let rounds_to_number = !legal[0].rounded.is_nan();
    let flushed =
        c.flush && d == 0.0 && o != 0.0 && o.abs() < E::MIN_NORMAL && d.is_sign_negative() == o.is_sign_negative();
    let exact_counts = c.consts.exact != 0.0 && rounds_to_number && !legal[0].edge;
    p.exact_seen += u64::from(exact_counts);
    match seen {
        Seen::LeftOut => return false,
        Seen::WrongClass => {
            p.class.hit(i);
            if exact_counts {
                p.exact.hit(i);
            }
            return false;
        }
        Seen::NotFinite => {
            p.class.hit(i);
            p.bound.hit(i);
            p.unexplained.hit(i);
            if exact_counts {
                p.exact.hit(i);
            }
            lane.spoil();
            return true;
        }
        Seen::Compare => {}
    }
    // A declared flush counts as the right answer; a reference of another class is an error of its own.
    let d_or_o = if flushed { round_any::<E>(o) } else { d };
    let r_here = if r.is_finite() && !flushed { r } else { d_or_o };
    // Candidates that are themselves no finite result cannot be the nearer one.
    let (o, other) = match (legal[0].is_number(), legal[1].is_number()) {
        (true, true) => (o, other),
        (true, false) => (o, o),
        _ => (other, other),
    };
    let x = Element { d: d_or_o, r: r_here, o, other, b, m };
    let f = match (c.other.is_empty(), c.round) {
        (true, false) => lane.add::<E, Scalar, false, false, false>(Scalar, &c.consts, x, f64::NAN),
        (true, true) => lane.add::<E, Scalar, false, true, false>(Scalar, &c.consts, x, f64::NAN),
        (false, false) => lane.add::<E, Scalar, true, false, false>(Scalar, &c.consts, x, f64::NAN),
        (false, true) => lane.add::<E, Scalar, true, true, false>(Scalar, &c.consts, x, f64::NAN),
    };
    if f.bound == 0.0 {
        p.bound.hit(i);
    }
    if f.exact == 0.0 {
        p.exact.hit(i);
    }
    if f.explained == 0.0 {
        p.unexplained.hit(i);
    }
    true
}

fn usable(bound: f64) -> bool {
    bound.is_finite() && bound >= 0.0
}

/// What one pre-rounding value admits.
#[derive(Clone, Copy)]
struct Legal {
    value: f64,
    bound: f64,
    rounded: f64,
    /// Within B0 of the overflow threshold: either side is allowed.
    edge: bool,
}

impl Legal {
    fn of<E: Elem>(value: f64, bound: f64) -> Self {
        let edge = value.is_finite()
            && value.abs() - bound < E::THRESHOLD
            && value.abs() + bound >= E::THRESHOLD
            && bound > 0.0;
        Self { value, bound, rounded: round_any::<E>(value), edge }
    }

    /// Rounds to a finite number, whatever the error.
    fn is_number(&self) -> bool {
        self.rounded.is_finite() && !self.edge
    }

    /// Does a result of `x`'s class agree? On the edge: the infinity, or a number within B.
    fn admits<E: Elem>(&self, x: f64) -> bool {
        if self.edge {
            let infinite = x.is_infinite() && (x > 0.0) == (self.value > 0.0);
            return infinite || (x - self.value).abs() <= tolerance_of::<E>(self.value, self.bound);
        }
        if self.rounded.is_nan() {
            x.is_nan()
        } else if self.rounded.is_infinite() {
            x == self.rounded
        } else {
            x.is_finite()
        }
    }
}

fn classify<E: Elem>(legal: &[Legal; 2], d: f64) -> Seen {
    let admitting = legal.iter().filter(|l| l.admits::<E>(d));
    let mut any = false;
    for l in admitting {
        if l.is_number() {
            return Seen::Compare;
        }
        any = true;
    }
    if any {
        Seen::LeftOut
    } else if !d.is_finite() && legal.iter().any(Legal::is_number) {
        Seen::NotFinite
    } else {
        Seen::WrongClass
    }
}

fn tolerance_of<E: Elem>(o: f64, b: f64) -> f64 {
    b + E::ulp(o.abs() + b) * 0.5
}

/// `T` of element `i`, or `None` where the oracle is no finite number well below overflow.
pub fn tolerance(c: &Input, i: usize) -> Option<f64> {
    fn of<E: Elem>(o: f64, b: f64) -> Option<f64> {
        (o.abs() + b < E::THRESHOLD).then(|| tolerance_of::<E>(o, b))
    }
    let (o, b) = (c.value[i], c.bound[i]);
    match c.dtype {
        crate::tensor::DType::F16 => of::<super::elem::F16>(o, b),
        crate::tensor::DType::Bf16 => of::<super::elem::Bf16>(o, b),
        _ => of::<super::elem::F32>(o, b),
    }
}
