// What the candidates of this folder share: a user's own helpers beside the user's own kernels.
#pragma once
#include <hip/hip_runtime.h>

typedef unsigned short bf16_bits;

static __device__ inline float widen(bf16_bits b) { return __uint_as_float((unsigned)b << 16); }

static __device__ inline bf16_bits round_bf16(float x) {
  const unsigned bits = __float_as_uint(x);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return (bf16_bits)(bits >> 16 | 0x40u);
  return (bf16_bits)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

struct Place {
  long long row, col;
};

static __device__ inline Place place(long long i, long long cols) { return Place{i / cols, i % cols}; }
static __device__ inline long long first_element() { return (long long)blockIdx.x * blockDim.x + threadIdx.x; }
static __device__ inline long long element_step() { return (long long)gridDim.x * blockDim.x; }
