// __half, __half2, __hip_bfloat16, __hip_bfloat162 for every header route. Whoever includes this defines ASSAY_FN and
//   assay_f32_to_f16, assay_f16_to_f32   conversions on the bits, to nearest even
//   assay_f16_fma                        a * b + c of f16 with one rounding
// Sums, products and quotients of f16 go through f32, which gives the correctly rounded result: f32 has 2 * 11 + 2 bits.
// bf16 arithmetic is f32 arithmetic rounded to bf16, as HIP defines it.
#pragma once

ASSAY_FN unsigned short assay_f32_to_bf16(float x) {
  const unsigned bits = __float_as_uint(x);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return (unsigned short)(bits >> 16 | 0x40u);
  return (unsigned short)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}
ASSAY_FN float assay_bf16_to_f32(unsigned short x) { return __uint_as_float((unsigned)x << 16); }

struct __half_raw {
  unsigned short x;
};
struct __hip_bfloat16_raw {
  unsigned short x;
};

#define ASSAY_NARROW(H, RAW, suffix)                                                                       \
  struct H {                                                                                               \
    unsigned short assay_bits;                                                                             \
    H() = default;                                                                                         \
    __device__ H(float x) : assay_bits(assay_f32_to_##suffix(x)) {}                                        \
    __device__ H(double x);                                                                                \
    __device__ H(int x) : H((float)x) {}                                                                   \
    __device__ H(RAW raw) : assay_bits(raw.x) {}                                                           \
    __device__ operator float() const { return assay_##suffix##_to_f32(assay_bits); }                      \
    __device__ operator RAW() const { return RAW{assay_bits}; }                                            \
  };                                                                                                       \
  ASSAY_FN H assay_##suffix(unsigned short bits) { return H(RAW{bits}); }                                  \
  ASSAY_FN H operator+(H a, H b) { return H((float)a + (float)b); }                                        \
  ASSAY_FN H operator-(H a, H b) { return H((float)a - (float)b); }                                        \
  ASSAY_FN H operator*(H a, H b) { return H((float)a * (float)b); }                                        \
  ASSAY_FN H operator/(H a, H b) { return H((float)a / (float)b); }                                        \
  ASSAY_FN H operator-(H a) { return assay_##suffix(a.assay_bits ^ 0x8000u); }                             \
  ASSAY_FN H& operator+=(H& a, H b) { return a = a + b; }                                                  \
  ASSAY_FN H& operator-=(H& a, H b) { return a = a - b; }                                                  \
  ASSAY_FN H& operator*=(H& a, H b) { return a = a * b; }                                                  \
  ASSAY_FN H& operator/=(H& a, H b) { return a = a / b; }                                                  \
  ASSAY_FN bool operator==(H a, H b) { return (float)a == (float)b; }                                      \
  ASSAY_FN bool operator!=(H a, H b) { return (float)a != (float)b; }                                      \
  ASSAY_FN bool operator<(H a, H b) { return (float)a < (float)b; }                                        \
  ASSAY_FN bool operator>(H a, H b) { return (float)a > (float)b; }                                        \
  ASSAY_FN bool operator<=(H a, H b) { return (float)a <= (float)b; }                                      \
  ASSAY_FN bool operator>=(H a, H b) { return (float)a >= (float)b; }                                      \
  ASSAY_FN H __hadd(H a, H b) { return a + b; }                                                            \
  ASSAY_FN H __hsub(H a, H b) { return a - b; }                                                            \
  ASSAY_FN H __hmul(H a, H b) { return a * b; }                                                            \
  ASSAY_FN H __hdiv(H a, H b) { return a / b; }                                                            \
  ASSAY_FN H __hneg(H a) { return -a; }                                                                    \
  ASSAY_FN H __habs(H a) { return assay_##suffix(a.assay_bits & 0x7fffu); }                                \
  ASSAY_FN bool __heq(H a, H b) { return a == b; }                                                         \
  ASSAY_FN bool __hne(H a, H b) { return a != b; }                                                         \
  ASSAY_FN bool __hlt(H a, H b) { return a < b; }                                                          \
  ASSAY_FN bool __hle(H a, H b) { return a <= b; }                                                         \
  ASSAY_FN bool __hgt(H a, H b) { return a > b; }                                                          \
  ASSAY_FN bool __hge(H a, H b) { return a >= b; }                                                         \
  ASSAY_FN bool __hisnan(H a) { return (a.assay_bits & 0x7fffu) > H(INFINITY).assay_bits; }                \
  ASSAY_FN H __hmax(H a, H b) { return __hisnan(a) ? b : __hisnan(b) ? a : a > b ? a : b; }                \
  ASSAY_FN H __hmin(H a, H b) { return __hisnan(a) ? b : __hisnan(b) ? a : a < b ? a : b; }

#define ASSAY_NARROW2(H, H2)                                                                               \
  struct alignas(4) H2 {                                                                                   \
    H x, y;                                                                                                \
    H2() = default;                                                                                        \
    __device__ H2(H x_, H y_) : x(x_), y(y_) {}                                                            \
  };                                                                                                       \
  ASSAY_FN H2 operator+(H2 a, H2 b) { return H2(a.x + b.x, a.y + b.y); }                                   \
  ASSAY_FN H2 operator-(H2 a, H2 b) { return H2(a.x - b.x, a.y - b.y); }                                   \
  ASSAY_FN H2 operator*(H2 a, H2 b) { return H2(a.x * b.x, a.y * b.y); }                                   \
  ASSAY_FN H2 operator/(H2 a, H2 b) { return H2(a.x / b.x, a.y / b.y); }                                   \
  ASSAY_FN H2 __hadd2(H2 a, H2 b) { return a + b; }                                                        \
  ASSAY_FN H2 __hsub2(H2 a, H2 b) { return a - b; }                                                        \
  ASSAY_FN H2 __hmul2(H2 a, H2 b) { return a * b; }                                                        \
  ASSAY_FN H2 __h2div(H2 a, H2 b) { return a / b; }                                                        \
  ASSAY_FN H2 __hneg2(H2 a) { return H2(-a.x, -a.y); }                                                     \
  ASSAY_FN H2 __hfma2(H2 a, H2 b, H2 c) { return H2(__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)); }       \
  ASSAY_FN H2 __hmax2(H2 a, H2 b) { return H2(__hmax(a.x, b.x), __hmax(a.y, b.y)); }                       \
  ASSAY_FN H2 __hmin2(H2 a, H2 b) { return H2(__hmin(a.x, b.x), __hmin(a.y, b.y)); }                       \
  ASSAY_FN float __low2float(H2 a) { return (float)a.x; }                                                  \
  ASSAY_FN float __high2float(H2 a) { return (float)a.y; }

ASSAY_NARROW(__half, __half_raw, f16)
ASSAY_FN __half __hfma(__half a, __half b, __half c) {
  return assay_f16(assay_f16_fma(a.assay_bits, b.assay_bits, c.assay_bits));
}
ASSAY_NARROW2(__half, __half2)
typedef __half half;
typedef __half2 half2;
ASSAY_FN __half __float2half(float x) { return __half(x); }
ASSAY_FN __half __float2half_rn(float x) { return __half(x); }
ASSAY_FN float __half2float(__half x) { return (float)x; }
ASSAY_FN __half2 __floats2half2_rn(float x, float y) { return __half2(__half(x), __half(y)); }
ASSAY_FN __half2 __float2half2_rn(float x) { return __floats2half2_rn(x, x); }
ASSAY_FN __half2 __float22half2_rn(float2 v) { return __floats2half2_rn(v.x, v.y); }
ASSAY_FN float2 __half22float2(__half2 v) { return make_float2((float)v.x, (float)v.y); }
ASSAY_FN __half2 __halves2half2(__half x, __half y) { return __half2(x, y); }
ASSAY_FN __half2 make_half2(__half x, __half y) { return __half2(x, y); }
ASSAY_FN __half2 __half2half2(__half x) { return __half2(x, x); }
ASSAY_FN __half __low2half(__half2 v) { return v.x; }
ASSAY_FN __half __high2half(__half2 v) { return v.y; }
ASSAY_FN __half __ushort_as_half(unsigned short bits) { return assay_f16(bits); }
ASSAY_FN unsigned short __half_as_ushort(__half x) { return x.assay_bits; }
ASSAY_FN __half hsqrt(__half x) { return __half(sqrtf((float)x)); }

ASSAY_NARROW(__hip_bfloat16, __hip_bfloat16_raw, bf16)
ASSAY_FN __hip_bfloat16 __hfma(__hip_bfloat16 a, __hip_bfloat16 b, __hip_bfloat16 c) {
  return __hip_bfloat16(fmaf((float)a, (float)b, (float)c));
}
ASSAY_NARROW2(__hip_bfloat16, __hip_bfloat162)
ASSAY_FN __hip_bfloat16 __float2bfloat16(float x) { return __hip_bfloat16(x); }
ASSAY_FN __hip_bfloat16 __float2bfloat16_rn(float x) { return __hip_bfloat16(x); }
ASSAY_FN float __bfloat162float(__hip_bfloat16 x) { return (float)x; }
ASSAY_FN __hip_bfloat162 __floats2bfloat162_rn(float x, float y) {
  return __hip_bfloat162(__hip_bfloat16(x), __hip_bfloat16(y));
}
ASSAY_FN __hip_bfloat162 __float2bfloat162_rn(float x) { return __floats2bfloat162_rn(x, x); }
ASSAY_FN __hip_bfloat162 __float22bfloat162_rn(float2 v) { return __floats2bfloat162_rn(v.x, v.y); }
ASSAY_FN float2 __bfloat1622float2(__hip_bfloat162 v) { return make_float2((float)v.x, (float)v.y); }
ASSAY_FN __hip_bfloat162 __halves2bfloat162(__hip_bfloat16 x, __hip_bfloat16 y) { return __hip_bfloat162(x, y); }
ASSAY_FN __hip_bfloat162 __bfloat162bfloat162(__hip_bfloat16 x) { return __hip_bfloat162(x, x); }
ASSAY_FN __hip_bfloat16 __low2bfloat16(__hip_bfloat162 v) { return v.x; }
ASSAY_FN __hip_bfloat16 __high2bfloat16(__hip_bfloat162 v) { return v.y; }
ASSAY_FN __hip_bfloat16 __ushort_as_bfloat16(unsigned short bits) { return assay_bf16(bits); }
ASSAY_FN unsigned short __bfloat16_as_ushort(__hip_bfloat16 x) { return x.assay_bits; }

// Through f32 rounded to odd: rounding to f32 to nearest and again to 11 or 8 bits could go wrong.
ASSAY_FN float assay_f64_to_odd(double x) {
  const float near = (float)x;
  const double error = x - (double)near;
  const unsigned bits = __float_as_uint(near);
  if (!(error != 0.0) || (bits & 0x7f800000u) == 0x7f800000u || (bits & 1u) != 0u) return near;
  return __uint_as_float((error > 0.0) == ((bits >> 31) == 0u) ? bits + 1u : bits - 1u);
}
__device__ __forceinline__ __half::__half(double x) : __half(assay_f64_to_odd(x)) {}
__device__ __forceinline__ __hip_bfloat16::__hip_bfloat16(double x) : __hip_bfloat16(assay_f64_to_odd(x)) {}
