// vote: per thread, bit 0 = some lane of the wave has in > 0, bit 1 = all have, bit 2 = this lane has. Grid and block cover n exactly
// and the block is a multiple of the wave.
#include <hip/hip_runtime.h>

extern "C" __global__ void vote(const int* in, int* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const bool mine = in[i] > 0;
  out[i] = (__any(mine) ? 1 : 0) | (__all(mine) ? 2 : 0) | (mine ? 4 : 0);
}
