// add: out[r, c] = a[r, c] + b[r, c]. The sum is formed in f32 and rounded once, to nearest even, when stored.
// a, b and out are [rows, cols] with rows *_stride elements apart, columns contiguous; b_stride = 0 adds one row to every row.
// out may be a: every element is read before it is written, by the thread that writes it.
// Block 256, grid-stride over rows * cols: one element a thread and step, no shared memory, no barrier.
#include <hip/hip_runtime.h>
#include <assay/elementwise.h>

using namespace assay;

template <typename In, typename Out>
static __device__ inline void add(const In* a, const In* b, Out* out, long long rows, long long cols, long long a_stride,
                                  long long b_stride, long long out_stride) {
  for (long long i = first_element(); i < rows * cols; i += element_step()) {
    const Place at = place(i, cols);
    const float sum = load(a, at.row * a_stride + at.col) + load(b, at.row * b_stride + at.col);
    store(out, at.row * out_stride + at.col, sum);
  }
}

#define ADD(name, In, Out)                                                                            \
  extern "C" __global__ void name(const In* a, const In* b, Out* out, long long rows, long long cols, \
                                  long long a_stride, long long b_stride, long long out_stride) {     \
    add(a, b, out, rows, cols, a_stride, b_stride, out_stride);                                       \
  }

ASSAY_FOR_EACH_PAIR(ADD, add)
