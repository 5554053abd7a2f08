// Right, but unlike ours: one block walks a row, each thread every blockDim-th column.
#include "common.h"

extern "C" __global__ void cast_f32_bf16(const float* in, bf16_bits* out, long long rows, long long cols, long long in_stride,
                                         long long out_stride) {
  for (long long r = blockIdx.x; r < rows; r += gridDim.x)
    for (long long c = threadIdx.x; c < cols; c += blockDim.x)
      out[r * out_stride + c] = round_bf16(in[r * in_stride + c]);
}
