// swizzle_float4: out = (w, z, y, x) of in, plus a uint4 checksum per thread; 16-byte loads and stores.
#include <hip/hip_runtime.h>

extern "C" __global__ void swizzle_float4(const float4* in, float4* out, uint4* sum, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float4 v = in[i];
  out[i] = make_float4(v.w, v.z, v.y, v.x);
  const uint3 at = make_uint3(threadIdx.x, blockIdx.x, blockDim.x);
  sum[i] = make_uint4(__float_as_uint(v.x) ^ __float_as_uint(v.w), at.x, at.y, at.z);
}
