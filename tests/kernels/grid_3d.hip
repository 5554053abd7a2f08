// index_3d: out[z][y][x] = x + 1000 * y + 1000000 * z + (thread of the block << 24), for a volume nx x ny x nz.
// Any 3-D grid and block that cover it; excess threads return.
#include <hip/hip_runtime.h>

extern "C" __global__ void index_3d(unsigned* out, int nx, int ny, int nz) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  const int z = blockIdx.z * blockDim.z + threadIdx.z;
  if (x >= nx || y >= ny || z >= nz) return;
  const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  out[((size_t)z * ny + y) * nx + x] = (unsigned)(x + 1000 * y + 1000000 * z) + (thread << 24);
}
