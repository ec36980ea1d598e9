// A cell: one kernel or ceiling on one workload, ready to be called n times.
//
// prepare(), workspace and buffers stay outside the timed region. A cell does not know Google
// Benchmark: it runs passes, and states what it refuses and why.
#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>
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
  report::Outcome outcome = report::Outcome::broken;  ///< broken or skipped
  std::string reason;
};

/// The calls that are timed together. Before one of them an element of the input changes; none:
/// before none of them.
struct Epoch {
  static constexpr std::int64_t none = std::numeric_limits<std::int64_t>::max();
  std::int64_t calls = 1;
  std::int64_t change_before = none;
};

class Cell {
 public:
  static constexpr std::int64_t few_calls = 5;  ///< the bound of so many tells much
  virtual ~Cell() = default;
  Cell(const Cell&) = delete;
  Cell& operator=(const Cell&) = delete;

  std::string label() const { return row.kernel + "|" + row.workload; }
  /// Does everything untimed that comes before a repetition. Returns false if there is a refusal.
  /// Without `refill` the buffers stay as the last call left them, which is for working sets larger
  /// than any cache.
  bool ready(bool refill = true);
  /// Draws what changes in an epoch of so many calls, once the cell is ready: an element, and the
  /// call before which it changes. That is any call in half of the epochs, one of the last eight in
  /// the others, and one of the last few where the outputs drift. In place it turns forward, as
  /// forward and back in turn bring back the first input there.
  Epoch draw_epoch(std::int64_t calls, std::uint64_t& random);
  /// Makes the calls of an epoch, which the caller times. The positions move on before each call,
  /// in place forward and back in turn before each call forward. Returns false if a call failed;
  /// then there is a refusal.
  virtual bool run(const Epoch& epoch) = 0;
  /// To be called after a ready() and an epoch. Refuses as BROKEN unless the buffers hold the right
  /// values (recheck.h). Returns true if there was something to judge and it held.
  virtual bool judge(Oracle&, std::uint64_t) { return false; }
  /// To be called after run(), untimed. Refuses as BROKEN if a call wrote into its problem,
  /// operands or positions, or past the end of its workspace or an output. Returns true if there is
  /// no refusal.
  virtual bool keeps_arguments() { return true; }
  /// Releases what the kernel prepared. Nothing runs here after that. Returns what the release did
  /// that it may not do; empty if nothing. The destructor does the same, but reports to nobody.
  virtual std::string release() { return {}; }

  /// The kernel that is called; NULL for a ceiling.
  virtual const rope_kernel* kernel() const { return nullptr; }

  report::TimingRow row;  ///< everything but outcome and samples
  std::string note;       ///< a remark for people, shown beside the numbers
  std::optional<Refusal> refusal;

 protected:
  Cell(const Workload& workload, LazyData& data) : workload_(workload), lazy_(data) {}
  virtual void prepare() = 0;  ///< called once, when the data is there; may refuse
  /// Whether many calls leave what no bound can tell: in place in 16 bits, or all forward.
  virtual bool drifts() const { return false; }
  void refuse(report::Outcome outcome, std::string reason) {
    refusal = Refusal{outcome, std::move(reason)};
  }
  /// Calls call(i) for an epoch, i counting from the last ready(), and moves positions and input
  /// between. Ends early if it returns false. `every`: how many calls share their positions.
  template <class Call>
  void make_calls(const Epoch& epoch, std::uint64_t every, Call&& call) {
    WorkloadData& data = lazy_.here();
    MovingPositions moving = data.moving();
    const std::uint64_t shared = every - 1;
    std::uint64_t i = call_count_;
    bool goes_on = true;
    for (const std::int64_t before : {epoch.change_before, epoch.calls}) {
      const auto end = call_count_ + static_cast<std::uint64_t>(std::min(before, epoch.calls));
      while (i < end && goes_on) {
        if ((i & shared) == 0) moving.move_on();
        goes_on = call(i++);
        __asm__ volatile("" ::: "memory");
      }
      if (before >= epoch.calls || !goes_on) break;
      data.change();
      changed_at_ = i;
    }
    call_count_ = i;
    data.moving() = moving;
  }
  const Workload& workload_;
  LazyData& lazy_;
  std::uint64_t call_count_ = 0;             ///< since the last ready()
  bool is_refilled_ = false;                 ///< that gave the buffers the input
  std::optional<std::uint64_t> changed_at_;  ///< calls until the input changed, since then

 private:
  bool prepared_ = false;
};

/// Why no kernel of this memory and with these flags (rope_kernel.h) is ever timed; empty if it may
/// be.
std::string why_never_timed(std::int32_t memory, std::uint32_t flags);

/// What a kernel offers on a workload. In place it alternates forward and transpose if it offers
/// both, so that thousands of calls on one buffer do not drift.
struct KernelPlan {
  bool supported = false;
  bool alternates = false;
  bool table = false;
};
/// Asks the kernel. Throws std::runtime_error if the kernel throws. A kernel that is never
/// timed, or that is for another processor, supports nothing.
KernelPlan plan_of(const rope_kernel& kernel, const Workload& workload);

struct Contestant {
  const rope_kernel* kernel = nullptr;  ///< may be NULL only with a broken_reason
  std::string name, summary;
  /// Empty if verified in this process; else the kernel is shown as BROKEN.
  std::string broken_reason;
  std::set<std::string> unverified = {};  ///< workloads that it refused when it was verified
};
/// The same for a contestant. A broken kernel is not asked, since the question may crash it. It is
/// shown on every workload.
KernelPlan plan_of(const Contestant& contestant, const Workload& workload);
/// Why a contestant is not called on a workload, if it is not.
std::optional<Refusal> refusal_of(const Contestant& contestant, const Workload& workload);

/// A cell that calls the kernel. `plan` must be supported. Kernel, workload and data outlive the
/// cell.
std::unique_ptr<Cell> make_kernel_cell(const rope_kernel& kernel, KernelPlan plan,
                                       const Workload& workload, LazyData& data);
/// A cell that calls nothing: a row without numbers.
std::unique_ptr<Cell> make_refused_cell(const Refusal& refusal, KernelPlan plan,
                                        const Workload& workload, LazyData& data);

/// What is known of a row before anything is timed. `table`: the kernel reads its angles from a
/// table.
report::TimingRow known_row(const Workload& workload, bool table);
/// Sets the row's medians from its repetitions or rounds; 0 if it has none.
void take_medians(report::TimingRow& row);

}  // namespace ropewalk::bench
