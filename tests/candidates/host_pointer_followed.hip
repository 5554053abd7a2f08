// Fault: an address that only the host knows is followed.
#include "common.h"

extern "C" __global__ void cast_f32_bf16(const float* in, bf16_bits* out, long long rows, long long cols, long long in_stride,
                                         long long out_stride) {
  const long long total = rows * cols;
  for (long long i = first_element(); i < total; i += element_step()) {
    const Place at = place(i, cols);
    const float* host = reinterpret_cast<const float*>(0x5a0000001000ull);
    out[at.row * out_stride + at.col] = round_bf16(in[at.row * in_stride + at.col] + host[0]);
  }
}
