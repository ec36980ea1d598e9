// The entries of a kernel whose bodies the host launcher runs, in shuffled order. The body of a
// launch is chosen by its data type, pairing, width and index, as the table of functions in
// cuda_kernels.cu does on a device.
#pragma once
#include <cstdint>
#include <type_traits>

#include "kernels/api/half.h"
#include "kernels/common/turn_fractions.h"
#include "kernels/cuda/bodies.h"
#include "kernels/cuda/heads.h"
#include "kernels/cuda/host_launcher.h"
#include "kernels/cuda/plan.h"

namespace ropewalk::cuda {

/// A body with all that is chosen: body(launch, lane, access).
template <class S, class Angles, class Index>
struct Body {
  template <class Access>
  constexpr void operator()(const Launch& launch, const Lane& lane, const Access& access) const {
    rotate_items<S, Angles, Index>(launch, lane, access);
  }
};

namespace detail {

template <class Angles, class S, class Use>
void with_index(const Launch& launch, Use& use) {
  launch.small_index ? use(Body<S, Angles, std::uint32_t>{})
                     : use(Body<S, Angles, std::uint64_t>{});
}

template <class Bodies, class Data, std::int32_t pairing, class Use>
void with_width(const Launch& launch, Use& use) {
  using Angles = typename Bodies::Angles;
  using OneHead = std::conditional_t<std::is_same_v<Angles, TableAngles>, Short<Data, pairing>,
                                     Wide<Data, pairing>>;
  if constexpr (Bodies::naive)
    with_index<Angles, Naive<Data, pairing>>(launch, use);
  else if (launch.heads)
    launch.wide ? with_index<Bodies, Short<Data, pairing>>(launch, use)
                : with_index<Bodies, Naive<Data, pairing>>(launch, use);
  else if (launch.axis_of_pair != nullptr)
    launch.wide ? with_index<typename Bodies::OnAxes, Wide<Data, pairing>>(launch, use)
                : with_index<typename Bodies::OnAxes, General<Data, pairing>>(launch, use);
  else if (!launch.wide)
    with_index<Angles, General<Data, pairing>>(launch, use);
  else
    launch.one_head ? with_index<Angles, OneHead>(launch, use)
                    : with_index<Angles, Wide<Data, pairing>>(launch, use);
}

template <class Bodies, class Data, class Use>
void with_pairing(const Launch& launch, Use& use) {
  launch.pairing == ROPE_HALF_SPLIT ? with_width<Bodies, Data, ROPE_HALF_SPLIT>(launch, use)
                                    : with_width<Bodies, Data, ROPE_INTERLEAVED>(launch, use);
}

}  // namespace detail

/// Calls use(body) once, with the body for this launch.
template <class Bodies, class Use>
void with_body(const Launch& launch, Use&& use) {
  if (launch.data_type == ROPE_F32)
    detail::with_pairing<Bodies, float>(launch, use);
  else if (launch.data_type == ROPE_F16)
    detail::with_pairing<Bodies, F16>(launch, use);
  else
    detail::with_pairing<Bodies, Bf16>(launch, use);
}

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
