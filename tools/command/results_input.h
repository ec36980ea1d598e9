// Reads results as a user gives them: a results.jsonl, or a report.html, which carries its results.
#pragma once
#include <string>

#include "reports/record/record.h"

namespace ropewalk::tools {

/// Throws BadFile with one line that names the file, also for a file above 1 GiB.
std::string whole_file(const std::string& file);
report::Results read_results_or_page(const std::string& file);

}  // namespace ropewalk::tools
