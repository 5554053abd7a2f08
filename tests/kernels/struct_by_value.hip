// gather_strided: out[i] = bias + scale * in[offset + (i / inner) * outer_stride + (i % inner) * inner_stride], with all of it in a struct
// passed by value (32 bytes, with padding after `bias`).
#include <hip/hip_runtime.h>

struct Layout {
  long long offset;
  int inner;
  int outer_stride;
  int inner_stride;
  float scale;
  char bias;
};

extern "C" __global__ void gather_strided(const float* in, float* out, Layout l, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  out[i] = (float)l.bias + l.scale * in[l.offset + (long long)(i / l.inner) * l.outer_stride + (i % l.inner) * l.inner_stride];
}
