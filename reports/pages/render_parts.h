// The renderers with the summary worked out already: write_report has one for all of them, which
// for results with millions of rounds is most of the time.
#pragma once
#include <string>

#include "reports/numbers/summary.h"
#include "reports/record/record.h"

namespace ropewalk::report {

std::string markdown_of(const Results& results, const Summary& summary, const std::string& history);
std::string html_of(const Results& results, const Summary& summary, const std::string& gnuplot,
                    const std::string& history);
std::string csv_of(const Results& results, const Summary& summary);
std::string junit_of(const Results& results, const Summary& summary);

}  // namespace ropewalk::report
