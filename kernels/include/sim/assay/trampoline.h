// Included after the user's source by the generated unit: calls each kernel from a packed argument buffer with natural
// alignment and tells the executor what the parameters are.
#pragma once

extern "C" {
struct AssayParam {
    uint32_t size;
    uint32_t align;
    uint32_t offset;
    uint32_t type;  // p pointer, i/u 32-bit integer, l/w 64-bit integer, f float, o anything else by value
};
struct AssayKernel {
    const char* name;
    void (*lanes)(const void* packed, const uint3* lanes, uint32_t count);  // runs lanes in that order, none can wait
    void (*lane)(const void* packed);                                       // runs the current lane
    const AssayParam* params;
    uint32_t count;
    uint32_t bytes;
    uint32_t max_threads;  // of __launch_bounds__, 0 without
};
struct AssayState {
    const uint3* thread;
    const uint3* block;
    const uint3* block_dim;
    const uint3* grid_dim;
    const int* warp;
    struct AssayWatch* watch;  // of a sanitised build
};
}

#ifdef ASSAY_SANITISE
#include "watch.h"
#define ASSAY_WATCH &assay::watch
#else
#define ASSAY_WATCH nullptr
#endif

namespace assay {
// Argument buffers are not the kernel's memory, so reading them is not instrumented.
template <class T>
constexpr uint32_t type_code() {
    if (std::is_pointer<T>::value) return 'p';
    if (std::is_same<T, float>::value) return 'f';
    if (std::is_integral<T>::value && !std::is_same<T, bool>::value) {
        if (sizeof(T) == 4) return std::is_signed<T>::value ? 'i' : 'u';
        if (sizeof(T) == 8) return std::is_signed<T>::value ? 'l' : 'w';
    }
    return 'o';
}

template <class... A>
struct Layout {
    AssayParam params[sizeof...(A) + 1];
    uint32_t bytes;
    constexpr Layout() : params{}, bytes(0) {
        const AssayParam all[] = {{uint32_t(sizeof(A)), uint32_t(alignof(A)), 0, type_code<A>()}..., {0, 1, 0, 'o'}};
        for (unsigned i = 0; i < sizeof...(A); ++i) {
            params[i] = all[i];
            params[i].offset = (bytes + all[i].align - 1) / all[i].align * all[i].align;
            bytes = params[i].offset + all[i].size;
        }
    }
};

template <class F, F* kernel>
struct Trampoline;

template <class... A, void (*kernel)(A...)>
struct Trampoline<void(A...), kernel> {
    static constexpr Layout<std::decay_t<A>...> layout{};

    template <class T>
    static inline __attribute__((always_inline)) ASSAY_QUIET const T& at(const void* packed, unsigned i) {
        return *reinterpret_cast<const T*>(static_cast<const char*>(packed) + layout.params[i].offset);
    }
    template <size_t... I>
    static inline __attribute__((always_inline)) ASSAY_QUIET void call(const void* packed, std::index_sequence<I...>) {
        kernel(at<std::decay_t<A>>(packed, I)...);
    }
    ASSAY_QUIET static void lane(const void* packed) { call(packed, std::index_sequence_for<A...>{}); }
    static void lanes(const void* packed, const uint3* list, uint32_t count) {
#ifdef ASSAY_SANITISE
        (void)packed, (void)list, (void)count;  // the executor runs lanes one by one
#else
        for (uint32_t i = 0; i < count; ++i) {
            threadIdx = list[i];
            call(packed, std::index_sequence_for<A...>{});
        }
#endif
    }
};
}  // namespace assay

#define ASSAY_KERNEL(name, bounds)                                                                             \
    assay::describe<std::remove_pointer_t<decltype(&name)>, &name>(assay::last_word(#name), uint32_t(bounds))

namespace assay {
// The symbol of a qualified name.
constexpr const char* last_word(const char* name) {
    const char* last = name;
    for (const char* c = name; *c; ++c)
        if (*c == ':' || *c == ' ') last = c + 1;
    return last;
}
template <class F, F* kernel>
constexpr AssayKernel describe(const char* name, uint32_t bounds) {
    using T = Trampoline<F, kernel>;
    return AssayKernel{name,           &T::lanes,      &T::lane, T::layout.params, sizeof(T::layout.params) / sizeof(AssayParam) - 1,
                       T::layout.bytes, bounds};
}
}  // namespace assay

extern "C" {
__attribute__((visibility("default"))) AssayState assay_state{&threadIdx, &blockIdx, &blockDim,
                                                                      &gridDim,   &warpSize, ASSAY_WATCH};
}

#ifdef ASSAY_SANITISE
// What -fsanitize=thread makes of the compiler's own atomics (__atomic_*, std::atomic): our atomics, told in the same way.
#define ASSAY_TSAN_RMW(bits, T, name, expression)                                                        \
    ASSAY_QUIET T __tsan_atomic##bits##_##name(volatile T* p, T v, int) {                                \
        return assay::rmw(const_cast<T*>(p), [v](T old) ASSAY_QUIET -> T { return static_cast<T>(expression); });     \
    }
#define ASSAY_TSAN(bits, T)                                                                              \
    ASSAY_TSAN_RMW(bits, T, fetch_add, old + v)                                                          \
    ASSAY_TSAN_RMW(bits, T, fetch_sub, old - v)                                                          \
    ASSAY_TSAN_RMW(bits, T, fetch_and, old & v)                                                          \
    ASSAY_TSAN_RMW(bits, T, fetch_or, old | v)                                                           \
    ASSAY_TSAN_RMW(bits, T, fetch_xor, old ^ v)                                                          \
    ASSAY_TSAN_RMW(bits, T, fetch_nand, ~(old & v))                                                      \
    ASSAY_QUIET T __tsan_atomic##bits##_exchange(volatile T* p, T v, int) {                              \
        return assay::rmw(const_cast<T*>(p), [v](T) ASSAY_QUIET -> T { return v; }, true);               \
    }                                                                                                    \
    ASSAY_QUIET void __tsan_atomic##bits##_store(volatile T* p, T v, int) {                              \
        assay::rmw(const_cast<T*>(p), [v](T) ASSAY_QUIET -> T { return v; }, true);                      \
    }                                                                                                    \
    ASSAY_QUIET T __tsan_atomic##bits##_load(const volatile T* p, int) {                                 \
        return assay::rmw(const_cast<T*>(p), [](T old) ASSAY_QUIET -> T { return old; });                \
    }                                                                                                    \
    ASSAY_QUIET bool __tsan_atomic##bits##_compare_exchange_strong(volatile T* p, T* e, T v, int, int) { \
        const T want = *e;                                                                               \
        *e = assay::rmw(const_cast<T*>(p), [=](T old) ASSAY_QUIET -> T { return old == want ? v : old; }); \
        return *e == want;                                                                               \
    }                                                                                                    \
    ASSAY_QUIET T __tsan_atomic##bits##_compare_exchange_val(volatile T* p, T e, T v, int s, int f) {    \
        __tsan_atomic##bits##_compare_exchange_strong(p, &e, v, s, f);                                   \
        return e;                                                                                        \
    }                                                                                                    \
    ASSAY_QUIET bool __tsan_atomic##bits##_compare_exchange_weak(volatile T* p, T* e, T v, int s, int f) { \
        return __tsan_atomic##bits##_compare_exchange_strong(p, e, v, s, f);                             \
    }
extern "C" {
ASSAY_TSAN(8, unsigned char)
ASSAY_TSAN(16, unsigned short)
ASSAY_TSAN(32, unsigned)
ASSAY_TSAN(64, unsigned long)
ASSAY_QUIET void __tsan_atomic_thread_fence(int) { assay_fence(); }
ASSAY_QUIET void __tsan_atomic_signal_fence(int) {}
}
#endif
