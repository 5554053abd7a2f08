// silu_and_mul: out[r, c] = s * y with g = x[r, c], y = x[r, cols + c] and s = g / (1 + exp(-g)).
// Rounding points: s is formed in f32 and rounded to the format of x (not of out) before the multiply; the product is formed in
// f32 and rounded once, to nearest even, when stored. g = -Inf gives NaN, large negative g gives -0.
// x is [rows, 2 * cols], out [rows, cols], rows *_stride elements apart, columns contiguous.
// Block 256, grid-stride over rows * cols: one element a thread and step, no shared memory, no barrier.
#include <hip/hip_runtime.h>
#include <assay/elementwise.h>

using namespace assay;

template <typename In, typename Out>
static __device__ inline void silu_and_mul(const In* x, Out* out, long long rows, long long cols, long long x_stride,
                                           long long out_stride) {
  for (long long i = first_element(); i < rows * cols; i += element_step()) {
    const Place at = place(i, cols);
    const In* row = x + at.row * x_stride;
    const float g = load(row, at.col);
    const float s = narrowed<In>(g / (1.0f + expf(-g)));
    store(out, at.row * out_stride + at.col, s * load(row, cols + at.col));
  }
}

#define SILU_AND_MUL(name, In, Out)                                                                          \
  extern "C" __global__ void name(const In* x, Out* out, long long rows, long long cols, long long x_stride, \
                                  long long out_stride) {                                                    \
    silu_and_mul(x, out, rows, cols, x_stride, out_stride);                                                  \
  }

ASSAY_FOR_EACH_PAIR(SILU_AND_MUL, silu_and_mul)
