// gather_i64: out[i] = in[index[i]], indices of 64 bits; a negative index gives 0. n of 64 bits too.
#include <hip/hip_runtime.h>

extern "C" __global__ void gather_i64(const float* in, const long long* index, float* out, long long n) {
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (long long)gridDim.x * blockDim.x) {
    const long long at = index[i];
    out[i] = at < 0 ? 0.0f : in[at];
  }
}
