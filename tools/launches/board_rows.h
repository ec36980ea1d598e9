// Holds the rows of a board to the request. The rows come from a process in which kernels run.
// Facts that the parent knows are set here, and the others are bounded (docs/decisions/0030).
#pragma once
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "benchmarks/workloads/workloads.h"
#include "harness/worker/worker.h"
#include "reports/record/record.h"
#include "tools/launches/board_request.h"

namespace ropewalk::tools {

/// What a board may hold.
struct BoardScope {
  const BoardRequest& request;
  const std::vector<bench::Workload>& workloads;
  const std::vector<harness::KernelFacts>& kernels;
};

class BoardRows {
 public:
  /// `on_row` gets the rows that hold; with engine paired, all rows of a group together. The scope
  /// must outlive this object.
  BoardRows(const BoardScope& scope, std::function<void(report::TimingRow)> on_row);

  /// Takes a row as it came, `wall_s` seconds after the board began. Returns what is wrong with it,
  /// or with the group that it ends. Empty if nothing is wrong.
  std::string take(const std::string& json, double wall_s);
  /// Called when the board has ended. Returns the same as take().
  std::string finish();

 private:
  using Place = std::tuple<std::size_t, bool, std::int64_t>;  // workload, computes, threads

  report::TimingRow known(const report::TimingRow& told) const;
  report::TimingRow known_kernel(const report::TimingRow& told,
                                 const bench::Workload& workload) const;
  report::TimingRow known_ceiling(const report::TimingRow& told,
                                  const bench::Workload& workload) const;
  void take_outcome(const report::TimingRow& told, report::TimingRow& row) const;
  void take_numbers(const report::TimingRow& told, report::TimingRow& row) const;
  void place(report::TimingRow row);
  void place_paired(report::TimingRow row);
  void end_group();
  void check_time(const report::TimingRow& row, double wall_s);
  bool paired() const { return scope_.request.engine == report::Engine::paired; }

  BoardScope scope_;
  std::function<void(report::TimingRow)> on_row_;
  std::int64_t most_rounds_ = 0, least_rounds_ = 1;
  double timed_s_ = 0;                                   // in s, of all rows so far
  std::set<std::pair<std::string, std::string>> taken_;  // kernel, group
  Place at_{};
  bool any_ = false;
  std::vector<report::TimingRow> group_;
};

}  // namespace ropewalk::tools
