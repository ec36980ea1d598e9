// The child side of the worker. Only here do kernels run.
#pragma once
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "harness/device/device.h"
#include "kernels/api/rope_kernel.h"

namespace ropewalk::harness {

/// Receives the events of a board while it is timed.
struct TimingSinks {
  std::function<void(const std::string& json)> row;
  /// Takes '<kernel>|<workload>' of the code that is about to run; empty: no kernel's code.
  std::function<void(const std::string& label)> now_running;
  /// Takes text for the user; `remark`: the text belongs on standard error.
  std::function<void(const std::string& text, bool remark)> show;
};

/// Times a board. It gets the text of the request, all kernels of the worker, and its device, or
/// NULL. Returns an exit code.
using TimingHandler =
    std::function<int(const std::string& text, const std::vector<const rope_kernel*>& kernels,
                      Device* device, const TimingSinks& sinks)>;

struct WorkerArguments {
  /// Each with what it is tolerated (exceptions.h), in words.
  std::vector<std::pair<std::string, std::string>> plugins;
  std::string cpu_features = "all";
  bool with_device = false;  ///< opens a CUDA device if a kernel needs one
  bool is_kept = false;      ///< this process has its keeper already
  /// The library that an interpreter loads to host the worker; empty: there is none.
  std::string library;
};

/// Reads the words behind the hidden verb `worker`.
WorkerArguments worker_arguments(int count, const char* const* words);

/// Serves the parent on the descriptors of protocol.h until the parent goes away. Then it ends the
/// process without running exit handlers, as a kernel may have registered some.
[[noreturn]] void worker_main(const WorkerArguments& arguments, const TimingHandler& timing);

}  // namespace ropewalk::harness
