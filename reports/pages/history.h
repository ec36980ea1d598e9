// Runs of one machine class, one after the other in one file, and how speeds went over them.
#pragma once
#include <string>
#include <vector>

#include "reports/figures/figure.h"
#include "reports/record/record.h"

namespace ropewalk::report {

/// `history` (the text of such a file, or nothing) with this run at its end: its run row, a timing
/// row for each launch with the median in place of the rounds, an end row. A run that is there
/// already, by the sha256 of its results, is not added again. Throws BadFile for a run of
/// another machine class, and for text that is no history; `name` stands for the file.
std::string history_with(const std::string& history, const Results& results,
                         const std::string& name);

/// One for each board: every kernel over the runs, in units of each run's ceiling where it has one.
/// None for less than two runs.
std::vector<Figure> trend_figures(const std::string& history);

}  // namespace ropewalk::report
