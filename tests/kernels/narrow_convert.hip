// narrow_from_f32: half[i], bfloat[i] = in[i] rounded to nearest even. NaN stays NaN, overflow gives infinity.
// narrow_to_f32: from_half[i], from_bfloat[i] = the value of the bit pattern i, i in [0, 65536).
#include <hip/hip_bf16.h>
#include <hip/hip_fp16.h>
#include <hip/hip_runtime.h>

extern "C" __global__ void narrow_from_f32(const float* in, __half* half_out, __hip_bfloat16* bfloat_out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  half_out[i] = __float2half(in[i]);
  bfloat_out[i] = __float2bfloat16(in[i]);
}

extern "C" __global__ void narrow_to_f32(float* from_half, float* from_bfloat) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  from_half[i] = __half2float(__ushort_as_half((unsigned short)i));
  from_bfloat[i] = __bfloat162float(__ushort_as_bfloat16((unsigned short)i));
}
