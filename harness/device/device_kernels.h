// Decides which kernels of a worker can run on its device.
#pragma once
#include <memory>
#include <vector>

#include "harness/device/device.h"
#include "harness/process/loaded_kernels.h"

namespace ropewalk::harness {

/// Opens the device if a kernel needs one, else returns NULL. Sets what each such kernel cannot run
/// for, or clears it.
std::unique_ptr<Device> open_device_for(std::vector<LoadedKernel>& kernels);

}  // namespace ropewalk::harness
