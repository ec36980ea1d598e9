// The paired engine calls every contestant of a workload and board once a round, in a balanced
// order. All contestants make the same number of calls; a contestant with an epoch 20 times too
// long makes fewer. So drift hits all alike, and ratios are formed round by round
// (reports/numbers/claims.h).
//
// Where a norm or an append is fused, each kernel of the host is timed as 'X (unfused)' too: norm,
// its rotation alone and copy, one after the other. That of the baseline is the baseline.
//
// Each group also holds the baseline a second time, as its null twin, and the ceiling of its size.
// Each round has inputs of its own and poisoned outputs; above 2 MiB only some rounds have.
// No kernel can tell which rounds are judged. There the results of the timed calls are judged
// (docs/decisions/0025). A kernel that fails is BROKEN, and the group restarts without it. The
// harness takes the time.
//
// With n threads, each thread has its own processor and its own set, as large as the set of a
// single thread. The threads start together; the reported time is that of the slowest one.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "benchmarks/cells/cells.h"
#include "benchmarks/workloads/workloads.h"
#include "harness/device/device.h"
#include "reports/record/record.h"

namespace ropewalk::bench {

/// What is timed, and for how long. It can be sent to another process as text.
struct BoardPlan {
  std::vector<Workload> workloads;
  std::string baseline;  ///< if it does not offer a board: plain, else the first by name
  /// Maps a workload to the variants of its ceiling (pick_ceilings).
  std::map<std::string, std::vector<std::string>> ceilings;
  std::set<std::string> done;  ///< groups to leave out, named by group_name()
  std::int64_t rounds = 20;    ///< a lower limit: rounds come in whole designs
  int threads = 1;             ///< above 1: each group runs with one thread, then with `threads`
  double epoch_s = 1e-3;       ///< target time of one contestant in one round, in s
  /// In s. A group that would take longer gets fewer rounds, at least 6.
  double group_s = 30;
  /// In s; above 0, all groups together take about as long: each has an equal share of what is left
  /// when it begins, for as many designs as fit. `rounds` and `group_s` do not count then, and each
  /// group of the host chooses its epochs (rounds.h).
  double launch_s = 0;
  std::map<std::string, double> epochs_s;  ///< by group: chosen in an earlier launch
  std::int64_t launch = 0;
  std::uint64_t seed = 1;
};

struct PairedPlan : BoardPlan {
  std::vector<Candidate> kernels;
  harness::Device* device = nullptr;  ///< whose kernels are timed; NULL: the host's
  /// Called with a group's rows, all together when the group is done. The ceiling's row comes last.
  std::function<void(const report::TimingRow&)> on_row;
  /// Called with '<kernel>|<workload>' when that kernel's code is about to run: before supports,
  /// prepare and each repetition. Called with an empty text when no kernel's code runs. It lets the
  /// parent name a kernel that crashes.
  std::function<void(const std::string& label)> now_running;
};

/// "workload|board|threads".
std::string group_name(const std::string& workload, const std::string& board, std::int64_t threads);

/// Returns 0 if it ran or nothing was left to do, and 3 if nothing was supported.
int run_paired(const PairedPlan& plan);

/// Times every variant of each workload's ceiling in rounds of its own. Hands out the row of the
/// fastest, which names it in `variant`; out of place, that of the fastest past the caches too.
/// Their speed must be measured in another process, because the best of many looks too fast in the
/// run that picked it. Stores past the caches are slower beside others, so the rounds have both.
int pick_ceilings(const PairedPlan& plan);

}  // namespace ropewalk::bench
