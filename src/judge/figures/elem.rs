//! Float formats as the lane code needs them: loads, the finite test on the bits, and powers of two by mask.

use super::vector::{LANES, Scalar, Vector};
use crate::tensor::{DType, codec};
use std::marker::PhantomData;

/// Exponent field of binary64.
const EXP: u64 = 0x7ff0_0000_0000_0000;
/// `EXP_TOP - bits(2^e)` is `bits(2^-e)`.
const EXP_TOP: u64 = 0x7fe0_0000_0000_0000;
/// Adding and taking it away rounds `0 <= x < 2^52` to the nearest even integer.
const MAGIC: f64 = 4503599627370496.0;

/// A format's arithmetic on a machine's lanes.
#[derive(Clone, Copy)]
pub struct Lanes<E, V> {
    v: V,
    format: PhantomData<E>,
}

impl<E: Elem, V: Vector> Lanes<E, V> {
    /// On these lanes.
    #[inline(always)]
    pub fn new(v: V) -> Self {
        Self { v, format: PhantomData }
    }

    /// Largest power of two that is `<= abs(x)` (infinity for what is not finite).
    #[inline(always)]
    pub fn power(self, x: V::F) -> V::F {
        self.v.and(x, self.v.bits(EXP))
    }

    /// `1 / x` for a power of two in the normal range.
    #[inline(always)]
    pub fn inverse(self, power: V::F) -> V::F {
        self.v.sub_bits(self.v.bits(EXP_TOP), power)
    }

    /// Step of the format at `x`.
    #[inline(always)]
    pub fn ulp(self, x: V::F) -> V::F {
        self.v.mul(self.v.max(self.power(x), self.v.splat(E::MIN_NORMAL)), self.v.splat(E::STEP))
    }

    /// Half of it, exact.
    #[inline(always)]
    pub fn half_ulp(self, x: V::F) -> V::F {
        self.v.mul(self.v.max(self.power(x), self.v.splat(E::MIN_NORMAL)), self.v.splat(E::STEP * 0.5))
    }

    /// The step's inverse.
    #[inline(always)]
    pub fn unulp(self, x: V::F) -> V::F {
        let power = self.v.max(self.power(x), self.v.splat(E::MIN_NORMAL));
        self.v.mul(self.inverse(power), self.v.splat(E::UNSTEP))
    }

    /// One rounding to nearest even, for `abs(x) <` [`Elem::THRESHOLD`]; the sign of zero survives.
    #[inline(always)]
    pub fn round(self, x: V::F) -> V::F {
        if !E::NARROW {
            return self.v.through_f32(x);
        }
        // ulp is a power of two: both products are exact, only the integer step rounds.
        let magic = self.v.splat(MAGIC);
        let scaled = self.v.mul(self.v.abs(x), self.unulp(x));
        let whole = self.v.sub(self.v.add(scaled, magic), magic);
        self.v.with_sign(self.v.mul(whole, self.ulp(x)), x)
    }
}

/// A float format.
pub trait Elem: Copy + 'static {
    /// Its dtype.
    const DTYPE: DType;
    /// Bytes of an element.
    const SIZE: usize;
    /// Stored in 16 bits: R is needed for `bias` and `path`.
    const NARROW: bool;
    /// `2^emin`.
    const MIN_NORMAL: f64;
    /// `2^(1-p)`: ulp of a power of two over that power.
    const STEP: f64;
    /// `2^(p-1)`.
    const UNSTEP: f64;
    /// Largest finite value.
    const MAX: f64;
    /// Smallest magnitude that rounds to infinity.
    const THRESHOLD: f64;

    /// Element `i` of packed bytes, exact; NaN and infinities keep their class.
    fn get(bytes: &[u8], i: usize) -> f64;

    /// A vector of elements from element `i` on, all known to be finite.
    fn load(bytes: &[u8], i: usize) -> [f32; LANES];

    /// No element is NaN or infinite, asked of the bits.
    fn finite(bytes: &[u8]) -> bool;

    /// Step of the format at `x`.
    #[inline(always)]
    fn ulp(x: f64) -> f64 {
        Lanes::<Self, Scalar>::new(Scalar).ulp(x)
    }
}

/// binary32.
#[derive(Clone, Copy)]
pub struct F32;
/// binary16.
#[derive(Clone, Copy)]
pub struct F16;
/// bfloat16.
#[derive(Clone, Copy)]
pub struct Bf16;

#[inline(always)]
fn half_bits(bytes: &[u8], i: usize) -> u16 {
    u16::from_le_bytes([bytes[2 * i], bytes[2 * i + 1]])
}

impl Elem for F32 {
    const DTYPE: DType = DType::F32;
    const SIZE: usize = 4;
    const NARROW: bool = false;
    const MIN_NORMAL: f64 = 1.0 / (1u128 << 126) as f64;
    const STEP: f64 = 1.0 / (1u64 << 23) as f64;
    const UNSTEP: f64 = (1u64 << 23) as f64;
    const MAX: f64 = f32::MAX as f64;
    const THRESHOLD: f64 = f32::MAX as f64 + (1u128 << 103) as f64;

    #[inline(always)]
    fn get(bytes: &[u8], i: usize) -> f64 {
        f32::from_le_bytes([bytes[4 * i], bytes[4 * i + 1], bytes[4 * i + 2], bytes[4 * i + 3]]) as f64
    }

    #[inline(always)]
    fn load(bytes: &[u8], i: usize) -> [f32; LANES] {
        let from: &[u8; 4 * LANES] = bytes[4 * i..4 * i + 4 * LANES].try_into().expect("four elements");
        let word = |l: usize| f32::from_le_bytes([from[4 * l], from[4 * l + 1], from[4 * l + 2], from[4 * l + 3]]);
        [word(0), word(1), word(2), word(3)]
    }

    #[inline(always)]
    fn finite(bytes: &[u8]) -> bool {
        // The largest exponent field, so that the loop has no branch.
        let mut top = 0i32;
        for b in bytes.chunks_exact(4) {
            let e = (u32::from_le_bytes([b[0], b[1], b[2], b[3]]) & 0x7f80_0000) as i32;
            top = if e > top { e } else { top };
        }
        top < 0x7f80_0000
    }
}

impl Elem for F16 {
    const DTYPE: DType = DType::F16;
    const SIZE: usize = 2;
    const NARROW: bool = true;
    const MIN_NORMAL: f64 = 1.0 / (1u64 << 14) as f64;
    const STEP: f64 = 1.0 / (1u64 << 10) as f64;
    const UNSTEP: f64 = (1u64 << 10) as f64;
    const MAX: f64 = 65504.0;
    const THRESHOLD: f64 = 65520.0;

    #[inline(always)]
    fn get(bytes: &[u8], i: usize) -> f64 {
        codec::f16_to_f32(half_bits(bytes, i)) as f64
    }

    #[inline(always)]
    fn load(bytes: &[u8], i: usize) -> [f32; LANES] {
        let [a, b, c, d] = four_halves(bytes, i);
        [finite_f16(a), finite_f16(b), finite_f16(c), finite_f16(d)]
    }

    #[inline(always)]
    fn finite(bytes: &[u8]) -> bool {
        finite_halves(bytes, 0x7c00)
    }
}

impl Elem for Bf16 {
    const DTYPE: DType = DType::Bf16;
    const SIZE: usize = 2;
    const NARROW: bool = true;
    const MIN_NORMAL: f64 = 1.0 / (1u128 << 126) as f64;
    const STEP: f64 = 1.0 / (1u64 << 7) as f64;
    const UNSTEP: f64 = (1u64 << 7) as f64;
    const MAX: f64 = 255.0 * (1u128 << 120) as f64;
    const THRESHOLD: f64 = 511.0 * (1u128 << 119) as f64;

    #[inline(always)]
    fn get(bytes: &[u8], i: usize) -> f64 {
        codec::bf16_to_f32(half_bits(bytes, i)) as f64
    }

    #[inline(always)]
    fn load(bytes: &[u8], i: usize) -> [f32; LANES] {
        let [a, b, c, d] = four_halves(bytes, i);
        [f32::from_bits(a << 16), f32::from_bits(b << 16), f32::from_bits(c << 16), f32::from_bits(d << 16)]
    }

    #[inline(always)]
    fn finite(bytes: &[u8]) -> bool {
        finite_halves(bytes, 0x7f80)
    }
}

#[inline(always)]
fn four_halves(bytes: &[u8], i: usize) -> [u32; LANES] {
    let from: &[u8; 2 * LANES] = bytes[2 * i..2 * i + 2 * LANES].try_into().expect("four elements");
    let half = |l: usize| u32::from(u16::from_le_bytes([from[2 * l], from[2 * l + 1]]));
    // Spelled out: `map` and `from_fn` are at times left as calls, one an element.
    [half(0), half(1), half(2), half(3)]
}

/// The fields of a finite f16 moved into f32 and rebiased by 2^112: exact, subnormals included.
#[inline(always)]
fn finite_f16(h: u32) -> f32 {
    let magnitude = f32::from_bits((h & 0x7fff) << 13) * f32::from_bits((127 + 112) << 23);
    f32::from_bits(magnitude.to_bits() | ((h & 0x8000) << 16))
}

#[inline(always)]
fn finite_halves(bytes: &[u8], exponent: u16) -> bool {
    let mut top = 0i16;
    for b in bytes.chunks_exact(2) {
        let e = (u16::from_le_bytes([b[0], b[1]]) & exponent) as i16;
        top = if e > top { e } else { top };
    }
    top < exponent as i16
}

/// Rounds any f64 into the format: as [`Lanes::round`], with NaN and overflow.
pub fn round_any<E: Elem>(x: f64) -> f64 {
    if !x.is_finite() {
        x
    } else if x.abs() >= E::THRESHOLD {
        f64::INFINITY.copysign(x)
    } else {
        Lanes::<E, Scalar>::new(Scalar).round(x)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::pow2;

    fn constants_match<E: Elem>() {
        let f = E::DTYPE.float().unwrap();
        assert_eq!(E::MIN_NORMAL, pow2(f.emin));
        assert_eq!(E::STEP, pow2(1 - f.p));
        assert_eq!(E::UNSTEP, pow2(f.p - 1));
        assert_eq!(E::MAX, f.max);
        assert_eq!(E::THRESHOLD, f.max + f.ulp(f.max) / 2.0);
        for x in [0.0, -0.0, 1.0, -1.75, f.max, f.min_normal(), f.min_normal() * 1.3e-2, 3.0e-3] {
            assert_eq!(E::ulp(x), f.ulp(x));
            assert_eq!(Lanes::<E, Scalar>::new(Scalar).unulp(x), 1.0 / f.ulp(x));
            assert_eq!(round_any::<E>(x).to_bits(), codec::round_to(x, f).to_bits());
        }
    }

    #[test]
    fn the_formats_constants_are_those_of_the_tensor_room() {
        constants_match::<F32>();
        constants_match::<F16>();
        constants_match::<Bf16>();
    }

    #[test]
    fn every_finite_half_loads_as_the_codec_decodes_it() {
        for bits in 0..=u16::MAX {
            let bytes = [bits.to_le_bytes(); LANES].concat();
            if F16::finite(&bytes) {
                assert_eq!(f64::from(F16::load(&bytes, 0)[3]).to_bits(), F16::get(&bytes, 0).to_bits(), "{bits:#x}");
            } else {
                assert!(!F16::get(&bytes, 0).is_finite());
            }
            if Bf16::finite(&bytes) {
                assert_eq!(f64::from(Bf16::load(&bytes, 0)[3]).to_bits(), Bf16::get(&bytes, 0).to_bits(), "{bits:#x}");
            } else {
                assert!(!Bf16::get(&bytes, 0).is_finite());
            }
        }
    }

    #[test]
    fn rounding_agrees_with_the_codec_around_midpoints() {
        for k in 0..2000 {
            let x = 1.0 + k as f64 / 4096.0 + if k % 3 == 0 { 1e-13 } else { 0.0 };
            for x in [x, -x * 1e-5, x * 3e-39, x * 511.0 * 128.0] {
                for d in [DType::F16, DType::Bf16] {
                    let want = codec::round_to(x, d.float().unwrap());
                    let got = if d == DType::F16 { round_any::<F16>(x) } else { round_any::<Bf16>(x) };
                    assert_eq!(got.to_bits(), want.to_bits(), "{d} {x:e}");
                }
            }
        }
    }
}
