#include "harness/device/cuda_driver.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>

namespace ropewalk::harness::cuda {
namespace {

// Looks functions up until one is missing.
class Symbols {
 public:
  explicit Symbols(void* library) : library_(library) {}

  template <class Function>
  void find(Function*& function, const char* symbol) {
    function = reinterpret_cast<Function*>(dlsym(library_, symbol));
    if (function == nullptr && missing_.empty()) missing_ = symbol;
  }
  const std::string& missing() const { return missing_; }

 private:
  void* library_;
  std::string missing_;
};

std::string find_all(void* library, Driver& d) {
  Symbols symbols(library);
  symbols.find(d.Init, "cuInit");
  symbols.find(d.DriverGetVersion, "cuDriverGetVersion");
  symbols.find(d.DeviceGetCount, "cuDeviceGetCount");
  symbols.find(d.DeviceGet, "cuDeviceGet");
  symbols.find(d.DeviceGetName, "cuDeviceGetName");
  symbols.find(d.DeviceGetPCIBusId, "cuDeviceGetPCIBusId");
  symbols.find(d.DeviceGetAttribute, "cuDeviceGetAttribute");
  symbols.find(d.DevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain");
  symbols.find(d.CtxSetCurrent, "cuCtxSetCurrent");
  symbols.find(d.CtxGetCurrent, "cuCtxGetCurrent");
  symbols.find(d.CtxSynchronize, "cuCtxSynchronize");
  symbols.find(d.MemAlloc, "cuMemAlloc_v2");
  symbols.find(d.MemFree, "cuMemFree_v2");
  symbols.find(d.MemGetInfo, "cuMemGetInfo_v2");
  symbols.find(d.MemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2");
  symbols.find(d.MemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2");
  symbols.find(d.MemcpyDtoDAsync, "cuMemcpyDtoDAsync_v2");
  symbols.find(d.MemsetD8Async, "cuMemsetD8Async");
  symbols.find(d.StreamCreate, "cuStreamCreate");
  symbols.find(d.StreamSynchronize, "cuStreamSynchronize");
  symbols.find(d.StreamQuery, "cuStreamQuery");
  symbols.find(d.EventCreate, "cuEventCreate");
  symbols.find(d.EventRecord, "cuEventRecord");
  symbols.find(d.EventSynchronize, "cuEventSynchronize");
  symbols.find(d.EventElapsedTime, "cuEventElapsedTime");
  symbols.find(d.EventDestroy, "cuEventDestroy_v2");
  symbols.find(d.ModuleLoadDataEx, "cuModuleLoadDataEx");
  symbols.find(d.ModuleGetFunction, "cuModuleGetFunction");
  symbols.find(d.ModuleUnload, "cuModuleUnload");
  symbols.find(d.LaunchKernel, "cuLaunchKernel");
  symbols.find(d.StreamBeginCapture, "cuStreamBeginCapture_v2");
  symbols.find(d.StreamEndCapture, "cuStreamEndCapture");
  symbols.find(d.GraphGetNodes, "cuGraphGetNodes");
  symbols.find(d.GraphNodeGetType, "cuGraphNodeGetType");
  symbols.find(d.GraphInstantiateWithFlags, "cuGraphInstantiateWithFlags");
  symbols.find(d.GraphUpload, "cuGraphUpload");
  symbols.find(d.GraphLaunch, "cuGraphLaunch");
  symbols.find(d.GraphExecDestroy, "cuGraphExecDestroy");
  symbols.find(d.GraphDestroy, "cuGraphDestroy");
  symbols.find(d.GetErrorString, "cuGetErrorString");
  return symbols.missing();
}

}  // namespace

std::string load_driver(Driver& driver) {
  const char* named = std::getenv("ROPEWALK_CUDA_DRIVER");
  const std::string file = named != nullptr && *named != 0 ? named : "libcuda.so.1";
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* why = dlerror();
    return fmt::format("no CUDA driver: {}", why != nullptr ? why : file);
  }
  const std::string missing = find_all(library, driver);
  if (!missing.empty())
    return fmt::format("the CUDA driver {} is too old: it has no {}", file, missing);
  return {};
}

std::string error_text(const Driver& driver, Result error) {
  const char* text = nullptr;
  if (driver.GetErrorString(error, &text) != success || text == nullptr)
    return fmt::format("CUDA error {}", error);
  return fmt::format("CUDA error {} ({})", error, text);
}

}  // namespace ropewalk::harness::cuda
