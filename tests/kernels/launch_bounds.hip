// clamp_f32: out = min(max(in, lo), hi). Built for blocks of at most 128 threads, 4 blocks a unit.
#include <hip/hip_runtime.h>

#define MAX_THREADS 128

extern "C" __global__ void __launch_bounds__(MAX_THREADS, 4)
clamp_f32(const float* __restrict__ in, float* __restrict__ out, float lo, float hi, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = fminf(fmaxf(__ldg(in + i), lo), hi);
}
