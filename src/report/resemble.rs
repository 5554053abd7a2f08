//! Which known fault does a wrong output resemble? Refuses to decide anything: hints only.

use crate::judge::nulls::{Null, Right};
use crate::tensor::{DType, codec};

/// A wrong output beside the right one.
#[derive(Clone, Copy)]
pub struct Sample<'a> {
    /// The board's packed bytes, as many as the right ones.
    pub got: &'a [u8],
    /// The reference tier's output.
    pub right: Right<'a>,
}

/// A fault with the share of the differing elements that it explains.
#[derive(Clone, Debug, PartialEq)]
pub struct Likeness {
    /// Fault, in words.
    pub fault: String,
    /// 0 to 1.
    pub share: f64,
}

/// Shares below this say nothing.
const LEAST: f64 = 0.6;

/// Known faults that explain most of the differing elements, best first; at most three.
pub fn resemble(sample: &Sample) -> Vec<Likeness> {
    let view = View::new(sample);
    if view.wrong.is_empty() {
        return Vec::new();
    }
    let mut all = by_element(&view);
    all.extend(by_move(&view));
    all.extend(by_place(&view));
    all.retain(|l| l.share >= LEAST);
    all.sort_by(|a, b| b.share.total_cmp(&a.share));
    all.truncate(3);
    all
}

struct View<'a> {
    right: Right<'a>,
    got: Vec<u64>,
    want: Vec<u64>,
    got_value: Vec<f64>,
    want_value: Vec<f64>,
    wrong: Vec<usize>,
    row_len: usize,
}

impl<'a> View<'a> {
    fn new(s: &Sample<'a>) -> Self {
        let dtype = s.right.dtype;
        let bits = |bytes: &[u8]| -> Vec<u64> { bytes.chunks_exact(dtype.size()).map(le).collect() };
        let (got, want) = (bits(s.got), bits(s.right.bytes));
        let (got_value, want_value) = (values(dtype, s.got), values(dtype, s.right.bytes));
        let wrong = (0..got.len().min(want.len()))
            .filter(|&i| got[i] != want[i] && !(got_value[i].is_nan() && want_value[i].is_nan()));
        let wrong = wrong.collect();
        Self { right: s.right, got, want, got_value, want_value, wrong, row_len: s.right.row_len.max(1) }
    }

    /// Share of the differing elements that are what the fault makes of them, whatever NaN or zero it is.
    fn null(&self, null: Null) -> Likeness {
        let is = |i: usize| {
            null.element(&self.right, i).is_some_and(|bits| {
                let made = values(self.right.dtype, &bits.to_le_bytes()[..self.right.dtype.size()])[0];
                bits == self.got[i] || made == self.got_value[i] || (made.is_nan() && self.got_value[i].is_nan())
            })
        };
        likeness(null.words(), self.share(is))
    }

    /// Share of the differing elements for which `explains` holds.
    fn share(&self, explains: impl Fn(usize) -> bool) -> f64 {
        self.wrong.iter().filter(|&&i| explains(i)).count() as f64 / self.wrong.len() as f64
    }

    /// Share of the differing elements that hold the right value of another place.
    fn moved(&self, from: impl Fn(usize) -> Option<usize>) -> f64 {
        self.share(|i| from(i).and_then(|j| self.want.get(j)).is_some_and(|w| *w == self.got[i]))
    }
}

fn values(dtype: DType, bytes: &[u8]) -> Vec<f64> {
    match dtype.float() {
        Some(_) => codec::decode_f32(dtype, bytes).into_iter().map(f64::from).collect(),
        None => codec::decode_i64(dtype, bytes).into_iter().map(|i| i as f64).collect(),
    }
}

fn le(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |n, b| n << 8 | u64::from(*b))
}

fn likeness(fault: impl Into<String>, share: f64) -> Likeness {
    Likeness { fault: fault.into(), share }
}

/// Faults that show in an element alone.
fn by_element(v: &View) -> Vec<Likeness> {
    let (g, w) = (&v.got_value, &v.want_value);
    let first = v.got[v.wrong[0]];
    let step = |i: usize| v.got[i].abs_diff(v.want[i]) == 1;
    let ratio = g[v.wrong[0]] / w[v.wrong[0]];
    let scaled = |i: usize| ratio.is_finite() && ratio != 0.0 && ((g[i] / w[i]) / ratio - 1.0).abs() <= 1e-2;
    let mut all: Vec<Likeness> =
        [Null::Zeros, Null::Nan, Null::SignFlipped, Null::Truncated, Null::Copied].map(|null| v.null(null)).into();
    all.push(likeness("infinity where a number belongs", v.share(|i| g[i].is_infinite() && w[i].is_finite())));
    let both = v.share(step);
    let up = v.share(|i| step(i) && g[i].abs() > w[i].abs());
    if up > 0.0 {
        all.push(likeness("one rounding step off either way: a rounding point is missing or extra", both));
    }
    if v.wrong.len() > 1 {
        all.push(likeness("one bit pattern everywhere: unwritten, or a constant", v.share(|i| v.got[i] == first)));
        if (ratio - 1.0).abs() > 1e-2 {
            all.push(likeness(Null::Scaled(ratio).words(), v.share(scaled)));
        }
    }
    all
}

/// Faults that put right values in wrong places.
fn by_move(v: &View) -> Vec<Likeness> {
    let n = v.row_len;
    let mut all = vec![
        v.null(Null::RowsShifted),
        likeness("row shift: holds the row after", v.moved(|i| Some(i + n))),
        likeness("column shift: holds the element before", v.moved(|i| i.checked_sub(1))),
        likeness("column shift: holds the element after", v.moved(|i| Some(i + 1))),
    ];
    for stride in n.saturating_sub(16)..=n + 16 {
        if stride != n && stride > 0 {
            let share = v.moved(|i| Some(i / n * stride + i % n));
            all.push(likeness(format!("wrong row stride: {stride} instead of {n}"), share));
        }
    }
    let mut rows: Vec<usize> = v.wrong.iter().map(|i| i / n).collect();
    rows.dedup();
    if let [a, b] = rows[..] {
        let share = v.moved(|i| Some(if i / n == a { i - a * n + b * n } else { i - b * n + a * n }));
        all.push(likeness(format!("rows {a} and {b} exchanged"), share));
    }
    all
}

/// Faults that show in where the differing elements lie. They count half a point less than an exact explanation of the values.
fn by_place(v: &View) -> Vec<Likeness> {
    const PLACE: f64 = 0.95;
    let n = v.row_len;
    let rows = v.got.len().div_ceil(n);
    let mut all = Vec::new();
    let first = v.wrong.iter().map(|i| i % n).min().unwrap_or(0);
    let touched = v.wrong.iter().map(|i| i / n).collect::<std::collections::BTreeSet<_>>().len();
    let full = touched * (n - first);
    if first > 0 && full > 0 {
        let share = v.wrong.len() as f64 / full as f64;
        all.push(likeness(
            format!("{}: columns from {first} on, in {touched} of {rows} rows", Null::TailLost.words()),
            share * PLACE,
        ));
    }
    let row = v.wrong[0] / n;
    if rows > 1 && v.wrong.iter().all(|i| i / n == row) {
        let which = if row + 1 == rows { "the last row".to_string() } else { format!("row {row}") };
        all.push(likeness(format!("only {which} is wrong"), PLACE));
    }
    if v.wrong.len() == 1 {
        all.push(likeness("one element alone is wrong", PLACE));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(x: &[f32]) -> Vec<u8> {
        x.iter().flat_map(|v| v.to_le_bytes()).collect()
    }

    fn best(got: &[f32], want: &[f32], row_len: usize) -> String {
        let (got, want) = (bytes(got), bytes(want));
        let (dtype, class) = (DType::F32, crate::judge::spec::Class::Rounded);
        let right = Right { dtype, class, bytes: &want, row_len, skipped: &[], oracle: &[], input: None };
        resemble(&Sample { got: &got, right }).first().map_or(String::new(), |l| l.fault.clone())
    }

    fn want() -> Vec<f32> {
        (0..40).map(|i| 1.5 + (i * i) as f32 / 7.0).collect()
    }

    #[test]
    fn known_faults_are_named() {
        let w = want();
        let map = |f: &dyn Fn(usize) -> f32| (0..40).map(f).collect::<Vec<f32>>();
        let table: &[(Vec<f32>, &str)] = &[
            (map(&|_| 0.0), "zeroed"),
            (map(&|i| -w[i]), "sign flipped"),
            (map(&|i| f32::from_bits(w[i].to_bits() - 1)), "truncated"),
            (map(&|i| w[i] * 1.5), "scaled by 1.5"),
            (map(&|i| if i < 8 { w[i] } else { w[i - 8] }), "row shift: holds the row before"),
            (map(&|i| if i + 8 < 40 { w[i + 8] } else { w[i] }), "row shift: holds the row after"),
            (map(&|i| w.get(i / 8 * 9 + i % 8).copied().unwrap_or(0.0)), "wrong row stride: 9 instead of 8"),
            (
                map(&|i| {
                    [&w[..], &w[..]].concat()[if i / 8 == 1 {
                        i + 16
                    } else if i / 8 == 3 {
                        i - 16
                    } else {
                        i
                    }]
                }),
                "rows 1 and 3 exchanged",
            ),
            (map(&|i| if i % 8 >= 5 { 77.0 + i as f32 } else { w[i] }), "tail lost: columns from 5 on"),
            (map(&|i| if i >= 32 { 900.0 - i as f32 } else { w[i] }), "only the last row"),
            (map(&|i| if i == 11 { f32::NAN } else { w[i] }), "NaN"),
        ];
        for (got, fault) in table {
            let named = best(got, &w, 8);
            assert!(named.starts_with(fault), "{fault}: {named}");
        }
    }

    #[test]
    fn a_right_output_resembles_nothing() {
        assert_eq!(best(&want(), &want(), 8), "");
    }
}
