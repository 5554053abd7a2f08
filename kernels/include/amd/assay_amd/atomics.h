// Atomics of device scope, relaxed, as HIP's are; each returns the old value.
#pragma once

#define ASSAY_ATOMIC(name, T, builtin)                                                       \
  ASSAY_FN T name(T* p, T v) {                                                               \
    return __hip_atomic_##builtin(p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);         \
  }                                                                                          \
  ASSAY_FN T name##_system(T* p, T v) {                                                      \
    return __hip_atomic_##builtin(p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);        \
  }
#define ASSAY_ATOMIC_CAS(T)                                                                                 \
  ASSAY_FN T atomicCAS(T* p, T expected, T wanted) {                                                        \
    __hip_atomic_compare_exchange_strong(p, &expected, wanted, __ATOMIC_RELAXED, __ATOMIC_RELAXED,          \
                                         __HIP_MEMORY_SCOPE_AGENT);                                         \
    return expected;                                                                                        \
  }
#define ASSAY_ATOMIC_NUMBER(T)             \
  ASSAY_ATOMIC(atomicAdd, T, fetch_add)    \
  ASSAY_ATOMIC(atomicExch, T, exchange)    \
  ASSAY_ATOMIC(atomicMin, T, fetch_min)    \
  ASSAY_ATOMIC(atomicMax, T, fetch_max)    \
  ASSAY_FN T atomicSub(T* p, T v) { return atomicAdd(p, (T)(-v)); }
#define ASSAY_ATOMIC_INTEGER(T)           \
  ASSAY_ATOMIC_NUMBER(T)                  \
  ASSAY_ATOMIC(atomicAnd, T, fetch_and)   \
  ASSAY_ATOMIC(atomicOr, T, fetch_or)     \
  ASSAY_ATOMIC(atomicXor, T, fetch_xor)   \
  ASSAY_ATOMIC_CAS(T)
ASSAY_ATOMIC_INTEGER(int)
ASSAY_ATOMIC_INTEGER(unsigned)
ASSAY_ATOMIC_INTEGER(long long)
ASSAY_ATOMIC_INTEGER(unsigned long long)
ASSAY_ATOMIC_INTEGER(unsigned long)
ASSAY_ATOMIC_NUMBER(float)
ASSAY_ATOMIC_NUMBER(double)

ASSAY_FN float atomicCAS(float* p, float expected, float wanted) {
  return __uint_as_float(atomicCAS((unsigned*)p, __float_as_uint(expected), __float_as_uint(wanted)));
}

// Replaces *p by what `next` makes of it.
template <class F>
ASSAY_FN unsigned assay_update(unsigned* p, F next) {
  unsigned seen = *(volatile unsigned*)p, old;
  do {
    old = seen;
    seen = atomicCAS(p, old, next(old));
  } while (seen != old);
  return old;
}
ASSAY_FN unsigned atomicInc(unsigned* p, unsigned last) {
  return assay_update(p, [last] __device__(unsigned old) { return old >= last ? 0u : old + 1u; });
}
ASSAY_FN unsigned atomicDec(unsigned* p, unsigned last) {
  return assay_update(p, [last] __device__(unsigned old) { return old == 0u || old > last ? last : old - 1u; });
}
ASSAY_FN float unsafeAtomicAdd(float* p, float v) { return atomicAdd(p, v); }
ASSAY_FN double unsafeAtomicAdd(double* p, double v) { return atomicAdd(p, v); }
