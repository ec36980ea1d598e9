#include "reports/numbers/claims.h"

#include <algorithm>
#include <utility>

namespace ropewalk::report {
namespace {

/// A round in which both were timed: log(time of a / time of b), and whether the processor was slow
/// in neither.
struct RoundRatio {
  double log;
  bool is_quiet;
};

std::vector<RoundRatio> round_ratios(const TimingRow& a, const TimingRow& b, double slow_a_ns,
                                     double slow_b_ns) {
  std::vector<RoundRatio> out;
  const auto is_quiet = [](const TimingRow& row, std::size_t i, double slow_ns) {
    return i >= row.probe_ns.size() || static_cast<double>(row.probe_ns[i]) <= slow_ns;
  };
  const std::size_t rounds = std::min(a.ns_per_token.size(), b.ns_per_token.size());
  for (std::size_t i = 0; i < rounds; ++i)
    if (is_time(a.ns_per_token[i]) && is_time(b.ns_per_token[i]))
      out.push_back({std::log(a.ns_per_token[i]) - std::log(b.ns_per_token[i]),
                     is_quiet(a, i, slow_a_ns) && is_quiet(b, i, slow_b_ns)});
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
    for (const RoundRatio& round : round_ratios(*row, *other, a.slow_ns, b.slow_ns)) {
      all.push_back(round.log);
      if (round.is_quiet) some.push_back(round.log);
    }
    if (all.empty()) continue;
    undisturbed.insert(undisturbed.end(), some.begin(), some.end());
    if (some.size() == all.size() || std::ssize(some) >= enough) quiet.push_back(std::move(some));
    logs.push_back(std::move(all));
  }
  is_mixed = quiet.size() < logs.size() &&
             (std::ssize(quiet) < least_launches || 2 * quiet.size() < logs.size());
  if (is_mixed) return;
  look = share_of_look(std::ssize(logs)) / share_of_look(std::ssize(quiet));
  logs = std::move(quiet);
}

Interval PairedRounds::interval(double error) const {
  return widened(ratio_interval(logs, look * error), error * share_of_look(std::ssize(logs)));
}

Interval PairedRounds::widened(Interval interval, double error) const {
  if (!is_mixed || interval.rounds == 0) return interval;
  const Interval of_them = sign_interval(undisturbed, error);
  interval.low = std::min(interval.low, of_them.low);
  interval.high = std::max(interval.high, of_them.high);
  return interval;
}

}  // namespace ropewalk::report
