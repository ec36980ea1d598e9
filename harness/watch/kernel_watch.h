// What the code of one kernel does to the process besides its answer. EntryWatch looks around each
// entry, and ProcessWatch of the benchmarks around timed calls.
#pragma once
#include <unistd.h>

#include <cstdint>
#include <string>

#include "harness/watch/heap_watch.h"
#include "harness/watch/output_watch.h"
#include "harness/watch/process_state.h"

namespace ropewalk::harness {

class KernelWatch {
 public:
  /// Notes the state of the process now: changes by the constructors of plugins are not blamed on a
  /// kernel. With a driver in the process, its threads, mappings and calls of the allocator are not
  /// the kernel's, and are not watched.
  explicit KernelWatch(bool has_driver) : has_driver_(has_driver) {}
  /// Names the kernel of what follows; NULL: none.
  void about(const rope_kernel* kernel) {
    allowed_ = kernel == nullptr ? 0 : kernel->exceptions;
    process_.about(kernel);
  }
  /// Accepts output printed since the last look: it is not a kernel's. A benchmark library, for
  /// example, prints.
  void accept_output() { output_.accept(); }

 protected:
  /// Call it just before apply, and end_alone() just after.
  void begin_alone() {
    if (has_driver_) return;
    process_.begin_alone();
    if (heap_is_watched()) begin_heap_watch();
  }
  /// Returns what was called of the allocator, in words, and puts the rest into `ran`.
  std::string end_alone(Deeds& ran) {
    if (has_driver_) return {};
    std::string allocated = end_heap_watch();  // first, since the code below allocates
    ran = process_.end_alone();
    if (process_.others_ran()) allocated.clear();  // those of other plugins may have called it
    return allocated;
  }

  /// What is left changed, each behind `by`.
  Deeds changes(const std::string& by, bool in_full) const {
    Deeds out;
    out.add_all(by, process_.quick_changes(!has_driver_));
    if (in_full) out.add_all(by, process_.other_changes());
    return out;
  }
  /// A child process that the kernel forked off must not run the parent's code.
  void end_copy() const {
    if (process_.is_copy()) _exit(0);
  }

  bool has_driver_;
  std::uint32_t allowed_ = 0;  ///< exceptions of the kernel
  ProcessState process_;
  OutputWatch output_;
};

}  // namespace ropewalk::harness
