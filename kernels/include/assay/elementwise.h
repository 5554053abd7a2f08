// Shared by the elementwise kernels: element codecs and the walk over a strided [rows, cols] grid.
// Plain HIP for every header route. Rounding is to nearest even and done on the bits, so it is the same everywhere;
// f16 uses the target's own conversion where there is one, since that is what a board has to get right.
#pragma once
#include <hip/hip_runtime.h>

namespace assay {

struct bf16 {
  unsigned short bits;
};
struct f16 {
  unsigned short bits;
};

static __device__ inline float decode(float x) { return x; }
static __device__ inline float decode(bf16 x) { return __uint_as_float((unsigned)x.bits << 16); }

static __device__ inline float encode(float x, float) { return x; }
static __device__ inline bf16 encode(float x, bf16) {
  const unsigned bits = __float_as_uint(x);
  bf16 out;
  // NaN is cut and made quiet: the rounding addition could carry it into zero.
  if ((bits & 0x7fffffffu) > 0x7f800000u) {
    out.bits = (unsigned short)(bits >> 16 | 0x40u);
  } else {
    out.bits = (unsigned short)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
  }
  return out;
}

#if defined(__AMDGCN__)
static __device__ inline float half_to_float(unsigned short h) { return (float)__builtin_bit_cast(_Float16, h); }
static __device__ inline unsigned short float_to_half(float x) {
  return __builtin_bit_cast(unsigned short, (_Float16)x);
}
#elif defined(__CUDACC__) || defined(__CUDACC_RTC__)
static __device__ inline float half_to_float(unsigned short h) {
  float x;
  asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(h));
  return x;
}
static __device__ inline unsigned short float_to_half(float x) {
  unsigned short h;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(x));
  return h;
}
#else
static __device__ inline float half_to_float(unsigned short h) {
  const unsigned sign = (unsigned)(h & 0x8000u) << 16, exponent = (h >> 10) & 31u, fraction = h & 0x3ffu;
  if (exponent == 31u) return __uint_as_float(sign | 0x7f800000u | fraction << 13 | (fraction != 0u ? 0x400000u : 0u));
  if (exponent != 0u) return __uint_as_float(sign | (exponent + 112u) << 23 | fraction << 13);
  // A subnormal is fraction * 2^-24: both factors are exact floats and so is the product.
  return __uint_as_float(sign | __float_as_uint((float)fraction * 5.9604644775390625e-8f));
}
static __device__ inline unsigned short float_to_half(float x) {
  const unsigned bits = __float_as_uint(x), sign = bits >> 16 & 0x8000u, a = bits & 0x7fffffffu;
  if (a > 0x7f800000u) return (unsigned short)(sign | 0x7e00u | (a >> 13 & 0x3ffu));
  if (a >= 0x477ff000u) return (unsigned short)(sign | 0x7c00u);  // 65520 and more round to infinity
  // Adding 0.5 puts a subnormal result's step at the last bit of the sum, so the addition itself rounds to nearest even.
  if (a < 0x38800000u) return (unsigned short)(sign | (__float_as_uint(__uint_as_float(a) + 0.5f) - 0x3f000000u));
  return (unsigned short)(sign | (a - 0x38000000u + 0xfffu + (a >> 13 & 1u)) >> 13);
}
#endif

static __device__ inline float decode(f16 x) { return half_to_float(x.bits); }
static __device__ inline f16 encode(float x, f16) {
  f16 out;
  out.bits = float_to_half(x);
  return out;
}

// Element i of p, widened; and x into it, rounded once.
template <typename T>
static __device__ inline float load(const T* p, long long i) {
  return decode(p[i]);
}
template <typename T>
static __device__ inline void store(T* p, long long i, float x) {
  p[i] = encode(x, T());
}

// x as format T holds it.
template <typename T>
static __device__ inline float narrowed(float x) {
  return decode(encode(x, T()));
}

// Element i of a [rows, cols] grid; 32-bit division where it suffices, since 64-bit division costs most of an elementwise op.
struct Place {
  long long row, col;
};

static __device__ inline Place place(long long i, long long cols) {
  Place at;
  if (((unsigned long long)i | (unsigned long long)cols) >> 32 == 0) {
    const unsigned row = (unsigned)i / (unsigned)cols;
    at.row = row;
    at.col = (unsigned)i - row * (unsigned)cols;
  } else {
    at.row = i / cols;
    at.col = i - at.row * cols;
  }
  return at;
}

// First element of this thread and the distance to its next: a grid-stride walk, so any grid covers any size.
static __device__ inline long long first_element() { return (long long)blockIdx.x * blockDim.x + threadIdx.x; }
static __device__ inline long long element_step() { return (long long)gridDim.x * blockDim.x; }

}  // namespace assay

// Every pair of formats that the arithmetic ops admit: EACH(symbol, In, Out). An f16 output is not admitted.
#define ASSAY_FOR_EACH_PAIR(EACH, base) \
  EACH(base##_f32, float, float) \
  EACH(base##_f32_bf16, float, assay::bf16) \
  EACH(base##_f16_f32, assay::f16, float) \
  EACH(base##_f16_bf16, assay::f16, assay::bf16) \
  EACH(base##_bf16_f32, assay::bf16, float) \
  EACH(base##_bf16, assay::bf16, assay::bf16)
