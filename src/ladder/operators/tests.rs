//! Operators on a small kernel: the exact changed texts.

use super::*;
use crate::ladder::rung::Fault;

const KERNEL: &str = r#"#include <hip/hip_runtime.h>
#if defined(__AMDGCN__)
static __device__ float other(float x) { return x + 1.0f; }
#else
static __device__ float mine(float x) { return -x; }
#endif
static __device__ float unused(float x) { return x * 3.0f; }
template <typename T>
static __device__ inline void sum(const T* x, float* out, long long rows, long long cols, long long x_stride) {
  __shared__ float partial[256];
  for (long long row = blockIdx.x; row < rows; row += gridDim.x) {
    float total = 0.0f;
    for (int c = 0; c < 4; c++) total += x[row * x_stride + c];
    partial[threadIdx.x] = total > 2.0f ? sqrtf(total) : (float)c;
    __syncthreads();
    if (row < cols) out[row] = partial[0];
    sum(x, out, rows, cols, x_stride);
  }
}
"#;

fn made(operator: &str) -> Vec<String> {
    let rungs = generate("k.hip", KERNEL, &|name| name != "unused").expect("it parses");
    let of = |r: &Rung| match &r.fault {
        Fault::Source(edits) => format!("{}>{}", edits[0].old, edits[0].new),
        Fault::Host(_) => String::new(),
    };
    rungs.iter().filter(|r| r.operator == operator).map(of).collect()
}

#[test]
fn every_operator_changes_exactly_what_it_says() {
    let table: &[(&str, &[&str])] = &[
        ("arithmetic", &["+=>-=", "+=>-=", "*>+", "+>-"]),
        ("accumulation", &["+=>=", "+=>="]),
        ("relational", &["<><=", "<><=", ">>>=", "<><="]),
        ("barrier", &["__syncthreads();>;"]),
        ("unary", &["-x>(x)"]),
        ("cast", &["float>unsigned char"]),
        ("function", &["sqrtf(total)>(total)"]),
        ("arguments", &["rows, cols>cols, rows"]),
        ("stride", &["x_stride>cols", "x_stride>cols"]),
        ("loop step", &["c++>c += 2"]),
        ("index width", &["long long>int"]),
        ("launch index", &["blockIdx.x>0", "threadIdx.x>threadIdx.y"]),
        (
            "guard",
            &[
                "total > 2.0f ? sqrtf(total) : (float)c>(sqrtf(total))",
                "total > 2.0f ? sqrtf(total) : (float)c>((float)c)",
                "(row < cols)>((row < cols) || true)",
                "(row < cols)>((row < cols) && false)",
            ],
        ),
    ];
    for (operator, want) in table {
        assert_eq!(made(operator), *want, "{operator}");
    }
    assert!(made("constant").contains(&"256>(256 - 1)".to_string()));
    assert!(!made("constant").contains(&"256>(256 + 1)".to_string()));
    assert!(made("constant").contains(&"0.0f>1.0f".to_string()));
}

#[test]
fn other_targets_and_uncalled_functions_are_left_alone() {
    let rungs = generate("k.hip", KERNEL, &|name| name != "unused").expect("it parses");
    assert!(rungs.iter().all(|r| !r.id.contains("/other/") && !r.id.contains("/unused/")));
    assert!(rungs.iter().any(|r| r.id.contains("/mine/")));
}

#[test]
fn applied_to_its_file_every_rung_gives_another_text_that_parses_and_no_two_share_an_id() {
    let sources = crate::toolchain::embedded_texts();
    let mut ids = std::collections::BTreeSet::new();
    let mut total = 0;
    for (file, text) in sources.filter(|(f, _)| !f.starts_with("include/") || f.starts_with("include/assay/")) {
        for rung in generate(&file, text, &|_| true).expect("our kernels parse") {
            let Fault::Source(edits) = &rung.fault else { panic!("a source edit") };
            let edit = &edits[0];
            assert_eq!(&text[edit.span.clone()], edit.old);
            let new = [&text[..edit.span.start], &edit.new, &text[edit.span.end..]].concat();
            assert_ne!(new, text, "{}", rung.id);
            let (before, after) = (parse(text).expect("parses"), parse(&new).expect("parses"));
            assert!(
                before.root_node().has_error() || !after.root_node().has_error(),
                "{}: {} > {}",
                rung.id,
                edit.old,
                edit.new
            );
            assert!(ids.insert(rung.id.clone()), "{} twice", rung.id);
            total += 1;
        }
    }
    assert!(total >= 400, "{total}");
}

#[test]
fn the_same_text_gives_the_same_rungs() {
    let twice = || generate("k.hip", KERNEL, &|_| true).expect("it parses");
    assert_eq!(twice(), twice());
}
