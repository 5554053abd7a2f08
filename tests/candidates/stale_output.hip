// Fault: only the first launch computes; later ones leave what the buffer held.
#include "common.h"

static __device__ int launches = 0;

extern "C" __global__ void cast_f32_bf16(const float* in, bf16_bits* out, long long rows, long long cols, long long in_stride,
                                         long long out_stride) {
  const bool last = blockIdx.x + 1 == gridDim.x && threadIdx.x + 1 == blockDim.x;
  const int seen = launches;
  if (last) launches = seen + 1;
  if (seen > 0) return;
  const long long total = rows * cols;
  for (long long i = first_element(); i < total; i += element_step()) {
    const Place at = place(i, cols);
    out[at.row * out_stride + at.col] = round_bf16(in[at.row * in_stride + at.col]);
  }
}
