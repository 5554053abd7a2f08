//! The block sum: 256 strided partials, then a binary tree.

/// Partial sums of a row, one per thread of the kernel's block.
pub const PARTIALS: usize = 256;

/// Sum of squares of a row in f32: partial `t` adds elements `t, t + 256, ...` in ascending order, then partials `t` and `t + s`
/// are added for s = 128, 64, .., 1.
#[inline(always)]
pub fn sum_of_squares(row: &[f32]) -> f32 {
    let mut partial = [0f32; PARTIALS];
    let mut chunks = row.chunks_exact(PARTIALS);
    for chunk in &mut chunks {
        for (p, v) in partial.iter_mut().zip(chunk) {
            *p += v * v;
        }
    }
    for (p, v) in partial.iter_mut().zip(chunks.remainder()) {
        *p += v * v;
    }
    fold(&mut partial)
}

/// The tree over the partials.
#[inline(always)]
fn fold(partial: &mut [f32; PARTIALS]) -> f32 {
    let mut s = PARTIALS / 2;
    while s > 0 {
        let (low, high) = partial.split_at_mut(s);
        for (a, b) in low.iter_mut().zip(high) {
            *a += *b;
        }
        s /= 2;
    }
    partial[0]
}

/// Sum of squares in f64 (relative error under `len * 2^-53`).
#[inline(always)]
pub fn sum_of_squares_f64(row: &[f64]) -> f64 {
    let mut partial = [0f64; 32];
    let mut chunks = row.chunks_exact(32);
    for chunk in &mut chunks {
        for (p, v) in partial.iter_mut().zip(chunk) {
            *p += v * v;
        }
    }
    let rest: f64 = chunks.remainder().iter().map(|v| v * v).sum();
    partial.iter().sum::<f64>() + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The definition, one element at a time.
    fn by_definition(row: &[f32]) -> f32 {
        let mut p: Vec<f32> =
            (0..256).map(|t| row.iter().skip(t).step_by(256).fold(0.0, |acc, v| acc + v * v)).collect();
        for s in [128, 64, 32, 16, 8, 4, 2, 1] {
            for t in 0..s {
                p[t] += p[t + s];
            }
        }
        p[0]
    }

    #[test]
    fn the_sum_has_the_bits_of_its_definition_at_every_length() {
        let row: Vec<f32> = (0..1100).map(|i| ((i * 7919 % 1009) as f32 - 504.3) / 97.0).collect();
        for n in [0, 1, 2, 17, 100, 128, 255, 256, 257, 511, 512, 513, 769, 1100] {
            assert_eq!(sum_of_squares(&row[..n]).to_bits(), by_definition(&row[..n]).to_bits(), "{n}");
        }
    }

    #[test]
    fn vector_dispatch_does_not_change_the_bits() {
        let row: Vec<f32> = (0..5120).map(|i| ((i * 31 % 1013) as f32 - 500.7) / 77.0).collect();
        let vector = pulp::Arch::new().dispatch(|| sum_of_squares(&row));
        assert_eq!(vector.to_bits(), sum_of_squares(&row).to_bits());
    }
}
