//! Strided views over a flat buffer.

use super::DType;
use serde::{Deserialize, Serialize};

/// A row-major logical tensor laid over a flat buffer of `extent` elements.
///
/// Element `(i0, .., in)` stands at `offset + sum(i * stride)`. Strides and offset are in elements.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct View {
    /// Element type.
    pub dtype: DType,
    /// Logical extents; an empty list is a scalar.
    pub shape: Vec<usize>,
    /// Elements between neighbours in each dimension.
    pub strides: Vec<usize>,
    /// Element of the buffer at which the view begins.
    pub offset: usize,
    /// Elements of the whole buffer.
    pub extent: usize,
}

impl View {
    /// A contiguous view that is its whole buffer.
    pub fn packed(dtype: DType, shape: &[usize]) -> Self {
        let mut strides = vec![1; shape.len()];
        for d in (1..shape.len()).rev() {
            strides[d - 1] = strides[d] * shape[d];
        }
        let extent = shape.iter().product();
        Self { dtype, shape: shape.to_vec(), strides, offset: 0, extent }
    }

    /// A rank-2 view whose rows are `stride` elements apart and begin at column `offset` of a wider buffer
    /// `[rows, stride]`. `offset + cols <= stride` must hold.
    pub fn rows(dtype: DType, rows: usize, cols: usize, stride: usize, offset: usize) -> Self {
        debug_assert!(offset + cols <= stride);
        Self { dtype, shape: vec![rows, cols], strides: vec![stride, 1], offset, extent: rows * stride }
    }

    /// Logical elements.
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// True when the view has no element.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of the whole buffer.
    pub fn bytes(&self) -> usize {
        self.extent * self.dtype.size()
    }

    /// True when the view covers its buffer in order, with no gap.
    pub fn is_packed(&self) -> bool {
        *self == Self::packed(self.dtype, &self.shape)
    }

    /// Calls `f(start_element_in_buffer, run_length)` for every contiguous run, in logical order. A packed view is one run.
    pub fn for_runs(&self, mut f: impl FnMut(usize, usize)) {
        if self.is_empty() {
            return;
        }
        // Fold trailing dimensions that are contiguous into one run.
        let mut run = 1;
        let mut outer = self.shape.len();
        while outer > 0 && (self.shape[outer - 1] == 1 || self.strides[outer - 1] == run) {
            run *= self.shape[outer - 1];
            outer -= 1;
        }
        let count: usize = self.shape[..outer].iter().product();
        let mut index = vec![0usize; outer];
        for _ in 0..count {
            let at: usize = index.iter().zip(&self.strides).map(|(i, s)| i * s).sum();
            f(self.offset + at, run);
            for d in (0..outer).rev() {
                index[d] += 1;
                if index[d] < self.shape[d] {
                    break;
                }
                index[d] = 0;
            }
        }
    }

    /// Copies the logical elements out of the buffer's bytes, packed row-major.
    pub fn gather(&self, buffer: &[u8]) -> Vec<u8> {
        let size = self.dtype.size();
        let mut out = Vec::with_capacity(self.len() * size);
        self.for_runs(|at, n| out.extend_from_slice(&buffer[at * size..(at + n) * size]));
        out
    }

    /// Writes packed row-major elements into the buffer's bytes at the view's places.
    pub fn scatter(&self, packed: &[u8], buffer: &mut [u8]) {
        let size = self.dtype.size();
        let mut from = 0;
        self.for_runs(|at, n| {
            buffer[at * size..(at + n) * size].copy_from_slice(&packed[from..from + n * size]);
            from += n * size;
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_strided_view_gathers_what_it_scattered_and_leaves_the_gap_alone() {
        let v = View::rows(DType::U8, 3, 2, 5, 1);
        let mut buffer = vec![9u8; v.bytes()];
        v.scatter(&[1, 2, 3, 4, 5, 6], &mut buffer);
        assert_eq!(buffer, [9, 1, 2, 9, 9, 9, 3, 4, 9, 9, 9, 5, 6, 9, 9]);
        assert_eq!(v.gather(&buffer), [1, 2, 3, 4, 5, 6]);
    }

    #[test]
    fn a_packed_view_is_one_run() {
        let mut runs = vec![];
        View::packed(DType::F32, &[2, 3, 4]).for_runs(|at, n| runs.push((at, n)));
        assert_eq!(runs, [(0, 24)]);
    }
}
