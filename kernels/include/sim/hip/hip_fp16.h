// f16 for the host, on the bits: right to the last bit whatever the host's compiler knows of half precision.
#pragma once
#include "hip_runtime.h"
#ifndef ASSAY_F16
#define ASSAY_F16
ASSAY_FN float assay_f16_to_f32(unsigned short h) {
  const unsigned sign = (h & 0x8000u) << 16, exponent = (h >> 10) & 31u, fraction = h & 0x3ffu;
  if (exponent == 31u) return __uint_as_float(sign | 0x7f800000u | fraction << 13 | (fraction != 0u ? 0x400000u : 0u));
  if (exponent != 0u) return __uint_as_float(sign | (exponent + 112u) << 23 | fraction << 13);
  // A subnormal is fraction * 2^-24: both factors are exact floats and so is the product.
  return __uint_as_float(sign | __float_as_uint(static_cast<float>(fraction) * 0x1p-24f));
}
ASSAY_FN unsigned short assay_f32_to_f16(float x) {
  const unsigned bits = __float_as_uint(x), sign = bits >> 16 & 0x8000u, a = bits & 0x7fffffffu;
  if (a > 0x7f800000u) return static_cast<unsigned short>(sign | 0x7e00u | (a >> 13 & 0x3ffu));
  if (a >= 0x477ff000u) return static_cast<unsigned short>(sign | 0x7c00u);  // 65520 and more round to infinity
  // Adding 0.5 puts a subnormal result's step at the last bit of the sum, so the addition itself rounds to nearest even.
  if (a < 0x38800000u)
    return static_cast<unsigned short>(sign | (__float_as_uint(__uint_as_float(a) + 0.5f) - 0x3f000000u));
  return static_cast<unsigned short>(sign | (a - 0x38000000u + 0xfffu + (a >> 13 & 1u)) >> 13);
}
ASSAY_FN float assay_f64_to_odd(double x);
// The product is exact in f64; what the sum loses goes into its last bit, so that the one rounding at the end is right.
ASSAY_FN unsigned short assay_f16_fma(unsigned short a, unsigned short b, unsigned short c) {
  const double p = static_cast<double>(assay_f16_to_f32(a)) * static_cast<double>(assay_f16_to_f32(b));
  const double z = static_cast<double>(assay_f16_to_f32(c)), sum = p + z, seen = sum - p;
  const double lost = (p - (sum - seen)) + (z - seen);
  unsigned long long bits = static_cast<unsigned long long>(__double_as_longlong(sum));
  if (lost != 0.0 && sum - sum == 0.0 && (bits & 1u) == 0u) bits += (lost > 0.0) == (bits >> 63 == 0u) ? 1u : ~0ull;
  return assay_f32_to_f16(assay_f64_to_odd(__longlong_as_double(static_cast<long long>(bits))));
}
#endif
#include "../../assay/narrow_types.h"
