// Atomics. One lane runs at a time, so the plain operation is atomic; the order of lanes is the launch's, so it is
// deterministic too. Sanitised builds announce the access as atomic and do it in a function that is not instrumented.
#pragma once

#define ASSAY_QUIET __attribute__((no_sanitize("thread")))
#ifdef ASSAY_SANITISE
#define ASSAY_ATOMIC __attribute__((noinline)) ASSAY_QUIET
#define ASSAY_ANNOUNCE(p, blind) assay_atomic(p, sizeof *(p) | uint64_t(blind) << 63)
#else
#define ASSAY_ATOMIC inline __attribute__((always_inline))
#define ASSAY_ANNOUNCE(p, blind) (void)(blind)
#endif

namespace assay {
template <class T, class F>
ASSAY_ATOMIC T change(T* p, F change) {
    // Volatile, or the optimiser moves a load into the caller, where it would count as a plain read.
    volatile T* const word = p;
    const T old = *word;
    *word = change(old);
    return old;
}
// Returns the old value, as every HIP atomic does; a blind one does not look at it. Inlined, so that the announcement stands
// in the user's own line.
template <class T, class F>
inline __attribute__((always_inline)) T rmw(T* p, F f, bool blind = false) {
    ASSAY_ANNOUNCE(p, blind);
    return change(p, f);
}
}  // namespace assay

#define ASSAY_RMW(name, T, expression)                                                                  \
    ASSAY_FN T name(T* p, T v) {                                                                        \
        return assay::rmw(p, [v](T old) ASSAY_QUIET -> T { (void)old; return static_cast<T>(expression); }); \
    }                                                                                                   \
    ASSAY_FN T name##_system(T* p, T v) { return name(p, v); }                                          \
    ASSAY_FN T name##_block(T* p, T v) { return name(p, v); }
#define ASSAY_BLIND(name, T, expression)                                                                \
    ASSAY_FN T name(T* p, T v) {                                                                        \
        return assay::rmw(p, [v](T old) ASSAY_QUIET -> T { (void)old; return expression; }, true);      \
    }                                                                                                   \
    ASSAY_FN T name##_system(T* p, T v) { return name(p, v); }                                          \
    ASSAY_FN T name##_block(T* p, T v) { return name(p, v); }
// Signed sums wrap, as on boards: U is the unsigned twin.
#define ASSAY_ARITHMETIC(T, U)                                                      \
    ASSAY_RMW(atomicAdd, T, static_cast<U>(old) + static_cast<U>(v))                \
    ASSAY_RMW(atomicSub, T, static_cast<U>(old) - static_cast<U>(v))                \
    ASSAY_BLIND(atomicExch, T, v)                                                     \
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

// The scoped forms; order and scope are the strongest here.
#define __HIP_MEMORY_SCOPE_SINGLETHREAD 1
#define __HIP_MEMORY_SCOPE_WAVEFRONT 2
#define __HIP_MEMORY_SCOPE_WORKGROUP 3
#define __HIP_MEMORY_SCOPE_AGENT 4
#define __HIP_MEMORY_SCOPE_SYSTEM 5
namespace assay {
template <class T>
struct Same {
    using type = T;
};
template <class T>
using Value = typename Same<T>::type;  // taken from the pointer, as the builtins do
template <class T>
inline T scoped_load(T* p) {
    return rmw(p, [](T old) ASSAY_QUIET -> T { return old; });
}
template <class T>
inline bool scoped_cas(T* p, T* expected, Value<T> wanted) {
    const T want = *expected, old = rmw(p, [=](T now) ASSAY_QUIET -> T { return now == want ? wanted : now; });
    if (old != want) *expected = old;
    return old == want;
}
}  // namespace assay
#define __hip_atomic_load(p, order, scope) ::assay::scoped_load(p)
#define __hip_atomic_store(p, v, order, scope) ((void)atomicExch(p, v))
#define __hip_atomic_exchange(p, v, order, scope) atomicExch(p, v)
#define __hip_atomic_fetch_add(p, v, order, scope) atomicAdd(p, v)
#define __hip_atomic_fetch_and(p, v, order, scope) atomicAnd(p, v)
#define __hip_atomic_fetch_or(p, v, order, scope) atomicOr(p, v)
#define __hip_atomic_fetch_xor(p, v, order, scope) atomicXor(p, v)
#define __hip_atomic_fetch_min(p, v, order, scope) atomicMin(p, v)
#define __hip_atomic_fetch_max(p, v, order, scope) atomicMax(p, v)
#define __hip_atomic_compare_exchange_strong(p, e, w, success, failure, scope) ::assay::scoped_cas(p, e, w)
#define __hip_atomic_compare_exchange_weak(p, e, w, success, failure, scope) ::assay::scoped_cas(p, e, w)

#ifdef ASSAY_SANITISE
ASSAY_FN void __threadfence() { assay_fence(); }
#else
ASSAY_FN void __threadfence() { __asm__ __volatile__("" ::: "memory"); }
#endif
ASSAY_FN void __threadfence_block() { __asm__ __volatile__("" ::: "memory"); }
ASSAY_FN void __threadfence_system() { __threadfence(); }
