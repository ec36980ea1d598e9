// Leaderboards decide which rows have a speed, and in which order they stand.
#pragma once
#include <vector>

#include "reports/numbers/claims.h"
#include "reports/numbers/summary.h"
#include "reports/record/record.h"

namespace ropewalk::report {

/// The rows with the verdicts applied. A kernel has a speed only if every verdict on it holds and
/// at least one is a PASS. Only verdicts for the board's pairing and dtype count.
std::vector<TimingRow> gated_timings(const Results& results);

/// The leaderboards of these rows. They point into both arguments.
std::vector<Board> make_boards(const std::vector<TimingRow>& timings, const Claims& claims);

}  // namespace ropewalk::report
