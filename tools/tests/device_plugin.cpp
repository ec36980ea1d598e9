// A plugin for tests of the plugin beside the command, and of kernels that are never timed. It has
// a kernel of device memory, which no test calls, and one that says that the host launcher runs it.
// DEVICE_PLUGIN_TIMED in the environment adds a kernel that may be timed. Each loading of the
// plugin appends a line to the file that DEVICE_PLUGIN_LOG names.
#include <cstdlib>
#include <fstream>
#include <optional>

#include "harness/testing/right_rotation.h"

namespace ropewalk {
namespace {

std::int32_t supports(const rope_problem* p, const char** reason) {
  bool takes = p->angle_source == ROPE_ANGLES_TABLE && p->table_dtype == ROPE_F32;
  for (std::uint32_t i = 0; i < p->tensor_count; ++i)
    takes = takes && p->tensor[i].in_dtype == ROPE_F32 && p->tensor[i].out_dtype == ROPE_F32;
  if (!takes && reason != nullptr) *reason = "takes f32 and tables of f32";
  return takes ? ROPE_OK : ROPE_UNSUPPORTED;
}

KernelInfo info(const char* name) {
  KernelInfo k;
  k.name = name;
  k.supports = supports;
  k.apply = right;
  return k;
}

const RegisteredKernel device{[] {
  KernelInfo k = info("beside_device");
  k.memory = ROPE_CUDA;
  return k;
}()};

const RegisteredKernel launched{[] {
  KernelInfo k = info("beside_launched");
  k.flags |= ROPE_HOST_LAUNCHER;
  return k;
}()};

std::optional<RegisteredKernel> timed;

[[gnu::constructor]] void note_loading() {
  if (const char* file = std::getenv("DEVICE_PLUGIN_LOG"); file != nullptr)
    std::ofstream(file, std::ios::app) << "loaded\n";
}

[[maybe_unused]] const bool told = [] {
  if (std::getenv("DEVICE_PLUGIN_TIMED") != nullptr) timed.emplace(info("beside_timed"));
  return true;
}();

}  // namespace
}  // namespace ropewalk
ROPEWALK_PLUGIN();
