// Fault: silu stays in f32 through the multiply; the contract rounds it to bf16 first.
#include "common.h"

extern "C" __global__ void silu_and_mul_bf16(const bf16_bits* x, bf16_bits* out, long long rows, long long cols,
                                                  long long x_stride, long long out_stride) {
  for (long long i = first_element(); i < rows * cols; i += element_step()) {
    const Place at = place(i, cols);
    const float g = widen(x[at.row * x_stride + at.col]), y = widen(x[at.row * x_stride + cols + at.col]);
    out[at.row * out_stride + at.col] = round_bf16(g / (1.0f + expf(-g)) * y);
  }
}
