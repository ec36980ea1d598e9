#include "reports/numbers/claims.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace ropewalk::report {
namespace {

/// A ratio of times as its distance from 1, in percent.
std::string percents(double ratio) {
  return ratio <= 11 ? fmt::format("{:+.2f}", 100 * (ratio - 1)) : ">+1000";
}

std::string floor_text(double floor) {
  if (!std::isfinite(floor)) return "not known";
  if (floor > 10) return "more than 1,000 %";
  return fmt::format("{:.2f} %{}", 100 * floor, floor > useful_floor ? " (noisy)" : "");
}

std::string claim_text(const Claim& claim, const ClaimGroup& group) {
  std::string text = fmt::format("  {:<26} ", claim.kernel);
  if (!claim.has_speed) return text + fmt::format("{}: {}\n", claim.outcome, claim.reason);
  text += fmt::format("{:>10.2f} ns/token", claim.ns_per_token);
  if (claim.ceiling_share > 0)
    text += fmt::format(" {:>18}", ceiling_share_text(100 * claim.ceiling_share) +
                                       (claim.ceiling_share > 1 ? "" : " of ceiling"));
  else
    text += fmt::format(" {:>18}", is_reference(claim.role) ? word(claim.role) : "");
  const std::string words = claim.rows.empty() ? "" : words_beside(*claim.rows.front());
  std::string end = words.empty() ? "\n" : fmt::format("\n{:>29}{}\n", "", words);
  if (const std::string ratio = unfused_text(claim); !ratio.empty()) end = ", " + ratio + end;
  if (claim.role == Role::baseline) return text + "  baseline" + end;
  if (claim.interval.rounds == 0) return text + end;
  text += fmt::format("  {:<10} {:>7} % of time", claim.outcome, percents(claim.interval.ratio));
  if (std::isfinite(claim.interval.high))
    text += fmt::format(" [{}, {}]", percents(claim.interval.low), percents(claim.interval.high));
  if (claim.interval.is_of_launches) text += " over launches";
  if (claim.outcome == Outcome::unresolved) text += ", " + why_open(claim, group);
  return text + end;
}

}  // namespace

std::string claims_as_text(const Claims& claims) {
  std::string text;
  for (const ClaimGroup& group : claims.groups) {
    text += fmt::format("{}  ({}{}", group.workload, group.board, threads_text(group.threads));
    if (!group.baseline.empty())
      text += fmt::format("; to {}, noise floor {}, epochs of {:.0f} us, blocks of {} round{}",
                          group.baseline, floor_text(group.noise_floor), group.epoch_us,
                          group.block, group.block == 1 ? "" : "s");
    if (group.slow_share >= 0.005)
      text += fmt::format(", {:.0f} % of them on a slower processor", 100 * group.slow_share);
    text += ")\n";
    std::vector<const Claim*> ordered;
    for (const Claim& claim : group.claims) ordered.push_back(&claim);
    std::ranges::stable_sort(ordered, [](const Claim* a, const Claim* b) {
      return std::pair(!a->has_speed, a->ns_per_token) < std::pair(!b->has_speed, b->ns_per_token);
    });
    for (const Claim* claim : ordered) text += claim_text(*claim, group);
  }
  if (!claims.valid) text += "INVALID: " + claims.invalid_because + "\n";
  return text;
}

}  // namespace ropewalk::report
