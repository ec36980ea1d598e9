// What a timed kernel may not do to the process, as others are timed in it, too: run another thread
// or process, allocate, map memory, print, leave signals, descriptors, locale and the like changed.
#pragma once
#include <string>

#include "harness/watch/output_watch.h"
#include "harness/watch/process_state.h"

namespace ropewalk::bench {

/// Notes how the process is when it is made. Each of its checks comes right after the code of one
/// kernel, compares all that is compared, and throws std::runtime_error where something changed:
/// nobody should be timed here any more, as the process is not what it was.
class ProcessWatch {
 public:
  /// Just before a kernel is timed; NULL: a ceiling.
  void begin(const rope_kernel* kernel);
  /// Just after. `refused`: a call failed, and our own code has allocated to say so.
  void end(bool refused);

  /// After calls of an entry outside of begin() and end(), which may not print: supports, apply.
  void check(const std::string& entry);
  /// The same of an entry that may: prepare, release.
  void check_printing(const std::string& entry);

 private:
  void compare(const std::string& what_ran, const std::string& seen);

  harness::ProcessState state_;
  harness::OutputWatch output_;
};

}  // namespace ropewalk::bench
