#include "tools/launches/budget.h"

#include <fmt/format.h>

#include <cmath>

#include "benchmarks/engine/paired.h"
#include "reports/numbers/claims.h"
#include "tools/launches/board.h"

namespace ropewalk::tools {
using namespace bench;
using namespace properties;
using namespace report;
namespace {

constexpr double for_overhead = 0.4;  // of what is left, at most
constexpr double for_the_end = 0.1;   // of a share: a launch is judged again, and rows are written

double usual_budget_s(const BenchOptions& options) {
  if (options.profile == Profile::smoke) return options.part_of_run ? 45 : 20;
  if (options.profile == Profile::full) return 1800;
  const bool only_shapes =
      !options.shapes.empty() && options.workload_file.empty() && options.configs.empty();
  return only_shapes ? 30 : 300;
}

}  // namespace

Effort effort_of(const BenchOptions& options) {
  Effort e{3, 24, 1e-3, 20};
  if (options.profile == Profile::smoke) e = {3, 12, 0.5e-3, 1};
  if (options.profile == Profile::full) e = {5, 40, 1e-3, 120};
  const bool is_fixed = options.rounds > 0 || options.launches > 0;
  if (!is_fixed && !options.google_benchmark) {
    e.launches = most_launches;
    e.is_usual = options.budget_s <= 0;
    e.budget_s = e.is_usual ? usual_budget_s(options) : options.budget_s;
  }
  if (options.rounds > 0) e.rounds = options.rounds;
  if (options.launches > 0) e.launches = options.launches;
  return e;
}

double Budget::left_s() const {
  return all_s_ - std::chrono::duration<double>(Clock::now() - began_).count();
}

std::int64_t Budget::launches_left(std::int64_t done) const {
  const std::int64_t most = std::max<std::int64_t>(most_launches - done, 1);
  if (overhead_s_ <= 0) return most;
  const auto affordable = static_cast<std::int64_t>(for_overhead * left_s() / overhead_s_);
  return std::clamp(affordable, std::clamp<std::int64_t>(least_launches - done, 1, most), most);
}

double Budget::share_s(std::int64_t parts) const {
  return std::max((1 - for_the_end) * left_s() / static_cast<double>(parts), 1e-3);
}

bool Budget::ends_before(std::int64_t done, const std::vector<TimingRow>& rows) {
  if (!counts()) return false;
  if (done >= least_launches) {
    std::set<std::string> timed;
    for (const TimingRow& row : rows)
      if (!without_time_.contains(group_of(row))) timed.insert(group_of(row));
    return settled_groups(rows).size() == timed.size() || left_s() < launch_s_ / 2;
  }
  if (is_usual_) return false;
  if (done == 0 ? left_s() > 0 : fits(launch_s_, done) || any_fits(done)) return false;
  const double spent_s = all_s_ - left_s();
  const double needs_s = spent_s + static_cast<double>(least_launches - done) * launch_s_;
  refuse(fmt::format("{} of {} launches took {:.1f} s", done, least_launches, spent_s),
         done > 0 ? needs_s : least_launches * spent_s);
  return true;
}

bool Budget::fits(double launch_s, std::int64_t done) const {
  constexpr double slack = 1.25;  // a launch with less time has fewer rounds
  return launch_s * static_cast<double>(least_launches - done) <= slack * left_s();
}

void Budget::refuse(const std::string& takes, double needs_s) {
  too_small_ = fmt::format("a budget of {:.4g} s is too small: {}; try --budget {:.0f}", all_s_,
                           takes, std::ceil(1.1 * needs_s));
}

bool Budget::is_over(const std::string& takes, double more) {
  if (too_small_.empty() && is_given() && left_s() <= -more * all_s_)
    refuse(fmt::format("{} took {:.1f} s", takes, all_s_ - left_s()),
           least_launches * (all_s_ - left_s()));
  return !too_small_.empty();
}

void Budget::end_group(const std::string& group, Clock::time_point now) {
  group_s_[group] = std::chrono::duration<double>(now - group_began_).count();
  group_began_ = now;
}

bool Budget::any_fits(std::int64_t done) {
  double launch_s = launch_s_;
  std::vector<std::pair<double, std::string>> kept;
  for (const auto& [group, s] : group_s_)
    if (without_time_.contains(group))
      launch_s -= s;
    else
      kept.emplace_back(s, group);
  std::ranges::sort(kept);
  for (; !kept.empty(); kept.pop_back()) {
    if (fits(launch_s, done)) break;
    launch_s -= kept.back().first;
    without_time_.insert(kept.back().second);
  }
  return !kept.empty();
}

const std::set<std::string>& Budget::settled_groups(const std::vector<TimingRow>& rows) {
  if (rows.size() == rows_seen_) return settled_;
  rows_seen_ = rows.size();
  settled_.clear();
  std::map<std::string, std::set<std::int64_t>> launches;
  for (const TimingRow& row : rows) launches[group_of(row)].insert(row.launch);
  const Claims claims = claims_of(rows, margin_);
  for (const ClaimGroup& group : claims.groups) {
    const std::string name = group_name(group.workload, group.board, group.threads);
    if (is_look(std::ssize(launches[name])) && !is_open(group)) settled_.insert(name);
  }
  return settled_;
}

}  // namespace ropewalk::tools
