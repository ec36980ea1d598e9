#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>

#include "base/printable.h"
#include "base/system/program.h"
#include "harness/process/script_host.h"
#include "harness/worker/own_executable.h"
#include "tools/command/session.h"
#include "tools/command/targets.h"
#include "tools/verbs/providers.h"

namespace ropewalk::tools {
using namespace report;
namespace {

// All model types of a library take minutes.
constexpr std::chrono::minutes limit(60);

// Runs Python with the package beside the command, and without the modules of the current folder.
std::string run_python(const std::string& code, const std::vector<std::string>& words,
                       const std::function<void(const std::string&)>& on_line) {
  const auto package = std::filesystem::path(library_file("__init__")).parent_path().parent_path();
  std::vector<std::string> arguments{harness::script_interpreter(), "-c",
                                     "import sys; sys.path[0] = sys.argv.pop(1); " + code,
                                     package.parent_path().string()};
  arguments.insert(arguments.end(), words.begin(), words.end());
  ::setenv("ROPEWALK_COMMAND", harness::own_executable().c_str(), 1);
  return run_program(arguments, "", limit, on_line).error;
}

}  // namespace

ProviderFile judge_providers(const ProviderRequest& request,
                             const std::function<void(const ProviderFile&)>& on_found,
                             const std::function<void(VerdictRow)>& on_row) {
  const auto [target, glob] = parts_of(request.target);
  std::vector<std::string> words{target, glob, request.position};
  words.insert(words.end(), request.properties.begin(), request.properties.end());
  ProviderFile out;
  bool has_ended = false;
  const auto take = [&](const std::string& line) {
    if (line.starts_with('{')) return on_row(row_from<VerdictRow>(line));
    const std::size_t at = std::min(line.find('\t'), line.size());
    const std::string key = line.substr(0, at), text = printable(line.substr(at).erase(0, 1));
    if (key == "error") throw UsageError(text);
    if (key == "found") out.found = text;
    if (key == "not_covered") out.not_covered = text;
    if (key == "kernel") out.kernels.push_back(text);
    if (key == "note") out.notes.push_back(text);
    if (key == "judging") on_found(out);
    has_ended = has_ended || key == "end";
  };
  const std::string error =
      run_python("from ropewalk.judge import main; main(sys.argv[1:])", words, take);
  if (!has_ended)
    throw std::runtime_error(fmt::format("{}: {} {}", request.target, harness::script_interpreter(),
                                         error.empty() ? "ended before its end" : error));
  return out;
}

int list_libraries() {
  const auto print = [](const std::string& line) { fmt::print("{}\n", printable(line)); };
  const std::string error = run_python(
      "from ropewalk import libraries; print(*libraries.listed(), sep=chr(10))", {}, print);
  if (!error.empty()) throw UsageError(harness::script_interpreter() + " " + error);
  return 0;
}

}  // namespace ropewalk::tools
