// Fault: one element of the output is NaN.
#include "common.h"

extern "C" __global__ void cast_f32_bf16(const float* in, bf16_bits* out, long long rows, long long cols, long long in_stride,
                                         long long out_stride) {
  const long long total = rows * cols;
  for (long long i = first_element(); i < total; i += element_step()) {
    const Place at = place(i, cols);
    const bf16_bits right = round_bf16(in[at.row * in_stride + at.col]);
    out[at.row * out_stride + at.col] = at.row == 4 && at.col == 13 ? (bf16_bits)0x7fc0 : right;
  }
}
