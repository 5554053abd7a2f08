// reverse_rows: out[r][c] = in[r][n - 1 - c] through dynamic LDS of n floats. Grid = rows, any block.
#include <hip/hip_runtime.h>

extern "C" __global__ void reverse_rows(const float* in, float* out, int n) {
  extern __shared__ float row[];
  for (int i = threadIdx.x; i < n; i += blockDim.x) row[i] = in[(size_t)blockIdx.x * n + i];
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[(size_t)blockIdx.x * n + i] = row[n - 1 - i];
}
