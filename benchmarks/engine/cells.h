// A cell: one contestant on one workload, ready to be called n times.
//
// prepare(), workspace and buffers stand outside what is timed. A cell knows nothing of Google
// Benchmark: it runs passes, and says what it refuses and why.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "benchmarks/engine/workload_data.h"
#include "benchmarks/workloads/workloads.h"
#include "kernels/api/rope_kernel.h"
#include "reference/oracle.h"
#include "reports/record/record.h"

namespace ropewalk::bench {

/// Why a cell has no numbers.
struct Refusal {
  report::Outcome outcome = report::Outcome::broken;  ///< or skipped
  std::string reason;
};

class Cell {
 public:
  virtual ~Cell() = default;
  Cell(const Cell&) = delete;
  Cell& operator=(const Cell&) = delete;

  std::string label() const { return row.kernel + "|" + row.workload; }
  /// Everything untimed that comes before a repetition. False when there is a refusal. Without
  /// `refill` the buffers stay as the last call left them: for working sets that no cache holds.
  bool ready(bool refill = true);
  /// n calls, timed by the caller. False when a call failed: then there is a refusal.
  virtual bool run(std::int64_t n) = 0;
  /// After a ready() and some calls: refuses as BROKEN unless the buffers hold what they must
  /// (recheck.h), and unless one call more does, after any number of others, when a single element
  /// of the input has changed. True when there was something to judge and it held.
  virtual bool judge(Oracle&, std::uint64_t) { return false; }
  /// After run(), outside of what is timed: refuses as BROKEN where a call wrote into its problem
  /// or its operands, or past the end of its workspace or an output. True when there is no refusal.
  virtual bool keeps_arguments() { return true; }
  /// Gives back what the kernel prepared; nothing runs here any more. Answers what its release did
  /// that it may not; empty: nothing. The destructor does the same, and tells nobody.
  virtual std::string release() { return {}; }

  /// Whose code it is; NULL: a ceiling's.
  virtual const rope_kernel* kernel() const { return nullptr; }

  report::TimingRow row;  ///< all but outcome and samples
  std::string note;       ///< for the eye, beside the numbers
  std::optional<Refusal> refusal;

 protected:
  Cell(const Workload& workload, LazyData& data) : workload_(workload), lazy_(data) {}
  virtual void prepare() = 0;   ///< once, with the data there; may refuse
  virtual void start_over() {}  ///< the next call is the first on new data
  void refuse(report::Outcome outcome, std::string reason) {
    refusal = Refusal{outcome, std::move(reason)};
  }
  const Workload& workload_;
  LazyData& lazy_;

 private:
  bool prepared_ = false;
};

/// What can be asked of a kernel on a workload. In place it alternates forward and transpose when
/// it offers both, so that thousands of calls on one buffer do not drift.
struct KernelPlan {
  bool supported = false;
  bool alternates = false;
  bool table = false;
};
/// Asks the kernel; throws std::runtime_error where it throws. A kernel of another memory space, or
/// for another processor, supports nothing.
KernelPlan plan_of(const rope_kernel& kernel, const Workload& workload);

struct Contestant {
  const rope_kernel* kernel = nullptr;  ///< may be NULL only with a broken_reason
  std::string name, summary;
  std::string broken_reason;              ///< empty: verified in this process; else shown as BROKEN
  std::set<std::string> unverified = {};  ///< workloads whose shape it refused when it was verified
};
/// The same of a contestant. Who is broken is not asked, as it may die of it: it is shown on every
/// workload.
KernelPlan plan_of(const Contestant& contestant, const Workload& workload);
/// Why a contestant is not called on a workload, if so.
std::optional<Refusal> refusal_of(const Contestant& contestant, const Workload& workload);

/// What is known of a row before anything is timed: workload, board, bytes. `table`: the kernel
/// reads its angles from one.
report::TimingRow known_row(const Workload& workload, bool table);
/// The same of a ceiling. `picked_before`: its variant is the best of a process of its own.
report::TimingRow known_ceiling_row(const Workload& workload, const std::string& variant,
                                    bool picked_before);

/// `plan` must be supported. Kernel, workload and data outlive the cell.
std::unique_ptr<Cell> make_kernel_cell(const rope_kernel& kernel, KernelPlan plan,
                                       const Workload& workload, LazyData& data);
/// A contestant that is not called: a row without numbers.
std::unique_ptr<Cell> make_refused_cell(const Refusal& refusal, KernelPlan plan,
                                        const Workload& workload, LazyData& data);
/// 'ceiling_update' for a workload in place, 'ceiling_copy' for one out of place. Its board names
/// no angle source: it belongs to every board of its workload.
/// `variant`: the one to take; empty: the best of a short trial.
std::unique_ptr<Cell> make_ceiling_cell(const Workload& workload, LazyData& data,
                                        const std::string& variant = {});

/// The row's medians, from its repetitions or rounds; 0 without any.
void take_medians(report::TimingRow& row);

}  // namespace ropewalk::bench
