// Outputs that would be right in another place.
#pragma once
#include <string>
#include <vector>

#include "properties/explain/hypotheses.h"

namespace ropewalk::properties {

/// Adds the hypotheses that the rows of a table lie at another distance from each other.
void add_table_rows(const Scene& scene, std::vector<Hypothesis>& list);

/// Where the wrong outputs of a row would be right: "right at position 2 instead of 1"; empty: in
/// no place that is tried. `whole_pairs`: not in one element alone.
std::string right_elsewhere(const Scene& scene, bool whole_pairs);

}  // namespace ropewalk::properties
