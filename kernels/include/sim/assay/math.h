// Device math of HIP on the host's libm. The `__name` forms are the exact ones here: a board may be less accurate.
#pragma once

#define ASSAY_FN static inline __attribute__((always_inline, unused))

ASSAY_FN float rsqrtf(float x) { return 1.0f / sqrtf(x); }
ASSAY_FN double rsqrt(double x) { return 1.0 / sqrt(x); }
ASSAY_FN float rcbrtf(float x) { return 1.0f / cbrtf(x); }
// The host's libm reserves these names, so they are macros.
#define __expf(x) expf(x)
#define __exp10f(x) exp10f(x)
#define __logf(x) logf(x)
#define __log2f(x) log2f(x)
#define __log10f(x) log10f(x)
#define __sinf(x) sinf(x)
#define __cosf(x) cosf(x)
#define __tanf(x) tanf(x)
#define __powf(x, y) powf(x, y)
#define __sincosf(x, s, c) sincosf(x, s, c)
ASSAY_FN void sincospif(float x, float* s, float* c) {
    *s = static_cast<float>(sin(M_PI * static_cast<double>(x)));
    *c = static_cast<float>(cos(M_PI * static_cast<double>(x)));
}
ASSAY_FN float __fdividef(float a, float b) { return a / b; }
ASSAY_FN float fdividef(float a, float b) { return a / b; }
ASSAY_FN float __saturatef(float x) { return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f; }
ASSAY_FN float rcp(float x) { return 1.0f / x; }
ASSAY_FN float __frcp_rn(float x) { return 1.0f / x; }
ASSAY_FN float __fadd_rn(float a, float b) { return a + b; }
ASSAY_FN float __fsub_rn(float a, float b) { return a - b; }
ASSAY_FN float __fmul_rn(float a, float b) { return a * b; }
ASSAY_FN float __fdiv_rn(float a, float b) { return a / b; }
ASSAY_FN float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
ASSAY_FN float __fsqrt_rn(float x) { return sqrtf(x); }
ASSAY_FN float __frsqrt_rn(float x) { return static_cast<float>(1.0 / sqrt(static_cast<double>(x))); }
ASSAY_FN double __dadd_rn(double a, double b) { return a + b; }
ASSAY_FN double __dmul_rn(double a, double b) { return a * b; }
ASSAY_FN double __ddiv_rn(double a, double b) { return a / b; }
ASSAY_FN double __fma_rn(double a, double b, double c) { return fma(a, b, c); }
ASSAY_FN double __dsqrt_rn(double x) { return sqrt(x); }

template <class To, class From>
ASSAY_FN To assay_bits(From from) {
    static_assert(sizeof(To) == sizeof(From), "a bit cast keeps the size");
    To to;
    __builtin_memcpy(&to, &from, sizeof to);
    return to;
}
ASSAY_FN unsigned __float_as_uint(float x) { return assay_bits<unsigned>(x); }
ASSAY_FN int __float_as_int(float x) { return assay_bits<int>(x); }
ASSAY_FN float __uint_as_float(unsigned x) { return assay_bits<float>(x); }
ASSAY_FN float __int_as_float(int x) { return assay_bits<float>(x); }
ASSAY_FN long long __double_as_longlong(double x) { return assay_bits<long long>(x); }
ASSAY_FN double __longlong_as_double(long long x) { return assay_bits<double>(x); }
ASSAY_FN int __double2hiint(double x) { return static_cast<int>(assay_bits<unsigned long long>(x) >> 32); }
ASSAY_FN int __double2loint(double x) { return static_cast<int>(assay_bits<unsigned long long>(x)); }
ASSAY_FN double __hiloint2double(int hi, int lo) {
    return assay_bits<double>((static_cast<unsigned long long>(static_cast<unsigned>(hi)) << 32) | static_cast<unsigned>(lo));
}

// Float to integer as boards convert: NaN is 0, values outside saturate.
template <class I, class F>
ASSAY_FN I assay_to_int(F x) {
    const F low = static_cast<F>(std::is_signed<I>::value ? -ldexp(1.0, 8 * sizeof(I) - 1) : 0.0);
    const F high = static_cast<F>(ldexp(1.0, 8 * sizeof(I) - (std::is_signed<I>::value ? 1 : 0)));
    if (x != x) return 0;
    if (x <= low) return static_cast<I>(low);
    if (x >= high) return static_cast<I>(~I(0)) < 0 ? static_cast<I>(~(I(1) << (8 * sizeof(I) - 1))) : static_cast<I>(~I(0));
    return static_cast<I>(x);
}
#define ASSAY_CONVERT(from, F, to, I)                                                         \
    ASSAY_FN I __##from##2##to##_rn(F x) { return assay_to_int<I>(std::nearbyint(x)); }       \
    ASSAY_FN I __##from##2##to##_rz(F x) { return assay_to_int<I>(std::trunc(x)); }           \
    ASSAY_FN I __##from##2##to##_ru(F x) { return assay_to_int<I>(std::ceil(x)); }            \
    ASSAY_FN I __##from##2##to##_rd(F x) { return assay_to_int<I>(std::floor(x)); }
ASSAY_CONVERT(float, float, int, int)
ASSAY_CONVERT(float, float, uint, unsigned)
ASSAY_CONVERT(float, float, ll, long long)
ASSAY_CONVERT(float, float, ull, unsigned long long)
ASSAY_CONVERT(double, double, int, int)
ASSAY_CONVERT(double, double, uint, unsigned)
ASSAY_CONVERT(double, double, ll, long long)
ASSAY_CONVERT(double, double, ull, unsigned long long)
ASSAY_FN float __int2float_rn(int x) { return static_cast<float>(x); }
ASSAY_FN float __uint2float_rn(unsigned x) { return static_cast<float>(x); }
ASSAY_FN float __ll2float_rn(long long x) { return static_cast<float>(x); }
ASSAY_FN float __ull2float_rn(unsigned long long x) { return static_cast<float>(x); }
ASSAY_FN double __int2double_rn(int x) { return x; }
ASSAY_FN double __ll2double_rn(long long x) { return static_cast<double>(x); }
ASSAY_FN float __double2float_rn(double x) { return static_cast<float>(x); }

ASSAY_FN int __popc(unsigned x) { return __builtin_popcount(x); }
ASSAY_FN int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
ASSAY_FN int __ffs(int x) { return __builtin_ffs(x); }
ASSAY_FN int __ffs(unsigned x) { return __builtin_ffs(static_cast<int>(x)); }
ASSAY_FN int __ffsll(long long x) { return __builtin_ffsll(x); }
ASSAY_FN int __ffsll(unsigned long long x) { return __builtin_ffsll(static_cast<long long>(x)); }
ASSAY_FN int __clz(int x) { return x ? __builtin_clz(static_cast<unsigned>(x)) : 32; }
ASSAY_FN int __clzll(long long x) { return x ? __builtin_clzll(static_cast<unsigned long long>(x)) : 64; }
ASSAY_FN unsigned __brev(unsigned x) {
    x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
    x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
    x = (x >> 4 & 0x0f0f0f0fu) | (x & 0x0f0f0f0fu) << 4;
    return __builtin_bswap32(x);
}
ASSAY_FN unsigned long long __brevll(unsigned long long x) {
    return static_cast<unsigned long long>(__brev(static_cast<unsigned>(x))) << 32 | __brev(static_cast<unsigned>(x >> 32));
}
ASSAY_FN int __mulhi(int a, int b) { return static_cast<int>((static_cast<long long>(a) * b) >> 32); }
ASSAY_FN unsigned __umulhi(unsigned a, unsigned b) {
    return static_cast<unsigned>((static_cast<unsigned long long>(a) * b) >> 32);
}
ASSAY_FN unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return static_cast<unsigned long long>((static_cast<unsigned __int128>(a) * b) >> 64);
}
ASSAY_FN int __mul24(int a, int b) { return ((a << 8) >> 8) * ((b << 8) >> 8); }
ASSAY_FN unsigned __umul24(unsigned a, unsigned b) { return (a & 0xffffffu) * (b & 0xffffffu); }
ASSAY_FN unsigned __funnelshift_l(unsigned lo, unsigned hi, unsigned s) {
    return static_cast<unsigned>((((static_cast<unsigned long long>(hi) << 32) | lo) << (s & 31)) >> 32);
}
ASSAY_FN unsigned __funnelshift_r(unsigned lo, unsigned hi, unsigned s) {
    return static_cast<unsigned>(((static_cast<unsigned long long>(hi) << 32) | lo) >> (s & 31));
}
ASSAY_FN unsigned __byte_perm(unsigned a, unsigned b, unsigned s) {
    const unsigned long long both = (static_cast<unsigned long long>(b) << 32) | a;
    unsigned r = 0;
    for (unsigned i = 0; i < 4; ++i) r |= static_cast<unsigned>((both >> (8 * (s >> (4 * i) & 7))) & 0xff) << (8 * i);
    return r;
}

template <class T>
ASSAY_FN T __ldg(const T* p) {
    return *p;
}

ASSAY_FN int min(int a, int b) { return a < b ? a : b; }
ASSAY_FN int max(int a, int b) { return a > b ? a : b; }
ASSAY_FN unsigned min(unsigned a, unsigned b) { return a < b ? a : b; }
ASSAY_FN unsigned max(unsigned a, unsigned b) { return a > b ? a : b; }
ASSAY_FN unsigned min(int a, unsigned b) { return min(static_cast<unsigned>(a), b); }
ASSAY_FN unsigned min(unsigned a, int b) { return min(a, static_cast<unsigned>(b)); }
ASSAY_FN unsigned max(int a, unsigned b) { return max(static_cast<unsigned>(a), b); }
ASSAY_FN unsigned max(unsigned a, int b) { return max(a, static_cast<unsigned>(b)); }
ASSAY_FN long min(long a, long b) { return a < b ? a : b; }
ASSAY_FN long max(long a, long b) { return a > b ? a : b; }
ASSAY_FN unsigned long min(unsigned long a, unsigned long b) { return a < b ? a : b; }
ASSAY_FN unsigned long max(unsigned long a, unsigned long b) { return a > b ? a : b; }
ASSAY_FN long long min(long long a, long long b) { return a < b ? a : b; }
ASSAY_FN long long max(long long a, long long b) { return a > b ? a : b; }
ASSAY_FN unsigned long long min(unsigned long long a, unsigned long long b) { return a < b ? a : b; }
ASSAY_FN unsigned long long max(unsigned long long a, unsigned long long b) { return a > b ? a : b; }
ASSAY_FN float min(float a, float b) { return fminf(a, b); }
ASSAY_FN float max(float a, float b) { return fmaxf(a, b); }
ASSAY_FN double min(double a, double b) { return fmin(a, b); }
ASSAY_FN double max(double a, double b) { return fmax(a, b); }
