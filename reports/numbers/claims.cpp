#include "reports/numbers/claims.h"

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>

namespace ropewalk::report {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

bool is_time(double ns) {
  return std::isfinite(ns) && ns > 0;
}

/// P(at most k of n tosses of a fair coin).
double coin_cdf(std::int64_t k, std::int64_t n) {
  const boost::math::binomial_distribution<double> coin(static_cast<double>(n), 0.5);
  return boost::math::cdf(coin, static_cast<double>(k));
}

/// log(time of a / time of b) for each round in which both were timed.
std::vector<double> log_ratios(const TimingRow& a, const TimingRow& b) {
  std::vector<double> out;
  const std::size_t rounds = std::min(a.ns_per_token.size(), b.ns_per_token.size());
  for (std::size_t i = 0; i < rounds; ++i)
    if (is_time(a.ns_per_token[i]) && is_time(b.ns_per_token[i]))
      out.push_back(std::log(a.ns_per_token[i] / b.ns_per_token[i]));
  return out;
}

const TimingRow* row_of_launch(const Claim& claim, std::int64_t launch) {
  for (const TimingRow* row : claim.rows)
    if (row->launch == launch) return row;
  return nullptr;
}

/// The compared rounds of two contestants in all launches, and each launch's median.
struct Paired {
  std::vector<double> logs;
  std::vector<double> launch_ratios;
};
Paired pair_up(const Claim& a, const Claim& b) {
  Paired out;
  for (const TimingRow* row : a.rows) {
    const TimingRow* other = row_of_launch(b, row->launch);
    if (other == nullptr) continue;
    const std::vector<double> logs = log_ratios(*row, *other);
    if (logs.empty()) continue;
    out.launch_ratios.push_back(std::exp(median_of(logs)));
    out.logs.insert(out.logs.end(), logs.begin(), logs.end());
  }
  return out;
}

/// Rounds of one launch are correlated: same addresses, same pages. An interval of pooled rounds is
/// too narrow if launches differ. It therefore grows until it holds each launch's own median.
Interval widened(Interval interval, const std::vector<double>& launch_ratios) {
  for (const double ratio : launch_ratios) {
    interval.low = std::min(interval.low, ratio);
    interval.high = std::max(interval.high, ratio);
  }
  return interval;
}

/// The larger distance from 1 of the interval's two ends.
double reach(const Interval& interval) {
  if (interval.rounds == 0 || interval.low <= 0) return infinity;
  return std::max(interval.high - 1, 1 - interval.low);
}

Outcome outcome_of(const Interval& interval, double floor) {
  if (interval.rounds == 0) return Outcome::unresolved;
  if (interval.high < 1 - floor) return Outcome::faster;
  if (interval.low > 1 + floor) return Outcome::slower;
  return reach(interval) <= same_within && floor <= same_within ? Outcome::same
                                                                : Outcome::unresolved;
}

/// The number of rounds after which a claim is settled. An interval narrows with the square root of
/// the rounds. It is settled once it excludes the floor, or once it lies within SAME. Returns 0 if
/// the rounds alone have settled it already.
std::int64_t rounds_to_settle(const Claim& claim, double floor, double error) {
  constexpr double most = 1e9;
  if (claim.pooled.rounds == 0) return 0;
  if (!std::isfinite(claim.pooled.high)) return least_rounds(error);
  if (outcome_of(claim.pooled, floor) != Outcome::unresolved) return 0;
  // More rounds also narrow the noise floor, but never below least_floor.
  const double off = std::abs(claim.pooled.ratio - 1);
  const double room = std::max(off - least_floor, same_within - off);
  const double half = std::max({claim.pooled.high - claim.pooled.ratio,
                                claim.pooled.ratio - claim.pooled.low, std::min(floor, 1.0)});
  if (room <= 0 || half <= 0) return 0;
  const double growth = half / room * (half / room);
  const double needed = std::ceil(static_cast<double>(claim.pooled.rounds) * growth);
  return static_cast<std::int64_t>(
      std::clamp(needed, static_cast<double>(claim.pooled.rounds + 1), most));
}

/// The ratio of upper to lower quartile of a row's rounds, less 1.
double quartile_spread(std::vector<double> ns) {
  std::erase_if(ns, [](double value) { return !is_time(value); });
  if (ns.size() < 4) return 0;
  std::sort(ns.begin(), ns.end());
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
  const auto [least, most] = std::minmax_element(medians.begin(), medians.end());
  claim.launch_spread = *most / *least - 1;
  claim.round_spread = median_of(spreads);
}

/// Takes over what the rows of a contestant say before anything is compared.
void take_rows(Claim& claim) {
  std::stable_sort(claim.rows.begin(), claim.rows.end(),
                   [](const TimingRow* a, const TimingRow* b) { return a->launch < b->launch; });
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
  claim.pooled = claim.interval = claim.of_ceiling = Interval{};
  claim.rounds_needed = 0;
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
  claim.of_ceiling = paired_interval(ceiling, claim, error);
  if (claim.of_ceiling.rounds > 0) claim.ceiling_share = ceiling.ns_per_token / claim.ns_per_token;
  if (claim.of_ceiling.rounds > 0 && claim.of_ceiling.low > 1 + roof_allowance)
    without_speed(claim, Outcome::implausible, "faster than memory allows: it beats the ceiling");
}

/// Also true of an IMPLAUSIBLE contestant, which was compared before its speed was removed. So the
/// error stays divided by the same number of comparisons.
bool was_timed(const Claim& claim) {
  return claim.has_speed || claim.outcome == Outcome::implausible;
}

bool is_compared(const Claim& claim) {
  return claim.has_speed && (claim.role == Role::kernel || claim.role == Role::null_twin);
}

void compare(ClaimGroup& group, double twin_error) {
  for (const Claim& claim : group.claims)
    if (claim.role == Role::kernel && was_timed(claim)) ++group.comparisons;
  const double error =
      claim_error / static_cast<double>(std::max<std::int64_t>(group.comparisons, 1));
  if (const Claim* ceiling = ceiling_of(group))
    for (Claim& claim : group.claims)
      if (claim.has_speed && !is_reference(claim.role)) hold_to_ceiling(claim, *ceiling, error);
  const Claim* baseline = with_role(group, Role::baseline);
  if (baseline == nullptr || !baseline->has_speed) return;
  group.baseline = baseline->kernel;
  const Claim* twin = with_role(group, Role::null_twin);
  group.noise_floor = twin != nullptr && twin->has_speed ? least_floor : infinity;  // not known
  for (Claim& claim : group.claims) {
    if (!is_compared(claim)) continue;
    Paired paired = pair_up(claim, *baseline);
    claim.pooled = sign_interval(paired.logs, error);
    claim.interval = widened(claim.pooled, paired.launch_ratios);
    if (claim.role == Role::null_twin) {
      group.noise_floor = std::max(group.noise_floor, reach(claim.interval));
      group.valid = !is_clear_of(paired_interval(claim, *baseline, twin_error), least_floor);
    }
    claim.launch_ratios = std::move(paired.launch_ratios);
  }
  for (Claim& claim : group.claims) {
    if (!is_compared(claim)) continue;
    // The floor is made from the twin, so the twin itself is held to least_floor.
    const double floor = claim.role == Role::null_twin ? least_floor : group.noise_floor;
    claim.outcome = outcome_of(claim.interval, floor);
    if (claim.outcome == Outcome::unresolved)
      claim.rounds_needed = rounds_to_settle(claim, floor, error);
  }
}

std::vector<ClaimGroup> groups_of(const std::vector<TimingRow>& rows) {
  std::vector<ClaimGroup> groups;
  std::map<std::tuple<std::string, std::string, std::int64_t, Engine>, std::size_t> group_at;
  std::map<std::tuple<std::size_t, std::string, Role>, std::size_t> claim_at;
  for (const TimingRow& row : rows) {
    const auto [group, is_new] =
        group_at.try_emplace({row.workload, row.board, row.threads, row.engine}, groups.size());
    if (is_new) groups.push_back({row.workload, row.board, row.threads, "", 0, true, 0, {}});
    // A kernel may be the baseline in one launch and ordinary in another. It is one contestant.
    const bool ordinary = row.role == Role::kernel || row.role == Role::baseline;
    auto& claims = groups[group->second].claims;
    const auto [claim, first] = claim_at.try_emplace(
        {group->second, row.kernel, ordinary ? Role::kernel : row.role}, claims.size());
    if (first) claims.emplace_back();
    Claim& to = claims[claim->second];
    to.kernel = row.kernel;
    to.role = row.role;
    to.rows.push_back(&row);
  }
  return groups;
}

}  // namespace

bool is_clear_of(const Interval& interval, double floor) {
  return interval.rounds > 0 && (interval.high < 1 - floor || interval.low > 1 + floor);
}

double median_of(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

std::int64_t least_rounds(double error) {
  // Both ends are extremes: the interval misses the median with probability 2 * 2^-n.
  return static_cast<std::int64_t>(std::ceil(1 - std::log2(error)));
}

Interval sign_interval(std::vector<double> logs, double error) {
  Interval out;
  out.rounds = static_cast<std::int64_t>(logs.size());
  if (logs.empty()) return out;
  std::sort(logs.begin(), logs.end());
  out.ratio = std::exp(median_of(logs));
  if (out.rounds < least_rounds(error)) {
    out.high = infinity;
    out.coverage = 1;
    return out;
  }
  // The largest k with 2 P(Binomial(n, 1/2) <= k - 1) <= error: the ends are the k-th values from
  // either side.
  std::int64_t low = 1, high = (out.rounds + 1) / 2;
  while (low < high) {
    const std::int64_t k = (low + high + 1) / 2;
    if (2 * coin_cdf(k - 1, out.rounds) <= error)
      low = k;
    else
      high = k - 1;
  }
  const auto k = static_cast<std::size_t>(low);
  out.low = std::exp(logs[k - 1]);
  out.high = std::exp(logs[logs.size() - k]);
  out.coverage = 1 - 2 * coin_cdf(low - 1, out.rounds);
  return out;
}

Interval paired_interval(const Claim& a, const Claim& b, double error) {
  const Paired paired = pair_up(a, b);
  return widened(sign_interval(paired.logs, error), paired.launch_ratios);
}

Claims claims_of(const std::vector<TimingRow>& rows) {
  Claims out;
  out.groups = groups_of(rows);
  std::int64_t twins = 0;
  for (ClaimGroup& group : out.groups)
    for (Claim& claim : group.claims) {
      take_rows(claim);
      if (claim.role == Role::null_twin && was_timed(claim)) ++twins;
    }
  // One twin of the run that differs makes the run invalid, so all twins share the error.
  const double twin_error = claim_error / static_cast<double>(std::max<std::int64_t>(twins, 1));
  for (ClaimGroup& group : out.groups) {
    if (group.claims.front().rows.front()->engine != Engine::paired) continue;
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
