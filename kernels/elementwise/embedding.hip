// embedding: out[t, :] = table[ids[t], :]. An id below 0 reads row 0, one past the end the last row.
// Equal formats copy bytes (NaN payloads included); others convert with one round to nearest even when stored.
// table is [vocab, hidden], out [tokens, hidden], rows *_stride elements apart, columns contiguous; ids are packed.
// Block 256, grid-stride over tokens * hidden: one element a thread and step, no shared memory, no barrier.
#include <hip/hip_runtime.h>
#include <assay/elementwise.h>

using namespace assay;

static __device__ inline float moved(float x, float) { return x; }
static __device__ inline bf16 moved(bf16 x, bf16) { return x; }
template <typename In, typename Out>
static __device__ inline Out moved(In x, Out out) {
  return encode(decode(x), out);
}

template <typename Index, typename In, typename Out>
static __device__ inline void embedding(const Index* ids, const In* table, Out* out, long long tokens, long long hidden,
                                        long long vocab, long long table_stride, long long out_stride) {
  for (long long i = first_element(); i < tokens * hidden; i += element_step()) {
    const Place at = place(i, hidden);
    long long id = ids[at.row];
    id = id < 0 ? 0 : id >= vocab ? vocab - 1 : id;
    out[at.row * out_stride + at.col] = moved(table[id * table_stride + at.col], Out());
  }
}

#define EMBEDDING_BY(name, Index, In, Out)                                                       \
  extern "C" __global__ void name(const Index* ids, const In* table, Out* out, long long tokens, \
                                  long long hidden, long long vocab, long long table_stride,     \
                                  long long out_stride) {                                        \
    embedding(ids, table, out, tokens, hidden, vocab, table_stride, out_stride);                 \
  }

#define EMBEDDING(name, In, Out)         \
  EMBEDDING_BY(name##_i32, int, In, Out) \
  EMBEDDING_BY(name##_i64, long long, In, Out)

ASSAY_FOR_EACH_PAIR(EMBEDDING, embedding)
