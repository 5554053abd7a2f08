//! Parts that plans of several families are built from. Refuses to decide anything: it only spells out records.

use super::{Arg, KType, KernelSig, Role};
use crate::fixture::{Data, Fill};
use crate::judge::spec::{Class, Determinism, Exact, OutputSpec, UlpLimit};
use crate::tensor::{DType, View};

/// A `[rows, cols]` view: packed, or rows `cols + gap` elements apart that begin `gap / 2` elements into a wider buffer. Operands
/// get different gaps, so that a stride taken from another operand shows.
pub fn rows(dtype: DType, rows: usize, cols: usize, strided: bool, gap: usize) -> View {
    if strided { View::rows(dtype, rows, cols, cols + gap, gap / 2) } else { View::packed(dtype, &[rows, cols]) }
}

/// A generated float input; `terms` is the length of the longest sum of its products.
pub fn input(name: &'static str, view: View, data: Data, terms: usize) -> Arg {
    let row = view.shape.last().copied().unwrap_or(1);
    let narrow = view.dtype;
    given(name, view, Fill::Float { data, row, terms, narrow })
}

/// An input with given contents.
pub fn given(name: &'static str, view: View, fill: Fill) -> Arg {
    Arg { name, role: Role::In, view, fill: Some(fill), nan_gap: true, output: None }
}

/// A poisoned output.
pub fn output(name: &'static str, view: View, spec: OutputSpec) -> Arg {
    Arg { name, role: Role::Out, view, fill: None, nan_gap: false, output: Some(spec) }
}

/// Turns an input into one that is also written in place. Its gap must survive, so it holds the position-dependent background.
pub fn in_place(arg: Arg, spec: OutputSpec) -> Arg {
    Arg { role: Role::InOut, nan_gap: false, output: Some(spec), ..arg }
}

/// The spec of a rounded output whose rows are `row_len` elements: equal bytes on every launch, non-finite results declared for
/// `special` data only. A narrow output has a rounding path.
pub fn rounded(view: &View, row_len: usize, data: Data, l: f64, l32: f64) -> OutputSpec {
    OutputSpec {
        class: Class::Rounded,
        row_len,
        skipped_rows: vec![],
        determinism: Determinism::Bytes,
        exact: Exact::No,
        ulp: UlpLimit { l: Some(l), l32 },
        path: view.dtype != DType::F32,
        non_finite_declared: data == Data::Special,
        degenerate: view.is_empty().then_some("empty"),
    }
}

/// A kernel signature.
pub fn signature(symbol: String, params: &[(&'static str, KType)]) -> KernelSig {
    KernelSig { symbol, params: params.to_vec() }
}
