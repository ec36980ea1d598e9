#include "benchmarks/engine/rounds.h"

#include <algorithm>
#include <numeric>

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

double median(std::vector<double> of) {
  std::nth_element(of.begin(), of.begin() + std::ssize(of) / 2, of.end());
  return of[of.size() / 2];
}

/// The median of the last half of the rounds.
double later_median(const std::vector<double>& rounds) {
  return median({rounds.begin() + std::ssize(rounds) / 2, rounds.end()});
}

/// The median of the first quarter of six rounds or more, as a multiple of the last half's.
double step_of(const std::vector<double>& rounds) {
  const auto first = std::max<std::ptrdiff_t>(std::ssize(rounds) / 4, 3);
  return median({rounds.begin(), rounds.begin() + first}) / later_median(rounds);
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
  const double usual = std::max(median(steps), 1.0);
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

}  // namespace ropewalk::bench
