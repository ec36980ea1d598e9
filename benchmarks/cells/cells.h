// Which kernels are timed on a workload, and the cells of the host's memory.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "benchmarks/cells/cell.h"
#include "benchmarks/cells/workload_data.h"
#include "benchmarks/workloads/workloads.h"
#include "kernels/api/rope_kernel.h"
#include "reference/oracle.h"
#include "reports/record/record.h"

namespace ropewalk::bench {

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
  /// Norm, rotation and copy are done one after the other, by a pass each (unfused.h); and whether
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
