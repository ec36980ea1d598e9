// The factor table: a row for each factor, and what levels require of each other. A new level is a
// name in factors.h, and here its word, how it is set, and what it requires.
#pragma once
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

/// What two or more levels require of each other. `holds` reads the named factors alone.
struct Requirement {
  std::vector<Factor> factors;
  bool (*holds)(const Levels&, Dtype, std::int32_t contract);
};
/// True if errors of other factors may not show with this level: most outputs are then not judged,
/// or do not depend on what went wrong.
bool hides_others(Factor f, int level);

/// All requirements, beside those that a kernel's refusals add.
const std::vector<Requirement>& requirements();

}  // namespace ropewalk::properties
