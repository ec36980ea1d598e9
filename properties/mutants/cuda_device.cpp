// The CUDA kernels as kernels of a device, with the stand-in driver in the device's place: their
// entries as on a GPU, and the host launcher behind the stream. All are right.
#include <cstdint>

#include "kernels/cuda/host_entries.h"
#include "properties/mutants/on_device.h"

namespace ropewalk::mutants {
namespace {

using namespace cuda;

template <class Bodies, Options options>
struct OwnBodies : CorrectDevice {
  static void body(const Launched& call) {
    apply_on_host<Bodies, options>(&call.problem, &call.operands, call.kept);
  }
};
using Table = OwnBodies<CudaBodies, table_options>;
using Naive = OwnBodies<CudaNaiveBodies, naive_options>;

struct Phase : OwnBodies<CudaPhaseBodies, phase_options> {
  static int prepare(const rope_problem& p, DeviceState& s) {
    return prepare_fractions(&p, &s.kept);
  }
  static void release(DeviceState& s) { release_fractions(s.kept); }
};

template <class Hooks, std::int32_t angles>
RegisteredKernel own(const char* name) {
  KernelInfo info = device_info<Hooks>(name);
  info.angle_contract = angles == ROPE_ANGLES_TABLE ? ROPE_CONTRACT_TABLE : ROPE_CONTRACT_EXACT;
  info.cpu_features = "sm_80";
  info.flags = promises;
  if (!std::is_same_v<Hooks, Naive>) info.extensions = extension_bit(ROPE_EXT_AXES);
  info.supports = supports<angles>;
  return RegisteredKernel(info);
}

const auto table = own<Table, ROPE_ANGLES_TABLE>("control_device_cuda_table");
const auto naive = own<Naive, ROPE_ANGLES_TABLE>("control_device_cuda_naive_table");
const auto phase = own<Phase, ROPE_ANGLES_INV_FREQ>("control_device_cuda_phase_exact");

}  // namespace
}  // namespace ropewalk::mutants
