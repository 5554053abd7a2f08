// HIP for the host: the SIMT header of assay's simulated boards. Kernels only; there is no host API here.
// Executors are single-threaded, so the lane state is plain data and an atomic is a plain read-modify-write.
#pragma once

#ifdef ASSAY_SCAN
// The scan pass keeps these words in the preprocessed text, so that kernels made by macros are found too.
#else
#define __global__ __attribute__((visibility("hidden")))
#define __launch_bounds__(...)
#endif
#define __device__
#define __host__
#define __constant__
#define __managed__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
// Static inside functions, and admits `extern __shared__ T s[]`; `static thread_local` does not.
#define __shared__ thread_local
#ifndef __restrict__
#define __restrict__ __restrict
#endif

#define __HIP__ 1
#define __HIPCC__ 1
#define __HIP_PLATFORM_AMD__ 1
#define __HIP_DEVICE_COMPILE__ 1
#define ASSAY_SIM 1

#include <cfloat>
#include <climits>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <type_traits>
#include <utility>

#include "../assay/runtime.h"
#include "../assay/vectors.h"

// Set by the executor before a lane runs, and defined in the generated stub. Constant to a sanitised lane, which is called
// anew for each thread: its reads are not instrumented then.
#ifdef ASSAY_SANITISE
#define ASSAY_LANE_STATE extern const __attribute__((visibility("hidden")))
#else
#define ASSAY_LANE_STATE extern __attribute__((visibility("hidden")))
#endif
ASSAY_LANE_STATE uint3 threadIdx;
ASSAY_LANE_STATE uint3 blockIdx;
// Not dim3: a type with constructors is never constant to the compiler.
ASSAY_LANE_STATE uint3 blockDim;
ASSAY_LANE_STATE uint3 gridDim;
ASSAY_LANE_STATE int warpSize;

#include "../assay/math.h"
#include "../assay/atomics.h"
#include "../assay/wave.h"
