// The paired engine: every contestant of a workload and board once a round, in a balanced order,
// with one number of calls for all (fewer for one whose epoch would take twenty); so that what
// drifts hits all alike, and ratios are formed round by round (reports/numbers/claims.h).
//
// In each group stand the baseline a second time as its null twin, and the ceiling of the size.
// Each round has inputs of its own, and poisoned outputs (above 32 MiB about one round of four). In
// some rounds, which no kernel can tell from others, what the timed calls left is judged, and one
// call more (docs/decisions/0025): who fails is BROKEN, and the group begins again without it. The
// harness takes the time.
//
// With n threads each has a set of its own, as large as the one of a single thread, and a processor
// of its own; they begin together, and the time is that until the last is done.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "benchmarks/engine/board.h"
#include "benchmarks/workloads/workloads.h"
#include "reports/record/record.h"

namespace ropewalk::bench {

struct PairedPlan {
  std::vector<Workload> workloads;
  std::vector<Contestant> contestants;
  std::string baseline;  ///< where it does not offer a board: plain, else the first by name
  /// Workload to the variant of its ceiling; where none is named, a short trial picks one.
  std::map<std::string, std::string> ceilings;
  std::set<std::string> done;  ///< groups to leave out, as group_name() calls them
  std::int64_t rounds = 20;    ///< at least: rounds come in whole designs
  int threads = 1;             ///< above 1: each group with one thread, then with so many
  double epoch_s = 1e-3;       ///< of one contestant in one round, about
  double group_s = 30;         ///< a group that would take longer gets fewer rounds, at least 6
  std::int64_t launch = 0;
  std::uint64_t seed = 1;
  /// A group's rows, all of them together when it is done: the ceiling's last.
  std::function<void(const report::TimingRow&)> on_row;
  /// As in BoardPlan.
  std::function<void(const std::string& label)> now_running;
};

/// "workload|board|threads"
std::string group_name(const std::string& workload, const std::string& board, std::int64_t threads);

/// Returns: 0 ran, or there was nothing left to do; 3 nothing was supported.
int run_paired(const PairedPlan& plan);

/// Times every variant of each workload's ceiling in rounds of its own and hands out the row of the
/// fastest, which names it in `variant`. To be scored in another process: the best of many flatters
/// itself.
int pick_ceilings(const PairedPlan& plan);

}  // namespace ropewalk::bench
