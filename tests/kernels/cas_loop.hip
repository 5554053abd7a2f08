// max_f32_cas: *out = max of *out and in[0, n) by a compare-and-swap loop on the bits; no NaN in `in`. The first look is
// atomic too: a plain read of a word that others update atomically is a race.
// insert_cas: an open-addressed hash table of 64-bit keys, `slots` a power of two and more than n; empty = all ones.
#include <hip/hip_runtime.h>

extern "C" __global__ void max_f32_cas(const float* in, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int* address = (int*)out;
  int old = atomicCAS(address, 0, 0), assumed;
  do {
    assumed = old;
    if (__int_as_float(assumed) >= in[i]) break;
    old = atomicCAS(address, assumed, __float_as_int(in[i]));
  } while (assumed != old);
}

extern "C" __global__ void insert_cas(const unsigned long long* keys, unsigned long long* table, int slots, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const unsigned long long key = keys[i], empty = ~0ull;
  unsigned slot = (unsigned)(key * 0x9e3779b97f4a7c15ull >> 32) & (slots - 1);
  while (true) {
    const unsigned long long seen = atomicCAS(&table[slot], empty, key);
    if (seen == empty || seen == key) return;
    slot = (slot + 1) & (slots - 1);
  }
}
