// A HIP runtime without a device behind it: memory is the host's, kernels do nothing. ASSAY_STANDIN picks what goes wrong.
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static int is(const char* mode) {
  const char* set = getenv("ASSAY_STANDIN");
  return set != NULL && strcmp(set, mode) == 0;
}

int hipInit(unsigned flags) { (void)flags; return is("old_no_device") ? 101 : 0; }
int hipGetDeviceCount(int* count) {
  *count = is("no_device") ? 0 : 1;
  return is("no_device") ? 100 : 0;
}
int hipSetDevice(int device) { (void)device; return 0; }
const char* hipGetErrorName(int status) {
  switch (status) {
    case 0: return "hipSuccess";
    case 2: return "hipErrorOutOfMemory";
    case 100: return "hipErrorNoDevice";
    case 101: return "hipErrorInvalidDevice";
    case 209: return "hipErrorNoBinaryForGpu";
    case 700: return "hipErrorIllegalAddress";
    default: return "hipErrorUnknown";
  }
}
const char* hipGetErrorString(int status) { return hipGetErrorName(status); }
int hipGetLastError(void) { return 0; }

// Numbers as in hip_runtime_api.h of HIP 6 and 7.
int hipDeviceGetAttribute(int* value, int which, int device) {
  (void)device;
  switch (which) {
    case 87: *value = 32; return 0;            // warp size
    case 63: *value = 20; return 0;            // multiprocessors
    case 56: *value = 1024; return 0;          // threads of a block
    case 26: case 27: case 28: *value = 1024; return 0;
    case 29: case 30: case 31: *value = 2147483647; return 0;
    case 74: *value = 65536; return 0;         // shared memory
    case 16: case 24: case 9: *value = 1; return 0;
    case 65: *value = 0; return 0;
    default: *value = 0; return 1;
  }
}
int hipDeviceTotalMem(size_t* bytes, int device) { (void)device; *bytes = 1u << 30; return 0; }
int hipDeviceGetName(char* name, int length, int device) { (void)device; strncpy(name, "stand-in", length); return 0; }
int hipDriverGetVersion(int* version) { *version = 70200000; return 0; }
int hipRuntimeGetVersion(int* version) { *version = 70200000; return 0; }

#ifndef OLD
// The fields that matter lie at these offsets of hipDeviceProp_tR0600.
int hipGetDevicePropertiesR0600(void* properties, int device) {
  (void)device;
  char* p = properties;
  *(size_t*)(p + 288) = 1u << 30;
  *(int*)(p + 308) = is("contradiction") ? 64 : 32;
  *(int*)(p + 388) = 20;
  strcpy(p + 1160, is("no_arch") ? "something" : "gfx1151");
  return 0;
}
#else
int hipGetDeviceProperties(void* properties, int device) {
  (void)device;
  strcpy((char*)properties + 396, "gfx90a:sramecc+:xnack-");
  return 0;
}
#endif

int hipMemGetInfo(size_t* available, size_t* total) { *available = 1u << 29; *total = 1u << 30; return 0; }
int hipMalloc(void** at, size_t bytes) {
  if (is("no_memory") && bytes > 4096) return 2;
  *at = malloc(bytes);
  return 0;
}
int hipFree(void* at) { free(at); return 0; }
int hipHostMalloc(void** at, size_t bytes, unsigned flags) { (void)flags; *at = malloc(bytes); return 0; }
int hipHostFree(void* at) { free(at); return 0; }
int hipMemcpyAsync(void* to, const void* from, size_t bytes, int kind, void* stream) {
  (void)kind; (void)stream;
  memcpy(to, from, bytes);
  return 0;
}
int hipStreamCreateWithFlags(void** stream, unsigned flags) { (void)flags; *stream = malloc(1); return is("lost") ? 999 : 0; }
int hipStreamDestroy(void* stream) { free(stream); return 0; }
int hipEventCreate(void** event) { *event = malloc(1); return 0; }
int hipEventDestroy(void* event) { free(event); return 0; }
int hipEventRecord(void* event, void* stream) { (void)event; (void)stream; return 0; }
static int launched;
int hipEventQuery(void* event) {
  (void)event;
  if (launched && is("fault")) return 700;
  return launched && is("hang") ? 600 : 0;
}
int hipEventElapsedTime(float* milliseconds, void* from, void* to) { (void)from; (void)to; *milliseconds = 0.5f; return 0; }
int hipModuleLoadData(void** module, const void* image) {
  (void)image;
  *module = malloc(1);
  return is("wrong_arch") ? 209 : 0;
}
int hipModuleUnload(void* module) { free(module); return 0; }
int hipModuleGetFunction(void** function, void* module, const char* name) { (void)module; (void)name; *function = malloc(1); return 0; }
int hipModuleLaunchKernel(void* f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned lds,
                          void* stream, void** parameters, void** extra) {
  (void)f; (void)gx; (void)gy; (void)gz; (void)bx; (void)by; (void)bz; (void)lds; (void)stream; (void)parameters; (void)extra;
  launched = 1;
  return 0;
}
