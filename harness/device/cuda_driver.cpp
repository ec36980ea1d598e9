#include "harness/device/cuda_driver.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <boost/preprocessor/seq/for_each.hpp>
#include <boost/preprocessor/stringize.hpp>
#include <boost/preprocessor/variadic/to_seq.hpp>
#include <cstdlib>

namespace ropewalk::harness::cuda {
namespace {

// Fills the members of `d` from the library. Returns the first symbol that is missing.
std::string find_all(void* library, Driver& d) {
  std::string missing;
  const auto find = [&]<class Function>(Function*& function, const char* symbol) {
    function = reinterpret_cast<Function*>(dlsym(library, symbol));
    if (function == nullptr && missing.empty()) missing = symbol;
  };
#define FIND(r, ending, name) find(d.name, "cu" BOOST_PP_STRINGIZE(name) ending);
#define FIND_ALL(ending, ...) \
  BOOST_PP_SEQ_FOR_EACH(FIND, ending, BOOST_PP_VARIADIC_TO_SEQ(__VA_ARGS__))
  FIND_ALL("", Init, DriverGetVersion, DeviceGetCount, DeviceGet, DeviceGetName, DeviceGetPCIBusId,
           DeviceGetAttribute, DevicePrimaryCtxRetain, CtxSetCurrent, CtxGetCurrent, CtxSynchronize,
           MemsetD8Async, StreamCreate, StreamSynchronize, StreamQuery, EventCreate, EventRecord,
           EventSynchronize, EventElapsedTime, ModuleLoadDataEx, ModuleGetFunction, ModuleUnload,
           LaunchKernel, StreamEndCapture, GraphGetNodes, GraphNodeGetType,
           GraphInstantiateWithFlags, GraphUpload, GraphLaunch, GraphExecDestroy, GraphDestroy,
           GetErrorString)
  FIND_ALL("_v2", MemAlloc, MemFree, MemGetInfo, MemcpyHtoDAsync, MemcpyDtoHAsync, MemcpyDtoDAsync,
           EventDestroy, StreamBeginCapture)
  return missing;
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
