// rms_norm with a residual: v = x + residual in f32; residual = v, rounded once to its format, in place;
// out[r, c] = (v * inv) * w[c] with inv = 1 / sqrt(mean over c of v^2 + eps), all in f32. gemma: w[c] + 1 (added in f32).
// Rounding: with rounded != 0 the mean and the output use the stored residual (rounded and read again), with rounded = 0 the f32
// sum. One round to nearest even at each store. Formats of x, w, out and residual are independent; out may be x itself.
// x, residual and out are [rows, cols] with row strides of their own, w is [cols].
//
// Block 256, one row a step, grid-stride over rows; the sum is as in rms_norm. A thread reads and writes its own columns only.
// The second pass reads the residual again where that is v, else it forms the sum again before the residual is stored.
#include <hip/hip_runtime.h>
#include <assay/elementwise.h>
#include <assay/block_sum.h>

using namespace assay;

template <typename X, typename W, typename O, typename R>
static __device__ inline void rms_norm_add(const X* x, R* residual, const W* w, O* out, long long rows, long long cols,
                                           long long x_stride, long long residual_stride, long long out_stride, float eps,
                                           int gemma, int rounded) {
  __shared__ float partial[256];
  const int t = threadIdx.x;
  for (long long row = blockIdx.x; row < rows; row += gridDim.x) {
    const X* from = x + row * x_stride;
    R* kept = residual + row * residual_stride;
    O* to = out + row * out_stride;
    float sum = 0.0f;
    for (long long c = t; c < cols; c += 256) {
      float v = load(from, c) + load(kept, c);
      if (rounded) {
        store(kept, c, v);
        v = load(kept, c);
      }
      sum += v * v;
    }
    const float total = block_sum(sum, partial);
    const float inv = 1.0f / sqrtf(total / (float)cols + eps);
    for (long long c = t; c < cols; c += 256) {
      float v = load(kept, c);
      if (!rounded) {
        v = load(from, c) + v;
        store(kept, c, v);
      }
      float scale = load(w, c);
      if (gemma) scale = scale + 1.0f;
      store(to, c, (v * inv) * scale);
    }
  }
}

#define RMS_NORM_ADD(name, X, W, O, R)                                                                             \
  extern "C" __global__ void name(const X* x, R* residual, const W* w, O* out, long long rows, long long cols,     \
                                  long long x_stride, long long residual_stride, long long out_stride, float eps,  \
                                  int gemma, int rounded) {                                                        \
    rms_norm_add(x, residual, w, out, rows, cols, x_stride, residual_stride, out_stride, eps, gemma, rounded);     \
  }

RMS_NORM_ADD(rms_norm_add_f32_f32_f32_f32, float, float, float, float)
RMS_NORM_ADD(rms_norm_add_f32_f32_f32_bf16, float, float, float, bf16)
RMS_NORM_ADD(rms_norm_add_f32_f32_bf16_f32, float, float, bf16, float)
RMS_NORM_ADD(rms_norm_add_f32_f32_bf16_bf16, float, float, bf16, bf16)
RMS_NORM_ADD(rms_norm_add_f32_bf16_f32_f32, float, bf16, float, float)
RMS_NORM_ADD(rms_norm_add_f32_bf16_f32_bf16, float, bf16, float, bf16)
RMS_NORM_ADD(rms_norm_add_f32_bf16_bf16_f32, float, bf16, bf16, float)
RMS_NORM_ADD(rms_norm_add_f32_bf16_bf16_bf16, float, bf16, bf16, bf16)
RMS_NORM_ADD(rms_norm_add_bf16_f32_f32_f32, bf16, float, float, float)
RMS_NORM_ADD(rms_norm_add_bf16_f32_f32_bf16, bf16, float, float, bf16)
RMS_NORM_ADD(rms_norm_add_bf16_f32_bf16_f32, bf16, float, bf16, float)
RMS_NORM_ADD(rms_norm_add_bf16_f32_bf16_bf16, bf16, float, bf16, bf16)
RMS_NORM_ADD(rms_norm_add_bf16_bf16_f32_f32, bf16, bf16, float, float)
RMS_NORM_ADD(rms_norm_add_bf16_bf16_f32_bf16, bf16, bf16, float, bf16)
RMS_NORM_ADD(rms_norm_add_bf16_bf16_bf16_f32, bf16, bf16, bf16, float)
RMS_NORM_ADD(rms_norm_add_bf16_bf16_bf16_bf16, bf16, bf16, bf16, bf16)
