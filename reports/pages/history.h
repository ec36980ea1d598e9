// Collects runs of one machine class in one file, and shows how speeds changed from run to run.
#pragma once
#include <string>
#include <vector>

#include "reports/figures/figure.h"
#include "reports/record/record.h"

namespace ropewalk::report {

/// Adds this run to the end of `history`, which is the text of such a file or empty. A run becomes
/// its run row, a timing row for each launch and an end row. A timing row holds the median in place
/// of the rounds. A run with a sha256 that is there already is not added again. Throws BadFile for
/// a run of another machine class, and for one that was cut off or is INVALID. Also throws BadFile
/// for text that is no history. `name` stands for the file in messages.
std::string history_with(const std::string& history, const Results& results,
                         const std::string& name);

/// One figure for each board: every kernel over the runs, in units of each run's ceiling if it has
/// one. Returns none for fewer than two runs.
std::vector<Figure> trend_figures(const std::string& history);

}  // namespace ropewalk::report
