//! Rotary embedding: pairing, cos/sin cache, positions, the f32 rotation and its oracle.

use crate::ops::bounds::{U, UNDERFLOW};

/// How the elements of a head pair up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// First half with second half: (i, i + rot/2).
    Neox,
    /// Even with odd: (2i, 2i + 1).
    Gptj,
}

impl Style {
    /// Words of the `style` parameter.
    pub const WORDS: &'static [&'static str] = &["neox", "gptj"];

    /// The style of that word.
    pub fn parse(word: &str) -> Self {
        if word == "neox" { Self::Neox } else { Self::Gptj }
    }

    /// Places of pair `i` of `rot / 2` in a head.
    #[inline(always)]
    pub fn pair(self, i: usize, rot: usize) -> (usize, usize) {
        match self {
            Self::Neox => (i, i + rot / 2),
            Self::Gptj => (2 * i, 2 * i + 1),
        }
    }
}

/// The cache `[limit, rot]`: cos of `p * base^(-2i/rot)` at `[p, i]` and sin at `[p, rot/2 + i]`, in f64.
pub fn cache(limit: usize, rot: usize, base: f64) -> Vec<f64> {
    let half = rot / 2;
    let freq: Vec<f64> = (0..half).map(|i| libm::pow(base, -2.0 * i as f64 / rot as f64)).collect();
    let mut out = Vec::with_capacity(limit * rot);
    for p in 0..limit {
        out.extend(freq.iter().map(|f| libm::cos(p as f64 * f)));
        out.extend(freq.iter().map(|f| libm::sin(p as f64 * f)));
    }
    out
}

/// Words of the `positions` parameter.
pub const POSITIONS: &[&str] = &["scattered", "zero", "last", "out_of_range"];

/// Positions of `tokens` tokens in a cache of `limit` rows: scattered (7t + 3 mod limit), all 0, all the last row, or scattered
/// with every third outside. Outside means, in turn, the first row past the end, -1, and the extremes of the width; a 64-bit one
/// whose low half is a legal position comes first.
pub fn positions(kind: &str, tokens: usize, limit: usize, wide: bool) -> Vec<i64> {
    let outside: &[i64] = if wide {
        &[(1 << 32) + 1, limit as i64, -1, i64::MIN, i64::MAX]
    } else {
        &[limit as i64, -1, i32::MIN as i64, i32::MAX as i64]
    };
    let one = |t: usize| match kind {
        "zero" => 0,
        "last" => limit as i64 - 1,
        "out_of_range" if t % 3 == 1 => outside[t / 3 % outside.len()],
        _ => ((7 * t + 3) % limit) as i64,
    };
    (0..tokens).map(one).collect()
}

/// The cache row of a position, or `None` when it lies outside.
pub fn row_of(position: i64, limit: usize) -> Option<usize> {
    usize::try_from(position).ok().filter(|p| *p < limit)
}

/// Rotates one head of `rot` f32 elements in place: `(a c - b s, a s + b c)`, each product and sum rounded. `row` is the cache row.
#[inline(always)]
pub fn rotate(x: &mut [f32], row: &[f32], style: Style) {
    let half = x.len() / 2;
    for i in 0..half {
        let (p, q) = style.pair(i, x.len());
        let (a, b, c, s) = (x[p], x[q], row[i], row[half + i]);
        x[p] = a * c - b * s;
        x[q] = a * s + b * c;
    }
}

/// The oracle of one head: `(value, bound, magnitude)` are slices of `rot` entries.
///
/// M = |a c| + |b s| (|a s| + |b c| for the second of the pair), B0 = 3 u M plus the steps lost where a product underflows.
#[inline(always)]
pub fn rotate_f64(x: &[f32], row: &[f32], style: Style, value: &mut [f64], bound: &mut [f64], magnitude: &mut [f64]) {
    let half = x.len() / 2;
    for i in 0..half {
        let (p, q) = style.pair(i, x.len());
        let (a, b, c, s) = (x[p] as f64, x[q] as f64, row[i] as f64, row[half + i] as f64);
        for (at, l, r) in [(p, a * c, -(b * s)), (q, a * s, b * c)] {
            let m = l.abs() + r.abs();
            value[at] = l + r;
            magnitude[at] = if m.is_finite() { m } else { 0.0 };
            bound[at] = 3.0 * U * magnitude[at] + 3.0 * UNDERFLOW;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairing_of_a_published_fault_has_its_right_values_in_both_styles() {
        // Head dim 4, position 1, base 10000, x = 1 2 3 4 (worked out by hand).
        let row: Vec<f32> = cache(2, 4, 10000.0)[4..].iter().map(|&v| v as f32).collect();
        for (style, want) in [
            (Style::Gptj, [-1.1426397, 1.9220756, 2.9598507, 4.0297995]),
            (Style::Neox, [-1.9841106, 1.9599007, 2.4623779, 4.0197998]),
        ] {
            let mut x = [1.0f32, 2.0, 3.0, 4.0];
            rotate(&mut x, &row, style);
            for (got, want) in x.iter().zip(want) {
                assert!((got - want).abs() <= 4e-7, "{style:?} {x:?}");
            }
        }
    }

    #[test]
    fn position_zero_returns_its_input_bit_for_bit() {
        let row: Vec<f32> = cache(1, 6, 10000.0).iter().map(|&v| v as f32).collect();
        for style in [Style::Gptj, Style::Neox] {
            let x = [1.5f32, -2.25, 3e-30, 4e30, 0.1, -7.0];
            let mut y = x;
            rotate(&mut y, &row, style);
            assert_eq!(x.map(f32::to_bits), y.map(f32::to_bits));
        }
    }

    #[test]
    fn a_wide_position_whose_low_half_is_legal_lies_outside() {
        let p = positions("out_of_range", 7, 64, true);
        assert_eq!(p[1] as i32, 1);
        assert_eq!(row_of(p[1], 64), None);
        assert_eq!(row_of(p[4], 64), None);
        assert_eq!(p.iter().filter(|p| row_of(**p, 64).is_some()).count(), 5);
        assert_eq!((row_of(-1, 64), row_of(63, 64)), (None, Some(63)));
    }
}
