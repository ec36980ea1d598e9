// The check of a problem's chain of extensions, before a kernel sees it.
#pragma once
#include <string>

#include "harness/call/operands.h"
#include "harness/process/step_failed.h"
#include "kernels/api/kernel.h"

namespace ropewalk::harness {

inline std::string axes_fault(const rope_problem& p, const rope_axes& axes) {
  if (axes.axes < 2 || axes.axes > 4) return std::to_string(axes.axes) + " axes, not 2 to 4";
  if (axes.reserved != 0) return "a reserved field that is not 0";
  if (axes.position_axis_stride < 0 || axes.table_axis_stride < 0) return "a negative stride";
  if (axes.axis_of_pair == nullptr) return "no map from pairs to axes";
  for (std::int64_t i = 0; i < p.rotary_dim / 2; ++i)
    if (axes.axis_of_pair[i] >= axes.axes)
      return "a map to axis " + std::to_string(axes.axis_of_pair[i]) + ", where there are " +
             std::to_string(axes.axes);
  return {};
}

/// What both other kinds keep to: forward, and marks of tensors that are there.
template <class Extension>
std::string marks_fault(const rope_problem& p, const Extension& e) {
  if (p.operation != ROPE_FORWARD) return "a norm or a cache with ROPE_TRANSPOSE";
  if (e.tensors == 0 || e.tensors >> p.tensor_count != 0) return "a mark of no tensor";
  return {};
}
inline std::string norm_fault(const rope_problem& p, const rope_norm& norm) {
  if (const std::string fault = marks_fault(p, norm); !fault.empty()) return fault;
  if (!(norm.epsilon >= 0x1p-60 && norm.epsilon <= 1)) return "an epsilon outside 2^-60 .. 1";
  if (!is_floating(norm.weight_dtype)) return "weights of no floating-point type";
  return norm.reserved != 0 ? "a reserved field that is not 0" : "";
}
inline std::string append_fault(const rope_problem& p, const rope_append& a) {
  if (const std::string fault = marks_fault(p, a); !fault.empty()) return fault;
  if (a.slot_dtype != ROPE_I32 && a.slot_dtype != ROPE_I64) return "slots of no integer type";
  if (a.pages < 1 || a.page_size < 1) return "a cache without pages or slots";
  for (std::uint32_t i = 0; i < p.tensor_count; ++i) {
    if (!marks(&a, i)) continue;
    if (p.tensor[i].in_place != 0) return "a tensor that is appended in place";
    if (a.page_stride[i] < 0 || a.slot_stride[i] < 0 || a.head_stride[i] < 0)
      return "a negative stride";
  }
  return {};
}

/// What is wrong with a chain, in words; empty: nothing. Reads no more nodes than there are kinds.
inline std::string chain_fault(const rope_problem& p) {
  std::uint32_t seen = 0;
  for (const rope_ext* node = p.next; node != nullptr; node = node->next) {
    const std::string kind = "the kind " + std::to_string(node->kind);
    const ExtensionKind* const known = extension_kind(node->kind);
    if (known == nullptr) return kind + ", which no problem has";
    if ((seen & extension_bit(node->kind)) != 0) return kind + " twice, or a loop";
    seen |= extension_bit(node->kind);
    if (node->struct_size < known->problem_bytes) return kind + " with a struct that is too short";
  }
  std::string fault;
  if (const rope_axes* axes = axes_of(p)) fault = axes_fault(p, *axes);
  if (const rope_norm* norm = norm_of(p); norm != nullptr && fault.empty())
    fault = norm_fault(p, *norm);
  if (const rope_append* append = append_of(p); append != nullptr && fault.empty())
    fault = append_fault(p, *append);
  return fault;
}

/// Throws StepFailed: the chain is wrong, or has a kind that the kernel does not name.
inline void hold_chain(const rope_problem& p, const rope_kernel& kernel) {
  if (const std::string fault = chain_fault(p); !fault.empty())
    throw StepFailed{protocol::Status::failed, "the chain of the problem has " + fault};
  for (const rope_ext* node = p.next; node != nullptr; node = node->next)
    if ((kernel.extensions & extension_bit(node->kind)) == 0)
      throw StepFailed{protocol::Status::unsupported, extension_kind(node->kind)->refused};
}

}  // namespace ropewalk::harness
