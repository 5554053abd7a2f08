// decode_fp4: out[i] = value of the e2m1 code in nibble i of `packed`, times a per-block scale; the values come from a __constant__ table
// and the scales from a __device__ one. Block 32 codes.
#include <hip/hip_runtime.h>

__constant__ float e2m1[16] = {0.0f,  0.5f,  1.0f,  1.5f,  2.0f,  3.0f,  4.0f,  6.0f,
                               -0.0f, -0.5f, -1.0f, -1.5f, -2.0f, -3.0f, -4.0f, -6.0f};
__device__ const float scales[4] = {0.25f, 1.0f, 4.0f, 16.0f};

extern "C" __global__ void decode_fp4(const unsigned char* packed, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const unsigned code = packed[i / 2] >> (i % 2 * 4) & 15u;
  out[i] = e2m1[code] * scales[i / 32 % 4];
}
