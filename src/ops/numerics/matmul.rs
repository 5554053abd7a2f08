//! `a @ b^T` in f32 in a fixed order, and its f64 oracle.
//!
//! Order of one element: K is cut into tiles of 16; inside a tile the rounded products are added in ascending k to a partial that
//! starts at +0; the partials are added in ascending order to a sum that starts at +0. A 16 x 16 tiled kernel and the register
//! blocking below both do exactly that. A tile filled up with zeros leaves every bit as it is, since a partial is never -0.

use std::ops::Range;

/// Elements of K in one partial sum.
pub const TILE_K: usize = 16;

/// Columns side by side in one register block.
const LANES: usize = 8;

/// Rows of one register block.
const ROWS: usize = 4;

/// Elements of K whose packed panel of b stays in the first-level cache; a multiple of [`TILE_K`].
const DEPTH: usize = 256;

/// Packed row-major operands of one product: a `[rows of a, k]`, b `[n, k]`.
#[derive(Clone, Copy, Debug)]
pub struct Operands<'a> {
    /// Left operand.
    pub a: &'a [f32],
    /// Right operand, transposed.
    pub b: &'a [f32],
    /// Inner extent.
    pub k: usize,
    /// Rows of b: columns of the result.
    pub n: usize,
}

/// Rows `rows` of the f32 product, row-major, in the order of the module's head; the bits do not depend on how rows are grouped.
pub fn matmul_bt(op: Operands<'_>, rows: Range<usize>) -> Vec<f32> {
    pulp::Arch::new().dispatch(
        #[inline(always)]
        || matmul_bt_portable(op, rows),
    )
}

/// [`matmul_bt`] for the baseline instruction set.
#[inline(always)]
pub fn matmul_bt_portable(op: Operands<'_>, rows: Range<usize>) -> Vec<f32> {
    let mut out = vec![0f32; rows.len() * op.n];
    let mut panel = vec![[0f32; LANES]; op.k.min(DEPTH)];
    for col in (0..op.n).step_by(LANES) {
        let cols = LANES.min(op.n - col);
        for from in (0..op.k).step_by(DEPTH) {
            let depth = DEPTH.min(op.k - from);
            pack(op, col, from, &mut panel[..depth], |x| x);
            let mut row = 0;
            while row + ROWS <= rows.len() {
                let a = std::array::from_fn(|r| &op.a[(rows.start + row + r) * op.k + from..][..depth]);
                block::<ROWS>(a, &panel[..depth], &mut out[row * op.n + col..], op.n, cols);
                row += ROWS;
            }
            for row in row..rows.len() {
                let a = [&op.a[(rows.start + row) * op.k + from..][..depth]];
                block::<1>(a, &panel[..depth], &mut out[row * op.n + col..], op.n, cols);
            }
        }
    }
    out
}

/// Packs rows `col..` of b, elements `from..`, as one array of lanes per k. Lanes past the last row hold what they held.
#[inline(always)]
fn pack<T: Copy>(op: Operands<'_>, col: usize, from: usize, panel: &mut [[T; LANES]], widen: impl Fn(f32) -> T) {
    for lane in 0..LANES.min(op.n - col) {
        let row = &op.b[(col + lane) * op.k + from..][..panel.len()];
        for (to, v) in panel.iter_mut().zip(row) {
            to[lane] = widen(*v);
        }
    }
}

/// Adds the partial sums of one packed panel to `R` rows of the result (rows `n` apart, `cols` columns).
#[inline(always)]
fn block<const R: usize>(a: [&[f32]; R], panel: &[[f32; LANES]], out: &mut [f32], n: usize, cols: usize) {
    let mut sum = [[0f32; LANES]; R];
    for r in 0..R {
        sum[r][..cols].copy_from_slice(&out[r * n..][..cols]);
    }
    for (t, tile) in panel.chunks(TILE_K).enumerate() {
        let mut partial = [[0f32; LANES]; R];
        for (k, b) in tile.iter().enumerate() {
            for r in 0..R {
                let x = a[r][t * TILE_K + k];
                for l in 0..LANES {
                    partial[r][l] += x * b[l];
                }
            }
        }
        for r in 0..R {
            for l in 0..LANES {
                sum[r][l] += partial[r][l];
            }
        }
    }
    for r in 0..R {
        out[r * n..][..cols].copy_from_slice(&sum[r][..cols]);
    }
}

/// The f64 dot products and, in the same order, the sums of the absolute products (products of two f32 are exact in f64). Relative
/// error of both: under `k * 2^-53` of the second.
pub fn oracle(op: Operands<'_>, rows: Range<usize>) -> (Vec<f64>, Vec<f64>) {
    pulp::Arch::new().dispatch(
        #[inline(always)]
        || oracle_portable(op, rows),
    )
}

#[inline(always)]
fn oracle_portable(op: Operands<'_>, rows: Range<usize>) -> (Vec<f64>, Vec<f64>) {
    let mut value = vec![0f64; rows.len() * op.n];
    let mut magnitude = vec![0f64; rows.len() * op.n];
    let mut panel = vec![[0f64; LANES]; op.k.min(DEPTH)];
    for col in (0..op.n).step_by(LANES) {
        let cols = LANES.min(op.n - col);
        for from in (0..op.k).step_by(DEPTH) {
            let depth = DEPTH.min(op.k - from);
            pack(op, col, from, &mut panel[..depth], f64::from);
            for row in 0..rows.len() {
                let a = &op.a[(rows.start + row) * op.k + from..][..depth];
                let at = row * op.n + col;
                let sums = oracle_block(a, &panel[..depth]);
                for l in 0..cols {
                    value[at + l] += sums[0][l];
                    magnitude[at + l] += sums[1][l];
                }
            }
        }
    }
    (value, magnitude)
}

/// One row of a against a packed panel: the sums of the products and of their absolute values.
#[inline(always)]
fn oracle_block(a: &[f32], panel: &[[f64; LANES]]) -> [[f64; LANES]; 2] {
    let (mut sum, mut total) = ([0f64; LANES], [0f64; LANES]);
    for (x, b) in a.iter().zip(panel) {
        let x = *x as f64;
        for l in 0..LANES {
            let term = x * b[l];
            sum[l] += term;
            total[l] += term.abs();
        }
    }
    [sum, total]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The order of the module's head, one element at a time.
    fn by_definition(op: Operands<'_>, row: usize, col: usize) -> f32 {
        let (a, b) = (&op.a[row * op.k..][..op.k], &op.b[col * op.k..][..op.k]);
        let partial = |(x, y): (&[f32], &[f32])| x.iter().zip(y).fold(0f32, |acc, (x, y)| acc + x * y);
        a.chunks(TILE_K).zip(b.chunks(TILE_K)).map(partial).fold(0.0, |acc, p| acc + p)
    }

    fn noise(n: usize, salt: usize) -> Vec<f32> {
        (0..n).map(|i| (((i + salt) * 7919 % 10007) as f32 - 5003.5) / 911.0).collect()
    }

    fn bits(v: &[f32]) -> Vec<u32> {
        v.iter().map(|x| x.to_bits()).collect()
    }

    #[test]
    fn every_element_has_the_bits_of_the_documented_order() {
        for (m, k, n) in [(13, 37, 9), (1, 1, 1), (5, 16, 16), (3, 17, 33), (4, 300, 15), (9, 515, 18), (2, 0, 3)] {
            let (a, b) = (noise(m * k, 1), noise(n * k, 5));
            let op = Operands { a: &a, b: &b, k, n };
            let got = matmul_bt(op, 0..m);
            for (i, g) in got.iter().enumerate() {
                assert_eq!(g.to_bits(), by_definition(op, i / n, i % n).to_bits(), "{m}x{k}x{n} at {i}");
            }
        }
    }

    #[test]
    fn vector_dispatch_and_thread_count_do_not_change_the_bits() {
        let (m, k, n) = (23, 333, 45);
        let (a, b) = (noise(m * k, 3), noise(n * k, 11));
        let op = Operands { a: &a, b: &b, k, n };
        let one = matmul_bt(op, 0..m);
        assert_eq!(bits(&one), bits(&matmul_bt_portable(op, 0..m)));
        let three: Vec<f32> = std::thread::scope(|s| {
            let parts: Vec<_> = [0..7, 7..16, 16..23].map(|rows| s.spawn(move || matmul_bt(op, rows))).into();
            parts.into_iter().flat_map(|t| t.join().expect("no panic")).collect()
        });
        assert_eq!(bits(&one), bits(&three));
    }

    #[test]
    fn the_oracle_is_the_f64_dot_and_the_sum_of_the_absolute_terms() {
        let (m, k, n) = (3, 270, 19);
        let (a, b) = (noise(m * k, 3), noise(n * k, 8));
        let (value, magnitude) = oracle(Operands { a: &a, b: &b, k, n }, 0..m);
        for i in 0..m * n {
            let terms = (0..k).map(|j| a[i / n * k + j] as f64 * b[i % n * k + j] as f64);
            let (dot, sum) = terms.fold((0.0, 0.0), |(d, s), t| (d + t, s + t.abs()));
            assert!((value[i] - dot).abs() <= 1e-13 * sum && (magnitude[i] - sum).abs() <= 1e-13 * sum);
        }
    }
}
