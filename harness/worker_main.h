// The child side of the worker: the only place where kernels run.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "kernels/api/rope_kernel.h"

namespace ropewalk {

/// What the worker times when it is told to: the text of the request, every kernel it has, a sink
/// for rows (kernel name, JSON) and one for what runs now. Returns an exit code.
using TimingHandler = std::function<int(
    const std::string& text, const std::vector<const rope_kernel*>& kernels,
    const std::function<void(const std::string& kernel, const std::string& json)>& on_row,
    const std::function<void(const std::string& label)>& now_running)>;

struct WorkerArguments {
  std::vector<std::string> plugins;
  std::string cpu_features = "all";
};

/// Serves the parent on the descriptors of protocol.h until it says quit or goes away; does not
/// return control to exit handlers (a kernel may have registered some).
[[noreturn]] void worker_main(const WorkerArguments& arguments, const TimingHandler& timing);

}  // namespace ropewalk
