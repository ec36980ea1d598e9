#include "benchmarks/engine/rounds.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/median.h"
#include "base/random.h"

namespace ropewalk::bench {
namespace {

template <class Item>
void shuffle(std::vector<Item>& items, std::uint64_t& random) {
  for (std::size_t i = items.size(); i > 1; --i)
    std::swap(items[i - 1], items[next_random(random) % i]);
}

}  // namespace

std::vector<std::vector<int>> williams_design(int count) {
  if (count < 1) return {};
  // The first row is 0, 1, n - 1, 2, n - 2, ... Its steps between neighbours all differ, so
  // shifting it by 0 .. n - 1 meets every ordered pair once. For odd n it meets each pair's
  // distance once, in one direction, and the mirrored rows meet the other direction.
  std::vector<int> first{0};
  for (int low = 1, high = count - 1; low <= high; ++low, --high) {
    first.push_back(low);
    if (low != high) first.push_back(high);
  }
  std::vector<std::vector<int>> rows;
  for (int shift = 0; shift < count; ++shift) {
    std::vector<int> row = first;
    for (int& contestant : row) contestant = (contestant + shift) % count;
    rows.push_back(row);
    if (count % 2 == 1 && count > 1) rows.emplace_back(row.rbegin(), row.rend());
  }
  return rows;
}

std::vector<std::vector<int>> round_orders(int count, std::int64_t rounds, std::uint64_t seed) {
  std::vector<std::vector<int>> orders;
  const std::vector<std::vector<int>> design = williams_design(count);
  if (design.empty()) return orders;
  std::vector<int> names(static_cast<std::size_t>(count));
  std::iota(names.begin(), names.end(), 0);
  while (static_cast<std::int64_t>(orders.size()) < rounds) {
    shuffle(names, seed);
    std::vector<std::vector<int>> rows = design;
    for (auto& row : rows)
      for (int& contestant : row) contestant = names[static_cast<std::size_t>(contestant)];
    shuffle(rows, seed);
    orders.insert(orders.end(), rows.begin(), rows.end());
  }
  return orders;
}

namespace {

constexpr double late_step = 1.5;

/// The median of the last half of the rounds.
double later_median(const std::vector<double>& rounds) {
  return median_of({rounds.begin() + std::ssize(rounds) / 2, rounds.end()});
}

/// The median of the first quarter of six rounds or more, as a multiple of the last half's.
double step_of(const std::vector<double>& rounds) {
  const auto first = std::max<std::ptrdiff_t>(std::ssize(rounds) / 4, 3);
  return median_of({rounds.begin(), rounds.begin() + first}) / later_median(rounds);
}

}  // namespace

void Contestant::forget_rounds() {
  report::TimingRow& row = cell().row;
  row.ns_per_token.clear();
  row.iterations.clear();
  row.probe_ns.clear();
  row.involuntary_switches = row.page_faults = 0;
  heap_calls = mapped_bytes = switches = called = 0;
  wall_s = cpu_s = 0;
}

bool note_late_ones(std::vector<Contestant>& contestants) {
  std::vector<double> steps;
  for (const Contestant& e : contestants) steps.push_back(step_of(e.cell().row.ns_per_token));
  const double usual = std::max(median_of(steps), 1.0);
  bool any = false;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    Contestant& e = contestants[i];
    report::TimingRow& row = e.cell().row;
    if (row.is_reference() || steps[i] < late_step * usual) continue;
    any = true;
    std::int64_t calls = 0;
    for (const Contestant::WarmUp& each : e.warm_ups) calls += each.calls;
    const double later = later_median(row.ns_per_token);
    for (std::size_t k = 0; k < row.iterations.size() && row.ns_per_token[k] > 1.25 * later; ++k)
      calls += row.iterations[k];
    row.slow_calls = calls;
    row.slow_times = steps[i];
    e.call_s = later * static_cast<double>(row.tokens * std::ssize(e.cells)) * 1e-9;
  }
  return any;
}

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
