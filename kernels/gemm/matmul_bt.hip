// matmul_bt: out[i, j] = sum over k of a[i, k] * b[j, k] in f32, one round to nearest even at the store.
// Order: the products of 16 successive k are added in ascending order to a partial that starts at +0; the partials are added in
// ascending order to a sum that starts at +0. k = 0 stores zeros. Product and sum are rounded separately.
// a is [m, k] with rows a_stride elements apart, b is [n, k] and out [m, n], both packed.
//
// Block 256 = a tile of 16 x 16 outputs, one a thread; the grid has a block for every 16 columns in x and walks rows of tiles in y.
// Tiles of a and b pass through shared memory, a column wider than they are so that a column of b meets no bank twice. Overhang is
// filled with zeros: a partial is never -0, so adding +0 changes nothing.
#include <hip/hip_runtime.h>
#include <assay/elementwise.h>

using namespace assay;

template <typename T, typename O>
static __device__ inline void matmul_bt(const T* a, const T* b, O* out, long long m, long long n, long long k,
                                        long long a_stride) {
  __shared__ float tile_a[16][17];
  __shared__ float tile_b[16][17];
  const int x = threadIdx.x % 16, y = threadIdx.x / 16;
  const long long col = (long long)blockIdx.x * 16 + x;
  const long long b_row = (long long)blockIdx.x * 16 + y;
  for (long long top = (long long)blockIdx.y * 16; top < m; top += (long long)gridDim.y * 16) {
    const long long row = top + y;
    float sum = 0.0f;
    for (long long from = 0; from < k; from += 16) {
      const bool inside = from + x < k;
      tile_a[y][x] = inside && row < m ? load(a, row * a_stride + from + x) : 0.0f;
      tile_b[y][x] = inside && b_row < n ? load(b, b_row * k + from + x) : 0.0f;
      __syncthreads();
      float partial = 0.0f;
      for (int i = 0; i < 16; i++) partial += tile_a[y][i] * tile_b[x][i];
      sum += partial;
      __syncthreads();
    }
    if (row < m && col < n) store(out, row * n + col, sum);
  }
}

#define MATMUL_BT(name, T, O)                                                                               \
  extern "C" __global__ void name(const T* a, const T* b, O* out, long long m, long long n, long long k,    \
                                  long long a_stride) {                                                     \
    matmul_bt(a, b, out, m, n, k, a_stride);                                                                \
  }

MATMUL_BT(matmul_bt_f32_f32, float, float)
MATMUL_BT(matmul_bt_f32_bf16, float, bf16)
MATMUL_BT(matmul_bt_f16_f32, f16, float)
MATMUL_BT(matmul_bt_f16_bf16, f16, bf16)
MATMUL_BT(matmul_bt_bf16_f32, bf16, float)
MATMUL_BT(matmul_bt_bf16_bf16, bf16, bf16)
