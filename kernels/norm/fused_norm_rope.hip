// fused_norm_rope: of each row x[t], the first `latent` elements are RMS-normalised into latent_out[t] (as in rms_norm, gemma too)
// and the following `rot` are rotated into pe_out[t] by cache[positions[t]] (as in rope_from_cache).
// A position outside [0, limit) leaves the row of pe_out untouched; latent_out is written all the same.
// Rounding: each f32 operation once; one round to nearest even at each store.
// x, latent_out and pe_out are [tokens, ..] with row strides of their own; w is [latent], cache [limit, rot], positions [tokens].
//
// Block 256, one token a step, grid-stride over tokens; the sum is the tree of rms_norm, right for every wave width.
#include <hip/hip_runtime.h>
#include <assay/elementwise.h>
#include <assay/block_sum.h>
#include <assay/rope.h>

using namespace assay;

template <typename T, typename P>
static __device__ inline void fused_norm_rope(const T* x, const T* w, const P* positions, const T* cache, T* latent_out,
                                              T* pe_out, long long tokens, int latent, int rot, long long limit,
                                              long long x_stride, long long latent_stride, long long pe_stride, float eps,
                                              int gemma, int neox) {
  __shared__ float partial[256];
  const int t = threadIdx.x;
  for (long long token = blockIdx.x; token < tokens; token += gridDim.x) {
    const T* from = x + token * x_stride;
    float sum = 0.0f;
    for (int c = t; c < latent; c += 256) {
      const float v = load(from, c);
      sum += v * v;
    }
    const float total = block_sum(sum, partial);
    const float inv = 1.0f / sqrtf(total / (float)latent + eps);
    for (int c = t; c < latent; c += 256) {
      float scale = load(w, c);
      if (gemma) scale = scale + 1.0f;
      store(latent_out + token * latent_stride, c, (load(from, c) * inv) * scale);
    }
    const long long position = (long long)positions[token];
    if (position >= 0 && position < limit) {
      const T* row = cache + position * rot;
      for (int i = t; i < rot / 2; i += 256) rotate_pair(from + latent, pe_out + token * pe_stride, row, i, rot, neox);
    }
  }
}

#define FUSED_NORM_ROPE(name, T, P)                                                                                  \
  extern "C" __global__ void name(const T* x, const T* w, const P* positions, const T* cache, T* latent_out, T* pe_out, \
                                  long long tokens, int latent, int rot, long long limit, long long x_stride,        \
                                  long long latent_stride, long long pe_stride, float eps, int gemma, int neox) {    \
    fused_norm_rope(x, w, positions, cache, latent_out, pe_out, tokens, latent, rot, limit, x_stride, latent_stride, \
                    pe_stride, eps, gemma, neox);                                                                    \
  }

FUSED_NORM_ROPE(fused_norm_rope_f32_i32, float, int)
FUSED_NORM_ROPE(fused_norm_rope_f32_i64, float, long long)
FUSED_NORM_ROPE(fused_norm_rope_bf16_i32, bf16, int)
FUSED_NORM_ROPE(fused_norm_rope_bf16_i64, bf16, long long)
