// How much a bench measures, and when it has measured enough.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "reports/record/record.h"
#include "tools/command/options.h"

namespace ropewalk::tools {

/// How much a profile measures. Options override it.
struct Effort {
  std::int64_t launches, rounds;
  double epoch_s, group_s;
  double budget_s = 0;    ///< above 0: the time from the start to the end counts, and no rounds
  bool is_usual = false;  ///< the budget is not the user's: too small, it is exceeded
};
Effort effort_of(const BenchOptions& options);

/// The wall clock of a bench from its start to its end. Verification and ceilings are paid from it
/// first; what is left is shared out equally to the launches. Without a budget, nothing counts.
class Budget {
 public:
  using Clock = std::chrono::steady_clock;
  Budget(const Effort& effort, Clock::time_point began, double margin)
      : all_s_(effort.budget_s), margin_(margin), is_usual_(effort.is_usual), began_(began) {}
  /// Has it count from now on.
  void begin() { began_ = Clock::now(); }
  bool counts() const { return all_s_ > 0; }
  double left_s() const;
  /// One of so many equal parts of what is left, at least a millisecond.
  double share_s(std::int64_t parts) const;
  void begin_launch() {
    launch_s_ = overhead_s_ = 0;
    group_s_.clear();
  }
  /// The groups of a board come one after the other from now on.
  void begin_board(Clock::time_point now = Clock::now()) { group_began_ = now; }
  void end_group(const std::string& group, Clock::time_point now = Clock::now());
  /// The groups that leave no time for the launches of others, the costliest. ends_before() finds
  /// them.
  const std::set<std::string>& without_time() const { return without_time_; }
  /// Whether the budget is the user's, who wants no more spent.
  bool is_given() const { return counts() && !is_usual_; }
  /// `needs_s` is what would do, as far as is known.
  void refuse(const std::string& takes, double needs_s);
  /// Refuses the budget of the user once it is spent, and `more` of it beyond: 0.25 is a quarter.
  /// `takes` says what took the time. Returns whether the budget is refused.
  bool is_over(const std::string& takes, double more = 0);
  /// Adds to the time of the launch. `timed_s` of it was to be for rounds.
  void spend(double s, double timed_s) {
    launch_s_ += s;
    overhead_s_ += std::max(s - timed_s, 0.0);
  }
  /// How many launches follow those that are done: fewer, if what a launch costs beside its rounds
  /// would take too much of the time.
  std::int64_t launches_left(std::int64_t done) const;
  /// Whether the bench ends here: more launches would settle nothing, or there is no time for one.
  /// `done`: the number of launches in `rows`.
  bool ends_before(std::int64_t done, const std::vector<report::TimingRow>& rows);
  /// The groups of which more launches would settle nothing.
  const std::set<std::string>& settled_groups(const std::vector<report::TimingRow>& rows);
  /// What is wrong if the bench ended with fewer launches than a claim needs; else empty.
  const std::string& too_small() const { return too_small_; }

 private:
  /// Whether the launches that a claim still needs fit into what is left.
  bool fits(double launch_s, std::int64_t done) const;
  /// Takes out the costliest groups of the last launch until the others fit. False: none does.
  bool any_fits(std::int64_t done);

  double all_s_, margin_, launch_s_ = 0, overhead_s_ = 0;
  bool is_usual_;
  Clock::time_point began_, group_began_;
  std::map<std::string, double> group_s_;  ///< of the last launch
  std::set<std::string> without_time_;
  std::string too_small_;
  std::size_t rows_seen_ = 0;
  std::set<std::string> settled_;  // of so many rows
};

}  // namespace ropewalk::tools
