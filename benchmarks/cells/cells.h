// Which kernels are timed on a workload, and the cells of the host's memory. A cell is one kernel
// or ceiling on one workload, ready to be called n times. prepare(), workspace and buffers stay
// outside the timed region. A cell runs passes, and states what it refuses and why.
#pragma once
#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "benchmarks/cells/workload_data.h"
#include "benchmarks/workloads/workloads.h"
#include "harness/watch/entries.h"
#include "kernels/api/rope_kernel.h"
#include "reference/oracle.h"
#include "reports/record/record.h"

namespace ropewalk::bench {

/// Why a cell has no numbers.
struct Refusal {
  report::Outcome outcome = report::Outcome::broken;  ///< broken or skipped
  std::string reason;
};

/// The calls that are timed together. Before one of them an element of the input changes, and
/// before one the weights and slots; none: before none of them.
struct Epoch {
  static constexpr std::int64_t none = std::numeric_limits<std::int64_t>::max();
  std::int64_t calls = 1;
  std::int64_t change_before = none, constants_before = none;
};

class Cell {
 public:
  virtual ~Cell() = default;
  Cell(const Cell&) = delete;
  Cell& operator=(const Cell&) = delete;

  std::string label() const { return row.kernel + "|" + row.workload; }
  /// Does everything untimed that comes before a repetition. Returns false if there is a refusal.
  /// Without `refill` the buffers stay as the last call left them, which is for working sets
  /// whose filling takes longer than an epoch.
  bool ready(bool refill = true) {
    if (!std::exchange(prepared_, true) && !refusal) guarded([&] { prepare(); });
    return !refusal && guarded([&] { make_ready(refill); });
  }
  /// Draws what changes in an epoch of so many calls, once the cell is ready, and the calls before
  /// which it does.
  virtual Epoch draw_epoch(std::int64_t calls, std::uint64_t& random) = 0;
  /// Makes the calls of an epoch. Returns false if a call failed; then there is a refusal.
  virtual bool run(const Epoch& epoch) = 0;
  /// The time of the last run() in s, by the cell's own clock; empty: the caller takes the time.
  virtual std::optional<double> own_s() const { return {}; }
  /// With a clock of its own, the calls of an epoch: a multiple of the first number, and at most
  /// the second.
  struct Calls {
    std::int64_t step = 1, most = 1;
  };
  virtual std::optional<Calls> own_calls() const { return {}; }
  /// To be called after a ready() and an epoch. Refuses as BROKEN unless the buffers hold the right
  /// values (recheck.h). Returns true if there was something to judge and it held.
  virtual bool judge(Oracle&, std::uint64_t) { return false; }
  /// To be called after run(), untimed. Refuses as BROKEN if a call wrote into its problem,
  /// operands or positions, or past the end of its workspace or an output. Returns true if there is
  /// no refusal.
  virtual bool keeps_arguments() { return true; }
  /// Makes the calls of an epoch, and looks at the outputs at once and 2 ms later. Refuses as
  /// BROKEN if they changed. Returns true if there is no refusal. Of the host alone.
  virtual bool completes_calls(const Epoch&) { return true; }
  /// A call after a pause in which nothing was called. Its inputs and positions are given before or
  /// after that time. Empty: there is a refusal, or the cell has none such.
  struct Gap {
    double call_s = 0;
    double spun = 0;  ///< processors that the threads of its plugin used meanwhile
  };
  virtual std::optional<Gap> call_after_gap(bool, std::chrono::microseconds) { return {}; }
  /// To be called after the last run(). Refuses as BROKEN by what all runs together tell. Returns
  /// true if there is no refusal.
  virtual bool end_rounds() { return true; }
  /// Releases what the kernel prepared. Nothing runs here after that. Throws StepFailed if it did
  /// what it may not, and what a kernel throws. The destructor does the same, but tells nobody.
  virtual void release() {}

  /// The kernel that is called; NULL for a ceiling.
  virtual const rope_kernel* kernel() const { return nullptr; }

  report::TimingRow row;  ///< everything but outcome and samples
  std::optional<Refusal> refusal;
  bool is_fatal = false;  ///< nothing can be timed in this process after this refusal

 protected:
  explicit Cell(const Workload& workload) : workload_(workload) {}
  virtual void prepare() = 0;                ///< called once, guarded
  virtual void make_ready(bool refill) = 0;  ///< called after prepare(), guarded
  /// Whether the device can do nothing more in this process.
  virtual bool is_lost() const { return false; }
  void refuse(report::Outcome outcome, std::string reason) {
    refusal = Refusal{outcome, std::move(reason)};
  }
  /// Runs code that calls a kernel, or looks at what its calls did. What fails is refused. Returns
  /// true if there is no refusal.
  template <class Code>
  bool guarded(Code&& code) {
    if (const auto failed = harness::failure_of(code)) {
      const bool skipped = failed->status == harness::protocol::Status::skipped;
      // What a ceiling or a floor cannot do is no kernel's fault.
      refuse(skipped || kernel() == nullptr ? report::Outcome::skipped : report::Outcome::broken,
             failed->text + (skipped ? "" : " while timed"));
      is_fatal = is_lost();
    }
    return !refusal;
  }
  const Workload& workload_;

 private:
  bool prepared_ = false;
};

/// Why no kernel with these flags (rope_kernel.h) is ever timed; empty if it may be.
std::string why_never_timed(std::uint32_t flags);

/// Whether threads of its own run while a kernel with these exceptions is called. It is timed where
/// the process may use as many processors as others get threads.
inline bool has_own_threads(std::uint32_t exceptions) {
  return (exceptions & (ROPE_USES_THREADS | ROPE_KEEPS_THREADS)) != 0;
}

/// What a kernel offers on a workload. In place it alternates forward and transpose if it offers
/// both, so that thousands of calls on one buffer do not drift.
struct KernelPlan {
  bool supported = false;
  bool alternates = false;
  bool table = false;
  /// Norm, rotation and copy are done one after the other, by a pass each (NormPass); and whether
  /// the kernel takes the rotation alone, so that this can be timed.
  bool unfused = false, may_be_unfused = false;
  /// The extension that the problem has and the kernel does not name, which would support the
  /// problem without it.
  std::string refused = {};
};
/// Asks the kernel. Throws std::runtime_error if the kernel throws. A kernel that is never
/// timed, or that is for another processor, supports nothing.
KernelPlan plan_of(const rope_kernel& kernel, const Workload& workload);

/// A kernel that may be timed.
struct Candidate {
  const rope_kernel* kernel = nullptr;
  std::string name, summary;
  /// Empty if verified in this process; else the kernel is shown as BROKEN.
  std::string broken_reason;
  std::set<std::string> unverified = {};  ///< workloads that it refused when it was verified
};
inline bool is_on_device(const Candidate& timed) {
  return timed.kernel->memory == ROPE_CUDA;
}
/// The same for a candidate. A broken one is not asked, since the question may crash it. It is
/// shown on every workload.
KernelPlan plan_of(const Candidate& timed, const Workload& workload);
/// Why a kernel is not called on a workload, if it is not.
std::optional<Refusal> refusal_of(const Candidate& timed, const Workload& workload);

/// A cell that calls the kernel. `plan` must be supported. Kernel, workload and data outlive the
/// cell.
std::unique_ptr<Cell> make_kernel_cell(const rope_kernel& kernel, KernelPlan plan,
                                       const Workload& workload, LazyData& data);
/// 'ceiling_update' for a workload in place, 'ceiling_copy' for one out of place, or
/// 'ceiling_copy_past_caches' if its stores bypass them. Its board names no angle source, so it
/// belongs to every board of its workload. `variant` names the loop; without one the cell is
/// skipped.
std::unique_ptr<Cell> make_ceiling_cell(const Workload& workload, LazyData& data,
                                        const std::string& variant);
/// What the name of a device's board ends in. It is never ranked with the host's.
inline constexpr std::string_view device_board = " / cuda";
/// What is known of a row before anything is timed. `table`: the kernel reads its angles from a
/// table.
report::TimingRow known_row(const Workload& workload, bool table);
/// Sets the row's medians from its rounds; 0 if it has none.
void take_medians(report::TimingRow& row);

}  // namespace ropewalk::bench
