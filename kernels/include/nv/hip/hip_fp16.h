// f16 for NVIDIA targets: the target's own conversions and fused multiply-add. The toolkit's cuda_fp16.h is not needed.
#pragma once
#include "hip_runtime.h"
#ifndef ASSAY_F16
#define ASSAY_F16
ASSAY_FN unsigned short assay_f32_to_f16(float x) {
  unsigned short h;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(x));
  return h;
}
ASSAY_FN float assay_f16_to_f32(unsigned short h) {
  float x;
  asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(h));
  return x;
}
ASSAY_FN unsigned short assay_f16_fma(unsigned short a, unsigned short b, unsigned short c) {
  unsigned short d;
  asm("fma.rn.f16 %0, %1, %2, %3;" : "=h"(d) : "h"(a), "h"(b), "h"(c));
  return d;
}
#endif
#include "../../assay/narrow_types.h"
