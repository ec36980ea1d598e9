// Leaderboards: which rows have a speed, and in which order.
#pragma once
#include <vector>

#include "reports/numbers/claims.h"
#include "reports/numbers/summary.h"
#include "reports/record/record.h"

namespace ropewalk::report {

/// The rows as far as their verdicts let them: a kernel has a speed only if every verdict on it,
/// for the board's pairing and dtype, holds and one of them is a PASS.
std::vector<TimingRow> gated_timings(const Results& results);

/// The leaderboards of these rows; entries point into both.
std::vector<Board> make_boards(const std::vector<TimingRow>& timings, const Claims& claims);

}  // namespace ropewalk::report
