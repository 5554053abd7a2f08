// Vector types of HIP with their alignment, element-wise operators and make_ functions.
#pragma once

struct uint3 {
    unsigned x, y, z;
};

struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
    constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
    constexpr operator uint3() const { return uint3{x, y, z}; }
};

#define ASSAY_VECTOR_OP(V, N, op)                                                                  \
    inline V operator op(const V& a, const V& b) { return ASSAY_ZIP##N(V, a, b, op); }             \
    inline V operator op(const V& a, decltype(V::x) s) { return ASSAY_ZIPS##N(V, a, s, op); }      \
    inline V operator op(decltype(V::x) s, const V& a) { return ASSAY_SZIP##N(V, a, s, op); }      \
    inline V& operator op##=(V & a, const V& b) { return a = a op b; }                             \
    inline V& operator op##=(V & a, decltype(V::x) s) { return a = a op s; }

#define ASSAY_C(T, e) static_cast<T>(e)
#define ASSAY_ZIP1(V, a, b, op) V{ASSAY_C(decltype(V::x), a.x op b.x)}
#define ASSAY_ZIPS1(V, a, s, op) V{ASSAY_C(decltype(V::x), a.x op s)}
#define ASSAY_SZIP1(V, a, s, op) V{ASSAY_C(decltype(V::x), s op a.x)}
#define ASSAY_ZIP2(V, a, b, op) V{ASSAY_C(decltype(V::x), a.x op b.x), ASSAY_C(decltype(V::x), a.y op b.y)}
#define ASSAY_ZIPS2(V, a, s, op) V{ASSAY_C(decltype(V::x), a.x op s), ASSAY_C(decltype(V::x), a.y op s)}
#define ASSAY_SZIP2(V, a, s, op) V{ASSAY_C(decltype(V::x), s op a.x), ASSAY_C(decltype(V::x), s op a.y)}
#define ASSAY_ZIP3(V, a, b, op) \
    V{ASSAY_C(decltype(V::x), a.x op b.x), ASSAY_C(decltype(V::x), a.y op b.y), ASSAY_C(decltype(V::x), a.z op b.z)}
#define ASSAY_ZIPS3(V, a, s, op) \
    V{ASSAY_C(decltype(V::x), a.x op s), ASSAY_C(decltype(V::x), a.y op s), ASSAY_C(decltype(V::x), a.z op s)}
#define ASSAY_SZIP3(V, a, s, op) \
    V{ASSAY_C(decltype(V::x), s op a.x), ASSAY_C(decltype(V::x), s op a.y), ASSAY_C(decltype(V::x), s op a.z)}
#define ASSAY_ZIP4(V, a, b, op)                                                                                       \
    V{ASSAY_C(decltype(V::x), a.x op b.x), ASSAY_C(decltype(V::x), a.y op b.y), ASSAY_C(decltype(V::x), a.z op b.z), \
      ASSAY_C(decltype(V::x), a.w op b.w)}
#define ASSAY_ZIPS4(V, a, s, op)                                                                                \
    V{ASSAY_C(decltype(V::x), a.x op s), ASSAY_C(decltype(V::x), a.y op s), ASSAY_C(decltype(V::x), a.z op s), \
      ASSAY_C(decltype(V::x), a.w op s)}
#define ASSAY_SZIP4(V, a, s, op)                                                                                \
    V{ASSAY_C(decltype(V::x), s op a.x), ASSAY_C(decltype(V::x), s op a.y), ASSAY_C(decltype(V::x), s op a.z), \
      ASSAY_C(decltype(V::x), s op a.w)}

#define ASSAY_OPS(V, N) \
    ASSAY_VECTOR_OP(V, N, +) ASSAY_VECTOR_OP(V, N, -) ASSAY_VECTOR_OP(V, N, *) ASSAY_VECTOR_OP(V, N, /)

#define ASSAY_VECTOR(T, name)                                                                            \
    struct name##1 {                                                                                     \
        T x;                                                                                             \
    };                                                                                                   \
    struct alignas(2 * sizeof(T)) name##2 {                                                              \
        T x, y;                                                                                          \
    };                                                                                                   \
    struct alignas(sizeof(T) * 4 > 16 ? 16 : sizeof(T) * 4) name##4 {                                    \
        T x, y, z, w;                                                                                    \
    };                                                                                                   \
    inline name##1 make_##name##1(T x) { return name##1{x}; }                                            \
    inline name##2 make_##name##2(T x, T y) { return name##2{x, y}; }                                    \
    inline name##4 make_##name##4(T x, T y, T z, T w) { return name##4{x, y, z, w}; }                    \
    ASSAY_OPS(name##1, 1) ASSAY_OPS(name##2, 2) ASSAY_OPS(name##4, 4)
#define ASSAY_VECTOR3(T, name) \
    struct name##3 {           \
        T x, y, z;             \
    };                         \
    ASSAY_MAKE3(T, name)
#define ASSAY_MAKE3(T, name)                                                         \
    inline name##3 make_##name##3(T x, T y, T z) { return name##3{x, y, z}; }        \
    ASSAY_OPS(name##3, 3)

ASSAY_VECTOR(signed char, char)
ASSAY_VECTOR(unsigned char, uchar)
ASSAY_VECTOR(short, short)
ASSAY_VECTOR(unsigned short, ushort)
ASSAY_VECTOR(int, int)
ASSAY_VECTOR(unsigned, uint)
ASSAY_VECTOR(long, long)
ASSAY_VECTOR(unsigned long, ulong)
ASSAY_VECTOR(long long, longlong)
ASSAY_VECTOR(unsigned long long, ulonglong)
ASSAY_VECTOR(float, float)
ASSAY_VECTOR(double, double)
ASSAY_VECTOR3(signed char, char)
ASSAY_VECTOR3(unsigned char, uchar)
ASSAY_VECTOR3(short, short)
ASSAY_VECTOR3(unsigned short, ushort)
ASSAY_VECTOR3(int, int)
ASSAY_MAKE3(unsigned, uint)
ASSAY_VECTOR3(long, long)
ASSAY_VECTOR3(unsigned long, ulong)
ASSAY_VECTOR3(long long, longlong)
ASSAY_VECTOR3(unsigned long long, ulonglong)
ASSAY_VECTOR3(float, float)
ASSAY_VECTOR3(double, double)
