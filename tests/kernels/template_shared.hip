// transpose_f32 / transpose_i16: out[c][r] = in[r][c], rows x cols, through a padded tile in LDS that lives inside a template.
// Block (16, 16), grid (ceil(cols / 16), ceil(rows / 16)).
#include <hip/hip_runtime.h>

template <typename T, int TILE>
__device__ void transpose(const T* in, T* out, int rows, int cols) {
  __shared__ T tile[TILE][TILE + 1];
  int c = blockIdx.x * TILE + threadIdx.x, r = blockIdx.y * TILE + threadIdx.y;
  if (r < rows && c < cols) tile[threadIdx.y][threadIdx.x] = in[r * cols + c];
  __syncthreads();
  c = blockIdx.y * TILE + threadIdx.x;
  r = blockIdx.x * TILE + threadIdx.y;
  if (r < cols && c < rows) out[r * rows + c] = tile[threadIdx.x][threadIdx.y];
}

#define TRANSPOSE(name, T) \
  extern "C" __global__ void name(const T* in, T* out, int rows, int cols) { transpose<T, 16>(in, out, rows, cols); }
TRANSPOSE(transpose_f32, float)
TRANSPOSE(transpose_i16, short)
