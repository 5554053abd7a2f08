// softmax_row: out[r] = softmax of row r, n any, f32; one block a row, a tree of 256 in LDS for maximum and sum.
// Float4-free and wave-free, as a first port looks. The exponential is the target's: only the structure is exact.
#include <hip/hip_runtime.h>

extern "C" __global__ void __launch_bounds__(256) softmax_row(const float* in, float* out, int n) {
  __shared__ float tree[256];
  const float* x = in + (size_t)blockIdx.x * n;
  float m = -INFINITY;
  for (int i = threadIdx.x; i < n; i += 256) m = fmaxf(m, x[i]);
  tree[threadIdx.x] = m;
  __syncthreads();
  for (int s = 128; s > 0; s >>= 1) {
    if (threadIdx.x < s) tree[threadIdx.x] = fmaxf(tree[threadIdx.x], tree[threadIdx.x + s]);
    __syncthreads();
  }
  m = tree[0];
  __syncthreads();
  float sum = 0.0f;
  for (int i = threadIdx.x; i < n; i += 256) sum += expf(x[i] - m);
  tree[threadIdx.x] = sum;
  __syncthreads();
  for (int s = 128; s > 0; s >>= 1) {
    if (threadIdx.x < s) tree[threadIdx.x] += tree[threadIdx.x + s];
    __syncthreads();
  }
  for (int i = threadIdx.x; i < n; i += 256) out[(size_t)blockIdx.x * n + i] = expf(x[i] - m) / tree[0];
}
