// The factor table: a row for each factor. A new level is a name in factors.h, here its word and
// how it is set, and in requirements.h what it requires.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "properties/array/factors.h"

namespace ropewalk::properties {

class LevelDraw;

/// What is known of a factor: words, and how a case gets its levels. A new factor is a name in
/// Factor, a row here, and what it requires of others.
struct FactorRow {
  std::string_view name;
  std::vector<std::string_view> levels;
  /// Gives a case a level; the draw decides what it leaves open. NULL: the level is one of sizes,
  /// or depends on others (factor_case, case_layout).
  void (*set)(harness::Case&, int level, const LevelDraw&) = nullptr;
  /// The level of a kernel's simplest case. NULL: the first, or as base_levels says.
  int (*read)(const harness::Case&) = nullptr;
  /// What a kernel refuses that takes the first level alone. Empty: the other levels, one by one.
  std::string_view refused = {};
};
const std::array<FactorRow, factor_count>& factor_table();
inline int level_count(Factor f) {
  return static_cast<int>(factor_table()[index_of(f)].levels.size());
}

/// All levels of all factors.
LevelSets all_levels();
/// In words: "tokens: 1, heads: 2".
std::string words_of(const LevelTuple& tuple);

/// True if errors of other factors may not show with this level: most outputs are then not judged,
/// or do not depend on what went wrong.
bool hides_others(Factor f, int level);

}  // namespace ropewalk::properties
