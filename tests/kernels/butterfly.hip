// butterfly_max: every lane gets the maximum of its group of 16 lanes, by a butterfly with an explicit width; broadcast[i] is the first
// element of the group and up[i] the element one lane below (its own at the group's start). Block a multiple of 16.
#include <hip/hip_runtime.h>

extern "C" __global__ void butterfly_max(const float* in, float* out, float* broadcast, float* up) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float mine = in[i];
  float v = mine;
  for (int mask = 8; mask > 0; mask >>= 1) v = fmaxf(v, __shfl_xor(v, mask, 16));
  out[i] = v;
  broadcast[i] = __shfl(mine, 0, 16);
  up[i] = __shfl_up(mine, 1, 16);
}
