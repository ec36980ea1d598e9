// Toy kernels for the tests of both engines. Each is small, and right or wrong in one way.
#pragma once
#include <string>
#include <type_traits>

#include "benchmarks/workloads/workloads.h"
#include "harness/call/operands.h"
#include "kernels/api/kernel.h"

namespace ropewalk::bench {

using Apply = decltype(rope_kernel::apply);
using Supports = decltype(rope_kernel::supports);

/// Rotates by the table of the data's type, forward and back, but only the first `tokens` of each
/// batch row. `round` makes the data of a result of the table's type.
template <class Data, class Round>
std::int32_t rotate_toy(const rope_problem* p, const rope_operands* o, std::int64_t tokens,
                        Round&& round) {
  const std::int64_t half = p->rotary_dim / 2;
  const TableOf<Data> turn = p->operation == ROPE_TRANSPOSE ? -1 : 1;
  const auto scale = static_cast<TableOf<Data>>(scale_of(*p));
  for_each_token(*p, *o, [&](const Token& token) {
    if (token.index >= tokens) return;
    for_each_head<Data>(*p, *o, token, [&](const Head<Data>& head) {
      for (std::int64_t i = 0; i < half; ++i) {
        const PairIndex at = pair_index(p->pairing, i, half);
        // NOLINTNEXTLINE(clang-analyzer-core.NullDereference): supports refuses without a table
        const TableOf<Data> a = head.in[at.first], b = head.in[at.second], sin = turn * head.sin[i];
        head.out[at.first] = round(scale * (a * head.cos[i] - b * sin));
        head.out[at.second] = round(scale * (a * sin + b * head.cos[i]));
      }
    });
  });
  return ROPE_OK;
}
/// The right toy, of all floating-point types; the wrong one leaves out so many tokens at the end
/// of each batch row.
template <int left_out = 0>
std::int32_t apply_toy(const rope_problem* p, const rope_operands* o, void*) {
  return with_floating_type(Dtype{p->tensor[0].in_dtype}, [&]<class Data>(
                                                              std::type_identity<Data>) {
    return rotate_toy<Data>(p, o, p->tokens - left_out, [](TableOf<Data> x) { return Data{x}; });
  });
}
inline std::int32_t do_nothing(const rope_problem*, const rope_operands*, void*) {
  return ROPE_OK;
}

/// A call as a toy is given it, which it may change before it makes it.
struct ToyCall {
  ToyCall(const rope_problem* p, const rope_operands* o)
      : problem(*p), operands(*o), given(harness::nodes_of(*o)) {
    if (const rope_norm* node = norm_of(*p)) asked.norm = *node;
    if (const rope_append* node = append_of(*p)) asked.append = *node;
  }
  std::int32_t make() {
    problem.next = asked.chain();
    operands.next = given.chain();
    return apply_toy(&problem, &operands, nullptr);
  }
  rope_problem problem;
  rope_operands operands;
  harness::ProblemNodes asked;  ///< without axes, which the toy does not take
  harness::OperandNodes given;
};
/// The toy, right but for a change of its call.
template <auto change>
std::int32_t apply_changed(const rope_problem* p, const rope_operands* o, void*) {
  ToyCall call(p, o);
  change(call);
  return call.make();
}

inline std::int32_t supports_toy(const rope_problem* p, const char**) {
  return p->angle_source == ROPE_ANGLES_TABLE ? ROPE_OK : ROPE_UNSUPPORTED;
}
/// Takes one operation alone.
template <std::int32_t operation>
std::int32_t supports_one(const rope_problem* p, const char** reason) {
  return p->operation == operation ? supports_toy(p, reason) : ROPE_UNSUPPORTED;
}

inline rope_kernel toy_kernel(const char* name, Apply apply = apply_toy) {
  rope_kernel kernel{};
  kernel.struct_size = sizeof(kernel);
  kernel.abi_version = ROPE_ABI_VERSION;
  kernel.name = name;
  kernel.angle_contract = ROPE_CONTRACT_TABLE;
  kernel.flags = ROPE_IN_PLACE | ROPE_OUT_OF_PLACE | ROPE_THREAD_SAFE;
  kernel.supports = supports_toy;
  kernel.apply = apply;
  return kernel;
}

struct HeadSizes {
  std::int64_t heads, head_dim, rotary_offset = 0;
};
inline void set_heads(Workload& w, const HeadSizes& q, const HeadSizes& k) {
  for (const std::size_t i : {0u, 1u}) {
    const HeadSizes& given = i == 0 ? q : k;
    w.tensors[i].heads = given.heads;
    w.tensors[i].head_dim = given.head_dim;
    w.tensors[i].rotary_offset = given.rotary_offset;
  }
}
inline bool has_heads(const harness::TensorCase& t, std::int64_t heads, std::int64_t head_dim,
                      std::int64_t rotary_offset) {
  return t.heads == heads && t.head_dim == head_dim && t.rotary_offset == rotary_offset;
}

constexpr WorkloadLayout layouts[] = {WorkloadLayout::packed, WorkloadLayout::head_major,
                                      WorkloadLayout::fused, WorkloadLayout::padded};

/// A workload with a head as wide as the window, so for_each_head copies nothing.
inline Workload small_workload(const std::string& name) {
  Workload w;
  w.name = name;
  w.source = "this test";
  w.phase = report::WorkloadPhase::prefill;
  set_heads(w, {2, 8}, {1, 8});
  w.rotary_dim = 8;
  w.batch = 2;
  w.tokens = 3;
  return w;
}
inline Workload placed(bool in_place, Dtype dtype = Dtype::f32) {
  Workload w = small_workload("toy/a");
  w.dtype = dtype;
  set_in_place(w, in_place);
  return w;
}

}  // namespace ropewalk::bench
