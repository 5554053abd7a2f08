//! The `exact` bar of moved bytes and integers: bit patterns, compared at memory speed.

use super::figures::partial::Count;
use super::spec::Output;
use crate::tensor::DType;

/// Elements compared and the ones that differ. `first` is an element index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compared {
    /// Elements compared.
    pub seen: u64,
    /// Elements that differ.
    pub differ: Count,
}

/// Compares packed bytes of `size`-byte elements, rows in `skipped` left out.
#[must_use]
pub fn bytes(got: &[u8], want: &[u8], size: usize, row_len: usize, skipped: &[bool]) -> Compared {
    let mut out = Compared::default();
    let row = row_len * size;
    let step = if skipped.iter().any(|&s| s) { row } else { got.len().max(1) };
    for (i, (g, w)) in got.chunks(step).zip(want.chunks(step)).enumerate() {
        if step == row && skipped.get(i).copied().unwrap_or(false) {
            continue;
        }
        out.seen += (g.len() / size) as u64;
        if g == w {
            continue;
        }
        for (j, (a, b)) in g.chunks_exact(size).zip(w.chunks_exact(size)).enumerate() {
            if a != b {
                out.differ.hit(i * step / size + j);
            }
        }
    }
    out
}

/// Compares the device's (or reference's) elements with the oracle: the value's bits, NaN as one class.
#[must_use]
pub fn oracle(out: &Output) -> Compared {
    let mut result = Compared::default();
    for (row, values) in out.oracle.value.chunks(out.spec.row_len).enumerate() {
        if out.spec.skipped_rows.get(row).copied().unwrap_or(false) {
            continue;
        }
        for (col, &o) in values.iter().enumerate() {
            let i = row * out.spec.row_len + col;
            result.seen += 1;
            if !equals(out.dtype, out.device, i, o) {
                result.differ.hit(i);
            }
        }
    }
    result
}

fn equals(dtype: DType, bytes: &[u8], i: usize, o: f64) -> bool {
    if dtype.float().is_some() {
        let got = super::figures::get(dtype, bytes, i);
        return got.to_bits() == o.to_bits() || (got.is_nan() && o.is_nan());
    }
    let got = integer(dtype, bytes, i);
    got as f64 == o
}

/// Element `i` of packed integers.
#[must_use]
pub fn integer(dtype: DType, bytes: &[u8], i: usize) -> i64 {
    let at = &bytes[i * dtype.size()..(i + 1) * dtype.size()];
    match dtype {
        DType::I64 => i64::from_le_bytes(at.try_into().expect("8 bytes")),
        DType::U8 => i64::from(at[0]),
        _ => i64::from(i32::from_le_bytes(at.try_into().expect("4 bytes"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_bit_is_found_with_its_element_and_a_skipped_row_is_not_looked_at() {
        let want: Vec<u8> = (0..24).collect();
        let mut got = want.clone();
        got[13] ^= 1;
        let c = bytes(&got, &want, 4, 2, &[]);
        assert_eq!((c.seen, c.differ.count, c.differ.first), (6, 1, 3));
        let c = bytes(&got, &want, 4, 2, &[false, true, false]);
        assert_eq!((c.seen, c.differ.count), (4, 0));
    }
}
