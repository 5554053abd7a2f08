use super::*;
use crate::judge::spec::{Class, Determinism, Exact, Oracle, OutputSpec, UlpLimit};
use crate::ops::{Arg, Illegal, Inputs, KernelSig, ParamKind, ParamSpec, Plan, Role, Value};
use crate::tensor::{DType, View};
use proptest::prelude::*;

/// An op with every kind of parameter and two outputs; the second follows the key `dtype`.
struct Toy;

const TOY: &[ParamSpec] = &[
    ParamSpec::required("dtype", ParamKind::Word(&["f32", "bf16"]), "element type"),
    ParamSpec::word("data", &["normal", "zero_row"], "normal", "data"),
    ParamSpec::required("rows", ParamKind::Int(0, 1 << 20), "rows"),
    ParamSpec::int("cols", (1, 4096), 8, "columns"),
    ParamSpec::real("eps", (-1e30, 1e30), 1e-6, "epsilon"),
    ParamSpec::flag("gemma", "weight plus one"),
    ParamSpec::required("lens", ParamKind::List, "lengths"),
];

impl Contract for Toy {
    fn name(&self) -> &'static str {
        "toy"
    }
    fn family(&self) -> &'static str {
        "test"
    }
    fn summary(&self) -> &'static str {
        "nothing"
    }
    fn params(&self) -> &'static [ParamSpec] {
        TOY
    }
    fn kernels(&self) -> Vec<KernelSig> {
        vec![]
    }
    fn plan(&self, params: &Params) -> Result<Plan, Illegal> {
        if params.size("rows") == 13 {
            return Err(Illegal("rows = 13 is unlucky".to_string()));
        }
        let out = |name, dtype| Arg {
            name,
            role: Role::Out,
            view: View::packed(dtype, &[1]),
            fill: None,
            nan_gap: false,
            output: Some(OutputSpec {
                class: Class::Rounded,
                row_len: 1,
                skipped_rows: vec![],
                determinism: Determinism::Bytes,
                exact: Exact::No,
                ulp: UlpLimit { l: None, l32: 0.0 },
                path: false,
                non_finite_declared: false,
                degenerate: None,
            }),
        };
        Ok(Plan { args: vec![out("lse", DType::F32), out("y", params.dtype("dtype"))], launches: vec![], flops: 0.0 })
    }
    fn reference(&self, _: &Params, _: &Plan, _: &Inputs) -> Vec<Vec<u8>> {
        vec![]
    }
    fn oracle(&self, _: &Params, _: &Plan, _: &Inputs, _: &str) -> Vec<Oracle> {
        vec![]
    }
}

static OPS: &[&dyn Contract] = &[&Toy];

fn expand(text: &str) -> Result<Vec<Case>, SuiteError> {
    let suite = file::read(OPS, "t.toml", text)?;
    let (mut seen, mut out) = (expand::Seen::new(), Vec::new());
    expand::expand(&suite, 7, &mut seen, &mut out)?;
    Ok(out)
}

/// A one-block suite around `keys`.
fn block(keys: &str) -> String {
    format!("[suite]\nname = \"t\"\n[[case]]\nop = \"toy\"\n{keys}\n")
}

const BASE: &str = "dtype = \"f32\"\nrows = 3\nlens = [1]\n";

fn ids(text: &str) -> Vec<String> {
    expand(text).unwrap_or_else(|e| panic!("{e}")).into_iter().map(|c| c.id).collect()
}

#[test]
fn lists_multiply_and_defaults_stay_out_of_ids() {
    let got = ids(&block(
        "dtype = [\"f32\", \"bf16\"]\nrows = [1, 2]\nlens = [[1, 2]]\ncols = 8\nplace = [\"guarded\", \"flush\"]",
    ));
    assert_eq!(got.len(), 8);
    assert_eq!(got[0], "toy/dtype=f32,rows=1,lens=[1,2]");
    assert_eq!(got[1], "toy/dtype=f32,rows=1,lens=[1,2],place=flush");
    assert_eq!(got[7], "toy/dtype=bf16,rows=2,lens=[1,2],place=flush");
}

#[test]
fn a_list_key_takes_one_list_or_a_list_of_lists() {
    assert_eq!(ids(&block("dtype = \"f32\"\nrows = 1\nlens = [20, -1, 3]")), ["toy/dtype=f32,rows=1,lens=[20,-1,3]"]);
    assert_eq!(ids(&block("dtype = \"f32\"\nrows = 1\nlens = [[], [5]]")).len(), 2);
}

#[test]
fn rows_of_each_go_together_and_multiply_with_the_rest() {
    let got = ids(&block(
        "dtype = [\"f32\", \"bf16\"]\neach = [{ rows = 1, lens = [1] }, { rows = 2, lens = [2], eps = 0.5 }]",
    ));
    assert_eq!(
        got,
        [
            "toy/dtype=f32,rows=1,lens=[1]",
            "toy/dtype=f32,rows=2,eps=0.5,lens=[2]",
            "toy/dtype=bf16,rows=1,lens=[1]",
            "toy/dtype=bf16,rows=2,eps=0.5,lens=[2]",
        ]
    );
}

#[test]
fn except_leaves_combinations_out() {
    let got = ids(&block(
        "dtype = [\"f32\", \"bf16\"]\nrows = [1, 2, 3]\nlens = [1]\nexcept = [{ dtype = \"bf16\", rows = [2, 3] }]",
    ));
    assert_eq!(got.len(), 4);
    assert!(!got.iter().any(|id| id.contains("bf16") && !id.contains("rows=1")));
}

#[test]
fn the_most_specific_limit_wins() {
    let text = block(&format!(
        "{BASE}bars.ulp = 4\nbars.nmse = 0.1\nbars.lse.ulp = 3.0\nbars.lse.f32 = {{ ulp = 2.0 }}\nbars.f32.nmse = 0.01"
    ));
    let case = expand(&text).unwrap().remove(0);
    assert_eq!(case.limits["lse"]["ulp"], 2.0);
    assert_eq!(case.limits["y"]["ulp"], 4.0);
    assert_eq!(case.limits["y"]["nmse"], 0.01);
    assert_eq!(case.limits["lse"]["nmse"], 0.01);
}

#[test]
fn every_bad_word_is_refused_with_its_line_and_the_nearest_valid_word() {
    let head = "[suite]\nname = \"t\"\n";
    let table: &[(String, usize, &str)] = &[
        (block("dtyp = \"f32\""), 5, "no key 'dtyp'; did you mean 'dtype'?"),
        (format!("{head}[[case]]\nop = \"tooy\"\n"), 4, "unknown op 'tooy'; did you mean 'toy'?"),
        (block(&format!("{BASE}data = \"norml\"")), 8, "admits no 'norml'; did you mean 'normal'?"),
        (block("dtype = \"f33\""), 5, "admits no 'f33'; did you mean 'f32'?"),
        (block(&format!("{BASE}bars.ulpp = 1")), 8, "unknown bar 'ulpp'; did you mean 'ulp'?"),
        (block(&format!("{BASE}bars.written = 1")), 8, "asks for equality"),
        (
            block(&format!("{BASE}bars.lsee.ulp = 1")),
            8,
            "no case of this block has an output 'lsee'; did you mean 'lse'?",
        ),
        (block(&format!("{BASE}bars.lse.f33.ulp = 1")), 8, "unknown dtype 'f33'"),
        (block(&format!("{BASE}bars.f32.lse.ulp = 1")), 8, "the dtype last"),
        (block(&format!("{BASE}bars = 3")), 8, "'bars' is a table"),
        (block(&format!("{BASE}rows = 4")), 8, "duplicate key"),
        (block("dtype = \"f32\"\nlens = [1]"), 4, "toy needs the key 'rows'"),
        (block("dtype = \"f32\"\nlens = [1]\nrows = -1"), 7, "outside 0..=1048576"),
        (block("dtype = \"f32\"\nlens = [1]\nrows = \"3\""), 7, "takes an integer in 0..=1048576, not a word"),
        (block("dtype = \"f32\"\nlens = [1]\nrows = 99999999999999999999"), 7, "'rows'"),
        (block("dtype = \"f32\"\nlens = [1]\nrows = []"), 7, "lists no value"),
        (block("dtype = \"f32\"\nlens = [1]\nrows = [1, 1]"), 7, "lists 1 twice"),
        (block("dtype = \"f32\"\nlens = [1]\nrows = 13"), 4, "rows = 13 is unlucky"),
        (block(&format!("{BASE}eps = nan")), 8, "not a finite number"),
        (block(&format!("{BASE}eps = inf")), 8, "not a finite number"),
        (block(&format!("{BASE}lens = 4")), 8, "duplicate key"),
        (block(&format!("{BASE}place = \"flushed\"")), 8, "did you mean 'flush'?"),
        (block(&format!("{BASE}each = [{{ rows = 1 }}]")), 8, "in this row of 'each' and in the block"),
        (block(&format!("{BASE}each = []")), 8, "has no row"),
        (block(&format!("{BASE}except = [{{}}]")), 8, "would leave out every case"),
        (block(&format!("{BASE}except = [{{ rows = 9 }}]")), 8, "leaves no case out"),
        (block(&format!("{BASE}except = [{{ rows = 3 }}]")), 4, "leaves out every case"),
        (format!("{head}optin = 1\n"), 3, "true or false"),
        (format!("{head}nmae = 1\n"), 3, "unknown key 'nmae' in [suite]; did you mean 'name'?"),
        ("[suit]\nname = \"t\"\n".to_string(), 1, "unknown table 'suit'; did you mean 'suite'?"),
        (head.to_string(), 1, "no [[case]]"),
        (format!("{head}[[case]]\nrows = 1\n"), 3, "needs an 'op'"),
        (format!("{head}[[case]\n"), 3, "unclosed array table"),
    ];
    for (text, line, message) in table {
        let error = expand(text).expect_err(text).to_string();
        assert!(error.starts_with(&format!("t.toml:{line}: ")), "{error}\n{text}");
        assert!(error.contains(message), "{error}\n{text}");
    }
}

#[test]
fn limits_that_are_no_finite_number_from_zero_up_are_refused() {
    for limit in ["nan", "+nan", "-nan", "-1", "-0.5", "inf", "-inf", "1e400", "\"\"", "\"two\"", "true", "[]", "[1.0]"]
    {
        let text = block(&format!("{BASE}bars.ulp = {limit}"));
        let error = expand(&text).expect_err(limit).to_string();
        assert!(error.contains("a limit is a finite number >= 0"), "{limit}: {error}");
    }
    for limit in ["0", "0.0", "-0.0", "1e-300", "1_000.5", "3"] {
        assert!(expand(&block(&format!("{BASE}bars.ulp = {limit}"))).is_ok(), "{limit}");
    }
}

#[test]
fn a_huge_expansion_is_refused_before_anything_is_allocated() {
    let list: Vec<String> = (1..=4000).map(|i| i.to_string()).collect();
    let list = list.join(",");
    let text = block(&format!("dtype = \"f32\"\nlens = [1]\nrows = [{list}]\ncols = [{list}]"));
    let error = expand(&text).unwrap_err().to_string();
    assert!(error.contains("expands to 16000000 cases, more than 20000"), "{error}");
    let small =
        block("dtype = \"f32\"\nlens = [1]\nrows = [1, 2, 3]").replace("name = \"t\"", "name = \"t\"\nmax_cases = 2");
    assert!(expand(&small).unwrap_err().to_string().contains("more than 2;"));
}

#[test]
fn a_case_planned_twice_names_both_places() {
    let text = format!("{}[[case]]\nop = \"toy\"\n{BASE}cols = 8\n", block(BASE));
    let error = expand(&text).unwrap_err().to_string();
    assert_eq!(error, "t.toml:10: case toy/dtype=f32,rows=3,lens=[1] is planned twice: first at t.toml:4");
}

fn some_cases() -> Vec<Case> {
    let text = block("dtype = [\"f32\", \"bf16\"]\nrows = [1, 2, 30]\nlens = [1]\ndata = [\"normal\", \"zero_row\"]");
    expand(&text).unwrap()
}

fn filtered(words: &[&str]) -> Result<usize, String> {
    let filters = words.iter().map(|w| Ok((w.to_string(), Filter::parse(OPS, w)?)));
    let filters = filters.collect::<Result<Vec<_>, SuiteError>>().map_err(|e| e.to_string())?;
    filter::apply(&filters, some_cases()).map(|c| c.len()).map_err(|e| e.to_string())
}

#[test]
fn filters_hold_together_and_see_defaults() {
    assert_eq!(filtered(&[]).unwrap(), 12);
    assert_eq!(filtered(&["op=toy"]).unwrap(), 12);
    assert_eq!(filtered(&["data=normal"]).unwrap(), 6);
    assert_eq!(filtered(&["data=normal", "dtype=bf16"]).unwrap(), 3);
    assert_eq!(filtered(&["eps=0.000001"]).unwrap(), 12);
    assert_eq!(filtered(&["place=guarded", "suite=t", "rows=30"]).unwrap(), 4);
    assert_eq!(filtered(&["rows=1,"]).unwrap(), 4);
    assert_eq!(filtered(&["/rows=(1|2),/"]).unwrap(), 8);
    assert_eq!(filtered(&["f32,rows=30"]).unwrap(), 1);
}

#[test]
fn a_filter_that_matches_nothing_names_the_nearest_words() {
    assert!(filtered(&["op=toi"]).unwrap_err().contains("did you mean 'toy'?"));
    assert!(filtered(&["dtpe=f32"]).unwrap_err().contains("no op has a key 'dtpe'; did you mean 'dtype'?"));
    assert!(filtered(&["dtype=fp32"]).unwrap_err().contains("did you mean 'f32'?"));
    assert!(filtered(&["toi"]).unwrap_err().contains("did you mean 'toy'?"));
    assert!(filtered(&["/(/"]).unwrap_err().contains("unclosed group"));
    assert!(
        filtered(&["rows=1", "/rows=2/"]).unwrap_err().contains("no case meets all of the filters: rows=1 /rows=2/")
    );
}

#[test]
fn shards_part_the_cases_whatever_else_is_planned() {
    let cases = some_cases();
    for case in &cases {
        let homes = (1..=5).filter(|&index| Shard { index, of: 5 }.holds(&case.id)).count();
        assert_eq!(homes, 1, "{}", case.id);
    }
    assert_eq!("2/8".parse(), Ok(Shard { index: 2, of: 8 }));
    for bad in ["", "1", "0/2", "3/2", "a/b", "1/0", "-1/2"] {
        assert!(bad.parse::<Shard>().is_err(), "{bad}");
    }
}

#[test]
fn bad_ids_say_what_is_wrong() {
    let table = [
        ("tooy/rows=1", "did you mean 'toy'?"),
        ("toy", "needs the key 'dtype'"),
        ("toy/dtype=f32,rows=1", "needs the key 'lens'"),
        ("toy/dtype=f32,rows=x,lens=[]", "takes an integer"),
        ("toy/dtype=f32,rows=1,rows=2,lens=[]", "is there twice"),
        ("toy/dtype=f32,rows=1,lens=[1", "takes a list"),
        ("toy/dtype=f32,rows=13,lens=[]", "unlucky"),
        ("toy/dtype=f32,rows=1,lens=[],eps=nan", "not a finite number"),
        ("toy/", "'' is not key=value"),
    ];
    for (id, message) in table {
        let error = parse_id(OPS, id).map(|_| ()).expect_err(id).to_string();
        assert!(error.contains(message), "{id}: {error}");
    }
}

proptest! {
    #[test]
    fn ids_read_back_to_the_same_case(
        dtype in prop::sample::select(vec!["f32", "bf16"]),
        data in prop::sample::select(vec!["normal", "zero_row"]),
        rows in (0i64..1 << 20).prop_filter("illegal", |r| *r != 13),
        cols in 1i64..=4096,
        eps in -1e30f64..1e30,
        gemma: bool,
        lens in prop::collection::vec(any::<i64>(), 0..5),
        flush: bool,
    ) {
        let value = |name: &str| match name {
            "dtype" => Value::Str(dtype.to_string()),
            "data" => Value::Str(data.to_string()),
            "rows" => Value::Int(rows),
            "cols" => Value::Int(cols),
            "eps" => Value::Float(eps),
            "gemma" => Value::Bool(gemma),
            _ => Value::List(lens.clone()),
        };
        let params = Params(TOY.iter().map(|p| (p.name.to_string(), value(p.name))).collect());
        let place = if flush { Placement::Flush } else { Placement::Guarded };
        let id = case_id(&Toy, &params, place);
        let (op, read, placed) = parse_id(OPS, &id).unwrap();
        prop_assert_eq!(op.name(), "toy");
        prop_assert_eq!(&read, &params);
        prop_assert_eq!(placed, place);
        prop_assert_eq!(case_id(&Toy, &read, placed), id);
    }
}

#[test]
fn every_embedded_suite_plans_cases() {
    let suites = embedded_suites(crate::ops::REGISTRY).unwrap_or_else(|e| panic!("{e}"));
    assert!(suites.iter().any(|(name, optin)| name == "smoke" && *optin));
    for (name, _) in suites {
        let selection = Selection { suites: vec![name.clone()], ..Selection::default() };
        let cases = plan(&selection).unwrap_or_else(|e| panic!("{e}"));
        assert!(cases.iter().all(|c| c.suite == name));
    }
    plan(&Selection::default()).unwrap_or_else(|e| panic!("{e}"));
}
