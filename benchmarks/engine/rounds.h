// The order in which contestants are timed, round by round.
//
// What ran just before changes what is timed now: caches, pages, and the clock rate after 512-bit
// code. A Williams design balances that (E. J. Williams, Australian Journal of Scientific Research
// 2, 1949). In it each contestant stands in each place, and each ordered pair of contestants is
// adjacent, equally often. An even number of contestants needs one square, an odd number needs two.
#pragma once
#include <cstdint>
#include <vector>

namespace ropewalk::bench {

/// The rows of the design for contestants 0 .. count - 1. There are count rows, or 2 count for an
/// odd count above 1. Empty for count < 1.
std::vector<std::vector<int>> williams_design(int count);

/// Orders of at least `rounds` rounds. They are whole designs, each with its contestants and rows
/// shuffled by the seed. Empty for count < 1 or rounds < 1.
std::vector<std::vector<int>> round_orders(int count, std::int64_t rounds, std::uint64_t seed);

/// The median of the last half of the rounds.
double later_median(const std::vector<double>& rounds);
/// The median of the first quarter of six rounds or more, as a multiple of the last half's.
double step_of(const std::vector<double>& rounds);

}  // namespace ropewalk::bench
