// HIP for AMD targets without ROCm: device code only, no host API, no device library. A function that has no exact inline
// form on the target is declared unavailable, so that using it is a compile error that says why.
#pragma once

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __managed__ __attribute__((managed))
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#ifndef __restrict__
#define __restrict__ __restrict
#endif
// The attribute named launch_bounds is accepted by clang and ignored for AMD. Blocks per unit are a hint only.
#define ASSAY_FIRST(first, ...) first
#define __launch_bounds__(...) __attribute__((amdgpu_flat_work_group_size(1, ASSAY_FIRST(__VA_ARGS__, 0))))
#define HIP_DYNAMIC_SHARED(type, name) extern __shared__ type name[];
#define HIP_KERNEL_NAME(...) __VA_ARGS__

#define __HIP_PLATFORM_AMD__ 1
#ifndef __HIPCC__
#define __HIPCC__ 1
#endif

#define ASSAY_FN static inline __attribute__((always_inline, unused, device))

// Freestanding headers of the compiler itself: sizes of integers, limits of floats.
#include <float.h>
#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#include "../assay_amd/vectors.h"

#define ASSAY_COORDINATES(name, X, Y, Z)                                                   \
  struct assay_##name {                                                                    \
    __declspec(property(get = get_x)) unsigned x;                                          \
    __declspec(property(get = get_y)) unsigned y;                                          \
    __declspec(property(get = get_z)) unsigned z;                                          \
    __device__ __forceinline__ unsigned get_x() const { return X; }                        \
    __device__ __forceinline__ unsigned get_y() const { return Y; }                        \
    __device__ __forceinline__ unsigned get_z() const { return Z; }                        \
    __device__ __forceinline__ operator uint3() const { return uint3{get_x(), get_y(), get_z()}; } \
    __device__ __forceinline__ operator dim3() const { return dim3(get_x(), get_y(), get_z()); }   \
  };                                                                                       \
  extern const __device__ __attribute__((weak)) assay_##name name
ASSAY_COORDINATES(threadIdx, __builtin_amdgcn_workitem_id_x(), __builtin_amdgcn_workitem_id_y(),
                  __builtin_amdgcn_workitem_id_z());
ASSAY_COORDINATES(blockIdx, __builtin_amdgcn_workgroup_id_x(), __builtin_amdgcn_workgroup_id_y(),
                  __builtin_amdgcn_workgroup_id_z());
ASSAY_COORDINATES(blockDim, __builtin_amdgcn_workgroup_size_x(), __builtin_amdgcn_workgroup_size_y(),
                  __builtin_amdgcn_workgroup_size_z());
ASSAY_COORDINATES(gridDim, __builtin_amdgcn_grid_size_x() / __builtin_amdgcn_workgroup_size_x(),
                  __builtin_amdgcn_grid_size_y() / __builtin_amdgcn_workgroup_size_y(),
                  __builtin_amdgcn_grid_size_z() / __builtin_amdgcn_workgroup_size_z());
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

#include "../assay_amd/math.h"
#include "../assay_amd/wave.h"
#include "../assay_amd/atomics.h"
