// A comparison as Markdown text.
#pragma once
#include <string>

#include "reports/numbers/compare.h"

namespace ropewalk::report {

/// Fit for a pull request: the answer stands first, and the table is folded away.
std::string comparison_markdown(const Comparison& comparison, const std::string& name_a,
                                const std::string& name_b);

}  // namespace ropewalk::report
