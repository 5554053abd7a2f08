// Fault: the sine term of the second element of each pair is dropped.
#include "common.h"

extern "C" __global__ void rope_from_cache_f32_i32(float* q, float* k, const int* positions, const float* cache,
                                                   long long tokens, int q_heads, int k_heads, int rot, long long limit,
                                                   long long q_token_stride, long long q_head_stride,
                                                   long long k_token_stride, long long k_head_stride, int neox) {
  const int half = rot / 2, heads = q_heads + k_heads;
  for (long long i = first_element(); i < tokens * heads * half; i += element_step()) {
    const long long token = i / half / heads, head = i / half % heads, pair = i % half;
    const long long position = positions[token];
    if (position < 0 || position >= limit) continue;
    float* x = head < q_heads ? q + token * q_token_stride + head * q_head_stride
                              : k + token * k_token_stride + (head - q_heads) * k_head_stride;
    const float c = cache[position * rot + pair], s = cache[position * rot + half + pair];
    float* first = neox ? x + pair : x + 2 * pair;
    float* second = neox ? first + half : first + 1;
    const float a = *first, b = *second;
    *first = a * c - b * s;
    *second = b * c;
  }
}
