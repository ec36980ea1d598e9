#include "tools/verbs/verbs.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>

#include "base/printable.h"
#include "base/system/program.h"
#include "harness/process/script_host.h"
#include "harness/worker/own_executable.h"
#include "tools/command/session.h"
#include "tools/command/targets.h"

namespace ropewalk::tools {
using namespace report;
namespace {

// All model types of a library take minutes.
constexpr std::chrono::minutes limit(60);

}  // namespace

void run_python(const std::string& what, const std::string& code,
                const std::vector<std::string>& words,
                const std::function<void(const std::string&, const std::string&)>& take) {
  const auto package = std::filesystem::path(library_file("__init__")).parent_path().parent_path();
  // A wheel's package lies among those of a Python that may be another one (worker.py).
  const std::string begin =
      "import sys, importlib.util as u; f = sys.argv.pop(1); del sys.path[0]; s = "
      "u.spec_from_file_location('ropewalk', f + '/__init__.py', submodule_search_locations=[f]); "
      "m = sys.modules['ropewalk'] = u.module_from_spec(s); s.loader.exec_module(m); ";
  std::vector<std::string> arguments{harness::script_interpreter(), "-c", begin + code,
                                     package.string()};
  arguments.insert(arguments.end(), words.begin(), words.end());
  ::setenv("ROPEWALK_COMMAND", harness::own_executable().c_str(), 1);
  bool has_ended = false;
  const auto on_line = [&](const std::string& line) {
    const std::size_t at = std::min(line.find('\t'), line.size());
    const std::string key = line.substr(0, at), text = line.substr(at).erase(0, 1);
    if (key == "error") throw UsageError(what + ": " + text);
    has_ended = has_ended || key == "end";
    take(key, text);
  };
  const std::string error = run_program(arguments, "", limit, on_line).error;
  if (!has_ended)
    throw std::runtime_error(fmt::format("{}: {} {}", what, harness::script_interpreter(),
                                         error.empty() ? "ended before its end" : error));
}

ProviderFile judge_providers(const ProviderRequest& request,
                             const std::function<void(const ProviderFile&)>& on_found,
                             const std::function<void(VerdictRow)>& on_row) {
  const auto [target, glob] = parts_of(request.target);
  std::vector<std::string> words{target, glob, request.position};
  words.insert(words.end(), request.properties.begin(), request.properties.end());
  ProviderFile out;
  const auto take = [&](const std::string& key, const std::string& raw) {
    if (key == "row") return on_row(row_from<VerdictRow>(raw));
    const std::string text = printable(raw);
    if (key == "found") out.found = text;
    if (key == "not_covered") out.not_covered = text;
    if (key == "kernel") out.kernels.push_back(text);
    if (key == "note") out.notes.push_back(text);
    if (key == "judging") on_found(out);
  };
  run_python(target, "from ropewalk.judge import main; main(sys.argv[1:])", words, take);
  return out;
}

int list_libraries() {
  run_python("libraries", "from ropewalk.libraries import main; main()", {},
             [](const std::string& key, const std::string& text) {
               if (key == "line") fmt::print("{}\n", printable(text));
             });
  return 0;
}

}  // namespace ropewalk::tools
