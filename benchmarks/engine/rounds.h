// The order in which contestants are timed, round by round, how long the epochs of a group are, and
// how many calls each contestant makes in one.
//
// What ran just before changes what is timed now: caches, pages, and the clock rate after 512-bit
// code. A Williams design balances that (E. J. Williams, Australian Journal of Scientific Research
// 2, 1949). In it each contestant stands in each place, and each ordered pair of contestants is
// adjacent, equally often. An even number of contestants needs one square, an odd number needs two.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
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

inline constexpr double usual_epoch_s = 250e-6;

/// The times of two contestants in one epoch each, as a ratio, and what the pair took, in s.
struct TrialPair {
  double ratio = 1, took_s = 0;
};

/// Times pairs of epochs of several lengths, and returns the length, in s, that tells the ratio of
/// two contestants best in a given time: that with the least product of the ratio's variance and
/// the time of a pair. usual_epoch_s stays unless another is better by far, or if one call takes as
/// long. `time_pair` times one pair of so many calls each; no answer: a contestant refused.
std::optional<double> epoch_of_least_cost(
    double call_s, const std::function<std::optional<TrialPair>(std::int64_t)>& time_pair);

/// Chooses one number of calls for all contestants. A round takes about as many epochs as there are
/// contestants. The fastest contestant still runs for a share of an epoch, so that the clock
/// resolves it. The number is odd, so that an alternating kernel ends turned forward; some rounds
/// make one call more, so that others end turned back. A contestant gets fewer calls if it is far
/// slower than the baseline, which comes first, and would take several epochs. With clocks of their
/// own, the fastest runs for a whole epoch. Floors have their own number.
void choose_calls(std::vector<Contestant>& contestants, double epoch_s);

}  // namespace ropewalk::bench
