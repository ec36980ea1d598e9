// Runs a program without a shell.
#pragma once
#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace ropewalk {

struct ProgramOutput {
  std::string text;   ///< standard output
  std::string error;  ///< empty if it exited with 0, else what went wrong in one line
};

/// Starts `arguments[0]`, a file or a name to be found in PATH, with `input` on standard input and
/// an almost empty environment, and collects its output. The program is killed after `limit` or 8
/// MB of output. No failure of the program throws.
/// With `on_line` it has this process's environment, and each line is handed over once it is there.
/// What `on_line` throws ends the program, and leaves this function.
ProgramOutput run_program(const std::vector<std::string>& arguments, const std::string& input,
                          std::chrono::milliseconds limit = std::chrono::seconds(10),
                          const std::function<void(const std::string&)>& on_line = {});

}  // namespace ropewalk
