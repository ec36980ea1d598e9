// Makes a case of levels.
#pragma once
#include <functional>
#include <optional>

#include "harness/cases/case.h"
#include "properties/array/factors.h"

namespace ropewalk::properties {

/// The sizes and types that a kernel accepted, by level. An empty list means any of the level's.
struct Sizes {
  /// of tokens, batch and heads
  std::vector<std::int64_t> tokens[8], batch[8], heads[8];
  /// by the levels of rotary_dim, room and window
  std::vector<HeadWindow> windows[8][4][4];
  /// heads of Q and of K, by the level of Q's heads
  std::vector<std::pair<std::int64_t, std::int64_t>> groups[8];
  /// of tensors beside one of the base's type, and of tables beside the usual one
  std::vector<Dtype> types, table_types;
  std::vector<std::uint8_t> axis_of_pair;  ///< of a model, for cases with axes; empty: any
  /// K of a base in which it has another shape than Q; empty: K has the head of Q.
  std::optional<harness::TensorCase> second;
  /// The tensors of a base of three or four. Cases with its level of tensors have such tensors.
  std::vector<harness::TensorCase> set;
  bool any_width = false;  ///< tensors of one case may have other widths than the first
  bool any_bytes = false;  ///< true: the base lies outside of the levels, and bytes are not fitted
  std::int64_t most_elements = 0;  ///< of the first tensor, beside its bytes; 0: any number
};

inline bool have_one_shape(const harness::TensorCase& a, const harness::TensorCase& b) {
  return a.heads == b.heads && a.head_dim == b.head_dim && a.rotary_offset == b.rotary_offset;
}

/// Makes a case that something narrower than a kernel can take. NULL: nothing is to be changed.
using ShapeCase = std::function<void(harness::Case&)>;

/// A valid case of these levels, of the base's kernel, contract, pairing and data type. `seed`
/// draws what the levels leave open. `shape` is called before frequencies and memory are chosen.
/// Empty if the sizes allow no such case.
std::optional<harness::Case> case_of(const Levels& levels, const harness::Case& base,
                                     const Sizes& sizes, std::uint64_t seed,
                                     const ShapeCase& shape = nullptr);

}  // namespace ropewalk::properties
