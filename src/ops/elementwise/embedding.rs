//! embedding: rows of a table by id. Refuses block-quantised tables.

use super::{EXTENT, FLOATS, OUT, PAIRS, input, launches, out_dtype, output, signature, stride, symbol, view};
use crate::fixture::{Data, Fill, index};
use crate::judge::spec::{Class, Exact, Oracle, UlpLimit};
use crate::ops::{Arg, Contract, Illegal, Inputs, KArg, KType, KernelSig, ParamKind, ParamSpec, Params, Plan, Role};
use crate::tensor::{DType, View, codec};

/// The contract.
pub struct Embedding;

const PARAMS: &[ParamSpec] = &[
    ParamSpec::required("dtype", FLOATS, "format of the table"),
    ParamSpec::word("data", Data::NAMES, "normal", "kind of table data"),
    OUT,
    ParamSpec::word("index", &["i32", "i64"], "i32", "format of the ids"),
    ParamSpec::required("tokens", ParamKind::Int(EXTENT.0, EXTENT.1), "ids"),
    ParamSpec::required("hidden", ParamKind::Int(EXTENT.0, EXTENT.1), "columns of the table"),
    ParamSpec::required("vocab", ParamKind::Int(1, EXTENT.1), "rows of the table"),
    ParamSpec::word(
        "ids",
        &["mixed", "permuted", "out_of_range"],
        "mixed",
        "ids with repeats and both ends; each id at most once; or mixed with every third outside the table",
    ),
    ParamSpec::word(
        "layout",
        &["packed", "strided_table", "strided_out"],
        "packed",
        "which tensor has gaps between rows",
    ),
];

/// Seed of the ids: they are part of the case, not of the run.
const SEED: u64 = 0x656d_6265;

impl Contract for Embedding {
    fn name(&self) -> &'static str {
        "embedding"
    }

    fn family(&self) -> &'static str {
        "elementwise"
    }

    fn summary(&self) -> &'static str {
        "out[t,:] = table[ids[t],:], an id below 0 or past the end clamped to the first or last row; bytes copied when the formats are \
         equal, else converted with one round to nearest even"
    }

    fn params(&self) -> &'static [ParamSpec] {
        PARAMS
    }

    fn kernels(&self) -> Vec<KernelSig> {
        let i64s = ["tokens", "hidden", "vocab", "table_stride", "out_stride"].map(|n| (n, KType::I64));
        let both = PAIRS.iter().flat_map(|&pair| [DType::I32, DType::I64].map(|index| (pair, index)));
        both.map(|((from, to), index)| {
            let name = format!("{}_{index}", symbol("embedding", from, to));
            signature(name, &["ids", "table", "out"], &i64s)
        })
        .collect()
    }

    fn plan(&self, params: &Params) -> Result<Plan, Illegal> {
        let (from, to) = out_dtype(params)?;
        let (tokens, hidden, vocab) = (params.size("tokens"), params.size("hidden"), params.size("vocab"));
        let (layout, index) = (params.word("layout"), params.dtype("index"));
        let ids = ids(params.word("ids"), tokens, vocab, index == DType::I64)?;
        let table = view(from, vocab, hidden, layout == "strided_table");
        let mut out = output(view(to, tokens, hidden, layout == "strided_out"), Exact::NonNan, 0.5);
        if from == to {
            let spec = out.output.as_mut().expect("an output");
            (spec.class, spec.exact, spec.path) = (Class::Copy, Exact::No, false);
            spec.ulp = UlpLimit { l: None, l32: 0.0 };
        }
        let kargs = vec![
            KArg::Buf(0),
            KArg::Buf(1),
            KArg::Buf(2),
            KArg::I64(tokens as i64),
            KArg::I64(hidden as i64),
            KArg::I64(vocab as i64),
            stride(&table),
            stride(&out.view),
        ];
        let launches = launches(format!("{}_{index}", symbol("embedding", from, to)), tokens * hidden, kargs);
        let ids = Arg {
            name: "ids",
            role: Role::In,
            view: View::packed(index, &[tokens]),
            fill: Some(Fill::Ints(ids)),
            nan_gap: false,
            output: None,
        };
        Ok(Plan { args: vec![ids, input("table", table, params.data(), 0, to), out], launches, flops: 0.0 })
    }

    fn reference(&self, _params: &Params, plan: &Plan, inputs: &Inputs) -> Vec<Vec<u8>> {
        let (table, out) = (&plan.args[1].view, &plan.args[2].view);
        if table.dtype == out.dtype {
            let (bytes, row) = (inputs.bytes(1), table.shape[1] * table.dtype.size());
            let rows = rows(plan, inputs);
            return vec![rows.flat_map(|r| &bytes[r * row..(r + 1) * row]).copied().collect()];
        }
        vec![codec::encode_f32(out.dtype, &gathered(plan, inputs))]
    }

    /// The table's elements: nothing happens before the output rounding, so B0 = 0.
    fn oracle(&self, _params: &Params, plan: &Plan, inputs: &Inputs, _path: &str) -> Vec<Oracle> {
        let value: Vec<f64> = gathered(plan, inputs).into_iter().map(f64::from).collect();
        let bound = vec![0.0; value.len()];
        vec![Oracle { value, other: vec![], bound, magnitude: vec![] }]
    }
}

fn ids(kind: &str, tokens: usize, vocab: usize, wide: bool) -> Result<Vec<i64>, Illegal> {
    if kind == "permuted" {
        if tokens > vocab {
            return Err(Illegal(format!("{tokens} permuted ids need as many table rows, the table has {vocab}")));
        }
        let mut ids = index::permuted(vocab, SEED);
        ids.truncate(tokens);
        return Ok(ids);
    }
    let mut ids = index::ids(tokens, vocab, SEED);
    if kind == "out_of_range" {
        index::put_out_of_range(&mut ids, vocab, 3, wide);
    }
    Ok(ids)
}

/// The table row of every token.
fn rows(plan: &Plan, inputs: &Inputs) -> impl Iterator<Item = usize> {
    let last = plan.args[1].view.shape[0] as i64 - 1;
    inputs.i64(plan, "ids").into_iter().map(move |id| id.clamp(0, last) as usize)
}

fn gathered(plan: &Plan, inputs: &Inputs) -> Vec<f32> {
    let (table, hidden) = (inputs.f32(plan, "table"), plan.args[1].view.shape[1]);
    rows(plan, inputs).flat_map(|r| &table[r * hidden..(r + 1) * hidden]).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{check_suite, params, word};
    use super::*;
    use crate::ops::Value;

    #[test]
    fn the_reference_meets_its_bound_on_every_suite_case() {
        assert!(check_suite(&Embedding) <= 1.0);
    }

    fn small(dtype: &str, out: &str, ids: &[i64], table: Vec<u8>) -> Vec<u8> {
        let sizes = [("tokens", ids.len() as i64), ("hidden", 2), ("vocab", 3)].map(|(k, v)| (k, Value::Int(v)));
        let mut given = vec![("dtype", word(dtype)), ("out", word(out)), ("index", word("i64"))];
        given.extend(sizes);
        let p = params(&Embedding, &given);
        let plan = Embedding.plan(&p).expect("legal");
        let inputs = Inputs::new(vec![codec::encode_i64(DType::I64, ids), table, vec![]]);
        Embedding.reference(&p, &plan, &inputs).remove(0)
    }

    #[test]
    fn equal_formats_copy_bytes_and_ids_outside_are_clamped() {
        let rows = [[1u16, 2], [0x7f81, 4], [5, 0xffff]];
        let bytes: Vec<u8> = rows.iter().flatten().flat_map(|w| w.to_le_bytes()).collect();
        let out = small("bf16", "same", &[2, 0, 1, 1, -1, 3, (1 << 32) + 1, -(1 << 32) + 1], bytes);
        let words: Vec<u16> = out.chunks(2).map(|b| u16::from_le_bytes([b[0], b[1]])).collect();
        assert_eq!(words, [5, 0xffff, 1, 2, 0x7f81, 4, 0x7f81, 4, 1, 2, 5, 0xffff, 5, 0xffff, 1, 2]);
    }

    #[test]
    fn other_formats_are_converted() {
        let table = codec::encode_f64(DType::F16, &[1.0, 2.0, 3.0, 1.00390625, 5.0, 6.0]);
        assert_eq!(codec::decode_f32(DType::F32, &small("f16", "f32", &[1], table.clone())), [3.0, 1.003_906_3]);
        assert_eq!(codec::decode_f32(DType::Bf16, &small("f16", "bf16", &[1], table)), [3.0, 1.0]);
    }

    #[test]
    fn more_permuted_ids_than_rows_are_refused() {
        let sizes = [("tokens", 9), ("hidden", 2), ("vocab", 3)].map(|(k, v)| (k, Value::Int(v)));
        let mut given = vec![("dtype", word("f32")), ("ids", word("permuted"))];
        given.extend(sizes);
        assert!(Embedding.plan(&params(&Embedding, &given)).expect_err("illegal").0.contains("the table has 3"));
    }
}
