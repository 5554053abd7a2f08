// scale_bfloat162: out = (x + y) * s per half, each step rounded to bf16; norm[i] = low^2 + high^2 of the result in f32.
// n pairs, any grid.
#include <hip/hip_bf16.h>
#include <hip/hip_runtime.h>

extern "C" __global__ void scale_bfloat162(const __hip_bfloat162* x, const __hip_bfloat162* y, __hip_bfloat162* out,
                                           float* norm, float s, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const __hip_bfloat162 v = __hmul2(__hadd2(x[i], y[i]), __float2bfloat162_rn(s));
  out[i] = v;
  const float lo = __low2float(v), hi = __high2float(v);
  norm[i] = lo * lo + hi * hi;
}
