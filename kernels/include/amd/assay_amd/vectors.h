// Vector types of HIP with their alignment, element-wise operators and make_ functions.
#pragma once

struct uint3 {
  unsigned x, y, z;
};
struct dim3 {
  unsigned x, y, z;
  __device__ constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};

#define ASSAY_VECTOR_OP(T, V, op, Z)                                  \
  ASSAY_FN V operator op(V a, V b) { return Z(V, a, b, op); }         \
  ASSAY_FN V& operator op##=(V& a, V b) { return a = a op b; }
#define ASSAY_ZIP1(V, a, b, op) V{(decltype(V::x))(a.x op b.x)}
#define ASSAY_ZIP2(V, a, b, op) V{(decltype(V::x))(a.x op b.x), (decltype(V::x))(a.y op b.y)}
#define ASSAY_ZIP3(V, a, b, op) \
  V{(decltype(V::x))(a.x op b.x), (decltype(V::x))(a.y op b.y), (decltype(V::x))(a.z op b.z)}
#define ASSAY_ZIP4(V, a, b, op)                                                                  \
  V{(decltype(V::x))(a.x op b.x), (decltype(V::x))(a.y op b.y), (decltype(V::x))(a.z op b.z), \
    (decltype(V::x))(a.w op b.w)}
#define ASSAY_VECTOR_OPS(T, V, Z) \
  ASSAY_VECTOR_OP(T, V, +, Z) ASSAY_VECTOR_OP(T, V, -, Z) ASSAY_VECTOR_OP(T, V, *, Z) ASSAY_VECTOR_OP(T, V, /, Z)

#define ASSAY_VECTOR3_FNS(T, name)                                            \
  ASSAY_FN name##3 make_##name##3(T x, T y, T z) { return name##3{x, y, z}; } \
  ASSAY_VECTOR_OPS(T, name##3, ASSAY_ZIP3)
#define ASSAY_VECTOR3(T, name) \
  struct name##3 {             \
    T x, y, z;                 \
  };                           \
  ASSAY_VECTOR3_FNS(T, name)
#define ASSAY_VECTOR(T, name)                                                          \
  struct name##1 {                                                                     \
    T x;                                                                               \
  };                                                                                   \
  struct alignas(2 * sizeof(T)) name##2 {                                              \
    T x, y;                                                                            \
  };                                                                                   \
  struct alignas(4 * sizeof(T) > 16 ? 16 : 4 * sizeof(T)) name##4 {                    \
    T x, y, z, w;                                                                      \
  };                                                                                   \
  ASSAY_FN name##1 make_##name##1(T x) { return name##1{x}; }                          \
  ASSAY_FN name##2 make_##name##2(T x, T y) { return name##2{x, y}; }                  \
  ASSAY_FN name##4 make_##name##4(T x, T y, T z, T w) { return name##4{x, y, z, w}; }  \
  ASSAY_VECTOR_OPS(T, name##1, ASSAY_ZIP1)                                             \
  ASSAY_VECTOR_OPS(T, name##2, ASSAY_ZIP2)                                             \
  ASSAY_VECTOR_OPS(T, name##4, ASSAY_ZIP4)

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
ASSAY_VECTOR3_FNS(unsigned, uint)
ASSAY_VECTOR3(long, long)
ASSAY_VECTOR3(unsigned long, ulong)
ASSAY_VECTOR3(long long, longlong)
ASSAY_VECTOR3(unsigned long long, ulonglong)
ASSAY_VECTOR3(float, float)
ASSAY_VECTOR3(double, double)
