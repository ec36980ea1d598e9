// How long the epochs of a group are, and how many calls each contestant makes in one.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "benchmarks/engine/epochs.h"

namespace ropewalk::bench {

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
