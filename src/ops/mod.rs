//! The op set: what each op computes, how it is launched, and what its right answer is.
//!
//! # How to add an op
//! Three files and one registration line:
//! 1. `src/ops/<family>/<op>.rs`: the [`Contract`] (parameters, plan, reference, oracle with error bound, golden tests);
//! 2. `kernels/<family>/<op>.hip`: the kernels, plain HIP;
//! 3. a `[[case]]` in `suites/<family>.toml`;
//! 4. one line in `REGISTRY` below, beside the `pub mod` that names the file.
//!
//! This room refuses to know boards, compilers and verdicts.

pub mod bounds;
pub mod elementwise;
pub mod gemm;
mod inputs;
pub mod norm;
pub mod numerics;
mod params;
mod parts;
pub mod rope;
#[doc(hidden)]
pub mod testing;

pub use inputs::Inputs;
pub use params::{Illegal, ParamKind, ParamSpec, Params, Value};

use crate::fixture::Fill;
use crate::judge::spec::{Oracle, OutputSpec};
use crate::tensor::View;

/// Every op, in the order of reports.
#[rustfmt::skip] // one line an op, so that registrations merge
pub static REGISTRY: &[&dyn Contract] = &[
    &elementwise::add::Add,
    &elementwise::cast::Cast,
    &elementwise::embedding::Embedding,
    &elementwise::mul_scalar::MulScalar,
    &elementwise::silu_and_mul::SiluAndMul,
    &gemm::matmul_bt::MatmulBt,
    &norm::rms_norm::RmsNorm,
    &norm::fused_norm_rope::FusedNormRope,
    &rope::rope_from_cache::RopeFromCache,
];

/// The op of that name.
pub fn find(name: &str) -> Option<&'static dyn Contract> {
    REGISTRY.iter().copied().find(|op| op.name() == name)
}

/// What an op is.
pub trait Contract: Sync {
    /// snake_case name.
    fn name(&self) -> &'static str;

    /// Family: the folder of its files.
    fn family(&self) -> &'static str;

    /// One line: what it computes, its rounding points and edge rules.
    fn summary(&self) -> &'static str;

    /// Parameters in the order of case ids. `dtype` and `data` come first where the op has them.
    fn params(&self) -> &'static [ParamSpec];

    /// Kernels a board must provide, with their parameter lists: what `assay ops show` prints and a candidate must meet.
    fn kernels(&self) -> Vec<KernelSig>;

    /// Buffers and launches of a case.
    ///
    /// # Errors
    /// When the parameters are illegal together; the message says which and why.
    fn plan(&self, params: &Params) -> Result<Plan, Illegal>;

    /// The reference tier: packed logical bytes of each output, in the order of the outputs in the plan. Elements of skipped rows
    /// may hold anything. f32 arithmetic in the fixed order of our kernels; transcendentals from `libm` only.
    fn reference(&self, params: &Params, plan: &Plan, inputs: &Inputs) -> Vec<Vec<u8>>;

    /// The oracle: f64 along the rounding path `path`, from the very bytes of `inputs`; one column set per output, in plan order.
    fn oracle(&self, params: &Params, plan: &Plan, inputs: &Inputs, path: &str) -> Vec<Oracle>;

    /// Named rounding paths; the first is the declared one.
    fn paths(&self, _params: &Params) -> &'static [&'static str] {
        &["declared"]
    }
}

/// What a buffer is to the op.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Read only.
    In,
    /// Written only; poisoned before every launch.
    Out,
    /// Read and written in place; holds its fill before every launch.
    InOut,
    /// Scratch between the launches of one case; poisoned before every launch, not judged.
    Temp,
}

/// One buffer of a case.
#[derive(Clone, Debug)]
pub struct Arg {
    /// Name, unique in the plan.
    pub name: &'static str,
    /// Role.
    pub role: Role,
    /// Dtype, shape and strides.
    pub view: View,
    /// Initial contents; `None` for `Out` and `Temp`.
    pub fill: Option<Fill>,
    /// Gap elements of an input's buffer (outside the view) are NaN when true, pseudo-random otherwise. Integers are always pseudo-random.
    pub nan_gap: bool,
    /// For `Out` and `InOut`.
    pub output: Option<OutputSpec>,
}

/// Type of one kernel parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum KType {
    /// Pointer to device memory (8 bytes).
    Ptr,
    /// 32-bit signed integer.
    I32,
    /// 64-bit signed integer.
    I64,
    /// binary32.
    F32,
    /// Any other type passed by value, e.g. a struct; no op has one.
    Raw,
}

/// Value of one kernel parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum KArg {
    /// The first byte of the buffer of `plan.args[i]`, plus its view's offset.
    Buf(usize),
    /// A null pointer, for an optional tensor that is absent.
    Null,
    /// 32-bit signed integer.
    I32(i32),
    /// 64-bit signed integer.
    I64(i64),
    /// binary32.
    F32(f32),
}

impl KArg {
    /// Its type.
    pub fn ktype(self) -> KType {
        match self {
            Self::Buf(_) | Self::Null => KType::Ptr,
            Self::I32(_) => KType::I32,
            Self::I64(_) => KType::I64,
            Self::F32(_) => KType::F32,
        }
    }
}

/// A kernel symbol and its parameter list.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct KernelSig {
    /// `extern "C"` symbol.
    pub symbol: String,
    /// Parameter names and types in order.
    pub params: Vec<(&'static str, KType)>,
}

/// One launch of a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Launch {
    /// Kernel symbol.
    pub symbol: String,
    /// Blocks.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: [u32; 3],
    /// Dynamic shared memory, bytes.
    pub lds: u32,
    /// Arguments in order; types equal the signature's.
    pub args: Vec<KArg>,
}

/// Buffers and launches of a case. An empty launch list is the right plan for a case of declared size 0.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Buffers.
    pub args: Vec<Arg>,
    /// Launches in order.
    pub launches: Vec<Launch>,
    /// Floating-point operations of the case, for the time estimate of the simulator.
    pub flops: f64,
}

impl Plan {
    /// The outputs (`Out` and `InOut`) with their place in `args`, in order.
    pub fn outputs(&self) -> impl Iterator<Item = (usize, &Arg, &OutputSpec)> {
        self.args.iter().enumerate().filter_map(|(i, a)| a.output.as_ref().map(|o| (i, a, o)))
    }
}
