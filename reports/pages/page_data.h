// The data that a page carries. It is the whole results, compressed, and the round ratios of each
// contestant as JSON that a script in a browser can read.
#pragma once
#include <string>
#include <string_view>

#include "reports/numbers/summary.h"
#include "reports/record/record.h"

namespace ropewalk::report {

// How the template begins and ends these blocks. A test compares them with the template.
inline constexpr std::string_view results_begin =
    "<script type=\"application/octet-stream\" id=\"results\">";
inline constexpr std::string_view cells_begin = "<script type=\"application/json\" id=\"cells\">";
inline constexpr std::string_view block_end = "</script>";
inline constexpr std::string_view maker_begin = "<meta name=\"generator\" content=\"";

/// A list with one object for each contestant of each leaderboard, in the page's order. An object
/// holds what the page prints of the contestant, and for each launch the ratio of every round.
std::string cells_json(const Summary& summary);

}  // namespace ropewalk::report
