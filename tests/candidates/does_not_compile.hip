// Fault: the compiler refuses it.
#include "common.h"

extern "C" __global__ void cast_f32_bf16(const float* in, bf16_bits* out, long long rows, long long cols, long long in_stride,
                                         long long out_stride) {
  this is no C++;
}
