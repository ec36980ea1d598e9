// The functions of NVML that harness/device/device.cpp calls. They are in the library of the
// stand-in driver, so ROPEWALK_NVML names that too. ROPEWALK_STANDIN has words for them: sm_mhz=N,
// throttle=BITS, no_nvml.
#include <fcntl.h>

#include <cstring>
#include <string_view>

#include "harness/testing/standin/standin.h"

using namespace ropewalk::standin;

extern "C" {

// NOLINTBEGIN
int nvmlInit_v2() {
  static const int kept = open("/dev/null", O_RDONLY | O_CLOEXEC);  // as the real one keeps some
  return kept < 0 || setting("no_nvml") != nullptr ? unknown : success;
}
int nvmlSystemGetDriverVersion(char* version, unsigned bytes) {
  std::strncpy(version, "999.01", bytes);
  return success;
}
int nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, void** device) {
  *device = &stand_in();
  return bus_id == std::string_view(bus_id_of_device) ? success : not_found;
}
int nvmlDeviceGetClockInfo(void*, int type, unsigned* mhz) {
  constexpr int sm = 1;
  *mhz = static_cast<unsigned>(number("sm_mhz", 1000));
  return type == sm ? success : invalid_value;
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void*, unsigned long long* reasons) {
  *reasons = number("throttle", 0);
  return success;
}
// NOLINTEND
}
