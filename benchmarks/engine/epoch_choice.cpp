#include "benchmarks/engine/epoch_choice.h"

#include <algorithm>
#include <cmath>

namespace ropewalk::bench {
namespace {

constexpr double least_epoch_share = 0.05;  // of an epoch: the least time of the fastest contestant
constexpr double slow_factor = 20;          // times the fastest: a slower contestant counts as this
constexpr double far_slower = 8;            // times the baseline
constexpr double longest_epoch = 4;         // in epochs: a slower contestant gets fewer calls
constexpr double longest_own = 20;          // the same with clocks of their own
constexpr std::int64_t most_calls = 10'000'000;

constexpr std::size_t trial_pairs = 24;
// The variance of so many pairs is off by a third, so a better length must be better by more.
constexpr double clearly = 0.6;
constexpr double longer[] = {2, 4};  // times usual_epoch_s

/// The variance of the logarithms by the distance of their quartiles, and so without outliers.
double variance_of(std::vector<double> ratios) {
  std::ranges::sort(ratios);
  const double high = ratios[ratios.size() - 1 - ratios.size() / 4],
               low = ratios[ratios.size() / 4];
  const double deviation = std::log(high / low) / 1.349;
  return deviation * deviation;
}

}  // namespace

std::optional<double> epoch_of_least_cost(
    double call_s, const std::function<std::optional<TrialPair>(std::int64_t)>& time_pair) {
  if (2 * call_s > usual_epoch_s) return usual_epoch_s;
  const auto cost_of = [&](double epoch_s) -> std::optional<double> {
    const auto calls = static_cast<std::int64_t>(epoch_s / call_s) | 1;
    double took_s = 0;
    std::vector<double> ratios;
    while (ratios.size() < trial_pairs) {
      const auto pair = time_pair(calls);
      if (!pair) return {};
      ratios.push_back(pair->ratio);
      took_s += pair->took_s;
    }
    return variance_of(std::move(ratios)) * took_s;
  };
  double best_s = usual_epoch_s;
  auto least = cost_of(best_s);
  if (!least) return {};
  *least *= clearly;
  for (const double times : longer) {
    const auto cost = cost_of(times * usual_epoch_s);
    if (!cost) return {};
    if (*cost >= *least) continue;
    best_s = times * usual_epoch_s;
    least = cost;
  }
  return best_s;
}

void choose_calls(std::vector<Contestant>& contestants, double epoch_s) {
  if (const auto own = contestants.front().cell().own_calls()) {
    double fastest_s = contestants.front().call_s;
    for (const Contestant& e : contestants)
      if (!e.cell().row.is_floor()) fastest_s = std::min(fastest_s, e.call_s);
    const std::int64_t most = (own->most / own->step - 1) | 1;
    // In place an odd number of steps ends turned forward.
    const auto calls_for = [&](double call_s, double epochs) {
      const double steps = std::ceil(epochs * epoch_s / call_s / static_cast<double>(own->step));
      return std::min(static_cast<std::int64_t>(std::min(steps, 1e6)) | 1, most) * own->step;
    };
    for (Contestant& e : contestants)
      e.calls = e.cell().row.is_floor()
                    ? calls_for(e.call_s, 1)
                    : std::min(calls_for(fastest_s, 1), calls_for(e.call_s, longest_own));
    return;
  }
  const double base_s = contestants.front().call_s;
  double least_s = base_s, sum_s = 0;
  for (const Contestant& e : contestants) least_s = std::min(least_s, e.call_s);
  for (const Contestant& e : contestants) sum_s += std::min(e.call_s, slow_factor * least_s);
  const double shared = epoch_s * static_cast<double>(contestants.size()) / sum_s;
  const double least = epoch_s * least_epoch_share / least_s;
  const double calls = std::clamp(std::max(shared, least), 1.0, double(most_calls));
  for (Contestant& e : contestants) {
    const bool slow = e.call_s > far_slower * base_s && !e.cell().row.is_twin();
    const double most = std::max(longest_epoch * epoch_s / e.call_s, 1.0);
    e.calls = static_cast<std::int64_t>(slow ? std::min(calls, most) : calls) | 1;
  }
}

}  // namespace ropewalk::bench
