// The chain of extensions of a problem, checked before a kernel sees it.
#pragma once
#include <string>

#include "harness/process/step_failed.h"
#include "kernels/api/kernel.h"

namespace ropewalk::harness {

/// What is wrong with a chain, in words; empty: nothing. Reads no more nodes than there are kinds.
inline std::string chain_fault(const rope_problem& p) {
  std::uint32_t seen = 0;
  for (const rope_ext* node = p.next; node != nullptr; node = node->next) {
    const std::string kind = "the kind " + std::to_string(node->kind);
    if (node->kind != ROPE_EXT_AXES) return kind + ", which no problem has";
    if ((seen & extension_bit(node->kind)) != 0) return kind + " twice, or a loop";
    seen |= extension_bit(node->kind);
    if (node->struct_size < sizeof(rope_axes)) return kind + " with a struct that is too short";
    const rope_axes& axes = *axes_of(p);
    if (axes.axes < 2 || axes.axes > 4) return std::to_string(axes.axes) + " axes, not 2 to 4";
    if (axes.reserved != 0) return "a reserved field that is not 0";
    if (axes.position_axis_stride < 0 || axes.table_axis_stride < 0) return "a negative stride";
    if (axes.axis_of_pair == nullptr) return "no map from pairs to axes";
    for (std::int64_t i = 0; i < p.rotary_dim / 2; ++i)
      if (axes.axis_of_pair[i] >= axes.axes)
        return "a map to axis " + std::to_string(axes.axis_of_pair[i]) + ", where there are " +
               std::to_string(axes.axes);
  }
  return {};
}

/// Throws StepFailed: the chain is wrong, or has a kind that the kernel does not name.
inline void hold_chain(const rope_problem& p, const rope_kernel& kernel) {
  if (const std::string fault = chain_fault(p); !fault.empty())
    throw StepFailed{protocol::Status::failed, "the chain of the problem has " + fault};
  if (axes_of(p) != nullptr && (kernel.extensions & extension_bit(ROPE_EXT_AXES)) == 0)
    throw StepFailed{protocol::Status::unsupported,
                     "positions with axes, which the kernel does not name (ROPE_EXT_AXES)"};
}

}  // namespace ropewalk::harness
