// The plugin for NVIDIA devices: `cuda`, `cuda_phase` and `cuda_naive`, the bodies of bodies.h
// behind __global__ functions. Compile it with -fmad=false and --expt-relaxed-constexpr, and the
// host's part with -ffp-contract=off.
//
// The name of a __global__ function has five parts:
//
//   rope_KERNEL_(f32|f16|bf16)_(half_split|interleaved)_(wide|short|general)_i(32|64)
//
// KERNEL is the name of the kernel, with _axes behind it for positions with axes (rope_axes), or
// _heads for rope_norm and rope_append, with axes or without.
// The last part is the width of an item's index. Offsets in memory have 64 bits in all of them.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>

#include "kernels/api/half.h"
#include "kernels/common/turn_fractions.h"
#include "kernels/cuda/bodies.h"
#include "kernels/cuda/heads.h"
#include "kernels/cuda/plan.h"

ROPEWALK_PLUGIN();

namespace ropewalk::cuda {
namespace {

// ---- how a lane of the device reaches memory

// The type that one instruction loads or stores.
template <std::size_t bytes>
using Word = std::conditional_t<
    bytes == 16, uint4,
    std::conditional_t<
        bytes == 8, uint2,
        std::conditional_t<bytes == 4, unsigned int,
                           std::conditional_t<bytes == 2, unsigned short, unsigned char>>>>;

// Converts 16-bit data by the hardware: one instruction for two elements, where half.h takes a
// dozen for each. Both round to nearest even, so the bits are the same. NaNs differ in their
// payloads.
// Its functions are also functions of the host, because a body is one, but only a device calls
// them.
class DeviceAccess {
 public:
  template <class Unit>
  __host__ __device__ Unit load(const void* base, std::int64_t offset) const {
    return std::bit_cast<Unit>(*word<sizeof(Unit)>(base, offset));
  }
  // By the path of read-only data, as no lane writes it.
  template <class Unit>
  __host__ __device__ Unit load_constant(const void* base, std::int64_t offset) const {
#ifdef __CUDA_ARCH__
    return std::bit_cast<Unit>(__ldg(word<sizeof(Unit)>(base, offset)));
#else
    return load<Unit>(base, offset);
#endif
  }
  template <class Unit>
  __host__ __device__ void store(void* base, std::int64_t offset, const Unit& unit) const {
    using To = Word<sizeof(Unit)>;
    *reinterpret_cast<To*>(static_cast<std::byte*>(base) + offset) = std::bit_cast<To>(unit);
  }

  static constexpr unsigned lanes_of_team = 1;  // that a thread has
  __host__ __device__ static float root(float value) {
#ifdef __CUDA_ARCH__
    return __fsqrt_rn(value);
#else
    return value;
#endif
  }
  __host__ __device__ static void add_team([[maybe_unused]] float (&sum)[1],
                                           [[maybe_unused]] unsigned lanes,
                                           [[maybe_unused]] unsigned number) {
#ifdef __CUDA_ARCH__
    const unsigned team = (0xffffffffU >> (32 - lanes)) << (threadIdx.x % 32 - number);
    for (unsigned apart = lanes / 2; apart > 0; apart /= 2)
      sum[0] += __shfl_xor_sync(team, sum[0], static_cast<int>(apart));
#endif
  }
  template <class Data, std::size_t count>
  __host__ __device__ static Elements<float, count> to_floats(const Elements<Data, count>& from) {
    Elements<float, count> out;
    for (std::size_t i = 0; i < count; ++i) out.at[i] = to_float(from.at[i]);
    return out;
  }
  template <class Data, std::size_t count>
  __host__ __device__ static Elements<Data, count> from_floats(const Elements<float, count>& from) {
    if constexpr (std::is_same_v<Data, float>) {
      return from;
    } else if constexpr (count == 1) {
      return {{one_from<Data>(from.at[0])}};
    } else {
      Elements<unsigned int, count / 2> two;
      for (std::size_t i = 0; i < count / 2; ++i)
        two.at[i] = two_from<Data>(from.at[2 * i], from.at[2 * i + 1]);
      return std::bit_cast<Elements<Data, count>>(two);
    }
  }

 private:
  template <std::size_t bytes>
  __host__ __device__ static const Word<bytes>* word(const void* base, std::int64_t offset) {
    return reinterpret_cast<const Word<bytes>*>(static_cast<const std::byte*>(base) + offset);
  }

  __host__ __device__ static float to_float(float value) {
    return value;
  }
  __host__ __device__ static float to_float(F16 value) {
    return __half2float(__ushort_as_half(value.bits));
  }
  __host__ __device__ static float to_float(Bf16 value) {
    return __bfloat162float(__ushort_as_bfloat16(value.bits));
  }
  template <class Data>
  __host__ __device__ static Data one_from(float value) {
    Data out;
    if constexpr (std::is_same_v<Data, F16>)
      out.bits = __half_as_ushort(__float2half_rn(value));
    else
      out.bits = __bfloat16_as_ushort(__float2bfloat16_rn(value));
    return out;
  }
  template <class Data>
  __host__ __device__ static unsigned int two_from(float first, float second) {
    if constexpr (std::is_same_v<Data, F16>) {
      const __half2_raw both = __floats2half2_rn(first, second);
      return both.x | static_cast<unsigned int>(both.y) << 16;
    } else {
      const __nv_bfloat162_raw both = __floats2bfloat162_rn(first, second);
      return both.x | static_cast<unsigned int>(both.y) << 16;
    }
  }
};

__device__ Lane this_lane() {
  return {{blockIdx.x, blockIdx.y, blockIdx.z},
          {threadIdx.x, threadIdx.y, threadIdx.z},
          {gridDim.x, gridDim.y, gridDim.z},
          {blockDim.x, blockDim.y, blockDim.z}};
}

}  // namespace

// ---- the functions of the device

// One __global__ function for each body. They have C names, so that a tool needs no demangler.
// With 64-bit indices four blocks of a multiprocessor are asked for, else some registers spill.
// With 32 bits that would cost registers, as nvcc then takes all that it may
// (docs/cuda-kernels.md). Bodies of heads are asked for five: without it some spill at 64
// registers, and others take 113.
template <class Angles>
constexpr int least_blocks = 0;
template <>
constexpr int least_blocks<CudaBodies> = blocks_at_once;
template <>
constexpr int least_blocks<CudaPhaseBodies> = blocks_at_once;
#define ROPEWALK_GLOBAL(kernel, angles, type, data, pairing, layout, path, shape, bits)         \
  extern "C" __global__ void __launch_bounds__(DeviceSize{}.threads_of_block,                   \
                                               bits == 32 ? least_blocks<angles> : 4)           \
      rope_##kernel##_##type##_##pairing##_##path##_i##bits(const __grid_constant__ Launch l) { \
    rotate_items<shape<data, layout>, angles, std::uint##bits##_t>(l, this_lane(),              \
                                                                   DeviceAccess{});             \
  }
#define ROPEWALK_INDICES(...) ROPEWALK_GLOBAL(__VA_ARGS__, 32) ROPEWALK_GLOBAL(__VA_ARGS__, 64)
#define ROPEWALK_PAIRINGS(kernel, angles, type, data, path, shape)                       \
  ROPEWALK_INDICES(kernel, angles, type, data, half_split, ROPE_HALF_SPLIT, path, shape) \
  ROPEWALK_INDICES(kernel, angles, type, data, interleaved, ROPE_INTERLEAVED, path, shape)
#define ROPEWALK_TYPES(kernel, angles, path, shape)          \
  ROPEWALK_PAIRINGS(kernel, angles, f32, float, path, shape) \
  ROPEWALK_PAIRINGS(kernel, angles, f16, F16, path, shape)   \
  ROPEWALK_PAIRINGS(kernel, angles, bf16, Bf16, path, shape)

ROPEWALK_TYPES(cuda, TableAngles, wide, Wide)
ROPEWALK_TYPES(cuda, TableAngles, short, Short)
ROPEWALK_TYPES(cuda, TableAngles, general, General)
ROPEWALK_TYPES(cuda_phase, PhaseAngles, wide, Wide)
ROPEWALK_TYPES(cuda_phase, PhaseAngles, general, General)
ROPEWALK_TYPES(cuda_naive, TableAngles, general, Naive)
ROPEWALK_TYPES(cuda_axes, AxisTableAngles, wide, Wide)
ROPEWALK_TYPES(cuda_axes, AxisTableAngles, general, General)
ROPEWALK_TYPES(cuda_phase_axes, AxisPhaseAngles, wide, Wide)
ROPEWALK_TYPES(cuda_phase_axes, AxisPhaseAngles, general, General)
ROPEWALK_TYPES(cuda_heads, CudaBodies, wide, Short)
ROPEWALK_TYPES(cuda_heads, CudaBodies, general, Naive)
ROPEWALK_TYPES(cuda_phase_heads, CudaPhaseBodies, wide, Short)
ROPEWALK_TYPES(cuda_phase_heads, CudaPhaseBodies, general, Naive)

namespace {

// ---- the host's part

using Global = void (*)(Launch);

// The functions of one data type, pairing and path: for 32-bit and for 64-bit indices.
#define ROPEWALK_BOTH(kernel, type, pairing, path)        \
  {                                                       \
    rope_##kernel##_##type##_##pairing##_##path##_i32,    \
        rope_##kernel##_##type##_##pairing##_##path##_i64 \
  }
#define ROPEWALK_TYPE(kernel, type, path) \
  { ROPEWALK_BOTH(kernel, type, half_split, path), ROPEWALK_BOTH(kernel, type, interleaved, path) }
#define ROPEWALK_TABLE(kernel, path)                                      \
  {                                                                       \
    {                                                                     \
      ROPEWALK_TYPE(kernel, f32, path), ROPEWALK_TYPE(kernel, f16, path), \
          ROPEWALK_TYPE(kernel, bf16, path)                               \
    }                                                                     \
  }

// By data type (f32, f16, bf16), pairing (half_split, interleaved), index (32, 64 bits).
struct Functions {
  Global at[3][2][2];

  Global of(std::int32_t data_type, std::int32_t pairing, bool small_index) const {
    const int type = data_type == ROPE_F32 ? 0 : data_type == ROPE_F16 ? 1 : 2;
    return at[type][pairing == ROPE_HALF_SPLIT ? 0 : 1][small_index ? 0 : 1];
  }
};

// With the paths of a kernel: `one_head` is that of a wide launch whose items have one head.
struct Paths {
  Functions wide, one_head, general;
};
#define ROPEWALK_PATHS(kernel, one_head) \
  ROPEWALK_TABLE(kernel, wide), ROPEWALK_TABLE(kernel, one_head), ROPEWALK_TABLE(kernel, general)

struct Cuda {
  static constexpr Paths plain{ROPEWALK_PATHS(cuda, short)};
  static constexpr Paths axes{ROPEWALK_PATHS(cuda_axes, wide)};
  static constexpr Paths heads{ROPEWALK_PATHS(cuda_heads, wide)};
  static constexpr bool own_angles = false;
  static constexpr auto options = table_options;
};
struct CudaPhase {
  // One of its own for one head would be slower (docs/cuda-kernels.md).
  static constexpr Paths plain{ROPEWALK_PATHS(cuda_phase, wide)};
  static constexpr Paths axes{ROPEWALK_PATHS(cuda_phase_axes, wide)};
  static constexpr Paths heads{ROPEWALK_PATHS(cuda_phase_heads, wide)};
  static constexpr bool own_angles = true;
  static constexpr auto options = phase_options;
};
struct CudaNaive {
  static constexpr Functions general = ROPEWALK_TABLE(cuda_naive, general);
  static constexpr Paths plain{general, general, general};  // general alone is used
  static constexpr Paths axes = plain, heads = plain;
  static constexpr bool own_angles = false;
  static constexpr auto options = naive_options;
};

template <class Kernel>
const Paths& paths_of(const rope_problem& p) {
  if (norm_of(p) != nullptr || append_of(p) != nullptr) return Kernel::heads;
  return axes_of(p) != nullptr ? Kernel::axes : Kernel::plain;
}

// What prepare keeps: how large the device is, and in its memory the turn fractions and the map
// from pairs to axes.
struct State {
  DeviceSize device;
  TurnFraction* fractions = nullptr;     // NULL with a table
  std::uint8_t* axis_of_pair = nullptr;  // NULL without axes

  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {  // NULL is allowed
    cudaFree(fractions);
    cudaFree(axis_of_pair);
  }
};

// An error of this call is its answer, and is left to no later call.
std::int32_t answer(cudaError_t error) {
  if (error == cudaSuccess) return ROPE_OK;
  (void)cudaGetLastError();
  return ROPE_FAILED;
}

cudaError_t measure_device(State& state) {
  int device = 0, processors = 0;
  cudaError_t error = cudaGetDevice(&device);
  if (error == cudaSuccess)
    error = cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
  state.device = device_of(static_cast<std::uint64_t>(processors));
  return error;
}

// One value for each pair.
template <class Value>
cudaError_t copy_to_device(const rope_problem& p, const Value* values, Value*& to) {
  const std::size_t bytes = static_cast<std::size_t>(p.rotary_dim / 2) * sizeof(Value);
  cudaError_t error = cudaMalloc(&to, bytes);
  if (error == cudaSuccess) error = cudaMemcpy(to, values, bytes, cudaMemcpyHostToDevice);
  // A copy from ordinary memory may return while it is on its way. The streams of later calls do
  // not wait for the stream that it is on.
  if (error == cudaSuccess) error = cudaStreamSynchronize(cudaStreamLegacy);
  return error;
}

// The functions are loaded here, as loading one takes memory of the device.
cudaError_t load_functions(const rope_problem& p, const Paths& all) {
  for (const Functions* path : {&all.wide, &all.one_head, &all.general})
    for (const bool small_index : {true, false}) {
      cudaFuncAttributes attributes{};
      const auto function = path->of(p.tensor[0].in_dtype, p.pairing, small_index);
      if (const cudaError_t error =
              cudaFuncGetAttributes(&attributes, reinterpret_cast<const void*>(function));
          error != cudaSuccess)
        return error;
    }
  return cudaSuccess;
}

template <class Kernel>
std::int32_t prepare(const rope_problem* p, void** out) {
  try {
    auto state = std::make_unique<State>();
    cudaError_t error = measure_device(*state);
    const rope_axes* const axes = axes_of(*p);
    if (error == cudaSuccess) error = load_functions(*p, paths_of<Kernel>(*p));
    if (error == cudaSuccess && Kernel::own_angles)
      error = copy_to_device(*p, turn_fractions_of(*p).data(), state->fractions);
    if (error == cudaSuccess && axes != nullptr)
      error = copy_to_device(*p, axes->axis_of_pair, state->axis_of_pair);
    if (error == cudaSuccess) *out = state.release();
    return answer(error);
  } catch (const std::bad_alloc&) {
    return ROPE_FAILED;
  }
}

void release(void* state) {
  delete static_cast<State*>(state);
}

// Enqueues the launches of a call on its stream, and waits for nothing.
template <class Kernel>
std::int32_t apply(const rope_problem* p, const rope_operands* o, void* prepared) {
  const State& state = *static_cast<const State*>(prepared);
  const Paths& all = paths_of<Kernel>(*p);
  Launches launches = launches_of(*p, *o, Kernel::options(state.device), state.fractions);
  for (int i = 0; i < launches.count; ++i) {
    Launch& launch = launches.launch[i];
    launch.axis_of_pair = state.axis_of_pair;  // in place of that of the host
    const Functions& path = !launch.wide ? all.general : launch.one_head ? all.one_head : all.wide;
    const Global function = path.of(launch.data_type, launch.pairing, launch.small_index);
    cudaLaunchConfig_t configuration{};
    const Extent &blocks = launch.grid.blocks, &threads = launch.grid.threads;
    configuration.gridDim = {blocks.x, blocks.y, blocks.z};
    configuration.blockDim = {threads.x, threads.y, threads.z};
    configuration.stream = static_cast<cudaStream_t>(o->stream);
    if (const cudaError_t error = cudaLaunchKernelEx(&configuration, function, launch);
        error != cudaSuccess)
      return answer(error);
  }
  return ROPE_OK;
}

template <class Kernel>
KernelInfo described(const char* name, const char* summary) {
  KernelInfo info;
  info.name = name;
  info.summary = summary;
  info.source = "this project";
  info.cpu_features = "sm_80";
  info.memory = ROPE_CUDA;
  info.angle_contract = Kernel::own_angles ? ROPE_CONTRACT_EXACT : ROPE_CONTRACT_TABLE;
  info.flags = promises;
  if (!std::is_same_v<Kernel, CudaNaive>) info.extensions = extensions;
  info.supports = supports < Kernel::own_angles ? ROPE_ANGLES_INV_FREQ : ROPE_ANGLES_TABLE > ;
  info.prepare = prepare<Kernel>;
  info.apply = apply<Kernel>;
  info.release = release;
  return info;
}

const RegisteredKernel cuda{
    described<Cuda>("cuda", "16-byte accesses, cos and sin kept over several heads")};
const RegisteredKernel phase{described<CudaPhase>(
    "cuda_phase", "the same; computes its angles from a 64-bit integer phase")};
const RegisteredKernel naive{
    described<CudaNaive>("cuda_naive", "a pair a thread, as most projects ship it")};

}  // namespace
}  // namespace ropewalk::cuda
