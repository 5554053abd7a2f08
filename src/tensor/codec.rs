//! Element codecs: bytes to and from f32 and f64.
//!
//! f64 to a narrow format is our own integer round-to-nearest-even on the f64 bits, because going through f32
//! rounds twice and `half` 2.7.1 drops sticky bits. Everything else is exact widening.

use super::{DType, FloatFormat};

/// Rounds `x` once, to nearest even, into a format of `p` significand bits with `emin`, and returns the value as f64.
///
/// Overflow gives an infinity; NaN stays NaN; the sign of zero survives.
pub fn round_to(x: f64, fmt: FloatFormat) -> f64 {
    if !x.is_finite() || x == 0.0 {
        return x;
    }
    let step = fmt.ulp(x);
    // step is a power of two, so the division and the product below are exact: the only rounding is the integer one.
    let scaled = x.abs() / step;
    let rounded = round_half_even(scaled) * step;
    let rounded = if rounded > fmt.max { f64::INFINITY } else { rounded };
    rounded.copysign(x)
}

/// Nearest integer, ties to even, for `0 <= x < 2^52`, on the bits.
fn round_half_even(x: f64) -> f64 {
    const MAGIC: f64 = 4503599627370496.0; // 2^52: the addition itself rounds to nearest even
    (x + MAGIC) - MAGIC
}

/// f64 to f32 bits, round to nearest even (the language's conversion rounds once, correctly).
pub fn f64_to_f32(x: f64) -> f32 {
    x as f32
}

/// f64 to bf16 bits, one round to nearest even. NaN becomes the quiet NaN 0x7FC0 with x's sign.
pub fn f64_to_bf16(x: f64) -> u16 {
    if x.is_nan() {
        return 0x7fc0 | if x.is_sign_negative() { 0x8000 } else { 0 };
    }
    let r = round_to(x, DType::Bf16.float().expect("bf16 is a float"));
    ((r as f32).to_bits() >> 16) as u16
}

/// f64 to f16 bits, one round to nearest even. NaN becomes the quiet NaN 0x7E00 with x's sign.
pub fn f64_to_f16(x: f64) -> u16 {
    let sign = if x.is_sign_negative() { 0x8000 } else { 0 };
    if x.is_nan() {
        return 0x7e00 | sign;
    }
    let r = round_to(x, DType::F16.float().expect("f16 is a float")).abs();
    if r.is_infinite() {
        return 0x7c00 | sign;
    }
    if r == 0.0 {
        return sign;
    }
    let e = ((r.to_bits() >> 52) as i32) - 1023;
    let magnitude = if e < -14 {
        (r * super::pow2(24)) as u16
    } else {
        let fraction = ((r.to_bits() >> 42) & 0x3ff) as u16;
        (((e + 15) as u16) << 10) | fraction
    };
    magnitude | sign
}

/// f32 to bf16 bits, round to nearest even; NaN is cut and made quiet.
pub fn f32_to_bf16(x: f32) -> u16 {
    let bits = x.to_bits();
    if x.is_nan() {
        return ((bits >> 16) as u16) | 0x0040;
    }
    ((bits.wrapping_add(0x7fff + ((bits >> 16) & 1))) >> 16) as u16
}

/// bf16 bits to f32, exact.
pub fn bf16_to_f32(bits: u16) -> f32 {
    f32::from_bits((bits as u32) << 16)
}

/// f32 to f16 bits, round to nearest even, subnormals included.
pub fn f32_to_f16(x: f32) -> u16 {
    half::f16::from_f32(x).to_bits()
}

/// f16 bits to f32, exact.
pub fn f16_to_f32(bits: u16) -> f32 {
    half::f16::from_bits(bits).to_f32()
}

/// Decodes packed float elements to f32 (exact for every float dtype).
///
/// # Panics
/// When `dtype` is an integer: contracts never ask for that.
pub fn decode_f32(dtype: DType, bytes: &[u8]) -> Vec<f32> {
    match dtype {
        DType::F32 => bytes.chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().expect("4 bytes"))).collect(),
        DType::F16 => halves(bytes).map(f16_to_f32).collect(),
        DType::Bf16 => halves(bytes).map(bf16_to_f32).collect(),
        _ => panic!("{dtype} is no float"),
    }
}

/// Encodes f32 values into a float dtype, one round to nearest even, packed.
///
/// # Panics
/// When `dtype` is an integer.
pub fn encode_f32(dtype: DType, values: &[f32]) -> Vec<u8> {
    match dtype {
        DType::F32 => pack(values, f32::to_le_bytes),
        DType::F16 => pack(values, |v| f32_to_f16(v).to_le_bytes()),
        DType::Bf16 => pack(values, |v| f32_to_bf16(v).to_le_bytes()),
        _ => panic!("{dtype} is no float"),
    }
}

/// Encodes f64 values into a float dtype, one round to nearest even, packed.
///
/// # Panics
/// When `dtype` is an integer.
pub fn encode_f64(dtype: DType, values: &[f64]) -> Vec<u8> {
    match dtype {
        DType::F32 => pack(values, |v| f64_to_f32(v).to_le_bytes()),
        DType::F16 => pack(values, |v| f64_to_f16(v).to_le_bytes()),
        DType::Bf16 => pack(values, |v| f64_to_bf16(v).to_le_bytes()),
        _ => panic!("{dtype} is no float"),
    }
}

/// Encodes one f64 value into the element `to`, as [`encode_f64`] does.
///
/// # Panics
/// When `dtype` is an integer, or `to` is not as long as an element.
pub fn put_f64(dtype: DType, x: f64, to: &mut [u8]) {
    match dtype {
        DType::F32 => to.copy_from_slice(&f64_to_f32(x).to_le_bytes()),
        DType::F16 => to.copy_from_slice(&f64_to_f16(x).to_le_bytes()),
        DType::Bf16 => to.copy_from_slice(&f64_to_bf16(x).to_le_bytes()),
        _ => panic!("{dtype} is no float"),
    }
}

/// Packs the bytes of each element; fixed-size chunks, so that the loop vectorises.
#[inline(always)]
fn pack<T: Copy, const N: usize>(values: &[T], bytes: impl Fn(T) -> [u8; N]) -> Vec<u8> {
    let mut out = vec![0; values.len() * N];
    for (place, &v) in out.chunks_exact_mut(N).zip(values) {
        place.copy_from_slice(&bytes(v));
    }
    out
}

/// Decodes packed integer elements to i64.
///
/// # Panics
/// When `dtype` is a float.
pub fn decode_i64(dtype: DType, bytes: &[u8]) -> Vec<i64> {
    match dtype {
        DType::I32 => {
            bytes.chunks_exact(4).map(|b| i32::from_le_bytes(b.try_into().expect("4 bytes")) as i64).collect()
        }
        DType::I64 => bytes.chunks_exact(8).map(|b| i64::from_le_bytes(b.try_into().expect("8 bytes"))).collect(),
        DType::U8 => bytes.iter().map(|&b| b as i64).collect(),
        _ => panic!("{dtype} is no integer"),
    }
}

/// Encodes i64 values into an integer dtype, packed; values must fit.
///
/// # Panics
/// When `dtype` is a float.
pub fn encode_i64(dtype: DType, values: &[i64]) -> Vec<u8> {
    match dtype {
        DType::I32 => pack(values, |v| (v as i32).to_le_bytes()),
        DType::I64 => pack(values, i64::to_le_bytes),
        DType::U8 => pack(values, |v| [v as u8]),
        _ => panic!("{dtype} is no integer"),
    }
}

fn halves(bytes: &[u8]) -> impl Iterator<Item = u16> + '_ {
    bytes.chunks_exact(2).map(|b| u16::from_le_bytes([b[0], b[1]]))
}

#[cfg(test)]
#[path = "codec_tests.rs"]
mod tests;
