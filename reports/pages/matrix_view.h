// The verdicts as data for the templates.
#pragma once
#include "reports/numbers/summary.h"
#include "reports/pages/view.h"

namespace ropewalk::report {

/// The verification matrix, with one group a kernel, and the failures to which its cells lead.
View matrix_view(const Summary& summary);
View failures_view(const Summary& summary);

/// What a report says about a failure: names and texts, none of them empty.
std::vector<std::pair<std::string_view, std::string>> failure_facts(const VerdictRow& row);

/// What the cases of the covering array met: one item for each kernel and each text that some of
/// its pairings and types share.
View coverage_view(const Results& results);

}  // namespace ropewalk::report
