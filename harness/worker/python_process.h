// Runs Python code of the package beside the command as kernels run: in a process group of its own,
// under a keeper (harness/process/keeper.h), with limits of time.
#pragma once
#include <functional>
#include <string>
#include <vector>

namespace ropewalk::harness {

/// How a process of Python ended.
struct PythonEnd {
  bool is_late = false;  ///< it was ended, as no line came in time
  std::string text;      ///< "SIGSEGV", or "exit code 1: NameError: ..."; empty: `take` ended it
};

/// Starts script_interpreter() with python/ropewalk/worker.py of the folder `package`, which calls
/// main(*words) of `module`. Each line that the module says (python/ropewalk/channel.py) goes to
/// `take`, which returns how many seconds the next line may take; 0 ends the process. The first
/// line may take `limit_s`. When this function returns or throws, the process and all that descend
/// from it are gone. They also go when this process is killed. Throws std::runtime_error if the
/// process cannot be started, and what `take` throws.
PythonEnd run_python_module(const std::string& package, const std::string& module,
                            const std::vector<std::string>& words, double limit_s,
                            const std::function<double(const std::string& line)>& take);

/// The hidden verb behind it: puts this process under a keeper, and becomes the program `words[0]`.
[[noreturn]] void become_kept_program(char** words);

}  // namespace ropewalk::harness
