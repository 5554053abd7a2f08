// Fault: no barrier between the steps of the tree.
#include "common.h"

extern "C" __global__ void rms_norm_f32_f32_f32(const float* x, const float* w, float* out, long long rows, long long cols,
                                                long long x_stride, long long out_stride, float eps, int gemma) {
  __shared__ float partial[256];
  const int t = threadIdx.x;
  for (long long row = blockIdx.x; row < rows; row += gridDim.x) {
    float sum = 0.0f;
    for (long long c = t; c < cols; c += 256) sum += x[row * x_stride + c] * x[row * x_stride + c];
    partial[t] = sum;
    __syncthreads();
    for (int s = 128; s > 0; s >>= 1) {
      if (t < s) partial[t] += partial[t + s];
    }
    __syncthreads();
    const float inv = 1.0f / sqrtf(partial[0] / (float)cols + eps);
    for (long long c = t; c < cols; c += 256)
      out[row * out_stride + c] = (x[row * x_stride + c] * inv) * (gemma ? w[c] + 1.0f : w[c]);
    __syncthreads();
  }
}
