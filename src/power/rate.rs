//! How often must an element be wrong before a bar over all of them sees it? A rate, so it is given with its binomial interval.

use super::case::{Measured, Solved};
use crate::fixture::Key;
use crate::judge::{self, nulls};
use crate::report::RateDoc;
use crate::suite::Case;
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use statrs::distribution::{Beta, ContinuousCDF};
use std::collections::BTreeMap;

/// Rates that are tried, the smallest first.
const RATES: [f64; 13] = [0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.08, 0.1, 0.15, 0.2, 0.3, 0.5, 1.0];
/// Trials at each rate.
const TRIALS: u64 = 40;
/// Outputs with more elements are left out: they say no more, and take longer.
const MOST: usize = 1 << 17;
/// What an interval may miss.
const RISK: f64 = 0.05;

/// For every op and dtype the case with the largest output that asserts `bias`.
pub fn picked(cases: &[Case], measured: &[Measured]) -> Vec<(Case, usize)> {
    let mut best: BTreeMap<(&str, &str), (usize, usize, usize)> = BTreeMap::new();
    for (i, (case, sheets)) in cases.iter().zip(measured).enumerate() {
        for (place, sheet) in sheets.iter().flatten().enumerate() {
            if !sheet.biased || sheet.elements > MOST {
                continue;
            }
            let held = best.entry((&case.op, sheet.dtype.name())).or_insert((sheet.elements, i, place));
            if sheet.elements > held.0 {
                *held = (sheet.elements, i, place);
            }
        }
    }
    best.into_values().map(|(_, i, place)| (cases[i].clone(), place)).collect()
}

/// The smallest rate of elements one step off that `bias` refuses more often than not, with 95 % confidence.
pub fn rates((case, place): &(Case, usize)) -> Option<RateDoc> {
    let solved = Solved::new(case).ok()?;
    let output = solved.outputs()[*place].0.name;
    solved.with(case, *place, |out, judged, right| {
        let mut last = None;
        for rate in RATES {
            let refused = (0..TRIALS).filter(|trial| {
                let key = Key::new(case.seed, &case.id, &format!("{output}: {rate} {trial}"));
                let bytes = nulls::nudged(right, rate, &mut Xoshiro256PlusPlus::seed_from_u64(key.0));
                judge::refusing(out, judged, &bytes, &(0..right.len())).contains(&"bias")
            });
            let refused = refused.count() as u64;
            let (low, high) = interval(refused, TRIALS);
            let (dtype, bar) = (out.dtype.name().to_string(), "bias".to_string());
            let (op, id, on) = (case.op.clone(), case.id.clone(), output.to_string());
            last = Some(RateDoc { op, id, on, dtype, bar, rate, refused, trials: TRIALS, low, high });
            if low > 0.5 {
                break;
            }
        }
        last
    })
}

/// Clopper-Pearson interval of a probability after `k` of `n`.
fn interval(k: u64, n: u64) -> (f64, f64) {
    let (a, b) = (k as f64, (n - k) as f64);
    let at = |a: f64, b: f64, p: f64| Beta::new(a, b).map_or(f64::NAN, |beta| beta.inverse_cdf(p));
    let low = if k == 0 { 0.0 } else { at(a, b + 1.0, RISK / 2.0) };
    let high = if k == n { 1.0 } else { at(a + 1.0, b, 1.0 - RISK / 2.0) };
    (low, high)
}

#[cfg(test)]
mod tests {
    use super::interval;

    #[test]
    fn the_interval_is_that_of_the_tables() {
        let close = |(a, b): (f64, f64), (c, d): (f64, f64)| (a - c).abs() < 1e-3 && (b - d).abs() < 1e-3;
        assert!(close(interval(0, 10), (0.0, 0.3085)));
        assert!(close(interval(10, 10), (0.6915, 1.0)));
        assert!(close(interval(3, 10), (0.0667, 0.6525)));
    }
}
