// The renderers with the summary as an argument. write_report computes the summary once for all of
// them. For results with millions of rounds, the summary takes most of the time.
#pragma once
#include <string>

#include "reports/numbers/summary.h"
#include "reports/record/record.h"

namespace ropewalk::report {

std::string markdown_of(const Results& results, const Summary& summary);
std::string html_of(const Results& results, const Summary& summary, const std::string& gnuplot);
std::string csv_of(const Results& results, const Summary& summary);
std::string junit_of(const Results& results, const Summary& summary);

}  // namespace ropewalk::report
