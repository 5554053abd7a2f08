// ballot_compact: copies the positive elements of in[0, n) to out, in order, and their number to *count. One block, any size
// that is a multiple of the wave; n <= block. Rank of a lane = set bits of the ballot below it, 64 bits wide on every board.
#include <hip/hip_runtime.h>

extern "C" __global__ void ballot_compact(const int* in, int* out, int* count, int n) {
  __shared__ int base[33];
  const int lane = threadIdx.x % warpSize, wave = threadIdx.x / warpSize, waves = blockDim.x / warpSize;
  const int v = threadIdx.x < (unsigned)n ? in[threadIdx.x] : 0;
  const unsigned long long votes = __ballot(v > 0);
  if (lane == 0) base[wave] = __popcll(votes);
  __syncthreads();
  if (threadIdx.x == 0) {
    int sum = 0;
    for (int w = 0; w < waves; ++w) {
      const int here = base[w];
      base[w] = sum;
      sum += here;
    }
    *count = sum;
  }
  __syncthreads();
  const unsigned long long below = votes & ((1ull << lane) - 1ull);
  if (v > 0) out[base[wave] + __popcll(below)] = v;
}
