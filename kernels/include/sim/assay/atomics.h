// Atomics. One lane runs at a time, so the plain operation is atomic; the order of lanes is the launch's, so it is
// deterministic too. Sanitised builds announce the access as atomic and do it in a function that is not instrumented.
#pragma once

#ifdef ASSAY_SANITISE
#define ASSAY_ATOMIC template <class T, class F> __attribute__((noinline, no_sanitize("thread")))
#define ASSAY_ANNOUNCE(p) assay_atomic(p, sizeof *(p))
#else
#define ASSAY_ATOMIC template <class T, class F> inline __attribute__((always_inline))
#define ASSAY_ANNOUNCE(p) (void)0
#endif

namespace assay {
// Returns the old value, as every HIP atomic does.
ASSAY_ATOMIC T rmw(T* p, F change) {
    ASSAY_ANNOUNCE(p);
    const T old = *p;
    *p = change(old);
    return old;
}
}  // namespace assay

#define ASSAY_QUIET __attribute__((no_sanitize("thread")))
#define ASSAY_RMW(name, T, expression)                                                                  \
    ASSAY_FN T name(T* p, T v) {                                                                        \
        return assay::rmw(p, [v](T old) ASSAY_QUIET -> T { (void)old; return static_cast<T>(expression); }); \
    }                                                                                                   \
    ASSAY_FN T name##_system(T* p, T v) { return name(p, v); }                                          \
    ASSAY_FN T name##_block(T* p, T v) { return name(p, v); }
// Signed sums wrap, as on boards.
#define ASSAY_WRAP(T, op) std::conditional_t<std::is_integral<T>::value, std::make_unsigned<T>, std::common_type<T>>
#define ASSAY_ARITHMETIC(T, U)                                                      \
    ASSAY_RMW(atomicAdd, T, static_cast<U>(old) + static_cast<U>(v))                \
    ASSAY_RMW(atomicSub, T, static_cast<U>(old) - static_cast<U>(v))                \
    ASSAY_RMW(atomicExch, T, v)                                                     \
    ASSAY_RMW(atomicMin, T, v < old ? v : old)                                      \
    ASSAY_RMW(atomicMax, T, v > old ? v : old)
#define ASSAY_BITWISE(T)                     \
    ASSAY_RMW(atomicAnd, T, old & v)         \
    ASSAY_RMW(atomicOr, T, old | v)          \
    ASSAY_RMW(atomicXor, T, old ^ v)
#define ASSAY_CAS(T)                                                                                              \
    ASSAY_FN T atomicCAS(T* p, T expected, T wanted) {                                                            \
        return assay::rmw(p, [=](T old) ASSAY_QUIET -> T { return old == expected ? wanted : old; });             \
    }                                                                                                             \
    ASSAY_FN T atomicCAS_system(T* p, T e, T w) { return atomicCAS(p, e, w); }                                    \
    ASSAY_FN T atomicCAS_block(T* p, T e, T w) { return atomicCAS(p, e, w); }

ASSAY_ARITHMETIC(int, unsigned)
ASSAY_ARITHMETIC(unsigned, unsigned)
ASSAY_ARITHMETIC(long long, unsigned long long)
ASSAY_ARITHMETIC(unsigned long long, unsigned long long)
ASSAY_ARITHMETIC(unsigned long, unsigned long)
ASSAY_ARITHMETIC(float, float)
ASSAY_ARITHMETIC(double, double)
ASSAY_BITWISE(int)
ASSAY_BITWISE(unsigned)
ASSAY_BITWISE(long long)
ASSAY_BITWISE(unsigned long long)
ASSAY_BITWISE(unsigned long)
ASSAY_CAS(int)
ASSAY_CAS(unsigned)
ASSAY_CAS(long long)
ASSAY_CAS(unsigned long long)
ASSAY_CAS(unsigned long)
ASSAY_CAS(unsigned short)
ASSAY_CAS(float)
ASSAY_CAS(double)
ASSAY_RMW(atomicInc, unsigned, old >= v ? 0u : old + 1u)
ASSAY_RMW(atomicDec, unsigned, old == 0u || old > v ? v : old - 1u)

ASSAY_FN float unsafeAtomicAdd(float* p, float v) { return atomicAdd(p, v); }
ASSAY_FN double unsafeAtomicAdd(double* p, double v) { return atomicAdd(p, v); }
template <class T>
ASSAY_FN T atomicAddNoRet(T* p, T v) {
    return atomicAdd(p, v);
}

#ifdef ASSAY_SANITISE
ASSAY_FN void __threadfence() { assay_fence(); }
#else
ASSAY_FN void __threadfence() { __asm__ __volatile__("" ::: "memory"); }
#endif
ASSAY_FN void __threadfence_block() { __asm__ __volatile__("" ::: "memory"); }
ASSAY_FN void __threadfence_system() { __threadfence(); }
