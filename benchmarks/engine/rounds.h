// The order in which contestants are timed, round by round.
//
// What ran just before changes what is timed now: caches, pages, and the clock rate after 512-bit
// code. A Williams design balances that (E. J. Williams, Australian Journal of Scientific Research
// 2, 1949). In it each contestant stands in each place, and each ordered pair of contestants is
// adjacent, equally often. An even number of contestants needs one square, an odd number needs two.
#pragma once
#include <cstdint>
#include <vector>

#include "benchmarks/engine/epochs.h"

namespace ropewalk::bench {

/// The rows of the design for contestants 0 .. count - 1. There are count rows, or 2 count for an
/// odd count above 1. Empty for count < 1.
std::vector<std::vector<int>> williams_design(int count);

/// Orders of at least `rounds` rounds. They are whole designs, each with its contestants and rows
/// shuffled by the seed. Empty for count < 1 or rounds < 1.
std::vector<std::vector<int>> round_orders(int count, std::int64_t rounds, std::uint64_t seed);

/// Finds contestants whose first rounds took longer than the later ones, while the others' did not,
/// and notes that in their rows and in call_s (METHODOLOGY.md, "Settled"). Returns whether there
/// are any: then the rounds tell two things.
bool note_late_ones(std::vector<Contestant>& contestants);

}  // namespace ropewalk::bench
