#include "benchmarks/cells/device_module.h"

#include <fmt/format.h>

#include <limits>
#include <vector>

#include "base/printable.h"
#include "benchmarks/ceilings/device_functions.h"
#include "harness/process/step_failed.h"

namespace ropewalk::bench {
using namespace harness;

DeviceModule::DeviceModule(Device& device)
    : device_(device),
      stream_(device.make_stream()),
      module_(nullptr, device.driver().ModuleUnload) {}

std::string DeviceModule::facts() const {
  std::string facts =
      fmt::format("{}, sm_{}, {} multiprocessors, L2 {} KiB", device_.name(), device_.capability(),
                  device_.multiprocessors(), device_.l2_bytes() >> 10);
  const std::string& driver = device_.health().driver_version();
  if (!driver.empty()) facts += ", driver " + driver;
  return facts;
}

void DeviceModule::load() const {
  constexpr int error_log = 5, error_log_bytes = 6;  // CUjit_option
  const int options[] = {error_log, error_log_bytes};
  char log[1024] = "";
  // The driver takes a size in the place of a pointer.
  void* values[] = {log, reinterpret_cast<void*>(sizeof log - 1)};  // NOLINT
  cuda::ModuleHandle module = nullptr;
  const cuda::Result result = device_.driver().ModuleLoadDataEx(
      &module, device_functions_text().c_str(), 2, options, values);
  if (result != cuda::success)
    throw StepFailed{protocol::Status::skipped,
                     fmt::format("the device loads no ceilings: {}; {}",
                                 error_text(device_.driver(), result), printable_start(log, 400))};
  module_.reset(module);
}

void DeviceModule::launch(const std::string& function, std::uint64_t blocks,
                          std::initializer_list<std::uint64_t> parameters) const {
  if (module_ == nullptr) load();
  if (blocks == 0) return;
  if (blocks > std::numeric_limits<std::int32_t>::max())
    throw StepFailed{protocol::Status::skipped, "is larger than a grid of the device"};
  const cuda::Driver& d = device_.driver();
  cuda::FunctionHandle found = nullptr;
  device_.check(d.ModuleGetFunction(&found, module_.get(), function.c_str()),
                "while a function was looked for");
  std::vector<std::uint64_t> values(parameters);
  std::vector<void*> places;
  for (std::uint64_t& value : values) places.push_back(&value);
  device_.check(d.LaunchKernel(found, static_cast<unsigned>(blocks), 1, 1, device_block, 1, 1, 0,
                               stream_, places.data(), nullptr),
                "while a function was launched");
}

}  // namespace ropewalk::bench
