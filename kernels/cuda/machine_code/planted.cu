// Functions that the checks of the machine code must tell apart: two that are right, and one for
// each fault. machine_code_test.cpp reads them; nothing runs them.
#include <cstdint>

namespace {

__device__ std::int64_t lane() {
  return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}

__device__ __noinline__ float called(float value, int times) {
  for (int i = 0; i < times; ++i) value = value * value + 1.0f;
  return value;
}

}  // namespace

extern "C" {

__global__ void planted_right_wide_i32(uint4* out, const uint4* in) {
  out[lane()] = in[lane()];
}
__global__ void planted_right_general_i32(float* out, const float* in) {
  out[lane()] = in[lane()];
}

__global__ void planted_narrow_load_wide_i32(float4* out, const float* in) {
  const float value = in[lane()];
  out[lane()] = {value, value, value, value};
}
__global__ void planted_narrow_store_wide_i32(float* out, const float4* in) {
  const float4 value = in[lane()];
  out[lane()] = value.x + value.y + value.z + value.w;
}
__global__ void planted_no_load_wide_i32(uint4* out) {
  out[lane()] = {1, 2, 3, 4};
}

// An array that is indexed by what is known only when it runs, so registers cannot hold it.
__global__ void planted_array_general_i32(float* out, const float* in, const int* order) {
  float kept[16];
  for (int i = 0; i < 16; ++i) kept[i] = in[16 * lane() + i];
  for (int i = 0; i < 16; ++i) out[16 * lane() + i] = kept[order[i] & 15];
}

// All loads come before the first store, as both may be the same memory. Their values need more
// registers than the 64 that a block of 1024 threads leaves to each.
__global__ void __launch_bounds__(1024) planted_spill_general_i32(float* out, const float* in) {
  float kept[128];
#pragma unroll
  for (int i = 0; i < 128; ++i) kept[i] = in[i * 1024 + lane()];
#pragma unroll
  for (int i = 0; i < 128; ++i) out[i * 1024 + lane()] = kept[i] + kept[127 - i];
}

__global__ void planted_call_general_i32(float* out, const float* in, int times) {
  out[lane()] = called(in[lane()], times);
}

// Whether this is memory of the block or of the device is known only when it runs.
__global__ void planted_generic_general_i32(float* out, const float* in, bool shared) {
  __shared__ float block[32];
  block[threadIdx.x & 31] = in[lane()];
  __syncthreads();
  const float* from = shared ? block : in;
  out[lane()] = from[(lane() + 1) & 31];
}

}  // extern "C"
