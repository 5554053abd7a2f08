// early_return_sum: out[b] = sum of the valid elements of block b, n in all. Threads past n return *before* the barrier:
// hardware lets that pass, and assay reports it as a finding. Block a power of two.
#include <hip/hip_runtime.h>

extern "C" __global__ void early_return_sum(const int* in, int* out, int n) {
  __shared__ int slot[256];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  slot[threadIdx.x] = in[i];
  __syncthreads();
  if (threadIdx.x == 0) {
    int sum = 0;
    const int live = min((int)blockDim.x, n - (int)(blockIdx.x * blockDim.x));
    for (int t = 0; t < live; ++t) sum += slot[t];
    out[blockIdx.x] = sum;
  }
}
