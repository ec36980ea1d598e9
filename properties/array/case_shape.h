// The sizes of a case: tokens, batch, heads and the head of the first tensor. And its memory:
// strides of tensors, tables and positions.
#pragma once
#include <optional>

#include "properties/array/factor_case.h"
#include "properties/array/level_draw.h"

namespace ropewalk::properties {

/// One of the three counts.
struct ShapeCount {
  std::int64_t value;
  SizeRange range;
  const std::vector<std::int64_t>* accepted;  ///< empty: any of the range

  /// Takes the accepted count next to `wanted`; if it can, at most that.
  void set_near(std::int64_t wanted, bool at_most = false);
};

struct CaseShape {
  ShapeCount tokens, batch, heads;
  HeadWindow window;
  std::int64_t bytes(Dtype dtype) const {
    return tokens.value * batch.value * heads.value * window.head_dim * data_type(dtype).bytes;
  }
};

/// True if the case needs a table with a row for each position up to 131,072. Such a table is kept
/// narrow.
bool has_long_table(const Levels& levels, std::int32_t contract);

/// A shape of these levels, or nothing if the sizes allow none.
std::optional<CaseShape> shape_of(const Levels& levels, Dtype dtype, std::int32_t contract,
                                  const Sizes& sizes, const LevelDraw& draw);

/// Lays out a case of these levels, whose sizes are chosen.
void lay_out(harness::Case& c, const Levels& levels, const LevelDraw& draw);

}  // namespace ropewalk::properties
