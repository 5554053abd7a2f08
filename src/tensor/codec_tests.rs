//! Exhaustive codec tests against arithmetic that shares nothing with the codecs.

use super::*;
use crate::tensor::pow2;

/// A 16-bit float format as plain integers.
#[derive(Clone, Copy)]
struct Narrow {
    dtype: DType,
    fraction_bits: u32,
    bias: i32,
}

const NARROW: [Narrow; 2] = [
    Narrow { dtype: DType::F16, fraction_bits: 10, bias: 15 },
    Narrow { dtype: DType::Bf16, fraction_bits: 7, bias: 127 },
];

impl Narrow {
    fn infinity(self) -> u16 {
        0x7fff >> self.fraction_bits << self.fraction_bits
    }

    /// Value of a code that is no NaN; the code of infinity gives the value one step above the largest finite one.
    fn value(self, code: u16) -> f64 {
        let fraction = (code & ((1 << self.fraction_bits) - 1)) as f64;
        let exponent = ((code & 0x7fff) >> self.fraction_bits) as i32;
        let hidden = if exponent == 0 { 0.0 } else { pow2(self.fraction_bits as i32) };
        let x = (hidden + fraction) * pow2(exponent.max(1) - self.bias - self.fraction_bits as i32);
        if code & 0x8000 != 0 { -x } else { x }
    }

    fn round_f64(self, x: f64) -> u16 {
        if self.dtype == DType::F16 { f64_to_f16(x) } else { f64_to_bf16(x) }
    }

    fn round_f32(self, x: f32) -> u16 {
        if self.dtype == DType::F16 { f32_to_f16(x) } else { f32_to_bf16(x) }
    }

    fn to_f32(self, code: u16) -> f32 {
        if self.dtype == DType::F16 { f16_to_f32(code) } else { bf16_to_f32(code) }
    }
}

#[test]
fn every_pattern_of_f16_and_bf16_decodes_to_its_value_and_encodes_back() {
    for n in NARROW {
        for code in 0..=u16::MAX {
            let x = n.to_f32(code);
            if code & 0x7fff > n.infinity() {
                assert!(x.is_nan(), "{:04x}", code);
                assert!(n.round_f32(x) & 0x7fff > n.infinity() && n.round_f64(x as f64) & 0x7fff > n.infinity());
                continue;
            }
            if code & 0x7fff == n.infinity() {
                assert_eq!(x, if code & 0x8000 != 0 { f32::NEG_INFINITY } else { f32::INFINITY });
            } else {
                assert_eq!((x as f64).to_bits(), n.value(code).to_bits(), "{} {code:04x}", n.dtype);
            }
            assert_eq!(n.round_f32(x), code);
            assert_eq!(n.round_f64(x as f64), code);
        }
    }
}

#[test]
fn f64_rounds_to_the_right_side_of_every_midpoint_at_every_offset() {
    for n in NARROW {
        for code in 0..n.infinity() {
            let (low, high) = (n.value(code), n.value(code + 1));
            let (middle, step) = ((low + high) / 2.0, high - low);
            let even = code + (code & 1);
            let check = |x: f64, want: u16| {
                assert_eq!(n.round_f64(x), want, "{} {x:e}", n.dtype);
                assert_eq!(n.round_f64(-x), want | 0x8000, "{} -{x:e}", n.dtype);
            };
            check(middle, even);
            for k in 2..=60 {
                let (below, above) = (middle - step * pow2(-k), middle + step * pow2(-k));
                // Offsets that f64 cannot hold fall back onto the midpoint.
                check(below, if below < middle { code } else { even });
                check(above, if above > middle { code + 1 } else { even });
            }
            check(f64::from_bits(middle.to_bits() - 1), code);
            check(f64::from_bits(middle.to_bits() + 1), code + 1);
        }
    }
}

#[test]
fn f32_rounds_to_the_right_side_of_every_midpoint() {
    for n in NARROW {
        for code in 0..n.infinity() {
            let middle = ((n.value(code) + n.value(code + 1)) / 2.0) as f32;
            let below = f32::from_bits(middle.to_bits() - 1);
            let above = f32::from_bits(middle.to_bits() + 1);
            let got = [below, middle, above].map(|x| n.round_f32(x));
            assert_eq!(got, [code, code + (code & 1), code + 1], "{} {middle:e}", n.dtype);
            assert_eq!(n.round_f32(-above), (code + 1) | 0x8000);
        }
    }
}

#[test]
fn f64_rounds_once_to_f32_at_midpoints_of_every_binade() {
    for exponent in 0..255u32 {
        for fraction in [0, 1, 2, 0x3f_ffff, 0x40_0000, 0x7f_fffe, 0x7f_ffff] {
            let bits = exponent << 23 | fraction;
            let (low, high) = (f32::from_bits(bits) as f64, f32::from_bits(bits + 1) as f64);
            if high.is_infinite() {
                continue;
            }
            let (middle, step) = ((low + high) / 2.0, high - low);
            assert_eq!(f64_to_f32(middle).to_bits(), bits + (bits & 1));
            for k in 2..=29 {
                assert_eq!(f64_to_f32(middle - step * pow2(-k)).to_bits(), bits);
                assert_eq!(f64_to_f32(middle + step * pow2(-k)).to_bits(), bits + 1);
            }
        }
    }
}

#[test]
fn round_to_agrees_with_the_codec_as_a_value_and_keeps_what_is_no_number() {
    for n in NARROW {
        let fmt = n.dtype.float().expect("float");
        let mut x = 1e-46;
        while x < 1e39 {
            for y in [x, -x] {
                assert_eq!(round_to(y, fmt).to_bits(), (n.to_f32(n.round_f64(y)) as f64).to_bits(), "{y:e}");
            }
            x *= 1.000_731;
        }
        assert!(round_to(f64::NAN, fmt).is_nan());
        assert_eq!(round_to(f64::NEG_INFINITY, fmt), f64::NEG_INFINITY);
        assert!(round_to(-0.0, fmt).is_sign_negative());
    }
    let f32s = DType::F32.float().expect("float");
    assert_eq!(round_to(1.0 + pow2(-24) + pow2(-50), f32s), 1.0 + pow2(-23));
    assert_eq!(round_to(f32::MAX as f64 * (1.0 + pow2(-26)), f32s), f32::MAX as f64);
}

#[test]
fn a_nan_is_cut_and_made_quiet_whatever_its_payload() {
    for bits in [0x7f80_0001u32, 0x7fff_ffff, 0xff80_0001, 0xffff_ffff, 0x7f80_8000, 0x7fa0_0000] {
        let x = f32::from_bits(bits);
        assert_eq!(f32_to_bf16(x), (bits >> 16) as u16 | 0x40);
        let half = f32_to_f16(x);
        assert_eq!(half & 0x7e00, 0x7e00, "{bits:08x}");
        assert_eq!(half & 0x1ff, (bits >> 13) as u16 & 0x1ff);
        assert_eq!(half >> 15, (bits >> 31) as u16);
    }
    assert_eq!(f64_to_bf16(f64::NAN.copysign(-1.0)), 0xffc0);
    assert_eq!(f64_to_f16(f64::NAN.copysign(1.0)), 0x7e00);
}

#[test]
fn packed_elements_come_back_as_they_went_in() {
    let x = [1.5f32, -0.0, 3e38, f32::NEG_INFINITY];
    assert_eq!(decode_f32(DType::F32, &encode_f32(DType::F32, &x)), x);
    assert_eq!(decode_f32(DType::Bf16, &encode_f64(DType::Bf16, &[1.5, -2.0, 0.0])), [1.5, -2.0, 0.0]);
    assert_eq!(decode_f32(DType::F16, &encode_f32(DType::F16, &[1.5, 1e9])), [1.5, f32::INFINITY]);
    let ids = [0i64, -1, i32::MAX as i64, i32::MIN as i64];
    assert_eq!(decode_i64(DType::I32, &encode_i64(DType::I32, &ids)), ids);
    assert_eq!(decode_i64(DType::I64, &encode_i64(DType::I64, &[i64::MIN])), [i64::MIN]);
    assert_eq!(decode_i64(DType::U8, &encode_i64(DType::U8, &[0, 255])), [0, 255]);
}
