// Outputs that would be right in another place.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "properties/explain/hypotheses.h"

namespace ropewalk::properties {

/// Adds the hypotheses that the rows of a table lie at another distance from each other.
void add_table_rows(const Scene& scene, std::vector<Hypothesis>& list);

/// Where the wrong outputs of the first wrong row would be right.
struct Elsewhere {
  std::string text;  ///< "right at position 2 instead of 1"; empty: in no place that is tried
  std::optional<std::int64_t> row = {};  ///< of a table by position, if it has that one
  std::int64_t position = 0;             ///< of the wrong row
};
/// `whole_pairs`: not in one element alone.
Elsewhere right_elsewhere(const Scene& scene, bool whole_pairs);

}  // namespace ropewalk::properties
