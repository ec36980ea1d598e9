#include "reports/numbers/paired_rounds.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace ropewalk::report {
namespace {

/// A round in which both were timed: log(time of a / time of b), and whether the processor was slow
/// in neither.
struct RoundRatio {
  double log;
  bool is_quiet;
};

std::vector<RoundRatio> round_ratios(const TimingRow& a, const TimingRow& b, double slow_ns) {
  std::vector<RoundRatio> out;
  const auto is_quiet = [&](const TimingRow& row, std::size_t i) {
    return i >= row.probe_ns.size() || static_cast<double>(row.probe_ns[i]) <= slow_ns;
  };
  const std::size_t rounds = std::min(a.ns_per_token.size(), b.ns_per_token.size());
  for (std::size_t i = 0; i < rounds; ++i)
    if (is_time(a.ns_per_token[i]) && is_time(b.ns_per_token[i]))
      out.push_back({std::log(a.ns_per_token[i]) - std::log(b.ns_per_token[i]),
                     is_quiet(a, i) && is_quiet(b, i)});
  return out;
}

const TimingRow* row_of_launch(const Claim& claim, std::int64_t launch) {
  for (const TimingRow* row : claim.rows)
    if (row->launch == launch) return row;
  return nullptr;
}

}  // namespace

PairedRounds::PairedRounds(const Claim& a, const Claim& b) {
  constexpr std::ptrdiff_t enough = 20;
  LaunchLogs quiet;
  for (const TimingRow* row : a.rows) {
    const TimingRow* other = row_of_launch(b, row->launch);
    if (other == nullptr) continue;
    std::vector<double> all, some;
    for (const RoundRatio& round : round_ratios(*row, *other, a.slow_ns)) {
      all.push_back(round.log);
      if (round.is_quiet) some.push_back(round.log);
    }
    if (all.empty()) continue;
    others.insert(others.end(), some.begin(), some.end());
    if (some.size() == all.size() || std::ssize(some) >= enough) quiet.push_back(std::move(some));
    logs.push_back(std::move(all));
  }
  is_mixed = std::ssize(quiet) < least_launches || 2 * quiet.size() < logs.size();
  if (is_mixed) return;
  look = share_of_look(std::ssize(logs)) / share_of_look(std::ssize(quiet));
  logs = std::move(quiet);
}

Interval PairedRounds::interval(double error) const {
  constexpr std::int64_t tell_a_median = 30;
  Interval out = ratio_interval(logs, look * error);
  if (!is_mixed || out.rounds == 0) return out;
  if (std::ssize(others) < std::min(tell_a_median, (out.rounds + 1) / 2)) {
    out.low = 0;
    out.high = std::numeric_limits<double>::infinity();
    return out;
  }
  const double median = std::exp(median_of(others));
  out.low = std::min(out.low, median);
  out.high = std::max(out.high, median);
  return out;
}

}  // namespace ropewalk::report
