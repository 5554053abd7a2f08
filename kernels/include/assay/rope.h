// Rotary embedding of one pair, shared by the kernels that rotate.
#pragma once
#include <hip/hip_runtime.h>
#include <assay/elementwise.h>

namespace assay {

// Places of pair i of rot / 2 in a head: neox pairs first half with second half, else even with odd.
static __device__ inline int pair_first(int i, int neox) { return neox ? i : 2 * i; }
static __device__ inline int pair_second(int i, int rot, int neox) { return neox ? i + rot / 2 : 2 * i + 1; }

// to = (a c - b s, a s + b c) of pair i, in f32, each product and sum rounded, one round to nearest even at the store. `row` is the
// cache row: cos of pair i at i, sin at rot / 2 + i. `to` may be `from`.
template <typename T>
static __device__ inline void rotate_pair(const T* from, T* to, const T* row, int i, int rot, int neox) {
  const int p = pair_first(i, neox), q = pair_second(i, rot, neox);
  const float a = load(from, p), b = load(from, q), c = load(row, i), s = load(row, rot / 2 + i);
  store(to, p, a * c - b * s);
  store(to, q, a * s + b * c);
}

}  // namespace assay
