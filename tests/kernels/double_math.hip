// variance_f64: out[r] = population variance of row r in f64 by Welford's recurrence, one thread a row; root[r] its square root.
#include <hip/hip_runtime.h>

extern "C" __global__ void variance_f64(const double* in, double* out, double* root, int rows, int n) {
  const int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  double mean = 0.0, m2 = 0.0;
  for (int i = 0; i < n; ++i) {
    const double x = in[(size_t)r * n + i], delta = x - mean;
    mean += delta / (i + 1);
    m2 = fma(delta, x - mean, m2);
  }
  out[r] = m2 / n;
  root[r] = sqrt(m2 / n);
}
