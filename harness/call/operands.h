// The operands of a call, listed once: what each is for, which elements it has, and where its
// address stands in the structs of the contract. Nothing here knows a case.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/saturating.h"
#include "kernels/api/kernel.h"
#include "kernels/api/types.h"

namespace ropewalk::harness {

/// What an operand is for. A call has one of a tensor for each tensor.
enum class Operand : std::uint32_t {
  inv_freq,
  axis_of_pair,
  positions,
  slot,
  in,
  out,
  cos,
  sin,
  weight,
  cache,
  workspace
};
inline constexpr std::size_t roles = 11;

/// True for what a problem points to. It lies in the host's memory, for every kernel, and a state
/// gets a copy that lives until release.
constexpr bool is_of_problem(Operand role) {
  return role <= Operand::axis_of_pair;
}

/// True if each tensor has an operand of its own for it.
constexpr bool is_of_tensor(Operand role) {
  return role >= Operand::in && role <= Operand::cache;
}
constexpr bool is_output(Operand role) {
  return role == Operand::out || role == Operand::cache;
}

inline constexpr std::array<std::string_view, ROPE_MAX_TENSORS> tensor_words{"q", "k", "t2", "t3"};
/// An operand as messages name it: "q.in", "positions".
std::string operand_name(Operand role, std::uint32_t tensor);

/// Rows of `row` elements, which touch. Row (i, j, k) begins at element i * axes[0].stride + ...
struct Extent {
  struct Axis {
    std::int64_t count = 1, stride = 0;
  };
  std::int64_t row = 0;
  Axis axes[3];

  /// From the first element to the end of the last row; the largest number if it overflows.
  std::int64_t elements() const;
};

struct OperandLayout {
  Operand role;
  std::uint32_t tensor;  ///< 0 if it is of no tensor
  Dtype dtype;           ///< has no meaning for axis_of_pair
  std::int64_t element_bytes;
  Extent extent;

  /// From its address to the end of its last row.
  std::uint64_t bytes() const {
    return static_cast<std::uint64_t>(saturating_product({extent.elements(), element_bytes}));
  }
};

/// A kind of extension: its struct is rope_NAME in a problem, and rope_NAME_operands in operands.
struct ExtensionKind {
  std::uint32_t kind;
  const char* name;
  std::size_t problem_bytes, operand_bytes;  ///< 0: it has no struct there
  const char* refused;                       ///< for a kernel that does not name it
};
inline constexpr std::array<ExtensionKind, 3> extension_kinds{{
    {ROPE_EXT_AXES, "axes", sizeof(rope_axes), 0,
     "positions with axes, which the kernel does not name (ROPE_EXT_AXES)"},
    {ROPE_EXT_NORM, "norm", sizeof(rope_norm), sizeof(rope_norm_operands),
     "a norm, which the kernel does not name (ROPE_EXT_NORM)"},
    {ROPE_EXT_APPEND, "append", sizeof(rope_append), sizeof(rope_append_operands),
     "a paged cache, which the kernel does not name (ROPE_EXT_APPEND)"},
}};
inline constexpr std::size_t largest_extension_bytes = [] {
  std::size_t most = 0;
  for (const ExtensionKind& k : extension_kinds)
    most = std::max({most, k.problem_bytes, k.operand_bytes});
  return most;
}();
/// NULL: no problem has such a kind.
inline const ExtensionKind* extension_kind(std::uint32_t kind) {
  const auto* const found = std::ranges::find(extension_kinds, kind, &ExtensionKind::kind);
  return found == extension_kinds.end() ? nullptr : found;
}

/// Puts those nodes before `next` that are of a kind, the first one first.
inline const rope_ext* chain_of(const rope_ext* next) {
  return next;
}
template <class Node, class... Nodes>
const rope_ext* chain_of(const rope_ext* next, Node& node, Nodes&... others) {
  const rope_ext* const rest = chain_of(next, others...);
  if (node.ext.kind == 0) return rest;
  node.ext.next = rest;
  return &node.ext;
}

/// The structs that a problem's chain is made of. One of kind 0 is not in the chain.
struct ProblemNodes {
  rope_axes axes{};
  rope_norm norm{};
  rope_append append{};
  const rope_ext* chain() { return chain_of(nullptr, axes, norm, append); }
};
/// The same of operands.
struct OperandNodes {
  rope_norm_operands norm{};
  rope_append_operands append{};
  const rope_ext* chain() { return chain_of(nullptr, append, norm); }
};
/// Copies of the nodes of a chain, without their links.
OperandNodes nodes_of(const rope_operands& o);

/// What a call of such a problem may be given, the workspace aside. The positions, and a weight,
/// may be left out (NULL).
std::vector<OperandLayout> operands_of(const rope_problem& p, const ProblemNodes& nodes);

/// The address of an operand.
struct Given {
  Operand role;
  std::uint32_t tensor;
  const void* at;
};
/// The structs of a call of a problem with these nodes. They are linked to `chained`, which must
/// live as long. Operands of the problem, and of a role or tensor that does not exist, are left
/// out.
rope_operands operands_at(std::span<const Given> given, const ProblemNodes& nodes,
                          OperandNodes& chained);
/// Sets what a problem points to.
void set_address(rope_problem& p, ProblemNodes& nodes, Operand role, const void* at);

}  // namespace ropewalk::harness
