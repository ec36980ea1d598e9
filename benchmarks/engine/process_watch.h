// Finds what a timed kernel may not do to the process in which others are timed too. It may not run
// another thread or process, allocate, map memory, print, or change signals, descriptors or the
// locale, but for its exceptions (rope_kernel.h).
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
  /// Names the kernel of what follows, and so what it may do; NULL stands for a ceiling.
  void about(const rope_kernel* kernel);
  /// Call it just before that kernel is timed.
  void begin();
  /// Call it just after. `refused`: a call failed, and the harness has allocated memory to report
  /// it.
  void end(bool refused);
  /// What a kernel with ROPE_ALLOCATES did between the two: calls of the allocator, and bytes by
  /// which the mapped memory grew. 0 for other kernels.
  std::int64_t heap_calls() const {
    return may_allocate() ? static_cast<std::int64_t>(harness::heap_calls()) : 0;
  }
  /// Of all threads of the process.
  std::int64_t page_faults() const { return faults_; }
  std::int64_t switches() const { return switches_; }
  std::int64_t mapped_bytes() const { return may_allocate() ? state_.mapped_bytes() : 0; }

  /// Call it after functions of a kernel that may not print, outside of begin() and
  /// end(): supports, apply.
  void check(const std::string& entry);
  /// The same for functions that may print: prepare, release.
  void check_printing(const std::string& entry);

 private:
  bool may_allocate() const { return (allowed_ & ROPE_ALLOCATES) != 0 && !has_driver_; }
  void count(int sign);
  void compare(const std::string& what_ran, harness::Deeds done);

  bool has_driver_;
  std::uint32_t allowed_ = 0;  ///< exceptions
  std::int64_t faults_ = 0, switches_ = 0;
  harness::ProcessState state_;
  harness::OutputWatch output_;
};

}  // namespace ropewalk::bench
