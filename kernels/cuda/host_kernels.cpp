// The CUDA kernels, run by the host launcher in shuffled order: the source that runs on a device
// goes through every property on a machine without one.
#include <memory>
#include <new>
#include <vector>

#include "kernels/cuda/host_bodies.h"
#include "kernels/cuda/host_launcher.h"
#include "kernels/cuda/plan.h"

namespace ropewalk::cuda {
namespace {

// A device of the smallest size that goes through every loop of a body: a longer call has more
// items than lanes, and a shorter one has fewer heads in an item. Its blocks are small, so that few
// lanes have no item.
constexpr DeviceSize small_device{.threads_of_block = 32, .most_blocks = 16, .items_wanted = 64};

using Options = PlanOptions (*)(const DeviceSize&);
using Fractions = std::vector<TurnFraction>;  // one for each pair

template <class Bodies, Options options>
std::int32_t apply(const rope_problem* p, const rope_operands* o, void* state) {
  const TurnFraction* fractions =
      state == nullptr ? nullptr : static_cast<const Fractions*>(state)->data();
  const Launches launches = launches_of(*p, *o, options(small_device), fractions);
  LaunchFault fault;
  for (int i = 0; i < launches.count; ++i) {
    const Launch& launch = launches.launch[i];
    with_body<Bodies>(launch, [&](auto body) {
      run_grid(launch.grid, Shuffled{20210420}, fault,
               [&](const Lane& lane) { body(launch, lane, HostAccess(fault)); });
    });
  }
  return fault.met() ? ROPE_FAILED : ROPE_OK;
}

std::int32_t prepare_phase(const rope_problem* p, void** state) {
  try {
    auto fractions = std::make_unique<Fractions>();
    for (std::int64_t i = 0; i < p->rotary_dim / 2; ++i)
      fractions->push_back(turn_fraction(p->inv_freq[i]));
    *state = fractions.release();
    return ROPE_OK;
  } catch (const std::bad_alloc&) {
    return ROPE_FAILED;
  }
}

void release_phase(void* state) {
  delete static_cast<Fractions*>(state);
}

const RegisteredKernel cuda{{
    .name = "cuda_host",
    .summary = "the body of the kernel cuda, run by the host launcher",
    .source = "this project",
    .flags = promises | ROPE_HOST_LAUNCHER,
    .supports = supports<ROPE_ANGLES_TABLE>,
    .apply = apply<CudaBodies, table_options>,
}};

const RegisteredKernel phase{{
    .name = "cuda_phase_host",
    .summary = "the body of the kernel cuda_phase, run by the host launcher",
    .source = "this project",
    .angle_contract = ROPE_CONTRACT_EXACT,
    .flags = promises | ROPE_HOST_LAUNCHER,
    .supports = supports<ROPE_ANGLES_INV_FREQ>,
    .prepare = prepare_phase,
    .apply = apply<CudaPhaseBodies, phase_options>,
    .release = release_phase,
}};

const RegisteredKernel naive{{
    .name = "cuda_naive_host",
    .summary = "the body of the kernel cuda_naive, run by the host launcher",
    .source = "this project",
    .flags = promises | ROPE_HOST_LAUNCHER,
    .supports = supports<ROPE_ANGLES_TABLE>,
    .apply = apply<CudaNaiveBodies, naive_options>,
}};

}  // namespace
}  // namespace ropewalk::cuda
