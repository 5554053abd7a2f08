// mul_scalar: out[r, c] = x[r, c] * s. s is already an f32; the product is formed in f32 and rounded once, to nearest even,
// when stored. x and out are [rows, cols] with rows *_stride elements apart, columns contiguous.
// Block 256, grid-stride over rows * cols: one element a thread and step, no shared memory, no barrier.
#include <hip/hip_runtime.h>
#include <assay/elementwise.h>

using namespace assay;

template <typename In, typename Out>
static __device__ inline void mul_scalar(const In* x, Out* out, float s, long long rows, long long cols, long long x_stride,
                                         long long out_stride) {
  for (long long i = first_element(); i < rows * cols; i += element_step()) {
    const Place at = place(i, cols);
    store(out, at.row * out_stride + at.col, load(x, at.row * x_stride + at.col) * s);
  }
}

#define MUL_SCALAR(name, In, Out)                                                                 \
  extern "C" __global__ void name(const In* x, Out* out, float s, long long rows, long long cols, \
                                  long long x_stride, long long out_stride) {                     \
    mul_scalar(x, out, s, rows, cols, x_stride, out_stride);                                      \
  }

ASSAY_FOR_EACH_PAIR(MUL_SCALAR, mul_scalar)
