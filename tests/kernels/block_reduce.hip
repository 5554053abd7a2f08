// block_reduce_i32: out[b] = sum of in[b * n .. b * n + n), n any. Grid = rows, block a multiple of the wave, at most 1024.
// Shuffles within a wave, one partial per wave in LDS: right for waves of 32 and 64 because the width is asked for, not assumed.
// block_reduce_f32: the same in f32, in that order.
#include <hip/hip_runtime.h>

template <typename T>
__device__ __forceinline__ T wave_sum(T v) {
  for (int offset = warpSize / 2; offset > 0; offset >>= 1) v += __shfl_down(v, offset);
  return v;
}

template <typename T>
__device__ __forceinline__ void block_sum(const T* in, T* out, int n, T* partial) {
  const T* row = in + (size_t)blockIdx.x * n;
  T v = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) v += row[i];
  v = wave_sum(v);
  const int lane = threadIdx.x % warpSize, wave = threadIdx.x / warpSize;
  if (lane == 0) partial[wave] = v;
  __syncthreads();
  if (wave == 0) {
    const int waves = blockDim.x / warpSize;
    v = lane < waves ? partial[lane] : (T)0;
    v = wave_sum(v);
    if (lane == 0) out[blockIdx.x] = v;
  }
}

extern "C" __global__ void block_reduce_i32(const int* in, int* out, int n) {
  __shared__ int partial[32];
  block_sum(in, out, n, partial);
}

extern "C" __global__ void block_reduce_f32(const float* in, float* out, int n) {
  __shared__ float partial[32];
  block_sum(in, out, n, partial);
}
