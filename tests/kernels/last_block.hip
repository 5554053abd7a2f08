// last_block_sum: *total = sum of in[0, n). Every block stores a partial sum, fences and takes a ticket; the block that takes the
// last one adds the partials up and resets the counter, so that the next launch starts from zero. *ticket is 0 before.
#include <hip/hip_runtime.h>

extern "C" __global__ void last_block_sum(const int* in, int* partial, unsigned* ticket, int* total, int n) {
  __shared__ int slot[256];
  __shared__ bool last;
  int v = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) v += in[i];
  slot[threadIdx.x] = v;
  for (unsigned step = blockDim.x / 2; step > 0; step /= 2) {
    __syncthreads();
    if (threadIdx.x < step) slot[threadIdx.x] += slot[threadIdx.x + step];
  }
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = slot[0];
    __threadfence();
    last = atomicInc(ticket, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last) return;
  if (threadIdx.x == 0) {
    __threadfence();
    int sum = 0;
    for (unsigned b = 0; b < gridDim.x; ++b) sum += ((volatile int*)partial)[b];
    *total = sum;
  }
}
