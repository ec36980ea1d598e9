// The problems and operands by which a kernel is called while it is timed, and the states that it
// prepared for them.
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "benchmarks/cells/cells.h"
#include "harness/watch/kernel_state.h"

namespace ropewalk::bench {

/// The operation that undoes the workload's own.
Operation back_from(const Workload& workload);

class KernelStates {
 public:
  /// Kernel and workload outlive the states.
  KernelStates(const rope_kernel& kernel, KernelPlan plan, const Workload& workload)
      : kernel_(kernel), plan_(plan), workload_(workload), given_(workload) {}
  ~KernelStates() {
    harness::failure_of([&] { release(); });
  }
  KernelStates(const KernelStates&) = delete;
  KernelStates& operator=(const KernelStates&) = delete;

  /// Makes the problems, has workspace taken, copies the operands of each set of buffers, and
  /// prepares the states. Tells in the row what that took. `inv_freq` outlives the states. Throws
  /// StepFailed, and what a kernel throws.
  void begin(const std::vector<double>& inv_freq,
             const std::function<void*(std::int64_t bytes)>& take_workspace, std::int64_t sets,
             const std::function<rope_operands(std::int64_t set)>& operands,
             report::TimingRow& row);
  /// Call `i` turns forward and back in turn, forward first, if the plan alternates.
  std::int32_t apply(std::uint64_t i, std::size_t set = 0) const {
    const Call& call = calls_[plan_.alternates ? i & 1 : 0];
    return kernel_.apply(call.problem.shown(), operands_[set].shown(), call.state.address());
  }
  /// What Python gathers of the tables is gathered now, and no more in the calls that follow.
  void gather_rows() const;
  bool have_begun() const { return have_begun_; }
  /// Throws StepFailed if the entry wrote into a problem or into operands.
  void hold(harness::Entry which) const;
  /// Releases the states. Throws StepFailed, and what a kernel throws.
  void release();

 private:
  struct Call {
    harness::ShownProblem problem{rope_problem{}};
    harness::KernelState state;
  };
  const rope_kernel& kernel_;
  KernelPlan plan_;
  const Workload& workload_;
  const Workload given_;  ///< whose map from pairs to axes the kernel is shown
  Call calls_[2];
  std::vector<harness::ShownStruct<rope_operands>> operands_;  ///< of each set
  bool have_begun_ = false;
};

}  // namespace ropewalk::bench
