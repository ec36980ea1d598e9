#include "tools/verbs/verbs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/printable.h"
#include "harness/process/script_host.h"
#include "harness/process/time_limits.h"
#include "harness/worker/own_executable.h"
#include "harness/worker/python_process.h"
#include "reports/record/fields.h"
#include "tools/command/session.h"
#include "tools/command/targets.h"

namespace ropewalk::tools {
using namespace report;
namespace {

/// Seconds that a step of Python may take, by the key of the line that begins it (channel.py). A
/// dump of a gigabyte is searched for minutes, and vectors run a whole verify.
double limit_s(const std::string& step) {
  const double usual_s = step == "working" ? 3600
                         : step == "law"   ? 60
                                           : harness::script_load_limit_s;
  return usual_s * harness::slowness();
}

std::int64_t number_in(const std::string& text) {
  return std::strtoll(text.c_str(), nullptr, 10);
}

std::string cut(const std::string& text) {
  constexpr std::size_t most_bytes = 4096;
  return printable_start(text, most_bytes);
}

/// A row from a process in which code of others runs.
VerdictRow foreign_row(const std::string& json) {
  VerdictRow row = row_from<VerdictRow>(json);
  each_field(row, [](const char*, auto& value) {
    if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::string>) value = cut(value);
  });
  return row;
}

/// Hands each line over as its key and its text, and returns how the process ended; a text: before
/// the key "end". `what` is shown.
harness::PythonEnd run_until_end(
    const std::string& what, const std::string& module, const std::vector<std::string>& words,
    const std::function<void(const std::string&, const std::string&)>& take) {
  ::setenv("ROPEWALK_COMMAND", harness::own_executable().c_str(), 1);
  double next_s = limit_s("import");
  const auto on_line = [&](const std::string& line) {
    const std::size_t at = std::min(line.find('\t'), line.size());
    const std::string key = line.substr(0, at), text = line.substr(at).erase(0, 1);
    if (key == "error") throw UsageError(what + ": " + cut(text));
    if (key == "import" || key == "law" || key == "working") next_s = limit_s(key);
    take(key, text);
    return key == "end" ? 0 : next_s;
  };
  const auto package = std::filesystem::path(library_file("__init__")).parent_path().parent_path();
  return harness::run_python_module(package, module, words, next_s, on_line);
}

}  // namespace

void run_python(const std::string& what, const std::string& module,
                const std::vector<std::string>& words,
                const std::function<void(const std::string&, const std::string&)>& take) {
  const harness::PythonEnd end = run_until_end(what, module, words, take);
  if (!end.text.empty())
    throw std::runtime_error(
        fmt::format("{}: {}: {}", what, harness::script_interpreter(), cut(end.text)));
}

// The providers run one after another in one process. If one ends it, those behind it go on in the
// next.
ProviderFile judge_providers(const ProviderRequest& request,
                             const std::function<void(const ProviderFile&)>& on_found,
                             const std::function<void(VerdictRow)>& on_row) {
  const auto [target, glob] = parts_of(request.target);
  ProviderFile out;
  bool is_found = false;
  std::int64_t count = 0;
  for (std::int64_t first = 0; first == 0 || first < count;) {
    std::vector<std::string> words{target, glob, request.position, std::to_string(first)};
    words.insert(words.end(), request.properties.begin(), request.properties.end());
    std::optional<VerdictRow> running;
    const auto take = [&](const std::string& key, const std::string& raw) {
      if (key == "law") running = foreign_row(raw);
      if (key == "row") on_row(foreign_row(raw));
      if (key == "provider") first = std::max(first, number_in(raw));
      if (is_found && key != "note") return;
      const std::string text = cut(raw);
      if (key == "found") out.found = text;
      if (key == "not_covered") out.not_covered = text;
      if (key == "kernel") out.kernels.push_back(text);
      if (key == "note" && std::ranges::find(out.notes, text) == out.notes.end())
        out.notes.push_back(text);
      if (key != "judging") return;
      count = number_in(raw);
      is_found = true;
      on_found(out);
    };
    const harness::PythonEnd end = run_until_end(target, "judge", words, take);
    if (end.text.empty()) break;
    if (!running)
      throw std::runtime_error(
          fmt::format("{}: {}: {}", target, harness::script_interpreter(), cut(end.text)));
    running->verdict = end.is_late ? Verdict::hang : Verdict::crash;
    running->reason = cut(end.text);
    running->executed = 1;
    on_row(*running);
    ++first;
  }
  if (!is_found) throw std::runtime_error(target + ": Python ended before its end");
  return out;
}

}  // namespace ropewalk::tools
