// f16 for AMD targets: the target's own conversions and fused multiply-add.
#pragma once
#include "hip_runtime.h"
#ifndef ASSAY_F16
#define ASSAY_F16
ASSAY_FN unsigned short assay_f32_to_f16(float x) { return __builtin_bit_cast(unsigned short, (_Float16)x); }
ASSAY_FN float assay_f16_to_f32(unsigned short x) { return (float)__builtin_bit_cast(_Float16, x); }
ASSAY_FN unsigned short assay_f16_fma(unsigned short a, unsigned short b, unsigned short c) {
  return __builtin_bit_cast(unsigned short, __builtin_fmaf16(__builtin_bit_cast(_Float16, a), __builtin_bit_cast(_Float16, b),
                                                             __builtin_bit_cast(_Float16, c)));
}
#endif
#include "../../assay/narrow_types.h"
