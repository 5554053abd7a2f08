// Barriers and wave operations; the width of a wave is the target's.
#pragma once

#define warpSize (static_cast<int>(__builtin_amdgcn_wavefrontsize()))

ASSAY_FN void __syncthreads() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
ASSAY_FN void __threadfence() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent"); }
ASSAY_FN void __threadfence_block() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup"); }
ASSAY_FN void __threadfence_system() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, ""); }

ASSAY_FN unsigned __lane_id() { return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0u)); }

// Bits of the active lanes only.
ASSAY_FN unsigned long long __ballot(int predicate) { return __builtin_amdgcn_ballot_w64(predicate != 0); }
ASSAY_FN unsigned long long __activemask() { return __ballot(1); }
ASSAY_FN int __any(int predicate) { return __ballot(predicate) != 0; }
ASSAY_FN int __all(int predicate) { return __ballot(predicate == 0) == 0; }
ASSAY_FN void __syncwarp() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");
  __builtin_amdgcn_wave_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");
}
ASSAY_FN void __syncwarp(unsigned long long) { __syncwarp(); }

// `value` of another lane, in words of 32 bits.
template <class T>
ASSAY_FN T assay_from_lane(T value, int lane) {
  static_assert(sizeof(T) <= 8, "a shuffle moves at most 8 bytes");
  unsigned words[2] = {0, 0};
  __builtin_memcpy(words, &value, sizeof(T));
  words[0] = __builtin_amdgcn_ds_bpermute(lane << 2, words[0]);
  if (sizeof(T) > 4) words[1] = __builtin_amdgcn_ds_bpermute(lane << 2, words[1]);
  __builtin_memcpy(&value, words, sizeof(T));
  return value;
}
template <class T>
ASSAY_FN T __shfl(T value, int source, int width = warpSize) {
  const int self = __lane_id();
  return assay_from_lane(value, (source & (width - 1)) + (self & ~(width - 1)));
}
template <class T>
ASSAY_FN T __shfl_up(T value, unsigned delta, int width = warpSize) {
  const int self = __lane_id(), lane = self - (int)delta;
  return assay_from_lane(value, lane < (self & ~(width - 1)) ? self : lane);
}
template <class T>
ASSAY_FN T __shfl_down(T value, unsigned delta, int width = warpSize) {
  const int self = __lane_id();
  return assay_from_lane(value, (int)((self & (width - 1)) + delta) >= width ? self : self + (int)delta);
}
template <class T>
ASSAY_FN T __shfl_xor(T value, int mask, int width = warpSize) {
  const int self = __lane_id(), lane = self ^ mask;
  return assay_from_lane(value, lane >= ((self + width) & ~(width - 1)) ? self : lane);
}

// The mask says which lanes take part; they must all be active, so it changes nothing here.
template <class T>
ASSAY_FN T __shfl_sync(unsigned long long, T value, int source, int width = warpSize) {
  return __shfl(value, source, width);
}
template <class T>
ASSAY_FN T __shfl_up_sync(unsigned long long, T value, unsigned delta, int width = warpSize) {
  return __shfl_up(value, delta, width);
}
template <class T>
ASSAY_FN T __shfl_down_sync(unsigned long long, T value, unsigned delta, int width = warpSize) {
  return __shfl_down(value, delta, width);
}
template <class T>
ASSAY_FN T __shfl_xor_sync(unsigned long long, T value, int mask, int width = warpSize) {
  return __shfl_xor(value, mask, width);
}
ASSAY_FN unsigned long long __ballot_sync(unsigned long long mask, int predicate) { return __ballot(predicate) & mask; }
ASSAY_FN int __any_sync(unsigned long long mask, int predicate) { return __ballot_sync(mask, predicate) != 0; }
ASSAY_FN int __all_sync(unsigned long long mask, int predicate) { return __ballot_sync(mask, predicate == 0) == 0; }
