// histogram_i32: bins[k] += number of in[i] == k, k in [0, 64), through a histogram per block in LDS. Block >= 64.
// sum_f32: *total += sum of in by float atomics; exact for the small integers it is meant for, in any order.
// extremes_i32: lo and hi by integer atomics.
#include <hip/hip_runtime.h>

extern "C" __global__ void histogram_i32(const int* in, int* bins, int n) {
  __shared__ int local[64];
  if (threadIdx.x < 64) local[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&local[in[i] & 63], 1);
  __syncthreads();
  if (threadIdx.x < 64) atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
}

extern "C" __global__ void sum_f32(const float* in, float* total, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(total, in[i]);
}

extern "C" __global__ void extremes_i32(const int* in, int* lo, int* hi, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  atomicMin(lo, in[i]);
  atomicMax(hi, in[i]);
}
