//! fused_norm_rope: RMS norm of a row's latent part and rotation of its positional part. Refuses mixed formats.

use super::{BLOCK, DATA, MAX_BLOCKS, TREE_ULPS};
use crate::fixture::{Data, Fill};
use crate::judge::spec::Oracle;
use crate::ops::numerics::norm::{RowOracle, inverse_rms, scale};
use crate::ops::numerics::rope::{POSITIONS, Style, cache, positions, rotate, rotate_f64, row_of};
use crate::ops::{
    Contract, Illegal, Inputs, KArg, KType, KernelSig, Launch, ParamKind, ParamSpec, Params, Plan, parts,
};
use crate::tensor::{DType, View, codec};

/// The contract.
pub struct FusedNormRope;

const PARAMS: &[ParamSpec] = &[
    ParamSpec::required("dtype", ParamKind::Word(&["f32", "bf16"]), "format of x, w, the cache and both outputs"),
    ParamSpec::word("data", DATA, "normal", "kind of data in x"),
    ParamSpec::word("style", Style::WORDS, "gptj", "neox pairs the first half with the second, gptj even with odd"),
    ParamSpec::word(
        "positions",
        POSITIONS,
        "scattered",
        "where the tokens stand; out_of_range puts every third outside the cache",
    ),
    ParamSpec::word("pos_dtype", &["i32", "i64"], "i64", "width of a position"),
    ParamSpec::flag("gemma", "scale by w + 1 (added in f32) instead of w"),
    ParamSpec::required("tokens", ParamKind::Int(0, 1 << 20), "tokens"),
    ParamSpec::required("latent", ParamKind::Int(1, 1 << 16), "elements that are normalised"),
    ParamSpec::required("rot", ParamKind::Int(2, 4096), "elements that are rotated"),
    ParamSpec::int("limit", (1, 1 << 20), 64, "rows of the cache"),
    ParamSpec::real("base", (1.0, 1e9), 10000.0, "base of the frequencies"),
    ParamSpec::real("eps", (1e-12, 1.0), 1e-6, "added to the mean square, under the root"),
    ParamSpec::word(
        "layout",
        &["packed", "strided"],
        "packed",
        "strided: x and both outputs have row strides of their own",
    ),
];

const KERNEL: &[(&str, KType)] = &[
    ("x", KType::Ptr),
    ("w", KType::Ptr),
    ("positions", KType::Ptr),
    ("cache", KType::Ptr),
    ("latent_out", KType::Ptr),
    ("pe_out", KType::Ptr),
    ("tokens", KType::I64),
    ("latent", KType::I32),
    ("rot", KType::I32),
    ("limit", KType::I64),
    ("x_stride", KType::I64),
    ("latent_stride", KType::I64),
    ("pe_stride", KType::I64),
    ("eps", KType::F32),
    ("gemma", KType::I32),
    ("neox", KType::I32),
];

impl Contract for FusedNormRope {
    fn name(&self) -> &'static str {
        "fused_norm_rope"
    }

    fn family(&self) -> &'static str {
        "norm"
    }

    fn summary(&self) -> &'static str {
        "latent_out = rms_norm(x[:, :latent], w) and pe_out = x[:, latent:] rotated by the cache row of the token's position, both in f32 and \
         rounded once at the store; a position outside the cache leaves its row of pe_out untouched and still writes \
         latent_out. The sum of squares is 256 strided partials and a binary tree"
    }

    fn params(&self) -> &'static [ParamSpec] {
        PARAMS
    }

    fn kernels(&self) -> Vec<KernelSig> {
        let names = ["f32", "bf16"].iter().flat_map(|d| ["i32", "i64"].map(|p| format!("fused_norm_rope_{d}_{p}")));
        names.map(|n| parts::signature(n, KERNEL)).collect()
    }

    fn plan(&self, params: &Params) -> Result<Plan, Illegal> {
        let (tokens, latent, rot, limit) =
            (params.size("tokens"), params.size("latent"), params.size("rot"), params.size("limit"));
        if rot % 2 == 1 {
            return Err(Illegal(format!("rot {rot} must be even")));
        }
        let (dtype, data) = (params.dtype("dtype"), params.data());
        let (strided, wide) = (params.word("layout") == "strided", params.dtype("pos_dtype"));
        let at = positions(params.word("positions"), tokens, limit, wide == DType::I64);
        let skipped: Vec<bool> = at.iter().map(|p| row_of(*p, limit).is_none()).collect();
        let latent_out = parts::rows(dtype, tokens, latent, strided, 7);
        let pe_out = parts::rows(dtype, tokens, rot, strided, 3);
        let norm = parts::rounded(&latent_out, latent, data, TREE_ULPS, 0.0);
        let mut rope = parts::rounded(&pe_out, rot, data, 1.0, 1.0);
        rope.skipped_rows = if skipped.contains(&true) { skipped } else { vec![] };
        let args = vec![
            parts::input("x", parts::rows(dtype, tokens, latent + rot, strided, 5), data, latent),
            parts::input("w", View::packed(dtype, &[latent]), Data::Normal, 0),
            parts::given("positions", View::packed(wide, &[tokens]), Fill::Ints(at)),
            parts::given(
                "cache",
                View::packed(dtype, &[limit, rot]),
                Fill::Floats(cache(limit, rot, params.real("base"))),
            ),
            parts::output("latent_out", latent_out, norm),
            parts::output("pe_out", pe_out, rope),
        ];
        let flops = (tokens * (5 * latent + 3 * rot)) as f64;
        let launches = if tokens == 0 { vec![] } else { vec![launch(params, &args)] };
        Ok(Plan { args, launches, flops })
    }

    fn reference(&self, params: &Params, plan: &Plan, inputs: &Inputs) -> Vec<Vec<u8>> {
        let case = Case::of(params, plan, inputs);
        let (mut latent_out, mut pe_out) = (vec![], vec![]);
        let (eps, gemma) = (params.real("eps") as f32, params.flag("gemma"));
        pulp::Arch::new().dispatch(
            #[inline(always)]
            || {
                let mut scaled = vec![0f32; case.latent];
                for (row, p) in case.x.chunks_exact(case.latent + case.rot).zip(&case.at) {
                    let (latent, pe) = row.split_at(case.latent);
                    scale(latent, inverse_rms(latent, eps), &case.w, gemma, &mut scaled);
                    latent_out.extend_from_slice(&scaled);
                    let mut pe = pe.to_vec();
                    if let Some(row) = row_of(*p, case.limit) {
                        rotate(&mut pe, &case.table[row * case.rot..][..case.rot], case.style);
                    }
                    pe_out.extend(pe);
                }
            },
        );
        let dtype = params.dtype("dtype");
        vec![codec::encode_f32(dtype, &latent_out), codec::encode_f32(dtype, &pe_out)]
    }

    /// The latent part is [`RowOracle`]; the rotated part has B0 = 3 u (|a c| + |b s|), M the same sum.
    fn oracle(&self, params: &Params, plan: &Plan, inputs: &Inputs, _path: &str) -> Vec<Oracle> {
        let case = Case::of(params, plan, inputs);
        let (eps, gemma) = (params.real("eps") as f32 as f64, params.flag("gemma"));
        let (mut latent_out, zeros) = (Oracle::default(), vec![0.0; case.at.len() * case.rot]);
        // Rows that are skipped hold what the reference holds there: the row of x.
        let pe = case.x.chunks_exact(case.latent + case.rot).flat_map(|r| &r[case.latent..]);
        let value = pe.map(|v| *v as f64).collect();
        let mut pe_out = Oracle { value, bound: zeros.clone(), magnitude: zeros, other: vec![] };
        for (t, (row, p)) in case.x.chunks_exact(case.latent + case.rot).zip(&case.at).enumerate() {
            let (latent, pe) = row.split_at(case.latent);
            let wide: Vec<f64> = latent.iter().map(|v| *v as f64).collect();
            let norm = RowOracle::new(&wide, eps, gemma, 0.0, 0.0);
            for (v, w) in wide.iter().zip(&case.w) {
                let o = norm.value(*v, *w as f64);
                latent_out.value.push(o);
                latent_out.bound.push(norm.bound(o, *w as f64));
            }
            if let Some(row) = row_of(*p, case.limit) {
                let (at, row) = (t * case.rot..(t + 1) * case.rot, &case.table[row * case.rot..][..case.rot]);
                let (value, bound) = (&mut pe_out.value[at.clone()], &mut pe_out.bound[at.clone()]);
                rotate_f64(pe, row, case.style, value, bound, &mut pe_out.magnitude[at]);
            }
        }
        vec![latent_out, pe_out]
    }
}

/// The decoded inputs of a case.
struct Case {
    x: Vec<f32>,
    w: Vec<f32>,
    at: Vec<i64>,
    table: Vec<f32>,
    latent: usize,
    rot: usize,
    limit: usize,
    style: Style,
}

impl Case {
    fn of(params: &Params, plan: &Plan, inputs: &Inputs) -> Self {
        Self {
            x: inputs.f32(plan, "x"),
            w: inputs.f32(plan, "w"),
            at: inputs.i64(plan, "positions"),
            table: inputs.f32(plan, "cache"),
            latent: params.size("latent"),
            rot: params.size("rot"),
            limit: params.size("limit"),
            style: Style::parse(params.word("style")),
        }
    }
}

fn launch(params: &Params, args: &[crate::ops::Arg]) -> Launch {
    let stride = |i: usize| KArg::I64(args[i].view.strides[0] as i64);
    let mut list: Vec<KArg> = (0..6).map(KArg::Buf).collect();
    list.push(KArg::I64(params.int("tokens")));
    list.extend([params.int("latent") as i32, params.int("rot") as i32].map(KArg::I32));
    list.extend([KArg::I64(params.int("limit")), stride(0), stride(4), stride(5)]);
    list.push(KArg::F32(params.real("eps") as f32));
    list.extend([params.flag("gemma"), params.word("style") == "neox"].map(|f| KArg::I32(f as i32)));
    let symbol = format!("fused_norm_rope_{}_{}", params.word("dtype"), params.word("pos_dtype"));
    let grid = [params.size("tokens").min(MAX_BLOCKS) as u32, 1, 1];
    Launch { symbol, grid, block: [BLOCK, 1, 1], lds: 0, args: list }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::elementwise::testing::{check_suite, inputs, params, word};
    use crate::ops::{Value, norm::rms_norm::RmsNorm};

    fn case(given: &[(&str, Value)], sizes: [i64; 3]) -> (Params, Plan) {
        let all: Vec<_> =
            given.iter().cloned().chain(["tokens", "latent", "rot"].into_iter().zip(sizes.map(Value::Int))).collect();
        let p = params(&FusedNormRope, &all);
        let plan = FusedNormRope.plan(&p).expect("legal");
        (p, plan)
    }

    #[test]
    fn the_reference_meets_its_bound_on_every_suite_case() {
        assert!(check_suite(&FusedNormRope) <= 1.0);
    }

    #[test]
    fn the_latent_half_has_the_bytes_of_rms_norm() {
        for gemma in [false, true] {
            let (p, plan) = case(&[("dtype", word("bf16")), ("gemma", Value::Bool(gemma))], [3, 300, 8]);
            let all = inputs(&plan, "twin");
            let fused = FusedNormRope.reference(&p, &plan, &all).remove(0);
            let sizes = [("rows", Value::Int(3)), ("cols", Value::Int(300)), ("gemma", Value::Bool(gemma))];
            let q = params(&RmsNorm, &[[("dtype", word("bf16"))].as_slice(), &sizes].concat());
            let twin = RmsNorm.plan(&q).expect("legal");
            let x: Vec<u8> = all.bytes(0).chunks_exact(2 * 308).flat_map(|r| r[..600].to_vec()).collect();
            let plain = RmsNorm.reference(&q, &twin, &Inputs::new(vec![x, all.bytes(1).to_vec(), vec![]]));
            assert_eq!(fused, plain[0]);
        }
    }

    #[test]
    fn a_position_outside_the_cache_skips_the_rotated_row_and_not_the_latent_one() {
        let (p, plan) = case(&[("dtype", word("f32")), ("positions", word("out_of_range"))], [5, 6, 4]);
        let specs: Vec<_> = plan.outputs().map(|(_, _, s)| s.skipped_rows.clone()).collect();
        assert_eq!(specs, [vec![], vec![false, true, false, false, true]]);
        let out = FusedNormRope.reference(&p, &plan, &inputs(&plan, "skip"));
        let latent = codec::decode_f32(DType::F32, &out[0]);
        assert_eq!(latent.len(), 30);
        assert!(latent.iter().all(|v| *v != 0.0));
    }
}
