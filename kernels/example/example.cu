// A plugin of a CUDA kernel: f32 data, a given table, packed tensors, both pairings, forward and
// backward. No GPU is needed to build it:
//   nvcc -std=c++20 -O3 -shared -Xcompiler -fPIC -cudart static -I"$(ropewalk include-dir)"
//     example.cu -o example_cuda.so
#include <kernels/api/kernel.h>
using namespace ropewalk;

// A block for each token. A thread reads both elements of a pair before it writes: in place, too.
__global__ void rope(const float* in, float* out, const float* cos, const float* sin, const int* at,
                     long row_stride, long heads, long half, bool split, float sign) {
  const long token = blockIdx.x, row = at[token] * row_stride;
  for (long i = threadIdx.x; i < heads * half; i += blockDim.x) {
    const long head = (token * heads + i / half) * 2 * half, pair = i % half;
    const long first = head + (split ? pair : 2 * pair), second = first + (split ? half : 1);
    const float x1 = in[first], x2 = in[second], c = cos[row + pair], s = sign * sin[row + pair];
    out[first] = x1 * c - x2 * s;
    out[second] = x2 * c + x1 * s;
  }
}

static std::int32_t supports(const rope_problem* p, const char** reason) {
  Refusal data = nullptr;
  supports_data(*p, ROPE_ANGLES_TABLE, ROPE_F32, &data);
  return refuse_if(reason, {data, only_packed(*p), only_packed_positions(*p), only_whole_heads(*p),
                            only_scale_1(*p), only_rows_by_position(*p),
                            p->position_dtype == ROPE_I32 ? nullptr : "only positions of i32",
                            p->batch * p->tokens < 1l << 31 ? nullptr : "below 2^31 tokens"});
}

// Loads the function: the first call would do it, and apply may take no memory of the device.
static std::int32_t prepare(const rope_problem*, void**) {
  cudaFuncAttributes loaded;
  return cudaFuncGetAttributes(&loaded, rope) == cudaSuccess ? ROPE_OK : ROPE_FAILED;
}

static std::int32_t apply(const rope_problem* p, const rope_operands* o, void*) {
  for (std::uint32_t i = 0; i < p->tensor_count; ++i) {
    const auto& [in, out, cos, sin] = o->tensor[i];
    const auto floats = [](const void* data) { return static_cast<const float*>(data); };
    rope<<<p->batch * p->tokens, 128, 0, static_cast<cudaStream_t>(o->stream)>>>(
        floats(in), static_cast<float*>(out), floats(cos), floats(sin),
        static_cast<const int*>(o->positions), p->table_row_stride, p->tensor[i].heads,
        p->rotary_dim / 2, p->pairing == ROPE_HALF_SPLIT, sign_of(*p));
  }
  return cudaGetLastError() == cudaSuccess ? ROPE_OK : ROPE_FAILED;
}

static const RegisteredKernel kernel{{.name = "example_cuda",
                                      .memory = ROPE_CUDA,
                                      .supports = supports,
                                      .prepare = prepare,
                                      .apply = apply}};
ROPEWALK_PLUGIN();
