//! rms_norm: rows scaled to unit root mean square, optionally after a residual add. Refuses f16 outputs, as the field does.

use super::{BLOCK, DATA, MAX_BLOCKS, TREE_ULPS};
use crate::fixture::Data;
use crate::judge::spec::Oracle;
use crate::ops::numerics::norm::{RowOracle, inverse_rms, scale};
use crate::ops::numerics::rounding::{f32_error, neighbours};
use crate::ops::{
    Contract, Illegal, Inputs, KArg, KType, KernelSig, Launch, ParamKind, ParamSpec, Params, Plan, parts,
};
use crate::tensor::{DType, codec};

/// The contract.
pub struct RmsNorm;

const PARAMS: &[ParamSpec] = &[
    ParamSpec::required("dtype", ParamKind::Word(&["f32", "f16", "bf16"]), "format of x"),
    ParamSpec::word("data", DATA, "normal", "kind of data in x and residual"),
    ParamSpec::word("w", &["same", "f32", "bf16"], "same", "format of the weight; `same` as x"),
    ParamSpec::word("out", &["same", "f32", "bf16"], "same", "format of the output; `same` as x"),
    ParamSpec::word(
        "residual",
        &["none", "f32", "bf16"],
        "none",
        "format of the residual, added to x and updated in place",
    ),
    ParamSpec::word("path", PATHS, "rounded_sum", "with a residual: norm the stored sum, or the sum before the store"),
    ParamSpec::flag("gemma", "scale by w + 1 (added in f32) instead of w"),
    ParamSpec::flag("in_place", "the output replaces x"),
    ParamSpec::required("rows", ParamKind::Int(0, 1 << 24), "rows"),
    ParamSpec::required("cols", ParamKind::Int(1, 1 << 20), "columns"),
    ParamSpec::real("eps", (0.0, 1.0), 1e-6, "added to the mean square, under the root"),
    ParamSpec::word("layout", &["packed", "strided"], "packed", "strided: every operand has a row stride of its own"),
];

const PATHS: &[&str] = &["rounded_sum", "unrounded_sum"];
const UNROUNDED_FIRST: &[&str] = &["unrounded_sum", "rounded_sum"];
const FLOATS: [DType; 2] = [DType::F32, DType::Bf16];

const REST: &[(&str, KType)] = &[("eps", KType::F32), ("gemma", KType::I32)];

/// The formats of a case, and whether it is legal.
struct Formats {
    x: DType,
    w: DType,
    out: DType,
    residual: Option<DType>,
}

impl Formats {
    fn of(params: &Params) -> Result<Self, Illegal> {
        let x = params.dtype("dtype");
        let own = |name: &str| if params.word(name) == "same" { x } else { params.dtype(name) };
        let residual = (params.word("residual") != "none").then(|| params.dtype("residual"));
        let f = Self { x, w: own("w"), out: own("out"), residual };
        if f.out == DType::F16 || f.w == DType::F16 {
            return Err(Illegal("rms_norm reads an f16 x only: set w and out to f32 or bf16".into()));
        }
        if x == DType::F16 && residual.is_some() {
            return Err(Illegal("rms_norm adds no residual to an f16 x".into()));
        }
        if params.flag("in_place") && f.out != x {
            return Err(Illegal(format!("in place the output has x's format: {} is not {x}", f.out)));
        }
        if residual.is_none() && params.word("path") != PATHS[0] {
            return Err(Illegal("path unrounded_sum needs a residual".into()));
        }
        let tiny = [Data::ZeroRow, Data::Subnormal].contains(&params.data());
        if params.real("eps") < 1e-12 && tiny {
            return Err(Illegal("rows that may be zero need eps of 1e-12 or more".into()));
        }
        Ok(f)
    }

    fn symbol(&self) -> String {
        match self.residual {
            None => format!("rms_norm_{}_{}_{}", self.x, self.w, self.out),
            Some(r) => format!("rms_norm_add_{}_{}_{}_{r}", self.x, self.w, self.out),
        }
    }
}

impl Contract for RmsNorm {
    fn name(&self) -> &'static str {
        "rms_norm"
    }

    fn family(&self) -> &'static str {
        "norm"
    }

    fn summary(&self) -> &'static str {
        "out[r,c] = (v * inv) * w[c] in f32 with inv = 1/sqrt(mean(v^2) + eps), rounded once at the store; gemma scales by w + 1. With a \
         residual v = x + residual in f32, stored in place; path rounded_sum re-reads the stored (rounded) value for the mean and \
         the output, unrounded_sum goes on with the f32 sum. The sum of squares is 256 strided partials and a binary tree"
    }

    fn params(&self) -> &'static [ParamSpec] {
        PARAMS
    }

    fn kernels(&self) -> Vec<KernelSig> {
        let (p, n) = (KType::Ptr, KType::I64);
        let plain: Vec<_> =
            [("x", p), ("w", p), ("out", p), ("rows", n), ("cols", n), ("x_stride", n), ("out_stride", n)].into();
        let add: Vec<_> = [
            ("x", p),
            ("residual", p),
            ("w", p),
            ("out", p),
            ("rows", n),
            ("cols", n),
            ("x_stride", n),
            ("residual_stride", n),
            ("out_stride", n),
        ]
        .into();
        let mut all = vec![];
        for x in [DType::F32, DType::F16, DType::Bf16] {
            for (w, out) in FLOATS.iter().flat_map(|&w| FLOATS.map(|out| (w, out))) {
                all.push(parts::signature(format!("rms_norm_{x}_{w}_{out}"), &[&plain, REST].concat()));
                for r in FLOATS.iter().filter(|_| x != DType::F16) {
                    let last = [&add, REST, &[("rounded", KType::I32)]].concat();
                    all.push(parts::signature(format!("rms_norm_add_{x}_{w}_{out}_{r}"), &last));
                }
            }
        }
        all
    }

    fn plan(&self, params: &Params) -> Result<Plan, Illegal> {
        let f = Formats::of(params)?;
        let (rows, cols, data) = (params.size("rows"), params.size("cols"), params.data());
        let strided = params.word("layout") == "strided";
        let x = parts::rows(f.x, rows, cols, strided, 5);
        let out = parts::rows(f.out, rows, cols, strided, 7);
        let mut spec = parts::rounded(&out, cols, data, TREE_ULPS, 0.0);
        spec.path |= f.residual.is_some_and(|r| r != DType::F32);
        if data == Data::ZeroRow && rows == 1 {
            spec.degenerate = Some("one row that may be zero");
        }
        let mut args = vec![parts::input("x", x, data, cols)];
        if let Some(r) = f.residual {
            let view = parts::rows(r, rows, cols, strided, 3);
            let sum = parts::rounded(&view, cols, data, 1.0, 0.0);
            args.push(parts::in_place(parts::input("residual", view, data, cols), sum));
        }
        args.push(parts::input("w", crate::tensor::View::packed(f.w, &[cols]), Data::Normal, 0));
        if params.flag("in_place") {
            args[0] = parts::in_place(args[0].clone(), spec);
        } else {
            args.push(parts::output("out", out, spec));
        }
        let launches = launch(params, &f, &args, rows, cols);
        Ok(Plan { args, launches, flops: (rows * cols) as f64 * 5.0 })
    }

    fn paths(&self, params: &Params) -> &'static [&'static str] {
        match (params.word("residual"), params.word("path")) {
            ("none", _) => &["declared"],
            (_, "unrounded_sum") => UNROUNDED_FIRST,
            _ => PATHS,
        }
    }

    fn reference(&self, params: &Params, plan: &Plan, inputs: &Inputs) -> Vec<Vec<u8>> {
        let rounded = params.word("path") == "rounded_sum";
        let (eps, gemma, cols) = (params.real("eps") as f32, params.flag("gemma"), params.size("cols"));
        let w = inputs.f32(plan, "w");
        let mut v = inputs.f32(plan, "x");
        let mut stored = None;
        if let Some(arg) = plan.args.iter().find(|a| a.name == "residual") {
            v.iter_mut().zip(inputs.f32(plan, "residual")).for_each(|(v, r)| *v += r);
            let bytes = codec::encode_f32(arg.view.dtype, &v);
            if rounded {
                v = codec::decode_f32(arg.view.dtype, &bytes);
            }
            stored = Some(bytes);
        }
        let mut out = vec![0f32; v.len()];
        pulp::Arch::new().dispatch(
            #[inline(always)]
            || {
                for (row, out) in v.chunks_exact(cols).zip(out.chunks_exact_mut(cols)) {
                    scale(row, inverse_rms(row, eps), &w, gemma, out);
                }
            },
        );
        let in_place = params.flag("in_place");
        let at = if in_place { 0 } else { plan.args.len() - 1 };
        let out = codec::encode_f32(plan.args[at].view.dtype, &out);
        in_plan_order(in_place, out, stored)
    }

    /// The sum is rounded from f64 into the residual's format, both neighbours where its f32 rounding could decide; the rest is
    /// [`RowOracle`]. B0 of the stored sum is that one f32 rounding.
    fn oracle(&self, params: &Params, plan: &Plan, inputs: &Inputs, path: &str) -> Vec<Oracle> {
        let widen = |name: &str| inputs.f32(plan, name).into_iter().map(f64::from).collect::<Vec<f64>>();
        let (mut v, w) = (widen("x"), widen("w"));
        let mut sum = None;
        let mut other = vec![];
        if let Some(arg) = plan.args.iter().find(|a| a.name == "residual") {
            v.iter_mut().zip(widen("residual")).for_each(|(v, r)| *v += r);
            let err: Vec<f64> = v.iter().map(|v| f32_error(*v)).collect();
            let narrow = arg.view.dtype != DType::F32;
            let bound = if narrow { err.clone() } else { vec![0.0; v.len()] };
            sum = Some(Oracle { value: v.clone(), bound, ..Oracle::default() });
            if path == "rounded_sum" {
                other.reserve(v.len());
                for (v, err) in v.iter_mut().zip(err) {
                    let (first, second) = neighbours(arg.view.dtype, *v, if narrow { err } else { 0.0 });
                    *v = first;
                    other.push(second);
                }
            }
        }
        let roundings = if path == "unrounded_sum" { 1.0 } else { 0.0 };
        let out = normalise(params, &v, &other, &w, roundings);
        in_plan_order(params.flag("in_place"), out, sum)
    }
}

/// Outputs in plan order: x first when it is the output, then the residual.
fn in_plan_order<T>(in_place: bool, out: T, residual: Option<T>) -> Vec<T> {
    let rest = residual.into_iter();
    if in_place { std::iter::once(out).chain(rest).collect() } else { rest.chain([out]).collect() }
}

/// Oracle columns of the normalised output for rows `v` with second choices `other` (empty: none).
fn normalise(params: &Params, v: &[f64], other: &[f64], w: &[f64], roundings: f64) -> Oracle {
    let (eps, gemma, cols) = (params.real("eps") as f32 as f64, params.flag("gemma"), params.size("cols"));
    let mut o = Oracle { value: vec![0.0; v.len()], bound: vec![0.0; v.len()], ..Oracle::default() };
    if !other.is_empty() {
        o.other = vec![0.0; v.len()];
    }
    pulp::Arch::new().dispatch(
        #[inline(always)]
        || {
            for (r, row) in v.chunks_exact(cols).enumerate() {
                let at = r * cols..(r + 1) * cols;
                let second = other.get(at.clone()).unwrap_or(row);
                let slack: f64 =
                    row.iter().zip(second).map(|(a, b)| if a == b { 0.0 } else { (a * a - b * b).abs() }).sum();
                let slack = if slack.is_nan() { 0.0 } else { slack };
                let oracle = RowOracle::new(row, eps, gemma, slack, roundings);
                for (c, i) in at.enumerate() {
                    o.value[i] = oracle.value(row[c], w[c]);
                    o.bound[i] = oracle.bound(o.value[i], w[c]);
                    if !other.is_empty() {
                        o.other[i] = oracle.value(second[c], w[c]);
                        o.bound[i] = oracle
                            .bound(if o.other[i].abs() > o.value[i].abs() { o.other[i] } else { o.value[i] }, w[c]);
                    }
                }
            }
        },
    );
    o
}

/// The one launch, or none without rows.
fn launch(params: &Params, f: &Formats, args: &[crate::ops::Arg], rows: usize, cols: usize) -> Vec<Launch> {
    if rows == 0 {
        return vec![];
    }
    let at = |name: &str| args.iter().position(|a| a.name == name).unwrap_or(0);
    let stride = |i: usize| KArg::I64(args[i].view.strides[0] as i64);
    let (x, w, out) = (0, at("w"), at("out"));
    let sizes = [KArg::I64(rows as i64), KArg::I64(cols as i64)];
    let mut list = vec![KArg::Buf(x)];
    if f.residual.is_some() {
        list.push(KArg::Buf(at("residual")));
    }
    list.extend([KArg::Buf(w), KArg::Buf(out)]);
    list.extend(sizes);
    list.push(stride(x));
    if f.residual.is_some() {
        list.push(stride(at("residual")));
    }
    list.push(stride(out));
    list.extend([KArg::F32(params.real("eps") as f32), KArg::I32(params.flag("gemma") as i32)]);
    if f.residual.is_some() {
        list.push(KArg::I32((params.word("path") == "rounded_sum") as i32));
    }
    let grid = [rows.min(MAX_BLOCKS) as u32, 1, 1];
    vec![Launch { symbol: f.symbol(), grid, block: [BLOCK, 1, 1], lds: 0, args: list }]
}

#[cfg(test)]
mod tests;
