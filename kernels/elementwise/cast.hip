// cast: out[r, c] = in[r, c] in another float format, one round to nearest even.
// NaN stays NaN (payload and sign free), infinities and signed zeros survive, f16 overflow gives infinity.
// in and out are [rows, cols] with rows in_stride and out_stride elements apart, columns contiguous.
// Block 256, grid-stride over rows * cols: one element a thread and step, no shared memory, no barrier.
#include <hip/hip_runtime.h>
#include <assay/elementwise.h>

using namespace assay;

template <typename In, typename Out>
static __device__ inline void cast(const In* in, Out* out, long long rows, long long cols, long long in_stride,
                                   long long out_stride) {
  for (long long i = first_element(); i < rows * cols; i += element_step()) {
    const Place at = place(i, cols);
    store(out, at.row * out_stride + at.col, load(in, at.row * in_stride + at.col));
  }
}

#define CAST(name, In, Out)                                                                                    \
  extern "C" __global__ void name(const In* in, Out* out, long long rows, long long cols, long long in_stride, \
                                  long long out_stride) {                                                      \
    cast(in, out, rows, cols, in_stride, out_stride);                                                          \
  }

CAST(cast_f32_bf16, float, bf16)
CAST(cast_bf16_f32, bf16, float)
CAST(cast_f32_f16, float, f16)
CAST(cast_f16_f32, f16, float)
