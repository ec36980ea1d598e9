#include "harness/device/device_health.h"

#include <dlfcn.h>

#include <cstdlib>

namespace ropewalk::harness {
namespace {

constexpr int sm_clock = 1;  // nvmlClockType_t

// Calls a function of the library. Returns false if there is none or if it fails.
template <class... Arguments>
bool call(void* library, const char* name, Arguments... arguments) {
  if (library == nullptr) return false;
  auto* const function = reinterpret_cast<int (*)(Arguments...)>(dlsym(library, name));
  return function != nullptr && function(arguments...) == 0;
}

// nvmlClocksThrottleReason...: bits 0 and 1 are an idle device and clocks of an application.
constexpr struct {
  unsigned long long bits;
  const char* words;
} slow_reasons[] = {{0x4, "power cap"},           {0x8, "hardware slowdown"},
                    {0x10, "sync boost"},         {0x20 | 0x40, "thermal"},
                    {0x80, "power brake"},        {0x100, "display clock"},
                    {~0x1ffULL, "another reason"}};

}  // namespace

DeviceHealth DeviceHealth::open(const std::string& bus_id) {
  DeviceHealth health;
  const char* const named = std::getenv("ROPEWALK_NVML");
  health.library_ =
      dlopen(named != nullptr && *named != 0 ? named : "libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!call(health.library_, "nvmlInit_v2")) return health;
  char version[96] = {};
  if (call(health.library_, "nvmlSystemGetDriverVersion", &version[0], 95U))
    health.driver_version_ = version;
  void* device = nullptr;
  if (call(health.library_, "nvmlDeviceGetHandleByPciBusId_v2", bus_id.c_str(), &device))
    health.device_ = device;
  return health;
}

DeviceHealth::Now DeviceHealth::now() const {
  Now now;
  if (device_ == nullptr) return now;
  unsigned mhz = 0;
  if (call(library_, "nvmlDeviceGetClockInfo", device_, sm_clock, &mhz))
    now.sm_mhz = static_cast<int>(mhz);
  unsigned long long reasons = 0;
  if (call(library_, "nvmlDeviceGetCurrentClocksThrottleReasons", device_, &reasons))
    for (const auto& reason : slow_reasons)
      if ((reasons & reason.bits) != 0)
        now.throttled += (now.throttled.empty() ? "" : ", ") + std::string(reason.words);
  return now;
}

}  // namespace ropewalk::harness
