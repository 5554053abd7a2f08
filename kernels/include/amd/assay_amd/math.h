// Device math. Division and square root are correctly rounded, exp and log within 2 ulp; the rest is exact or unavailable.
#pragma once

template <class To, class From>
ASSAY_FN To assay_bits(From from) {
  static_assert(sizeof(To) == sizeof(From), "a bit cast keeps the size");
  return __builtin_bit_cast(To, from);
}
ASSAY_FN unsigned __float_as_uint(float x) { return assay_bits<unsigned>(x); }
ASSAY_FN int __float_as_int(float x) { return assay_bits<int>(x); }
ASSAY_FN float __uint_as_float(unsigned x) { return assay_bits<float>(x); }
ASSAY_FN float __int_as_float(int x) { return assay_bits<float>(x); }
ASSAY_FN long long __double_as_longlong(double x) { return assay_bits<long long>(x); }
ASSAY_FN double __longlong_as_double(long long x) { return assay_bits<double>(x); }

// Both the C name and the overload of the double name, as HIP has them.
#define ASSAY_UNARY(name)                                              \
  ASSAY_FN float name##f(float x) { return __builtin_##name##f(x); }   \
  ASSAY_FN float name(float x) { return __builtin_##name##f(x); }      \
  ASSAY_FN double name(double x) { return __builtin_##name(x); }
ASSAY_UNARY(sqrt)
ASSAY_UNARY(fabs)
ASSAY_UNARY(floor)
ASSAY_UNARY(ceil)
ASSAY_UNARY(trunc)
ASSAY_UNARY(round)
ASSAY_UNARY(rint)
ASSAY_UNARY(nearbyint)
#define ASSAY_BINARY(name)                                                            \
  ASSAY_FN float name##f(float x, float y) { return __builtin_##name##f(x, y); }      \
  ASSAY_FN float name(float x, float y) { return __builtin_##name##f(x, y); }         \
  ASSAY_FN double name(double x, double y) { return __builtin_##name(x, y); }
ASSAY_BINARY(fmin)
ASSAY_BINARY(fmax)
ASSAY_BINARY(copysign)
ASSAY_FN float fmodf(float x, float y) { return __builtin_fmodf(x, y); }
ASSAY_FN float ldexpf(float x, int e) { return __builtin_ldexpf(x, e); }
ASSAY_FN double ldexp(double x, int e) { return __builtin_ldexp(x, e); }
ASSAY_FN float fmaf(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
ASSAY_FN float fma(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
ASSAY_FN double fma(double x, double y, double z) { return __builtin_fma(x, y, z); }

// No f64 form without a library.
#define ASSAY_FLOAT_ONLY(name)                                        \
  ASSAY_FN float name##f(float x) { return __builtin_##name##f(x); }  \
  ASSAY_FN float name(float x) { return __builtin_##name##f(x); }     \
  ASSAY_FN float __##name##f(float x) { return __builtin_##name##f(x); } \
  __device__ double name(double) __attribute__((unavailable(#name " of double needs ROCm's device library")));
ASSAY_FLOAT_ONLY(exp)
ASSAY_FLOAT_ONLY(exp2)
ASSAY_FLOAT_ONLY(exp10)
ASSAY_FLOAT_ONLY(log)
ASSAY_FLOAT_ONLY(log2)
ASSAY_FLOAT_ONLY(log10)

// The compiler's inline forms of sin, cos and pow are inaccurate (17 ulp and more); the others do not exist.
#define ASSAY_NO(name)                                                                                              \
  __device__ float name##f(float) __attribute__((unavailable(#name "f has no accurate form without ROCm's device library"))); \
  __device__ double name(double) __attribute__((unavailable(#name " has no accurate form without ROCm's device library")));
ASSAY_NO(sin)
ASSAY_NO(cos)
ASSAY_NO(tan)
ASSAY_NO(tanh)
ASSAY_NO(erf)
ASSAY_NO(expm1)
ASSAY_NO(log1p)
ASSAY_NO(cbrt)
__device__ float powf(float, float) __attribute__((unavailable("powf has no accurate form without ROCm's device library")));

ASSAY_FN float rsqrtf(float x) { return 1.0f / __builtin_sqrtf(x); }
ASSAY_FN double rsqrt(double x) { return 1.0 / __builtin_sqrt(x); }
ASSAY_FN float __fdividef(float x, float y) { return x / y; }
ASSAY_FN float __saturatef(float x) { return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f; }
ASSAY_FN float __frcp_rn(float x) { return 1.0f / x; }
ASSAY_FN float __fsqrt_rn(float x) { return __builtin_sqrtf(x); }
ASSAY_FN float __fadd_rn(float x, float y) { return x + y; }
ASSAY_FN float __fsub_rn(float x, float y) { return x - y; }
ASSAY_FN float __fmul_rn(float x, float y) { return x * y; }
ASSAY_FN float __fdiv_rn(float x, float y) { return x / y; }
ASSAY_FN float __fmaf_rn(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
ASSAY_FN double __dadd_rn(double x, double y) { return x + y; }
ASSAY_FN double __dmul_rn(double x, double y) { return x * y; }
ASSAY_FN double __ddiv_rn(double x, double y) { return x / y; }
ASSAY_FN double __dsqrt_rn(double x) { return __builtin_sqrt(x); }
ASSAY_FN double __fma_rn(double x, double y, double z) { return __builtin_fma(x, y, z); }

ASSAY_FN bool isnan(float x) { return x != x; }
ASSAY_FN bool isnan(double x) { return x != x; }
ASSAY_FN bool isinf(float x) { return __builtin_fabsf(x) == __builtin_inff(); }
ASSAY_FN bool isinf(double x) { return __builtin_fabs(x) == __builtin_inf(); }
ASSAY_FN bool isfinite(float x) { return __builtin_fabsf(x) < __builtin_inff(); }
ASSAY_FN bool isfinite(double x) { return __builtin_fabs(x) < __builtin_inf(); }
#ifndef INFINITY
#define INFINITY (__builtin_inff())
#endif
#ifndef NAN
#define NAN (__builtin_nanf(""))
#endif

// NaN converts to 0 and values outside saturate, in the instruction itself.
ASSAY_FN int __float2int_rn(float x) { return (int)__builtin_elementwise_roundeven(x); }
ASSAY_FN int __float2int_rz(float x) { return (int)x; }
ASSAY_FN int __float2int_ru(float x) { return (int)__builtin_ceilf(x); }
ASSAY_FN int __float2int_rd(float x) { return (int)__builtin_floorf(x); }
ASSAY_FN unsigned __float2uint_rn(float x) { return (unsigned)__builtin_elementwise_roundeven(x); }
ASSAY_FN unsigned __float2uint_rz(float x) { return (unsigned)x; }
ASSAY_FN float __int2float_rn(int x) { return (float)x; }
ASSAY_FN float __uint2float_rn(unsigned x) { return (float)x; }
ASSAY_FN float __double2float_rn(double x) { return (float)x; }
ASSAY_FN double __int2double_rn(int x) { return x; }

ASSAY_FN int __popc(unsigned x) { return __builtin_popcount(x); }
ASSAY_FN int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
ASSAY_FN int __ffs(int x) { return __builtin_ffs(x); }
ASSAY_FN int __ffs(unsigned x) { return __builtin_ffs((int)x); }
ASSAY_FN int __ffsll(long long x) { return __builtin_ffsll(x); }
ASSAY_FN int __ffsll(unsigned long long x) { return __builtin_ffsll((long long)x); }
ASSAY_FN int __clz(int x) { return x ? __builtin_clz((unsigned)x) : 32; }
ASSAY_FN int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
ASSAY_FN unsigned __brev(unsigned x) { return __builtin_bitreverse32(x); }
ASSAY_FN unsigned long long __brevll(unsigned long long x) { return __builtin_bitreverse64(x); }
ASSAY_FN int __mulhi(int a, int b) { return (int)(((long long)a * b) >> 32); }
ASSAY_FN unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)(((unsigned long long)a * b) >> 32); }

template <class T>
ASSAY_FN T __ldg(const T* p) {
  return *p;
}

#define ASSAY_MIN_MAX(T)                                        \
  ASSAY_FN T min(T a, T b) { return a < b ? a : b; }            \
  ASSAY_FN T max(T a, T b) { return a > b ? a : b; }
ASSAY_MIN_MAX(int)
ASSAY_MIN_MAX(unsigned)
ASSAY_MIN_MAX(long)
ASSAY_MIN_MAX(unsigned long)
ASSAY_MIN_MAX(long long)
ASSAY_MIN_MAX(unsigned long long)
ASSAY_FN unsigned min(int a, unsigned b) { return min((unsigned)a, b); }
ASSAY_FN unsigned min(unsigned a, int b) { return min(a, (unsigned)b); }
ASSAY_FN unsigned max(int a, unsigned b) { return max((unsigned)a, b); }
ASSAY_FN unsigned max(unsigned a, int b) { return max(a, (unsigned)b); }
ASSAY_FN float min(float a, float b) { return __builtin_fminf(a, b); }
ASSAY_FN float max(float a, float b) { return __builtin_fmaxf(a, b); }
ASSAY_FN double min(double a, double b) { return __builtin_fmin(a, b); }
ASSAY_FN double max(double a, double b) { return __builtin_fmax(a, b); }
