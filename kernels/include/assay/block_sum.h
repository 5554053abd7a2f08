// Sum over a block of 256 threads: a binary tree in shared memory, no wave operation, so that the order of additions is the same
// for every wave width. Partials t and t + s are added for s = 128, 64, ..., 1.
#pragma once
#include <hip/hip_runtime.h>

namespace assay {

// Every thread of the block calls it and gets the sum. `partial` holds 256 floats and may be used again at once.
static __device__ inline float block_sum(float mine, float* partial) {
  const int t = threadIdx.x;
  partial[t] = mine;
  __syncthreads();
  for (int s = 128; s > 0; s >>= 1) {
    if (t < s) partial[t] += partial[t + s];
    __syncthreads();
  }
  const float total = partial[0];
  __syncthreads();
  return total;
}

}  // namespace assay
