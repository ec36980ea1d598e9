// From rows to reports. Each function is pure: the same results give the same bytes.
#pragma once
#include <string>

#include "reports/record/record.h"

namespace ropewalk::report {

/// `history`: the text of a file of runs (reports/pages/history.h); adds a section on how speeds
/// went.
std::string render_markdown(const Results& results, const std::string& history = {});

/// One page that asks for nothing over the network and is the same without its own script but for
/// sorting and filtering. It carries the results along (reports/check/check.h). Charts are drawn by
/// `gnuplot` (empty: the one found when this was built); without it the page says so in their
/// place.
std::string render_html(const Results& results, const std::string& gnuplot = {},
                        const std::string& history = {});

/// One table with a header line: a line for each verdict and timing row, told apart by column
/// `row`. A cell that does not apply is empty. Text that a spreadsheet would run gets an
/// apostrophe.
std::string render_csv(const Results& results);

/// Each kernel a suite, each verdict a case. FAIL, CRASH, HANG, VACUOUS and a kernel that broke
/// while timed are failures; UNSUPPORTED and SKIPPED are skipped. A run that was cut off fails as
/// well.
std::string render_junit(const Results& results);

}  // namespace ropewalk::report
