//! What a case's right answer is: inputs, reference tier, oracle. Needs no board and refuses to judge.

use crate::fixture::{Key, generate};
use crate::judge::spec::Oracle;
use crate::ops::{Arg, Contract, Inputs, Plan, Role};
use crate::suite::Case;

/// Reference and oracle of a case.
pub struct Answer {
    /// Packed reference outputs, in the order of the plan's outputs.
    pub reference: Vec<Vec<u8>>,
    /// Oracle columns per path, the declared one first; one entry per output.
    pub oracles: Vec<(&'static str, Vec<Oracle>)>,
}

/// The inputs, which are a function of the case alone.
pub fn inputs(plan: &Plan, case: &Case) -> Inputs {
    let bytes = plan.args.iter().map(|arg| match &arg.fill {
        Some(fill) => generate(fill, arg.view.dtype, &arg.view.shape, Key::new(case.seed, &case.id, arg.name)),
        None => vec![],
    });
    Inputs::new(bytes.collect())
}

/// Inputs of the same sizes that are all zero: a fault of the harness that the ladder plants.
pub(crate) fn zeroed(plan: &Plan) -> Inputs {
    let bytes = plan.args.iter().map(|arg| match &arg.fill {
        Some(_) => vec![0; arg.view.len() * arg.view.dtype.size()],
        None => vec![],
    });
    Inputs::new(bytes.collect())
}

/// What the op makes of them.
pub fn answer(op: &dyn Contract, case: &Case, plan: &Plan, inputs: &Inputs) -> Answer {
    let reference = op.reference(&case.params, plan, inputs);
    let oracle = |path: &&'static str| (*path, op.oracle(&case.params, plan, inputs, path));
    Answer { reference, oracles: op.paths(&case.params).iter().map(oracle).collect() }
}

/// An input that could be copied through to an output: as long and of the same dtype, else one whose beginning is.
pub fn twin<'a>(plan: &Plan, inputs: &'a Inputs, output: &Arg) -> Option<&'a [u8]> {
    let fits = |a: &Arg| {
        matches!(a.role, Role::In | Role::InOut)
            && a.view.dtype == output.view.dtype
            && a.view.len() >= output.view.len()
    };
    let places = || plan.args.iter().enumerate().filter(|(_, a)| fits(a));
    let same = places().find(|(_, a)| a.view.len() == output.view.len());
    same.or_else(|| places().next()).map(|(i, _)| inputs.bytes(i))
}
