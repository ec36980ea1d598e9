// The entries of a kernel whose bodies the host launcher runs, in shuffled order.
#pragma once
#include <cstdint>

#include "kernels/common/turn_fractions.h"
#include "kernels/cuda/host_bodies.h"
#include "kernels/cuda/host_launcher.h"
#include "kernels/cuda/plan.h"

namespace ropewalk::cuda {

/// A device of the smallest size that goes through every loop of a body: a longer call has more
/// items than lanes, and a shorter one has fewer heads in an item. Its blocks are small, so that
/// few lanes have no item.
constexpr DeviceSize small_device{.threads_of_block = 32, .most_blocks = 16, .threads_at_once = 64};

using Options = PlanOptions (*)(const DeviceSize&);

/// The state is that of prepare_fractions, or NULL with a table.
template <class Bodies, Options options>
std::int32_t apply_on_host(const rope_problem* p, const rope_operands* o, void* state) {
  const TurnFraction* fractions =
      state == nullptr ? nullptr : static_cast<const TurnFractions*>(state)->data();
  const Launches launches = launches_of(*p, *o, options(small_device), fractions);
  LaunchFault fault;
  for (int i = 0; i < launches.count; ++i) {
    const Launch& launch = launches.launch[i];
    with_body<Bodies>(launch, [&](auto body) {
      run_grid(launch.grid, 20210420, fault,
               [&](const Lane& lane) { body(launch, lane, HostAccess(fault)); });
    });
  }
  return fault.met() ? ROPE_FAILED : ROPE_OK;
}

}  // namespace ropewalk::cuda
