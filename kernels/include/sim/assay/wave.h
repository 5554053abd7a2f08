// Barriers and wave operations. Each expansion is a site of its own: what waits together must stand at one site.
#pragma once

namespace assay {
constexpr uint64_t ALL_LANES = ~uint64_t(0);

template <class T>
inline __attribute__((always_inline)) T shuffle(const AssaySite* site, uint32_t kind, T value, int arg, int width,
                                                uint64_t mask) {
    static_assert(sizeof(T) <= 8 && std::is_trivially_copyable<T>::value, "a shuffle moves at most 8 bytes");
    uint64_t bits = 0;
    __builtin_memcpy(&bits, &value, sizeof value);
    bits = assay_wave(site, kind, bits, arg, width, mask);
    __builtin_memcpy(&value, &bits, sizeof value);
    return value;
}
template <class T>
inline __attribute__((always_inline)) T shfl(const AssaySite* s, T v, int lane, int width = warpSize) {
    return shuffle(s, ASSAY_SHFL, v, lane, width, ALL_LANES);
}
template <class T>
inline __attribute__((always_inline)) T shfl_up(const AssaySite* s, T v, unsigned delta, int width = warpSize) {
    return shuffle(s, ASSAY_SHFL_UP, v, static_cast<int>(delta), width, ALL_LANES);
}
template <class T>
inline __attribute__((always_inline)) T shfl_down(const AssaySite* s, T v, unsigned delta, int width = warpSize) {
    return shuffle(s, ASSAY_SHFL_DOWN, v, static_cast<int>(delta), width, ALL_LANES);
}
template <class T>
inline __attribute__((always_inline)) T shfl_xor(const AssaySite* s, T v, int lanes, int width = warpSize) {
    return shuffle(s, ASSAY_SHFL_XOR, v, lanes, width, ALL_LANES);
}
template <class T>
inline __attribute__((always_inline)) T shfl_sync(const AssaySite* s, uint64_t m, T v, int lane, int width = warpSize) {
    return shuffle(s, ASSAY_SHFL, v, lane, width, m);
}
template <class T>
inline __attribute__((always_inline)) T shfl_up_sync(const AssaySite* s, uint64_t m, T v, unsigned d, int width = warpSize) {
    return shuffle(s, ASSAY_SHFL_UP, v, static_cast<int>(d), width, m);
}
template <class T>
inline __attribute__((always_inline)) T shfl_down_sync(const AssaySite* s, uint64_t m, T v, unsigned d, int width = warpSize) {
    return shuffle(s, ASSAY_SHFL_DOWN, v, static_cast<int>(d), width, m);
}
template <class T>
inline __attribute__((always_inline)) T shfl_xor_sync(const AssaySite* s, uint64_t m, T v, int lanes, int width = warpSize) {
    return shuffle(s, ASSAY_SHFL_XOR, v, lanes, width, m);
}
inline uint64_t ballot(const AssaySite* s, int p, uint64_t m = ALL_LANES) {
    return assay_wave(s, ASSAY_BALLOT, p != 0, 0, 0, m);
}
inline int all(const AssaySite* s, int p, uint64_t m = ALL_LANES) { return ballot(s, !p, m) == 0; }
inline int any(const AssaySite* s, int p, uint64_t m = ALL_LANES) { return ballot(s, p, m) != 0; }
}  // namespace assay

#define __syncthreads() ((void)assay_barrier(ASSAY_SITE, ASSAY_BARRIER, 0))
#define __syncthreads_count(p) (static_cast<int>(assay_barrier(ASSAY_SITE, ASSAY_BARRIER_COUNT, (p) != 0)))
#define __syncthreads_and(p) (static_cast<int>(assay_barrier(ASSAY_SITE, ASSAY_BARRIER_AND, (p) != 0)))
#define __syncthreads_or(p) (static_cast<int>(assay_barrier(ASSAY_SITE, ASSAY_BARRIER_OR, (p) != 0)))

#define __shfl(...) ::assay::shfl(ASSAY_SITE, __VA_ARGS__)
#define __shfl_up(...) ::assay::shfl_up(ASSAY_SITE, __VA_ARGS__)
#define __shfl_down(...) ::assay::shfl_down(ASSAY_SITE, __VA_ARGS__)
#define __shfl_xor(...) ::assay::shfl_xor(ASSAY_SITE, __VA_ARGS__)
#define __shfl_sync(...) ::assay::shfl_sync(ASSAY_SITE, __VA_ARGS__)
#define __shfl_up_sync(...) ::assay::shfl_up_sync(ASSAY_SITE, __VA_ARGS__)
#define __shfl_down_sync(...) ::assay::shfl_down_sync(ASSAY_SITE, __VA_ARGS__)
#define __shfl_xor_sync(...) ::assay::shfl_xor_sync(ASSAY_SITE, __VA_ARGS__)
#define __ballot(p) ::assay::ballot(ASSAY_SITE, (p))
#define __all(p) ::assay::all(ASSAY_SITE, (p))
#define __any(p) ::assay::any(ASSAY_SITE, (p))
#define __ballot_sync(m, p) ::assay::ballot(ASSAY_SITE, (p), (m))
#define __all_sync(m, p) ::assay::all(ASSAY_SITE, (p), (m))
#define __any_sync(m, p) ::assay::any(ASSAY_SITE, (p), (m))
#define __activemask() assay_wave(ASSAY_SITE, ASSAY_ACTIVE, 0, 0, 0, ::assay::ALL_LANES)
#define __syncwarp(...) ((void)assay_wave(ASSAY_SITE, ASSAY_SYNC, 0, 0, 0, ::assay::ALL_LANES))

ASSAY_FN unsigned assay_thread() { return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); }
ASSAY_FN unsigned __lane_id() { return assay_thread() % static_cast<unsigned>(warpSize); }
