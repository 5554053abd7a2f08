// rope_from_cache: rotates the first `rot` elements of every head of q and k in place by cache[positions[t]].
// Pairs (a, b) become (a c - b s, a s + b c); neox pairs the first half of `rot` with the second, else even with odd elements.
// Rounding: each f32 product and sum once; one round to nearest even at the store.
// A token whose position lies outside [0, limit) is left as it is, and so is every element beyond `rot`.
// q and k are [tokens, heads, rot] by strides, heads contiguous inside; k may be null with k_heads = 0. cache is [limit, rot].
//
// Block 256, grid-stride over all pairs of q and k, one pair a step: no shared memory, no barrier.
#include <hip/hip_runtime.h>
#include <assay/elementwise.h>
#include <assay/rope.h>

using namespace assay;

template <typename T, typename P>
static __device__ inline void rope_from_cache(T* q, T* k, const P* positions, const T* cache, long long tokens, int q_heads,
                                              int k_heads, int rot, long long limit, long long q_token_stride,
                                              long long q_head_stride, long long k_token_stride, long long k_head_stride,
                                              int neox) {
  const int half = rot / 2, heads = q_heads + k_heads;
  const long long pairs = tokens * heads * half;
  for (long long i = first_element(); i < pairs; i += element_step()) {
    const Place pair = place(i, half);
    const Place head = place(pair.row, heads);
    const long long position = (long long)positions[head.row];
    if (position < 0 || position >= limit) continue;
    T* x = head.col < q_heads ? q + head.row * q_token_stride + head.col * q_head_stride
                              : k + head.row * k_token_stride + (head.col - q_heads) * k_head_stride;
    rotate_pair(x, x, cache + position * rot, (int)pair.col, rot, neox);
  }
}

#define ROPE_FROM_CACHE(name, T, P)                                                                                   \
  extern "C" __global__ void name(T* q, T* k, const P* positions, const T* cache, long long tokens, int q_heads,      \
                                  int k_heads, int rot, long long limit, long long q_token_stride,                    \
                                  long long q_head_stride, long long k_token_stride, long long k_head_stride,         \
                                  int neox) {                                                                         \
    rope_from_cache(q, k, positions, cache, tokens, q_heads, k_heads, rot, limit, q_token_stride, q_head_stride,      \
                    k_token_stride, k_head_stride, neox);                                                             \
  }

ROPE_FROM_CACHE(rope_from_cache_f32_i32, float, int)
ROPE_FROM_CACHE(rope_from_cache_f32_i64, float, long long)
ROPE_FROM_CACHE(rope_from_cache_bf16_i32, bf16, int)
ROPE_FROM_CACHE(rope_from_cache_bf16_i64, bf16, long long)
