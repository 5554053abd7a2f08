//! Dtypes, codecs and strided views. Refuses to know ops, boards or verdicts.

pub mod codec;
mod view;

pub use view::View;

use serde::{Deserialize, Serialize};

/// Element type of a buffer. Sizes are in bytes, values little-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DType {
    /// IEEE binary32.
    F32,
    /// IEEE binary16.
    F16,
    /// bfloat16: binary32 cut to 16 bits.
    Bf16,
    /// Two's complement 32-bit integer.
    I32,
    /// Two's complement 64-bit integer.
    I64,
    /// Raw byte.
    U8,
}

/// The numbers that define a binary float format.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FloatFormat {
    /// Significand bits, the hidden one included (f32 24, f16 11, bf16 8).
    pub p: i32,
    /// Exponent of the smallest normal number (f32 and bf16 -126, f16 -14).
    pub emin: i32,
    /// Largest finite value.
    pub max: f64,
}

impl FloatFormat {
    /// Step between neighbours at `x`: `2^(max(e, emin) - p + 1)`, `e` read from the bits of `x`
    /// (never from a logarithm). At zero it is the subnormal step. `x` must be finite.
    pub fn ulp(&self, x: f64) -> f64 {
        let power = f64::from_bits(x.to_bits() & 0x7ff0_0000_0000_0000);
        power.max(pow2(self.emin)) * pow2(1 - self.p)
    }

    /// Smallest normal number.
    pub fn min_normal(&self) -> f64 {
        pow2(self.emin)
    }
}

/// `2^e` for `e` in the normal range of f64.
pub fn pow2(e: i32) -> f64 {
    debug_assert!((-1022..=1023).contains(&e));
    f64::from_bits(((e + 1023) as u64) << 52)
}

impl DType {
    /// Every dtype, in the order used by reports.
    pub const ALL: [DType; 6] = [Self::F32, Self::F16, Self::Bf16, Self::I32, Self::I64, Self::U8];

    /// Bytes of one element.
    pub fn size(self) -> usize {
        match self {
            Self::F32 | Self::I32 => 4,
            Self::F16 | Self::Bf16 => 2,
            Self::I64 => 8,
            Self::U8 => 1,
        }
    }

    /// Lower-case name as written in suites and case ids.
    pub fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
            Self::I32 => "i32",
            Self::I64 => "i64",
            Self::U8 => "u8",
        }
    }

    /// The dtype of that name, if there is one.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|d| d.name() == name)
    }

    /// Format constants, or `None` for integers.
    pub fn float(self) -> Option<FloatFormat> {
        match self {
            Self::F32 => Some(FloatFormat { p: 24, emin: -126, max: f32::MAX as f64 }),
            Self::F16 => Some(FloatFormat { p: 11, emin: -14, max: 65504.0 }),
            Self::Bf16 => Some(FloatFormat { p: 8, emin: -126, max: 255.0 * pow2(120) }),
            _ => None,
        }
    }
}

impl std::fmt::Display for DType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
