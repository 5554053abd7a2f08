// Probes of the survey: which memory a kernel reaches, how wide a wave is, and when a launch is done. No op uses them.
// Words are 32 bits. Word i of a pattern depends on i, on its page and on the seed, so that a page that stands in for another is seen.
// Block 256, grid-stride.
#include <hip/hip_runtime.h>

static __device__ inline unsigned pattern(long long i, unsigned seed) {
  return (unsigned)i * 2654435761u + (unsigned)(i >> 10) * 40503u + seed;
}

// out[i] = pattern(i, seed).
extern "C" __global__ void probe_fill(unsigned* out, long long words, int seed) {
  const long long step = (long long)gridDim.x * blockDim.x;
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < words; i += step) {
    out[i] = pattern(i, (unsigned)seed);
  }
}

// to[i] = from[i].
extern "C" __global__ void probe_copy(const unsigned* from, unsigned* to, long long words) {
  const long long step = (long long)gridDim.x * blockDim.x;
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < words; i += step) to[i] = from[i];
}

// One block of 128 threads: out[0] = lanes that vote together with lane 0, out[1] = warpSize.
extern "C" __global__ void probe_lanes(int* out) {
  const unsigned long long together = __ballot(1);
  if (threadIdx.x == 0) {
    int lanes = 0;
    for (int bit = 0; bit < 64; ++bit) lanes += (int)(together >> bit & 1ull);
    out[0] = lanes;
    out[1] = warpSize;
  }
}

// One thread: out[0] = value, after `rounds` steps of a chain that the compiler cannot shorten.
extern "C" __global__ void probe_spin(unsigned* out, long long rounds, int value) {
  unsigned x = (unsigned)value;
  for (long long i = 0; i < rounds; ++i) x = x * 1664525u + 1013904223u + (x >> 16);
  // The chain is stored, so that it is run; the value comes after it.
  out[1] = x;
  __threadfence();
  out[0] = (unsigned)value;
}
