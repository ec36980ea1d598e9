// Errors of the CUDA bodies, run by the host launcher: in the launch, in the access to memory and
// in the cut of the work. Most plant one change in the body of kernels/cuda, which is right.
#include <cstdint>

#include "kernels/cuda/host_entries.h"
#include "properties/mutants/planted.h"

namespace ropewalk::mutants {
namespace {

using namespace cuda;

constexpr std::uint64_t any_order = 20210420;

RegisteredKernel launched(const char* name, decltype(rope_kernel::apply) apply,
                          decltype(rope_kernel::supports) supports) {
  return altered(name, [&](KernelInfo& info) {
    info.flags |= ROPE_HOST_LAUNCHER;
    info.supports = supports;
    info.apply = apply;
  });
}

// The hooks of the right body: how it reaches memory, how a call is cut, and a change of a launch.
struct RightBody {
  using Access = HostAccess;
  static PlanOptions options(const DeviceSize& device) { return table_options(device); }
  static void see(Launch&) {}
};

template <class Hooks, class Bodies = CudaBodies>
std::int32_t apply_body(const rope_problem* p, const rope_operands* o, void*) {
  Launches launches = launches_of(*p, *o, Hooks::options(small_device), nullptr);
  LaunchFault fault;
  for (int i = 0; i < launches.count; ++i) {
    Launch& launch = launches.launch[i];
    Hooks::see(launch);
    with_body<Bodies>(launch, [&](auto body) {
      run_grid(launch.grid, any_order, fault,
               [&](const Lane& lane) { body(launch, lane, typename Hooks::Access(fault)); });
    });
  }
  return fault.met() ? ROPE_FAILED : ROPE_OK;
}

template <class Hooks, class Bodies = CudaBodies>
RegisteredKernel body(const char* name) {
  return launched(name, apply_body<Hooks, Bodies>, supports<ROPE_ANGLES_TABLE>);
}

// The frame without an error.
const auto right_body = body<RightBody>("control_cuda_body_table");
// The body of `cuda_naive`, which no kernel of the tree runs on the host.
struct NaiveBody : RightBody {
  static PlanOptions options(const DeviceSize& device) { return naive_options(device); }
};
const auto naive_body = body<NaiveBody, CudaNaiveBodies>("control_cuda_naive_table");

// Offsets in 32 bits.
struct SmallOffsets : RightBody {
  struct Access : HostAccess {
    using HostAccess::HostAccess;
    template <class Unit>
    Unit load(const void* base, std::int64_t offset) const {
      return HostAccess::load<Unit>(base, static_cast<std::int32_t>(offset));
    }
  };
};
const auto small_offsets = body<SmallOffsets>("mutant_cuda_offset_in_32_bits_table");

// Accesses of 16 bytes wherever the window has whole ones, at any stride and alignment. Seen as a
// failed launch by each property with odd strides or pointers.
struct WideAtAnyStride : RightBody {
  static bool whole_units(const rope_problem& p, const rope_operands&, std::uint32_t i) {
    const rope_tensor& s = p.tensor[i];
    const std::int64_t width = 16 / data_type(Dtype{s.in_dtype}).bytes;
    return p.rotary_dim % (2 * width) == 0 && (s.in_place != 0 || s.head_dim % width == 0) &&
           s.rotary_offset % width == 0;
  }
  static PlanOptions options(const DeviceSize& device) { return {whole_units, 4, device}; }
};
const auto wide_at_any_stride = body<WideAtAnyStride>("mutant_cuda_wide_at_any_stride_table");

// The loop over the heads of an item ends one early.
struct OneHeadShort : RightBody {
  static void see(Launch& launch) {
    for (std::uint32_t t = 0; t < launch.tensors; ++t)
      if (launch.tensor[t].heads > launch.tensor[t].groups.divisor) --launch.tensor[t].heads;
  }
};
const auto one_head_short = body<OneHeadShort>("mutant_cuda_one_head_short_table");

// The last pairs of a head that fill no group of four are forgotten.
struct NoTail : NaiveBody {
  static void see(Launch& launch) {
    if (launch.tensors != 1) return;
    LaunchTensor& t = launch.tensor[0];
    if (t.rotated_units < 4 || t.units.divisor != t.rotated_units) return;
    const std::uint64_t heads_of_all = launch.items / t.rotated_units;
    t.rotated_units -= t.rotated_units % 4;
    t.units = Divisor::of<std::uint32_t>(t.rotated_units);
    launch.items = heads_of_all * t.rotated_units;
  }
};
const auto no_tail = body<NoTail, CudaNaiveBodies>("mutant_cuda_no_tail_table");

// ---- bodies of their own, for f32 data

// A thread for each element. It reads its own element and its partner's, and writes its own: a race
// in place.
void turn_own_element(const rope_problem& p, const Head<float>& head, std::uint32_t e) {
  const std::int64_t half = p.rotary_dim / 2;
  const bool split = p.pairing == ROPE_HALF_SPLIT;
  const std::int64_t pair = split ? e % half : e / 2;
  const PairIndex at = pair_index(p.pairing, pair, half);
  const bool second = e == at.second;
  const float own = head.in[e], partner = head.in[second ? at.first : at.second];
  const float sin = sign_of(p) * head.sin[pair];
  head.out[e] = static_cast<float>(scale_of(p)) *
                (own * head.cos[pair] + (second ? partner * sin : -(partner * sin)));
}
std::int32_t apply_own_element(const rope_problem* p, const rope_operands* o, void*) {
  LaunchFault fault;
  const auto elements = static_cast<std::uint32_t>(p->rotary_dim);
  for_each_token(*p, *o, [&](const Token& token) {
    for_each_head<float>(*p, *o, token, [&](const Head<float>& head) {
      run_grid({{(elements + 31) / 32}, {32}}, any_order, fault, [&](const Lane& lane) {
        const std::uint32_t e = lane.block.x * 32 + lane.thread.x;
        if (e < elements) turn_own_element(*p, head, e);
      });
    });
  });
  return fault.met() ? ROPE_FAILED : ROPE_OK;
}
const auto own_and_partner =
    launched("mutant_cuda_own_and_partner_table", apply_own_element, supports_table);

// A block for each pair of each token, all of them on grid.y, which ends at 65535. Seen by
// position_sweep as a failed launch. (With tokens alone on grid.y it takes 65,537 tokens, which
// the profile standard has.)
std::int32_t apply_on_grid_y(const rope_problem* p, const rope_operands* o, void*) {
  LaunchFault fault;
  std::int64_t blocks = 0;
  for (std::uint32_t i = 0; i < p->tensor_count; ++i)
    blocks += p->batch * p->tokens * p->tensor[i].heads * (p->rotary_dim / 2);
  Grid grid;
  grid.blocks.y = static_cast<std::uint32_t>(blocks);
  if (!within_limits(grid, fault)) return ROPE_FAILED;
  return apply_body<RightBody>(p, o, nullptr);
}
const auto on_grid_y =
    launched("mutant_cuda_rows_on_grid_y_table", apply_on_grid_y, supports_table);

}  // namespace
}  // namespace ropewalk::mutants
