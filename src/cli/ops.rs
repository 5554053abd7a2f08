//! `assay ops` and `assay ops show OP`.

use super::{Console, Stop};
use crate::judge::spec::{Class, Exact, OutputSpec};
use crate::ops::{Contract, KernelSig, REGISTRY};
use crate::record::SCHEMA;
use crate::report::{KernelDoc, OpDoc, OpsDoc, OutputDoc, ParamDoc, tool};
use crate::suite::{self, Case, Selection, param_text};
use crate::tensor::DType;

#[derive(clap::Args, Debug)]
#[command(args_conflicts_with_subcommands = true, disable_help_subcommand = true)]
pub(super) struct Args {
    #[command(subcommand)]
    what: Option<What>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(clap::Subcommand, Debug)]
enum What {
    /// Parameters, kernels with their parameter lists, rounding paths and bars of an op.
    Show {
        /// Name of the op.
        op: String,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

pub(super) fn main(args: &Args, console: &mut Console) -> Result<u8, Stop> {
    let cases = suite::plan(&Selection::default())?;
    let (ops, json) = match &args.what {
        Some(What::Show { op, json }) => (vec![suite::find_op(REGISTRY, op).map_err(Stop::usage)?], *json),
        None => (REGISTRY.to_vec(), args.json),
    };
    let docs: Vec<OpDoc> = ops.iter().map(|op| describe(*op, &cases)).collect();
    if json {
        console.json(&OpsDoc { schema: SCHEMA.to_string(), tool: tool(), ops: docs });
    } else if args.what.is_some() {
        docs.iter().for_each(|op| show(op, console));
    } else {
        let wide = docs.iter().map(|d| d.op.len()).max().unwrap_or(0);
        for d in &docs {
            console.line(format!("{:<wide$}  {:>5} cases  {}", d.op, d.planned, d.summary));
        }
    }
    Ok(0)
}

fn describe(op: &dyn Contract, cases: &[Case]) -> OpDoc {
    let mine = cases.iter().filter(|c| c.op == op.name());
    let sample = mine.clone().next();
    let plan = sample.and_then(|c| op.plan(&c.params).ok());
    let outputs = plan.iter().flat_map(|p| p.outputs().map(|(_, arg, spec)| output(arg.name, arg.view.dtype, spec)));
    let param = |p: &crate::ops::ParamSpec| ParamDoc {
        name: p.name.to_string(),
        admits: suite::kind_text(&p.kind),
        default: p.default_value().as_ref().map(param_text),
        doc: p.doc.to_string(),
    };
    OpDoc {
        op: op.name().to_string(),
        family: op.family().to_string(),
        summary: op.summary().to_string(),
        params: op.params().iter().map(param).collect(),
        kernels: op.kernels().iter().map(kernel).collect(),
        paths: sample.map_or(Vec::new(), |c| op.paths(&c.params).iter().map(|p| p.to_string()).collect()),
        outputs: outputs.collect(),
        planned: mine.count() as u64,
    }
}

fn kernel(sig: &KernelSig) -> KernelDoc {
    let word = |t: &crate::ops::KType| format!("{t:?}").to_lowercase();
    let params = sig.params.iter().map(|(name, t)| format!("{name}: {}", word(t))).collect();
    KernelDoc { symbol: sig.symbol.clone(), params }
}

fn output(name: &str, dtype: DType, spec: &OutputSpec) -> OutputDoc {
    let class = match spec.class {
        Class::Copy => "copy",
        Class::Rounded => "rounded",
        Class::Integer => "integer",
    };
    OutputDoc {
        name: name.to_string(),
        dtype: dtype.name().to_string(),
        class: class.to_string(),
        bars: bars(dtype, spec),
    }
}

/// The bars of an output in words; docs/bars.md has the formulas.
fn bars(dtype: DType, spec: &OutputSpec) -> Vec<String> {
    let mut bars: Vec<String> = Vec::new();
    match spec.class {
        Class::Copy | Class::Integer => bars.push("exact".to_string()),
        Class::Rounded => {
            let narrow = dtype != DType::F32;
            bars.extend(["class".to_string(), "nmse".to_string(), "row_nmse".to_string()]);
            bars.push(match spec.ulp.l {
                _ if narrow => "ulp <= 0.51 + B0/ulp(o)".to_string(),
                Some(l) => format!("ulp <= {l}"),
                None => "ulp (reported only)".to_string(),
            });
            bars.push("bound: abs(d-o) <= B".to_string());
            if narrow {
                bars.push("bias".to_string());
            }
            if spec.path {
                bars.push("path: 0 unexplained roundings".to_string());
            }
            match spec.exact {
                Exact::No => {}
                Exact::NonNan => bars.push("exact on all but NaN".to_string()),
                Exact::ZeroSignFree => bars.push("exact, +0 equal to -0".to_string()),
            }
        }
    }
    let every = ["written", "untouched", "guard", "inputs", "repeat", "native", "launches"];
    bars.extend(every.map(str::to_string));
    bars.extend(["schedule (simulator)", "memory: 0 findings (simulator)"].map(str::to_string));
    bars
}

fn show(d: &OpDoc, console: &mut Console) {
    console.line(format!("{} ({}), {} cases in the default suites", d.op, d.family, d.planned));
    console.line(format!("  {}", d.summary));
    console.line("\nkeys of a case");
    let wide = d.params.iter().map(|p| p.name.len()).max().unwrap_or(0);
    for p in &d.params {
        let default = p.default.as_ref().map_or("must be given".to_string(), |v| format!("default {v}"));
        console.line(format!("  {:<wide$}  {}; {default}. {}", p.name, p.admits, p.doc));
    }
    console.line("\nkernels a board, or a candidate given with --kernels DIR, must define");
    for k in &d.kernels {
        console.line(format!("  extern \"C\" __global__ void {}({})", k.symbol, k.params.join(", ")));
    }
    console.line(format!("\nrounding paths: {} (the first is the declared one)", d.paths.join(", ")));
    console.line("\noutputs and their bars, as in the first planned case");
    for o in &d.outputs {
        console.line(format!("  {} ({}, class {})", o.name, o.dtype, o.class));
        for bar in &o.bars {
            console.line(format!("    {bar}"));
        }
    }
}
