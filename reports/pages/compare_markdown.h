// A comparison as text.
#pragma once
#include <string>

#include "reports/numbers/compare.h"

namespace ropewalk::report {

/// Fit for a pull request: the answer first, the table folded away.
std::string comparison_markdown(const Comparison& comparison, const std::string& name_a,
                                const std::string& name_b);

}  // namespace ropewalk::report
