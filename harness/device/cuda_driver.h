// The functions of the CUDA driver that the worker calls. They are looked up at run time in
// libcuda.so.1, so neither the build nor a machine without a device needs anything of CUDA.
//
// The types and constants are lines of our own, from the driver API's documentation: a dozen lines
// are less than a package, and Debian's libffmpeg-nvenc-dev has no graphs.
#pragma once
#include <cstddef>
#include <memory>
#include <string>

namespace ropewalk::harness::cuda {

using Result = int;  ///< CUresult
using DeviceAddress = unsigned long long;
using DeviceIndex = int;
using ContextHandle = struct ContextTag*;
using StreamHandle = struct StreamTag*;
using GraphHandle = struct GraphTag*;
using GraphNodeHandle = struct GraphNodeTag*;
using GraphExecHandle = struct GraphExecTag*;
using EventHandle = struct EventTag*;
using ModuleHandle = struct ModuleTag*;
using FunctionHandle = struct FunctionTag*;

/// A handle with the driver's function that gives it back.
template <class Tag>
using Owned = std::unique_ptr<Tag, Result (*)(Tag*)>;

inline constexpr Result success = 0, out_of_memory = 2, no_device = 100;
inline constexpr Result capture_unsupported = 900;  ///< also what waits while a stream is captured
inline constexpr unsigned stream_non_blocking = 1;  ///< CU_STREAM_NON_BLOCKING
inline constexpr int node_allocates = 10, node_frees = 11;  ///< CUgraphNodeType
inline constexpr int capture_global = 0;                    ///< CU_STREAM_CAPTURE_MODE_GLOBAL
inline constexpr int multiprocessor_count = 16, l2_cache_bytes = 38;  ///< CUdevice_attribute
inline constexpr int capability_major = 75, capability_minor = 76;    ///< CUdevice_attribute
/// Graphs as they are used here need the driver of CUDA 11.4.
inline constexpr int oldest_version = 11040;

// NOLINTBEGIN(readability-identifier-naming)
/// Each member is named as the driver's function without the prefix cu. A comment gives the symbol
/// where it differs.
struct Driver {
  Result (*Init)(unsigned flags);
  Result (*DriverGetVersion)(int* version);
  Result (*DeviceGetCount)(int* count);
  Result (*DeviceGet)(DeviceIndex* device, int ordinal);
  Result (*DeviceGetName)(char* name, int bytes, DeviceIndex device);
  Result (*DeviceGetPCIBusId)(char* id, int bytes, DeviceIndex device);
  Result (*DeviceGetAttribute)(int* value, int attribute, DeviceIndex device);
  Result (*DevicePrimaryCtxRetain)(ContextHandle* context, DeviceIndex device);
  Result (*CtxSetCurrent)(ContextHandle context);
  Result (*CtxGetCurrent)(ContextHandle* context);
  Result (*CtxSynchronize)();
  Result (*MemAlloc)(DeviceAddress* address, std::size_t bytes);  // _v2
  Result (*MemFree)(DeviceAddress address);                       // _v2
  Result (*MemGetInfo)(std::size_t* free, std::size_t* total);    // _v2
  Result (*MemcpyHtoDAsync)(DeviceAddress to, const void* from, std::size_t bytes,
                            StreamHandle stream);  // _v2
  Result (*MemcpyDtoHAsync)(void* to, DeviceAddress from, std::size_t bytes,
                            StreamHandle stream);  // _v2
  Result (*MemcpyDtoDAsync)(DeviceAddress to, DeviceAddress from, std::size_t bytes,
                            StreamHandle stream);  // _v2
  Result (*MemsetD8Async)(DeviceAddress to, unsigned char value, std::size_t bytes,
                          StreamHandle stream);
  Result (*StreamCreate)(StreamHandle* stream, unsigned flags);
  Result (*StreamSynchronize)(StreamHandle stream);
  Result (*StreamQuery)(StreamHandle stream);
  Result (*EventCreate)(EventHandle* event, unsigned flags);
  Result (*EventRecord)(EventHandle event, StreamHandle stream);
  Result (*EventSynchronize)(EventHandle event);
  Result (*EventElapsedTime)(float* ms, EventHandle from, EventHandle to);
  Result (*EventDestroy)(EventHandle event);  // _v2
  Result (*ModuleLoadDataEx)(ModuleHandle* module, const void* image, unsigned options,
                             const int* names, void** values);
  Result (*ModuleGetFunction)(FunctionHandle* function, ModuleHandle module, const char* name);
  Result (*ModuleUnload)(ModuleHandle module);
  Result (*LaunchKernel)(FunctionHandle function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                         unsigned block_x, unsigned block_y, unsigned block_z,
                         unsigned shared_bytes, StreamHandle stream, void** parameters,
                         void** extra);
  Result (*StreamBeginCapture)(StreamHandle stream, int mode);  // _v2
  Result (*StreamEndCapture)(StreamHandle stream, GraphHandle* graph);
  Result (*GraphGetNodes)(GraphHandle graph, GraphNodeHandle* nodes, std::size_t* count);
  Result (*GraphNodeGetType)(GraphNodeHandle node, int* type);
  Result (*GraphInstantiateWithFlags)(GraphExecHandle* exec, GraphHandle graph,
                                      unsigned long long flags);
  Result (*GraphUpload)(GraphExecHandle exec, StreamHandle stream);
  Result (*GraphLaunch)(GraphExecHandle exec, StreamHandle stream);
  Result (*GraphExecDestroy)(GraphExecHandle exec);
  Result (*GraphDestroy)(GraphHandle graph);
  Result (*GetErrorString)(Result error, const char** text);
};
// NOLINTEND(readability-identifier-naming)

/// Loads the library that ROPEWALK_CUDA_DRIVER in the environment names, or else libcuda.so.1, and
/// fills `driver`. Returns what is missing, in words; empty: nothing.
std::string load_driver(Driver& driver);

/// Returns a text like "CUDA error 700 (an illegal memory access was encountered)".
std::string error_text(const Driver& driver, Result error);

}  // namespace ropewalk::harness::cuda
