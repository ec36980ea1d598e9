#include "reports/numbers/claims.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "reports/numbers/places.h"

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

// Independent work that takes so many times as long as at best is that of a slower processor. Two
// threads of a core cost each other 1.25 times and more.
constexpr double slow_from = 1.12;

/// The larger distance from 1 of the interval's two ends.
double reach(const Interval& interval) {
  if (interval.rounds == 0 || interval.low <= 0) return infinity;
  return std::max(interval.high - 1, 1 - interval.low);
}

Outcome outcome_of(const Interval& interval, double margin, double asked) {
  if (is_clear_of(interval, margin)) return interval.high < 1 ? Outcome::faster : Outcome::slower;
  return reach(interval) <= asked ? Outcome::same : Outcome::unresolved;
}

/// An interval narrows with the square root of the time. The claim is settled once the interval
/// has left one of the margin's two sides.
void take_needs(Claim& claim, double margin, double asked) {
  constexpr double far_too_long = 10;
  const Interval& interval = claim.interval;
  if (!std::isfinite(interval.high) || !std::isfinite(margin)) return;
  const double off = std::abs(interval.ratio - 1);
  const double room = std::max(off - margin, asked - off);
  const double half = std::max(interval.high - interval.ratio, interval.ratio - interval.low);
  const double times = room > 0 ? half / room * (half / room) : infinity;
  claim.is_at_margin = half <= margin && times > far_too_long;
  if (!claim.is_at_margin && std::isfinite(times)) claim.times_needed = std::max(times, 1.0);
}

/// The ratio of upper to lower quartile of a row's rounds, less 1.
double quartile_spread(std::vector<double> ns) {
  std::erase_if(ns, [](double value) { return !is_time(value); });
  if (ns.size() < 4) return 0;
  std::ranges::sort(ns);
  return ns[ns.size() - 1 - ns.size() / 4] / ns[ns.size() / 4] - 1;
}

void take_speed(Claim& claim) {
  std::vector<double> medians, spreads;
  for (const TimingRow* row : claim.rows) {
    if (is_time(row->ns_per_token_median)) medians.push_back(row->ns_per_token_median);
    spreads.push_back(quartile_spread(row->ns_per_token));
  }
  claim.has_speed = !medians.empty();
  if (!claim.has_speed) return;
  claim.ns_per_token = median_of(medians);
  const auto [least, most] = std::ranges::minmax_element(medians);
  claim.launch_spread = *most / *least - 1;
  claim.round_spread = median_of(spreads);
}

/// Takes over what the rows of a contestant say before anything is compared.
void take_rows(Claim& claim) {
  std::ranges::stable_sort(
      claim.rows, [](const TimingRow* a, const TimingRow* b) { return a->launch < b->launch; });
  claim.outcome = Outcome::measured;
  for (const Outcome worse : {Outcome::skipped, Outcome::implausible, Outcome::broken})
    for (const TimingRow* row : claim.rows)
      if (row->outcome == worse) {
        claim.outcome = worse;
        claim.reason = row->reason;
        claim.known = row->known;
      }
  if (claim.outcome == Outcome::measured) take_speed(claim);
}

void without_speed(Claim& claim, Outcome outcome, std::string reason) {
  claim.outcome = outcome;
  claim.reason = std::move(reason);
  claim.known.clear();
  claim.has_speed = false;
  claim.ns_per_token = claim.launch_spread = claim.round_spread = claim.ceiling_share = 0;
  claim.launch_ratios.clear();
  claim.interval = claim.of_ceiling = claim.of_unfused = Interval{};
}

const Claim* with_role(const ClaimGroup& group, Role role) {
  for (const Claim& claim : group.claims)
    if (claim.role == role) return &claim;
  return nullptr;
}

/// The fastest ceiling of the group; NULL if it has none.
const Claim* ceiling_of(const ClaimGroup& group) {
  const Claim* best = nullptr;
  for (const Claim& claim : group.claims)
    if (claim.role == Role::ceiling && claim.has_speed &&
        (best == nullptr || claim.ns_per_token < best->ns_per_token))
      best = &claim;
  return best;
}

void hold_to_ceiling(Claim& claim, const Claim& ceiling, double error) {
  const PairedRounds rounds(ceiling, claim);
  claim.of_ceiling = rounds.widened(pooled_interval(rounds.logs, error), error);
  if (claim.of_ceiling.rounds > 0) claim.ceiling_share = ceiling.ns_per_token / claim.ns_per_token;
  if (claim.of_ceiling.rounds > 0 && claim.of_ceiling.low > 1 + roof_allowance)
    without_speed(claim, Outcome::implausible, "faster than memory allows: it beats the ceiling");
}

/// Boards of a workload that move the same bytes have one ceiling: the median of all its launches.
void pool_ceilings(const std::vector<TimingRow>& rows, std::vector<ClaimGroup>& groups) {
  const auto work = [](const TimingRow& row) {
    return std::tie(row.workload, row.threads, row.device, row.kernel, row.bytes);
  };
  for (ClaimGroup& group : groups)
    for (Claim& claim : group.claims) {
      if (claim.role != Role::ceiling || !claim.has_speed) continue;
      std::vector<double> medians;
      for (const TimingRow& row : rows)
        if (row.outcome == Outcome::measured && is_time(row.ns_per_token_median) &&
            work(row) == work(*claim.rows.front()))
          medians.push_back(row.ns_per_token_median);
      claim.ns_per_token = median_of(medians);
    }
}

/// Also true of an IMPLAUSIBLE contestant, which was compared before its speed was removed. So the
/// error stays divided by the same number of comparisons.
bool was_timed(const Claim& claim) {
  return claim.has_speed || claim.outcome == Outcome::implausible;
}

bool is_compared(const Claim& claim) {
  return claim.has_speed && (claim.role == Role::kernel || claim.role == Role::null_twin);
}

bool is_fused_form(const Claim& claim, const Claim& unfused) {
  return unfused.role != Role::null_twin &&
         unfused.kernel == claim.kernel + std::string(unfused_suffix);
}

void compare(ClaimGroup& group, double twin_error) {
  for (const Claim& claim : group.claims)
    if (claim.role == Role::kernel && was_timed(claim)) ++group.comparisons;
  const double error =
      claim_error / static_cast<double>(std::max<std::int64_t>(group.comparisons, 1));
  if (const Claim* ceiling = ceiling_of(group))
    for (Claim& claim : group.claims)
      if (claim.has_speed && !is_reference(claim.role)) hold_to_ceiling(claim, *ceiling, error);
  for (Claim& claim : group.claims)
    for (const Claim& other : group.claims)
      if (claim.has_speed && other.has_speed && is_fused_form(claim, other))
        claim.of_unfused = PairedRounds(claim, other).interval(error);
  const Claim* baseline = with_role(group, Role::baseline);
  if (baseline == nullptr || !baseline->has_speed) return;
  group.baseline = baseline->kernel;
  const Claim* twin = with_role(group, Role::null_twin);
  if (twin == nullptr || !twin->has_speed) group.margin = group.noise_floor = infinity;
  for (Claim& claim : group.claims) {
    if (!is_compared(claim)) continue;
    const PairedRounds rounds(claim, *baseline);
    claim.interval = rounds.interval(error);
    group.block = std::max(group.block, claim.interval.block);
    for (const auto& launch : rounds.logs)
      claim.launch_ratios.push_back(std::exp(median_of(launch)));
    if (claim.role != Role::null_twin) continue;
    group.noise_floor = reach(claim.interval);
    group.margin = std::max(group.margin, std::abs(claim.interval.ratio - 1));
    group.valid = !is_clear_of(rounds.interval(twin_error), group.asked_margin);
  }
  for (Claim& claim : group.claims) {
    if (!is_compared(claim)) continue;
    // The margin is made from the twin, so the twin itself is held to what was asked.
    const double margin = claim.role == Role::null_twin ? group.asked_margin : group.margin;
    claim.outcome = outcome_of(claim.interval, margin, group.asked_margin);
    if (claim.outcome == Outcome::unresolved) take_needs(claim, margin, group.asked_margin);
  }
}

std::vector<ClaimGroup> groups_of(const std::vector<TimingRow>& rows, double margin) {
  std::vector<ClaimGroup> groups;
  using Key = std::tuple<std::string, std::string, std::int64_t>;
  Places<Key> group_at;
  std::map<Key, Places<std::pair<std::string, Role>>> claim_at;
  for (const TimingRow& row : rows) {
    const Key key{row.workload, row.board, row.threads};
    ClaimGroup& group = group_at.of(key, groups);
    std::tie(group.workload, group.board, group.threads) = key;
    group.asked_margin = group.margin = margin;
    // A kernel may be the baseline in one launch and ordinary in another. It is one contestant.
    const bool ordinary = row.role == Role::kernel || row.role == Role::baseline;
    Claim& to = claim_at[key].of({row.kernel, ordinary ? Role::kernel : row.role}, group.claims);
    to.kernel = row.kernel;
    to.role = row.role;
    to.rows.push_back(&row);
  }
  return groups;
}

/// Beside work of others the processor does independent work more slowly. What is best is told by
/// all rounds of a contestant, as a whole launch may lie beside a neighbour, and as what it leaves
/// behind itself, such as a lower clock, is in each of them.
void find_slow_rounds(ClaimGroup& group) {
  double slow = 0, rounds = 0;
  for (Claim& claim : group.claims) {
    for (const TimingRow* row : claim.rows) {
      std::vector<std::int64_t> ns = row->probe_ns;
      if (ns.empty()) continue;
      const auto at = ns.begin() + std::ssize(ns) / 50;
      std::nth_element(ns.begin(), at, ns.end());
      claim.slow_ns = std::min(claim.slow_ns, slow_from * static_cast<double>(*at));
      rounds += static_cast<double>(ns.size());
    }
    for (const TimingRow* row : claim.rows)
      slow += static_cast<double>(std::ranges::count_if(
          row->probe_ns, [&](std::int64_t ns) { return static_cast<double>(ns) > claim.slow_ns; }));
  }
  if (rounds > 0) group.slow_share = slow / rounds;
}

/// What disturbed a contestant's rounds.
std::string disturbances(const Claim& claim, const ClaimGroup& group) {
  double steal_ms = 0, off_cpu = 0;
  for (const TimingRow* row : claim.rows) {
    steal_ms += row->steal_ms;
    off_cpu = std::max(off_cpu, row->off_cpu_share);
  }
  std::string text;
  if (steal_ms > 0) text += fmt::format(", {:.0f} ms stolen by other machines", steal_ms);
  if (group.slow_share >= 0.1)
    text += fmt::format(", {:.0f} % of the rounds on a slower processor", 100 * group.slow_share);
  if (off_cpu >= 0.01)
    text += fmt::format(", {:.0f} % of the time off the processor", 100 * off_cpu);
  return text;
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

double error_of_pairs(std::int64_t kernels) {
  return claim_error / static_cast<double>(std::max<std::int64_t>(kernels * (kernels - 1) / 2, 1));
}

Interval paired_interval(const Claim& a, const Claim& b, double error) {
  return PairedRounds(a, b).interval(error);
}

// Two ratios more may be open: the fastest kernel's to the others tell which to use, and those of
// two builds are what their run is for.
bool is_open(const ClaimGroup& group) {
  const auto is_settled = [](const Claim& claim) {
    return claim.outcome != Outcome::unresolved || claim.is_at_margin;
  };
  std::vector<const Claim*> timed;
  for (const Claim& claim : group.claims) {
    if (claim.role == Role::kernel && !is_settled(claim)) return true;
    if (claim.has_speed && (claim.role == Role::kernel || claim.role == Role::baseline))
      timed.push_back(&claim);
  }
  if (timed.size() < 3) return false;  // the claims have told it
  const Claim& fastest = **std::ranges::min_element(
      timed, [](auto* a, auto* b) { return a->ns_per_token < b->ns_per_token; });
  const auto is_pair = [&](const Claim& a, const Claim& b) {
    return &a == &fastest || is_fused_form(a, b) ||
           (a.kernel.starts_with(head_prefix) && b.kernel.starts_with(base_prefix) &&
            a.kernel.substr(head_prefix.size()) == b.kernel.substr(base_prefix.size()));
  };
  for (const Claim* a : timed)
    for (const Claim* b : timed) {
      if (a == b || !is_pair(*a, *b)) continue;
      Claim pair;
      pair.interval = paired_interval(*a, *b, error_of_pairs(std::ssize(timed)));
      pair.outcome = outcome_of(pair.interval, group.margin, group.asked_margin);
      if (pair.outcome == Outcome::unresolved) take_needs(pair, group.margin, group.asked_margin);
      if (!is_settled(pair)) return true;
    }
  return false;
}

double timed_s(const ClaimGroup& group) {
  double ns = 0;
  for (const Claim& claim : group.claims)
    for (const TimingRow* row : claim.rows)
      for (std::size_t i = 0; i < std::min(row->ns_per_token.size(), row->iterations.size()); ++i)
        ns += row->ns_per_token[i] * static_cast<double>(row->iterations[i]) *
              static_cast<double>(row->tokens) * static_cast<double>(row->threads);
  return ns * 1e-9;
}

std::string time_text(double s) {
  if (s < 0.001) return "less than 1 ms";
  if (s < 9.5) return fmt::format("about {:.1g} s", s);
  if (s < 99.5) return fmt::format("about {:.0f} s", s);
  if (s < 5970) return fmt::format("about {:.0f} min", s / 60);
  return s < 90'000 ? fmt::format("about {:.0f} h", s / 3600) : "more than a day";
}

std::string threads_text(std::int64_t threads) {
  return threads > 1 ? fmt::format(", {} threads", threads) : "";
}

std::string range_text(const Interval& interval, const char* otherwise) {
  if (!std::isfinite(interval.high)) return otherwise;
  return fmt::format("{} – {}", ratio_text(interval.low), ratio_text(interval.high));
}

std::string unfused_text(const Claim& claim) {
  if (claim.of_unfused.rounds == 0) return {};
  return fmt::format("{} × unfused [{}]", ratio_text(claim.of_unfused.ratio),
                     range_text(claim.of_unfused));
}

std::string ceiling_share_text(double percent) {
  return percent > 100 ? "at the ceiling" : fmt::format("{:.1f} %", percent);
}

std::string why_open(const Claim& claim, const ClaimGroup& group) {
  const auto launches = std::ssize(claim.launch_ratios);
  const double margin = 100 * group.margin;
  if (launches < least_launches)
    return fmt::format("{} of at least {} launches", launches, least_launches);
  if (!std::isfinite(claim.interval.high))
    return group.slow_share < 0.1 ? "too few rounds" : "too few rounds on an undisturbed processor";
  if (!std::isfinite(margin)) return "no null twin";
  if (claim.is_at_margin)
    return fmt::format("the difference is about {}, the margin: more time will not decide it",
                       percent_text(margin));
  const auto [least, most] = std::ranges::minmax_element(claim.launch_ratios);
  if (claim.interval.launches_differ)
    return "launches differ by " + percent_text(100 * (*most / *least - 1));
  const double spent_s = timed_s(group);
  return "too noisy" +
         (claim.times_needed > 0
              ? fmt::format(": needs {}, had {}", time_text(spent_s * claim.times_needed),
                            time_text(spent_s))
              : "") +
         disturbances(claim, group);
}

Claims claims_of(const std::vector<TimingRow>& rows, double margin) {
  Claims out;
  out.groups = groups_of(rows, margin);
  std::int64_t twins = 0;
  for (ClaimGroup& group : out.groups)
    for (Claim& claim : group.claims) {
      take_rows(claim);
      if (claim.role == Role::null_twin && was_timed(claim)) ++twins;
    }
  pool_ceilings(rows, out.groups);
  for (ClaimGroup& group : out.groups) find_slow_rounds(group);
  // One twin of the run that differs makes the run invalid, so all twins share the error.
  const double twin_error = claim_error / static_cast<double>(std::max<std::int64_t>(twins, 1));
  for (ClaimGroup& group : out.groups) {
    compare(group, twin_error);
    out.noise_floor = std::max(out.noise_floor, group.noise_floor);
    if (group.valid) continue;
    out.valid = false;
    if (out.invalid_because.empty())
      out.invalid_because = "the null twin of " + group.baseline + " differs from it on " +
                            group.workload + " (" + group.board + ")";
  }
  return out;
}

}  // namespace ropewalk::report
