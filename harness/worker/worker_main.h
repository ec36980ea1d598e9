// The child side of the worker: the only place where kernels run.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "kernels/api/rope_kernel.h"

namespace ropewalk::harness {

/// Where a board goes while it is timed.
struct TimingSinks {
  std::function<void(const std::string& json)> row;
  /// '<kernel>|<workload>' whose code is about to run; empty: no kernel's.
  std::function<void(const std::string& label)> now_running;
  /// Text for the user; `remark`: for standard error.
  std::function<void(const std::string& text, bool remark)> show;
};

/// What the worker times when it is told to: the text of the request and every kernel it has.
/// Returns an exit code.
using TimingHandler =
    std::function<int(const std::string& text, const std::vector<const rope_kernel*>& kernels,
                      const TimingSinks& sinks)>;

struct WorkerArguments {
  std::vector<std::string> plugins;
  std::string cpu_features = "all";
};

/// Serves the parent on the descriptors of protocol.h until it says quit or goes away; does not
/// return control to exit handlers (a kernel may have registered some).
[[noreturn]] void worker_main(const WorkerArguments& arguments, const TimingHandler& timing);

}  // namespace ropewalk::harness
