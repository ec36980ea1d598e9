// Finds what a timed kernel may not do to the process in which others are timed too. It may not run
// another thread or process, allocate, map memory, print, or change signals, descriptors or the
// locale.
#pragma once
#include <cstdint>
#include <string>

#include "harness/watch/heap_watch.h"
#include "harness/watch/output_watch.h"
#include "harness/watch/process_state.h"

namespace ropewalk::bench {

/// Notes the state of the process when it is made. Each check comes right after the code of one
/// kernel and compares the whole state. It throws std::runtime_error if something changed. Nothing
/// may be timed in the process after that.
class ProcessWatch {
 public:
  /// `has_driver`: the driver of a device runs in this process, with threads and memory of its own,
  /// which are not watched then.
  explicit ProcessWatch(bool has_driver = false) : has_driver_(has_driver) {}
  /// Call it just before a kernel is timed; NULL stands for a ceiling.
  void begin(const rope_kernel* kernel);
  /// Call it just after. `refused`: a call failed, and the harness has allocated memory to report
  /// it.
  void end(bool refused);
  /// What an interpreted kernel did between the two, as it may: calls of the allocator, and bytes
  /// by which the mapped memory grew. 0 for other kernels.
  std::int64_t heap_calls() const {
    return may_allocate_ ? static_cast<std::int64_t>(harness::heap_calls()) : 0;
  }
  std::int64_t mapped_bytes() const { return may_allocate_ ? state_.mapped_bytes() : 0; }

  /// Call it after functions of a kernel that may not print, outside of begin() and end():
  /// supports, apply.
  void check(const std::string& entry);
  /// The same for functions that may print: prepare, release.
  void check_printing(const std::string& entry);

 private:
  void compare(const std::string& what_ran, const std::string& seen);

  bool has_driver_;
  bool may_allocate_ = false;
  harness::ProcessState state_;
  harness::OutputWatch output_;
};

}  // namespace ropewalk::bench
