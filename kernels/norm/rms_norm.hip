// rms_norm: out[r, c] = (v * inv) * w[c] with v = x[r, c], inv = 1 / sqrt(mean over c of v^2 + eps), all in f32.
// gemma: w[c] + 1, added in f32, takes the place of w[c].
// Rounding: each f32 operation once; one round to nearest even at the store. Formats of x, w and out are independent.
// x and out are [rows, cols] with rows x_stride and out_stride elements apart, w is [cols]; out may be x itself.
//
// Block 256, one row a step, grid-stride over rows. Thread t adds squares t, t + 256, ... in ascending order; the partials are
// added by a binary tree in shared memory, so the result is the same for every wave width.
#include <hip/hip_runtime.h>
#include <assay/elementwise.h>
#include <assay/block_sum.h>

using namespace assay;

template <typename X, typename W, typename O>
static __device__ inline void rms_norm(const X* x, const W* w, O* out, long long rows, long long cols, long long x_stride,
                                       long long out_stride, float eps, int gemma) {
  __shared__ float partial[256];
  const int t = threadIdx.x;
  for (long long row = blockIdx.x; row < rows; row += gridDim.x) {
    const X* from = x + row * x_stride;
    O* to = out + row * out_stride;
    float sum = 0.0f;
    for (long long c = t; c < cols; c += 256) {
      const float v = load(from, c);
      sum += v * v;
    }
    const float total = block_sum(sum, partial);
    const float inv = 1.0f / sqrtf(total / (float)cols + eps);
    for (long long c = t; c < cols; c += 256) {
      float scale = load(w, c);
      if (gemma) scale = scale + 1.0f;
      store(to, c, (load(from, c) * inv) * scale);
    }
  }
}

#define RMS_NORM(name, X, W, O)                                                                                  \
  extern "C" __global__ void name(const X* x, const W* w, O* out, long long rows, long long cols, long long x_stride, \
                                  long long out_stride, float eps, int gemma) {                                  \
    rms_norm(x, w, out, rows, cols, x_stride, out_stride, eps, gemma);                                           \
  }

RMS_NORM(rms_norm_f32_f32_f32, float, float, float)
RMS_NORM(rms_norm_f32_f32_bf16, float, float, bf16)
RMS_NORM(rms_norm_f32_bf16_f32, float, bf16, float)
RMS_NORM(rms_norm_f32_bf16_bf16, float, bf16, bf16)
RMS_NORM(rms_norm_f16_f32_f32, f16, float, float)
RMS_NORM(rms_norm_f16_f32_bf16, f16, float, bf16)
RMS_NORM(rms_norm_f16_bf16_f32, f16, bf16, float)
RMS_NORM(rms_norm_f16_bf16_bf16, f16, bf16, bf16)
RMS_NORM(rms_norm_bf16_f32_f32, bf16, float, float)
RMS_NORM(rms_norm_bf16_f32_bf16, bf16, float, bf16)
RMS_NORM(rms_norm_bf16_bf16_f32, bf16, bf16, float)
RMS_NORM(rms_norm_bf16_bf16_bf16, bf16, bf16, bf16)
