#include "harness/device/device_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>
#include <system_error>

#include "kernels/api/cpu_features.h"

namespace ropewalk::harness {
namespace {

// What a kernel needs and this machine lacks, in words; empty: nothing. A word like sm_80 asks for
// at least that compute capability, and other words for features of the processor.
std::string missing_on(const Device& device, const char* features) {
  std::string_view rest = features != nullptr ? features : "";
  while (!rest.empty()) {
    const std::string_view word = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(word.size() + 1, rest.size()));
    if (word.starts_with("sm_")) {
      int needed = 0;
      const char* const end = word.data() + word.size();
      const auto read = std::from_chars(word.data() + 3, end, needed);
      const bool is_number = read.ec == std::errc{} && read.ptr == end && needed > 0;
      if (!is_number || device.capability() < needed)
        return fmt::format("the device {} is sm_{}, and the kernel needs {}", device.name(),
                           device.capability(), word);
    } else if (const std::string missing = missing_cpu_feature(std::string(word).c_str());
               !missing.empty()) {
      return "this machine has no " + missing;
    }
  }
  return {};
}

}  // namespace

std::unique_ptr<Device> open_device_for(std::vector<LoadedKernel>& kernels) {
  const auto needs_one = [](const LoadedKernel& k) { return k.kernel->memory == ROPE_CUDA; };
  if (std::none_of(kernels.begin(), kernels.end(), needs_one)) return nullptr;
  std::string why;
  std::unique_ptr<Device> device = Device::open(why);
  for (LoadedKernel& k : kernels)
    if (needs_one(k))
      k.cannot_run = device == nullptr ? why : missing_on(*device, k.kernel->cpu_features);
  return device;
}

}  // namespace ropewalk::harness
