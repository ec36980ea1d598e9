// A comparison as Markdown text.
#pragma once
#include <string>

#include "reports/numbers/compare.h"
#include "reports/numbers/compare_builds.h"

namespace ropewalk::report {

/// Fit for a pull request: the answer stands first, and the table is folded away.
std::string comparison_markdown(const Comparison& comparison, const std::string& name_a,
                                const std::string& name_b);

/// A sentence, and a line for each cell that begins with its answer: "regressed", "cannot tell",
/// "no worse than" or "not compared". Percentages are rounded away from what would please.
std::string builds_markdown(const BuildComparison& comparison, const std::string& name);

}  // namespace ropewalk::report
