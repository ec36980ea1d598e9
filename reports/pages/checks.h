// The one author of what is said of a verdict: on a page, in Markdown, in JUnit and on a terminal.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "reports/document/document.h"
#include "reports/numbers/summary.h"

namespace ropewalk::report {

/// The cell of a row: "half_split f32 table".
std::string cell_of(const VerdictRow& row);

/// The cell, what a verdict on it rests on if that is not the host's own code, and an error that
/// the kernel declares beyond what its data type needs.
std::string cell_and_words(const VerdictRow& row, std::string_view between = ", ",
                           std::string_view end = "");

/// The verdict with all that is known of it.
Check check_of(const VerdictRow& row);

/// The failures, one check for each cause with the others of the cause in it. The ids by which the
/// map leads to them.
using CheckIds = std::map<const VerdictRow*, std::string>;
CheckIds check_ids(const Summary& summary);
std::vector<Block> failure_blocks(const Summary& summary, const CheckIds& ids);

/// The map of verdicts, a row for each kernel and a column for each group of claims, and below it
/// the claims of each group. Empty: nothing was judged.
std::vector<Block> verification_blocks(const Results& results, const Summary& summary,
                                       const CheckIds& ids);

}  // namespace ropewalk::report
