//! rope_from_cache: rotates query and key heads in place. Refuses f16, odd widths and three-section positions.

use crate::fixture::{Data, Fill};
use crate::judge::spec::{Oracle, OutputSpec};
use crate::ops::numerics::rope::{POSITIONS, Style, cache, positions, rotate, rotate_f64, row_of};
use crate::ops::{
    Arg, Contract, Illegal, Inputs, KArg, KType, KernelSig, Launch, ParamKind, ParamSpec, Params, Plan, parts,
};
use crate::tensor::{DType, View, codec};

/// The contract.
pub struct RopeFromCache;

const PARAMS: &[ParamSpec] = &[
    ParamSpec::required("dtype", ParamKind::Word(&["f32", "bf16"]), "format of q, k and the cache"),
    ParamSpec::word("data", Data::NAMES, "normal", "kind of data in q and k"),
    ParamSpec::word("style", Style::WORDS, "neox", "neox pairs the first half with the second, gptj even with odd"),
    ParamSpec::word(
        "positions",
        POSITIONS,
        "scattered",
        "where the tokens stand; out_of_range puts every third outside the cache",
    ),
    ParamSpec::word("pos_dtype", &["i32", "i64"], "i64", "width of a position"),
    ParamSpec::required("tokens", ParamKind::Int(0, 1 << 20), "tokens"),
    ParamSpec::required("heads", ParamKind::Int(1, 1024), "query heads"),
    ParamSpec::int("kv_heads", (0, 1024), 0, "key heads; 0 leaves k out"),
    ParamSpec::required("head_dim", ParamKind::Int(2, 4096), "elements of a head"),
    ParamSpec::required("rot", ParamKind::Int(2, 4096), "rotated elements of a head; the rest is not touched"),
    ParamSpec::word("slice", &["leading", "trailing"], "leading", "which elements of a head rotate"),
    ParamSpec::int("limit", (1, 1 << 20), 64, "rows of the cache"),
    ParamSpec::real("base", (1.0, 1e9), 10000.0, "base of the frequencies"),
    ParamSpec::word("layout", &["packed", "strided"], "packed", "strided: gaps between tokens and between heads"),
];

const KERNEL: &[(&str, KType)] = &[
    ("q", KType::Ptr),
    ("k", KType::Ptr),
    ("positions", KType::Ptr),
    ("cache", KType::Ptr),
    ("tokens", KType::I64),
    ("q_heads", KType::I32),
    ("k_heads", KType::I32),
    ("rot", KType::I32),
    ("limit", KType::I64),
    ("q_token_stride", KType::I64),
    ("q_head_stride", KType::I64),
    ("k_token_stride", KType::I64),
    ("k_head_stride", KType::I64),
    ("neox", KType::I32),
];

/// Threads of a block; one pair a thread and step.
const BLOCK: u32 = 256;

/// Blocks at most; kernels walk the rest with a grid stride.
const MAX_BLOCKS: usize = 1024;

/// The rotated elements of every head, `[tokens, heads, rot]`: a slice of `head_dim`, with odd gaps where strided.
fn view(params: &Params, heads: usize, gap: usize) -> View {
    let (tokens, dim, rot) = (params.size("tokens"), params.size("head_dim"), params.size("rot"));
    let strided = params.word("layout") == "strided";
    let head = dim + if strided { gap } else { 0 };
    let token = heads * head + if strided { gap + 2 } else { 0 };
    let offset = if params.word("slice") == "trailing" { dim - rot } else { 0 };
    let shape = vec![tokens, heads, rot];
    View { dtype: params.dtype("dtype"), shape, strides: vec![token, head, 1], offset, extent: tokens * token }
}

/// q or k, rotated in place; heads of tokens outside the cache are skipped.
fn heads(name: &'static str, view: View, data: Data, inside: &[bool]) -> Arg {
    let rot = view.shape[2];
    // One f32 rounding of each product in units of M; the sum's own rounding is within 1 ulp.
    let mut spec: OutputSpec = parts::rounded(&view, rot, data, 1.0, 1.0);
    spec.non_finite_declared |= data == Data::Overflow;
    spec.skipped_rows = if inside.contains(&false) {
        inside.iter().flat_map(|i| std::iter::repeat_n(!i, view.shape[1])).collect()
    } else {
        vec![]
    };
    parts::in_place(parts::input(name, view, data, 0), spec)
}

impl Contract for RopeFromCache {
    fn name(&self) -> &'static str {
        "rope_from_cache"
    }

    fn family(&self) -> &'static str {
        "rope"
    }

    fn summary(&self) -> &'static str {
        "each pair (a, b) of a head becomes (a c - b s, a s + b c) in f32 with c, s read from the cache row of the token's position, rounded \
         once at the store, in place; elements beyond the rotary width are not touched, nor are tokens whose position lies \
         outside the cache"
    }

    fn params(&self) -> &'static [ParamSpec] {
        PARAMS
    }

    fn kernels(&self) -> Vec<KernelSig> {
        let names = ["f32", "bf16"].iter().flat_map(|d| ["i32", "i64"].map(|p| format!("rope_from_cache_{d}_{p}")));
        names.map(|n| parts::signature(n, KERNEL)).collect()
    }

    fn plan(&self, params: &Params) -> Result<Plan, Illegal> {
        let (rot, dim, limit) = (params.size("rot"), params.size("head_dim"), params.size("limit"));
        if rot % 2 == 1 || rot > dim {
            return Err(Illegal(format!("rot {rot} must be even and at most head_dim {dim}")));
        }
        let (tokens, dtype, data) = (params.size("tokens"), params.dtype("dtype"), params.data());
        let wide = params.dtype("pos_dtype");
        let at = positions(params.word("positions"), tokens, limit, wide == DType::I64);
        let inside: Vec<bool> = at.iter().map(|p| row_of(*p, limit).is_some()).collect();
        let (hq, hk) = (params.size("heads"), params.size("kv_heads"));
        let mut args = vec![heads("q", view(params, hq, 3), data, &inside)];
        if hk > 0 {
            args.push(heads("k", view(params, hk, 5), data, &inside));
        }
        args.push(parts::given("positions", View::packed(wide, &[tokens]), Fill::Ints(at)));
        let table = Fill::Floats(cache(limit, rot, params.real("base")));
        args.push(parts::given("cache", View::packed(dtype, &[limit, rot]), table));
        let pairs = tokens * (hq + hk) * rot / 2;
        let launches = if tokens == 0 { vec![] } else { vec![launch(params, &args, pairs)] };
        Ok(Plan { args, launches, flops: pairs as f64 * 6.0 })
    }

    fn reference(&self, params: &Params, plan: &Plan, inputs: &Inputs) -> Vec<Vec<u8>> {
        let (at, table) = (inputs.i64(plan, "positions"), inputs.f32(plan, "cache"));
        let rotated = |name: &str, view: &View| {
            let mut x = inputs.f32(plan, name);
            let style = Style::parse(params.word("style"));
            for_heads(view, &at, params.size("limit"), |head, row| {
                rotate(&mut x[head], &table[row], style);
            });
            codec::encode_f32(view.dtype, &x)
        };
        plan.outputs().map(|(_, arg, _)| rotated(arg.name, &arg.view)).collect()
    }

    /// B0 = 3 u (|a c| + |b s|), M the same sum.
    fn oracle(&self, params: &Params, plan: &Plan, inputs: &Inputs, _path: &str) -> Vec<Oracle> {
        let (at, table) = (inputs.i64(plan, "positions"), inputs.f32(plan, "cache"));
        let style = Style::parse(params.word("style"));
        let column = |name: &str, view: &View| {
            let x = inputs.f32(plan, name);
            let zeros = vec![0.0; x.len()];
            // Heads that are skipped keep their input.
            let value = x.iter().map(|v| *v as f64).collect();
            let mut o = Oracle { value, bound: zeros.clone(), magnitude: zeros, other: vec![] };
            for_heads(view, &at, params.size("limit"), |h, row| {
                let (value, bound) = (&mut o.value[h.clone()], &mut o.bound[h.clone()]);
                rotate_f64(&x[h.clone()], &table[row], style, value, bound, &mut o.magnitude[h]);
            });
            o
        };
        plan.outputs().map(|(_, arg, _)| column(arg.name, &arg.view)).collect()
    }
}

/// Calls `f(elements of the head, elements of its cache row)` for every head of every token inside the cache.
fn for_heads(view: &View, at: &[i64], limit: usize, mut f: impl FnMut(std::ops::Range<usize>, std::ops::Range<usize>)) {
    let (heads, rot) = (view.shape[1], view.shape[2]);
    for (t, p) in at.iter().enumerate() {
        let Some(row) = row_of(*p, limit) else { continue };
        for h in 0..heads {
            let head = (t * heads + h) * rot;
            f(head..head + rot, row * rot..(row + 1) * rot);
        }
    }
}

fn launch(params: &Params, args: &[Arg], pairs: usize) -> Launch {
    let hk = params.int("kv_heads") as i32;
    let strides = |i: usize| [0, 1].map(|d| KArg::I64(args[i].view.strides[d] as i64));
    let k = if hk > 0 { KArg::Buf(1) } else { KArg::Null };
    let k_strides = if hk > 0 { strides(1) } else { [KArg::I64(0); 2] };
    let next = if hk > 0 { 2 } else { 1 };
    let mut list = vec![KArg::Buf(0), k, KArg::Buf(next), KArg::Buf(next + 1), KArg::I64(params.int("tokens"))];
    list.extend([params.int("heads") as i32, hk, params.int("rot") as i32].map(KArg::I32));
    list.push(KArg::I64(params.int("limit")));
    list.extend(strides(0));
    list.extend(k_strides);
    list.push(KArg::I32((params.word("style") == "neox") as i32));
    let symbol = format!("rope_from_cache_{}_{}", params.word("dtype"), params.word("pos_dtype"));
    let grid = [pairs.div_ceil(BLOCK as usize).min(MAX_BLOCKS) as u32, 1, 1];
    Launch { symbol, grid, block: [BLOCK, 1, 1], lds: 0, args: list }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::Value;
    use crate::ops::elementwise::testing::{check_suite, inputs, params, word, worst_ratio};
    use proptest::prelude::*;

    fn case(given: &[(&str, Value)], sizes: [i64; 4]) -> (Params, Plan) {
        let names = ["tokens", "heads", "head_dim", "rot"];
        let all: Vec<_> = given.iter().cloned().chain(names.into_iter().zip(sizes.map(Value::Int))).collect();
        let p = params(&RopeFromCache, &all);
        let plan = RopeFromCache.plan(&p).expect("legal");
        (p, plan)
    }

    #[test]
    fn the_reference_meets_its_bound_on_every_suite_case() {
        assert!(check_suite(&RopeFromCache) <= 1.0);
    }

    #[test]
    fn heads_of_a_position_outside_the_cache_keep_their_bytes_and_are_declared_skipped() {
        let (p, plan) = case(&[("dtype", word("bf16")), ("positions", word("out_of_range"))], [5, 2, 6, 4]);
        let inputs = inputs(&plan, "skip");
        let spec = plan.args[0].output.as_ref().expect("output");
        let skipped = [false, false, true, true, false, false, false, false, true, true];
        assert_eq!(spec.skipped_rows, skipped);
        let out = RopeFromCache.reference(&p, &plan, &inputs).remove(0);
        for (row, skip) in skipped.iter().enumerate() {
            let same = out[row * 8..(row + 1) * 8] == inputs.bytes(0)[row * 8..(row + 1) * 8];
            assert_eq!(same, *skip, "row {row}");
        }
    }

    #[test]
    fn a_trailing_slice_leaves_the_head_of_every_head_out_of_the_view() {
        let slice = [("dtype", word("f32")), ("slice", word("trailing")), ("layout", word("strided"))];
        let (_, plan) = case(&slice, [2, 3, 10, 4]);
        let mut runs = vec![];
        plan.args[0].view.for_runs(|at, n| runs.push((at, n)));
        assert_eq!(runs, [(6, 4), (19, 4), (32, 4), (50, 4), (63, 4), (76, 4)]);
        assert_eq!(plan.args[0].view.extent, 88);
    }

    #[test]
    fn an_odd_or_too_wide_rotation_is_refused() {
        for rot in [3, 12] {
            let sizes = [("tokens", 2), ("heads", 1), ("head_dim", 10), ("rot", rot)].map(|(k, v)| (k, Value::Int(v)));
            let all: Vec<_> = sizes.into_iter().chain([("dtype", word("f32"))]).collect();
            assert!(RopeFromCache.plan(&params(&RopeFromCache, &all)).expect_err("illegal").0.contains("rot"));
        }
    }

    #[test]
    fn the_two_styles_differ_beyond_their_bounds() {
        let (p, plan) = case(&[("dtype", word("f32")), ("style", word("neox"))], [4, 2, 8, 8]);
        let (other, _) = case(&[("dtype", word("f32")), ("style", word("gptj"))], [4, 2, 8, 8]);
        let inputs = inputs(&plan, "styles");
        let wrong = codec::decode_f32(DType::F32, &RopeFromCache.reference(&other, &plan, &inputs)[0]);
        let o = &RopeFromCache.oracle(&p, &plan, &inputs, "declared")[0];
        let far = wrong.iter().zip(&o.value).zip(&o.bound).filter(|((r, o), b)| (**r as f64 - **o).abs() > **b + 1e-6);
        assert!(far.count() > 40);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_shape_meets_its_bound(tokens in 1i64..6, heads in 1i64..4, half in 1i64..9, wide in 0i64..5, neox: bool, bf16: bool) {
            let given = [
                ("dtype", word(if bf16 { "bf16" } else { "f32" })),
                ("style", word(if neox { "neox" } else { "gptj" })),
                ("kv_heads", Value::Int(1)),
            ];
            let (p, plan) = case(&given, [tokens, heads, 2 * half + wide, 2 * half]);
            let inputs = inputs(&plan, "any");
            let out = RopeFromCache.reference(&p, &plan, &inputs);
            let o = RopeFromCache.oracle(&p, &plan, &inputs, "declared");
            for i in 0..2 {
                prop_assert!(worst_ratio(p.dtype("dtype"), &out[i], &o[i]) <= 1.0);
            }
        }
    }
}
