// HIP for NVIDIA targets, through NVRTC or nvcc: what HIP spells differently from CUDA, or has and CUDA lacks.
#pragma once

#ifndef __CUDACC_RTC__
#include <cmath>
#include <cuda_runtime.h>
#endif
#include <float.h>
#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#define __HIP_PLATFORM_NVIDIA__ 1
#ifndef __HIPCC__
#define __HIPCC__ 1
#endif
#define HIP_DYNAMIC_SHARED(type, name) extern __shared__ type name[];
#define HIP_KERNEL_NAME(...) __VA_ARGS__
#define ASSAY_FN static __device__ __forceinline__

#ifndef INFINITY
#define INFINITY (__int_as_float(0x7f800000))
#endif
#ifndef NAN
#define NAN (__int_as_float(0x7fffffff))
#endif

#define hipThreadIdx_x threadIdx.x
#define hipThreadIdx_y threadIdx.y
#define hipThreadIdx_z threadIdx.z
#define hipBlockIdx_x blockIdx.x
#define hipBlockIdx_y blockIdx.y
#define hipBlockIdx_z blockIdx.z
#define hipBlockDim_x blockDim.x
#define hipBlockDim_y blockDim.y
#define hipBlockDim_z blockDim.z
#define hipGridDim_x gridDim.x
#define hipGridDim_y gridDim.y
#define hipGridDim_z gridDim.z

ASSAY_FN unsigned __lane_id() {
  unsigned lane;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  return lane;
}

// HIP's unsynchronised forms work on the lanes that are active where they stand, and a ballot has 64 bits. A function would
// take its mask after the compiler has merged or moved it; a macro takes it here.
template <class T>
ASSAY_FN T assay_shfl(unsigned mask, T value, int source, int width = 32) {
  return __shfl_sync(mask, value, source, width);
}
template <class T>
ASSAY_FN T assay_shfl_up(unsigned mask, T value, unsigned delta, int width = 32) {
  return __shfl_up_sync(mask, value, delta, width);
}
template <class T>
ASSAY_FN T assay_shfl_down(unsigned mask, T value, unsigned delta, int width = 32) {
  return __shfl_down_sync(mask, value, delta, width);
}
template <class T>
ASSAY_FN T assay_shfl_xor(unsigned mask, T value, int lanes, int width = 32) {
  return __shfl_xor_sync(mask, value, lanes, width);
}
#define __shfl(...) assay_shfl(__activemask(), __VA_ARGS__)
#define __shfl_up(...) assay_shfl_up(__activemask(), __VA_ARGS__)
#define __shfl_down(...) assay_shfl_down(__activemask(), __VA_ARGS__)
#define __shfl_xor(...) assay_shfl_xor(__activemask(), __VA_ARGS__)
#define __ballot(p) ((unsigned long long)__ballot_sync(__activemask(), (p)))
#define __any(p) (__any_sync(__activemask(), (p)))
#define __all(p) (__all_sync(__activemask(), (p)))

ASSAY_FN int __ffsll(unsigned long long x) { return __ffsll((long long)x); }
ASSAY_FN int __ffs(unsigned x) { return __ffs((int)x); }
ASSAY_FN float unsafeAtomicAdd(float* p, float v) { return atomicAdd(p, v); }
ASSAY_FN double unsafeAtomicAdd(double* p, double v) { return atomicAdd(p, v); }
