// What a timed kernel may not do to the process, as others are timed in it, too: run another thread
// or process, map memory, print, leave signals, descriptors, locale and the like changed.
#pragma once
#include <unistd.h>

#include <stdexcept>
#include <string>

#include "harness/output_watch.h"
#include "harness/process_state.h"

namespace ropewalk {

/// Notes how the process is when it is made.
class ProcessWatch {
 public:
  /// Just before a kernel is timed; NULL: a ceiling.
  void begin(const rope_kernel* kernel) { state_.begin_alone(loader_of(kernel)); }
  /// Just after. `in_full`: compares what is dear to compare, too. Throws std::runtime_error, after
  /// which nobody should be timed here: the process is not what it was.
  void end(bool in_full) {
    if (state_.is_copy()) _exit(0);  // a child goes on where its parent does
    std::string changed = state_.end_alone();
    for (const std::string& more :
         {state_.quick_changes(), in_full ? state_.other_changes() : std::string(),
          output_.written()})
      if (!more.empty()) changed += (changed.empty() ? "" : "; ") + more;
    if (!changed.empty()) throw std::runtime_error(changed);
  }

  /// What an entry other than apply printed is no breach.
  void accept_output() { output_.accept(); }
  /// After a call of apply outside of begin() and end(): throws as end() where it printed.
  void check_output() {
    if (const std::string printed = output_.written(); !printed.empty())
      throw std::runtime_error(printed);
  }

 private:
  ProcessState state_;
  OutputWatch output_;
};

}  // namespace ropewalk
