//! Elementwise ops, and the parameters, layouts and launch geometry that they share.

pub mod add;
pub mod cast;
pub mod embedding;
pub mod mul_scalar;
pub mod silu_and_mul;
#[cfg(test)]
pub(crate) mod testing;

use super::{Arg, Illegal, KArg, KType, KernelSig, Launch, ParamKind, ParamSpec, Params, parts};
use crate::fixture::{Data, Fill};
use crate::judge::spec::{Class, Determinism, Exact, OutputSpec, UlpLimit};
use crate::tensor::{DType, View};

/// Threads of a block: a multiple of both wave widths, and small enough for every board.
const BLOCK: u32 = 256;

/// Blocks at most. Kernels walk the rest with a grid stride, so cases above 2^18 elements test that walk.
const MAX_BLOCKS: usize = 1024;

/// Elements between the end of a row and the next in a strided view, three of them in front of the first; odd, so that 16-bit rows are
/// aligned to their element only.
const GAP: usize = 7;

/// Rows and columns of a case: extents up to the largest that any board's memory is asked for.
const EXTENT: (i64, i64) = (0, 1 << 24);

/// A `[rows, cols]` view: packed, or cut out of a wider buffer whose gap lies on both sides.
fn view(dtype: DType, rows: usize, cols: usize, strided: bool) -> View {
    parts::rows(dtype, rows, cols, strided, GAP)
}

/// Distance between the rows of a rank-2 view, elements.
fn stride(view: &View) -> KArg {
    KArg::I64(view.strides[0] as i64)
}

/// A float input.
fn input(name: &'static str, view: View, data: Data, terms: usize, narrow: DType) -> Arg {
    let row = view.shape.last().copied().unwrap_or(1);
    parts::given(name, view, Fill::Float { data, row, terms, narrow })
}

/// The output of an elementwise op: rounded once, every row written.
fn output(view: View, exact: Exact, ulp: f64) -> Arg {
    let narrow = view.dtype != DType::F32;
    let spec = OutputSpec {
        class: Class::Rounded,
        row_len: view.shape.last().copied().unwrap_or(1),
        skipped_rows: vec![],
        determinism: Determinism::Bytes,
        exact,
        ulp: UlpLimit { l: Some(ulp), l32: 0.0 },
        path: narrow,
        non_finite_declared: true,
        degenerate: view.is_empty().then_some("empty"),
    };
    parts::output("out", view, spec)
}

/// The one launch of an elementwise op over `total` elements; none when there are none.
fn launches(symbol: String, total: usize, args: Vec<KArg>) -> Vec<Launch> {
    if total == 0 {
        return vec![];
    }
    let blocks = total.div_ceil(BLOCK as usize).min(MAX_BLOCKS) as u32;
    vec![Launch { symbol, grid: [blocks, 1, 1], block: [BLOCK, 1, 1], lds: 0, args }]
}

/// A signature: pointers first, then whatever else.
fn signature(symbol: String, pointers: &[&'static str], rest: &[(&'static str, KType)]) -> KernelSig {
    let params: Vec<_> = pointers.iter().map(|&p| (p, KType::Ptr)).chain(rest.iter().copied()).collect();
    parts::signature(symbol, &params)
}

/// The narrower of two float formats, by significand.
fn narrower(a: DType, b: DType) -> DType {
    let p = |d: DType| d.float().map_or(i32::MAX, |f| f.p);
    if p(b) < p(a) { b } else { a }
}

/// `base_in` when both formats are one, else `base_in_out`.
fn symbol(base: &str, from: DType, to: DType) -> String {
    if from == to { format!("{base}_{from}") } else { format!("{base}_{from}_{to}") }
}

/// Formats in and out that the arithmetic ops admit; an f16 output is refused by the stacks we follow.
const PAIRS: [(DType, DType); 6] = [
    (DType::F32, DType::F32),
    (DType::F32, DType::Bf16),
    (DType::F16, DType::F32),
    (DType::F16, DType::Bf16),
    (DType::Bf16, DType::F32),
    (DType::Bf16, DType::Bf16),
];

/// Formats of inputs.
const FLOATS: ParamKind = ParamKind::Word(&["f32", "f16", "bf16"]);

/// The parameter `out` of the arithmetic ops.
const OUT: ParamSpec = ParamSpec::word("out", &["same", "f32", "bf16"], "same", "format of the output");

/// One signature per pair of formats.
fn signatures(base: &str, pointers: &[&'static str], rest: &[(&'static str, KType)]) -> Vec<KernelSig> {
    PAIRS.iter().map(|&(from, to)| signature(symbol(base, from, to), pointers, rest)).collect()
}

/// The output format that parameter `out` names; `same` is the input's.
fn out_dtype(params: &Params) -> Result<(DType, DType), Illegal> {
    let from = params.dtype("dtype");
    let to = if params.word("out") == "same" { from } else { params.dtype("out") };
    if to == DType::F16 {
        return Err(Illegal("an f16 output is not admitted: set out = 'f32' or 'bf16'".to_string()));
    }
    Ok((from, to))
}
