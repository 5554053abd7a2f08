// What the executor gives to a kernel library, and what a library tells the executor.
#pragma once
#include <cstdint>

extern "C" {

// A place in the source that lanes can wait at. The id is unique in the translation unit: a return address would not be,
// since optimisers duplicate calls.
struct AssaySite {
    uint32_t id;
    uint32_t line;
    const char* file;
};

// Kinds of wave operation.
enum : uint32_t {
    ASSAY_SHFL = 0,
    ASSAY_SHFL_UP = 1,
    ASSAY_SHFL_DOWN = 2,
    ASSAY_SHFL_XOR = 3,
    ASSAY_BALLOT = 4,
    ASSAY_ACTIVE = 5,
    ASSAY_SYNC = 6,
};

// Kinds of barrier.
enum : uint32_t { ASSAY_BARRIER = 0, ASSAY_BARRIER_COUNT = 1, ASSAY_BARRIER_AND = 2, ASSAY_BARRIER_OR = 3 };

// Undefined until the generated stub is linked: the object's reference to them is what says that a kernel needs lanes
// that can wait.
__attribute__((visibility("hidden"))) uint32_t assay_barrier(const AssaySite* site, uint32_t kind, uint32_t predicate);
__attribute__((visibility("hidden"))) uint64_t assay_wave(const AssaySite* site, uint32_t kind, uint64_t value, int32_t arg,
                                                          int32_t width, uint64_t mask);
// Read-modify-write of `bytes` at `address` by the current lane; bit 63 says that the old value does not matter. Sanitised
// builds only.
__attribute__((visibility("hidden"))) void assay_atomic(const void* address, uint64_t bytes);
__attribute__((visibility("hidden"))) void assay_fence();
__attribute__((visibility("hidden"))) uint32_t assay_lane();
}

// One static record per expansion, made where the call stands.
#define ASSAY_SITE                                                      \
    (__extension__({                                                    \
        static constexpr AssaySite assay_site_{__COUNTER__, __LINE__, __FILE__}; \
        &assay_site_;                                                   \
    }))
