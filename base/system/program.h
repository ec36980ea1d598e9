// Runs a program without a shell.
#pragma once
#include <chrono>
#include <string>
#include <vector>

namespace ropewalk {

struct ProgramOutput {
  std::string text;   ///< standard output
  std::string error;  ///< empty if it exited with 0, else what went wrong in one line
};

/// Starts `arguments[0]`, a file or a name to be found in PATH, with `input` on standard input and
/// this process's environment or an almost empty one, and collects its output. The program is
/// killed after `limit` or 8 MB of output. No failure of the program throws.
ProgramOutput run_program(const std::vector<std::string>& arguments, const std::string& input,
                          std::chrono::milliseconds limit = std::chrono::seconds(10),
                          bool with_environment = false);

}  // namespace ropewalk
