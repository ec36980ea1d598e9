// Runs the real command and looks at what comes out: what the tests of the command share.
#pragma once
#include <filesystem>
#include <string>

namespace cli {

struct Result {
  int code;  ///< 128 + N for signal N
  std::string out, err;
};

/// Runs the command through a shell; `arguments` are quoted by the caller and may redirect.
/// `before` is what the shell does first.
Result ropewalk(const std::string& arguments, const std::string& before = "");

std::string slurp(const std::filesystem::path& file);
void spill(const std::filesystem::path& file, const std::string& content);

/// A folder of the running test's own; what an earlier run left in it may still be there.
std::filesystem::path scratch();

bool contains(const std::string& text, const std::string& part);

}  // namespace cli
