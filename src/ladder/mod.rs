//! The mutation ladder: kernels are rebuilt with one deliberate fault each, and the gate must go red. Refuses to weaken a bar, and to
//! count a mutant as killed that never ran.

pub mod catalogue;
pub mod operators;
pub mod rung;
pub mod select;
