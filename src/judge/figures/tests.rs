use super::*;
use crate::judge::spec::{BarLimits, Class, Determinism, Flush, Oracle, OutputSpec, UlpLimit};
use crate::tensor::codec;

/// Values that need every bit, from `-3` to `3`.
fn values(n: usize) -> Vec<f64> {
    (0..n as u64)
        .map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 11) as f64 / (1u64 << 52) as f64 * 3.0 - 3.0)
        .collect()
}

/// An output that is right everywhere, and in skipped rows holds anything.
struct Right {
    dtype: DType,
    shape: [usize; 2],
    spec: OutputSpec,
    bytes: Vec<u8>,
    oracle: Oracle,
}

impl Right {
    fn new(dtype: DType, rows: usize, row_len: usize, path: bool, other: bool) -> Self {
        let value = values(rows * row_len);
        let mut bytes = codec::encode_f64(dtype, &value);
        let skipped_rows: Vec<bool> = (0..rows).map(|r| r % 5 == 3).collect();
        for row in (0..rows).filter(|&r| skipped_rows[r]) {
            bytes[row * row_len * dtype.size()..][..row_len * dtype.size()].fill(0xff);
        }
        let oracle = Oracle {
            bound: value.iter().map(|v| v.abs() * 1e-3).collect(),
            other: if other { value.iter().map(|v| v + 1e-7).collect() } else { vec![] },
            magnitude: if path { value.iter().map(|v| v.abs() * 8.0).collect() } else { vec![] },
            value,
        };
        let spec = OutputSpec {
            class: Class::Rounded,
            row_len,
            skipped_rows,
            determinism: Determinism::Bytes,
            exact: Exact::No,
            ulp: UlpLimit { l: Some(4.0), l32: if path { 4.0 } else { 0.0 } },
            path,
            non_finite_declared: false,
            degenerate: None,
        };
        Self { dtype, shape: [rows, row_len], spec, bytes, oracle }
    }

    fn check<E: Elem, const G: usize, const N: usize>(&self) {
        let out = Output {
            name: "y",
            dtype: self.dtype,
            shape: &self.shape,
            spec: &self.spec,
            device: &self.bytes,
            reference: &self.bytes,
            oracle: &self.oracle,
            other_paths: &[],
            limits: &BarLimits::new(),
            flush: Flush::default(),
        };
        let best = Input::new(&out, &Limits::derived(self.dtype, &self.spec));
        for input in [best, Input { arch: pulp::Arch::Scalar, ..best }] {
            for chunk in 0..input.layout.chunks() {
                let span = input.layout.chunk(chunk);
                let at = span.elements(input.layout.row_len);
                let bytes = &self.bytes[at.start * E::SIZE..at.end * E::SIZE];
                let slow = slow::span::<E, N>(&input, &span, bytes, at.start);
                let fast = fast::span::<E, G>(&input, &span, bytes, at.start);
                assert_eq!(fast, Some(slow), "{} {:?} chunk {chunk}", self.dtype, self.shape);
            }
        }
    }
}

#[test]
fn the_fast_path_gives_the_slow_paths_bits_for_rows_of_every_length() {
    for row_len in (1..=19).chain([64, 127, 128, 4095, 4096, 4099]) {
        for (path, other) in [(false, false), (true, false), (false, true), (true, true)] {
            let rows = if row_len < 64 { 23 } else { 3 };
            Right::new(DType::F32, rows, row_len, path, other).check::<F32, 1, 4>();
            Right::new(DType::F16, rows, row_len, path, other).check::<F16, 2, 8>();
            Right::new(DType::Bf16, rows, row_len, path, other).check::<Bf16, 2, 8>();
        }
    }
}
