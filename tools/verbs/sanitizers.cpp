// verify --sanitizers: the tools of compute-sanitizer watch what a kernel does on a device.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <set>
#include <sstream>
#include <utility>

#include "base/printable.h"
#include "base/system/program.h"
#include "harness/worker/own_executable.h"
#include "properties/search/verdict_rows.h"
#include "tools/command/session.h"
#include "tools/verbs/verbs.h"

namespace ropewalk::tools {
using namespace report;
namespace {

std::string setting(const char* name, const char* otherwise) {
  return std::getenv(name) != nullptr ? std::getenv(name) : otherwise;
}

// `timeout` ends the tool with all that it has started. Errors that the driver answers are not
// reported: the suite asks it what it can do, and a kernel tells of its own.
std::vector<std::string> command_of(const VerdictRow& row, const VerifyOptions& options,
                                    const std::string& tool, const std::string& limit_s) {
  std::vector<std::string> words{"timeout", "--kill-after=5", limit_s, "env"};
  const auto add = [&](const std::vector<std::string>& more) {
    words.insert(words.end(), more.begin(), more.end());
  };
  add({"ROPEWALK_DEVICE_MEMORY=exact", setting("ROPEWALK_COMPUTE_SANITIZER", "compute-sanitizer"),
       "--tool", tool, "--target-processes", "all", "--error-exitcode", "9"});
  if (tool == "memcheck") add({"--report-api-errors", "no"});
  add({harness::own_executable(), "verify", "--no-cuda", "--plugin", row.plugin, "--kernel",
       row.kernel, "--jobs", "1", "--profile", "smoke", "--seed", std::to_string(options.seed),
       "--one-case", "--json", "--quiet"});
  for (const std::string& property : options.properties) add({"--property", property});
  return words;
}

// What a tool and the command below it have said.
struct Heard {
  std::int64_t cases = 0;
  std::string line, errors, failed;  // the first of each
  bool has_summary = false;

  void take(const std::string& text) {
    if (text.starts_with(R"({"schema":)")) {
      const auto row = row_from<VerdictRow>(text);
      cases += row.compared_cases;
      if (is_failure(row.verdict) && failed.empty()) failed = row.property + ": " + row.reason;
    }
    if (!text.starts_with("=====")) return;
    const auto has = [&](const char* words) { return text.find(words) != std::string::npos; };
    const std::string said =
        printable(text.substr(std::min(text.find_first_not_of("= "), text.size())));
    has_summary |= has(" SUMMARY: ");
    // Hazards of racecheck that are only warnings are no errors.
    if (has("SUMMARY: 0 ") || has("(0 errors") || said.starts_with("COMPUTE-SANITIZER")) return;
    std::string& first = has(" SUMMARY: ") ? errors : line;
    if (first.empty()) first = said;
  }
};

// PASS needs a summary without errors, no other line of the tool, and a case that ran.
void judge(VerdictRow& row, const Heard& heard, const std::string& error,
           const std::string& limit_s) {
  const auto exited = [&](int code) {
    return error.starts_with(fmt::format("failed with exit code {}", code));
  };
  row.planned = row.executed = row.compared_cases = row.compared = heard.cases;
  const auto has = [&](const char* words) { return heard.line.find(words) != std::string::npos; };
  const bool cannot_run = has("not supported") || has("Internal") || has("attachable");
  if (!cannot_run && (exited(9) || !heard.errors.empty())) {
    row.verdict = Verdict::fail;
    row.reason = heard.line.empty() ? error : heard.line;
    row.where = heard.errors;
    return;
  }
  row.reason = exited(127)                  ? "compute-sanitizer was not found"
               : exited(124) || exited(137) ? fmt::format("was cut off after {} s", limit_s)
               : !error.empty()             ? "compute-sanitizer " + error
               : !heard.has_summary         ? "compute-sanitizer gave no summary"
               : heard.cases == 0           ? "no case ran"
                                            : "";
  for (const auto& [prefix, words] : {std::pair{"; it said: ", heard.line}, {"; ", heard.failed}})
    if (!words.empty()) row.reason += prefix + words;
  row.verdict = row.reason.empty() ? Verdict::pass : Verdict::skipped;
}

}  // namespace

void run_sanitizers(const VerifyOptions& options, const std::vector<VerdictRow>& verified,
                    const std::function<void(VerdictRow)>& on_row,
                    const std::function<void(const std::string&)>& on_progress) {
  const std::string limit_s = setting("ROPEWALK_SANITIZER_LIMIT_S", "120");
  std::set<std::pair<std::string, std::string>> seen;
  for (const VerdictRow& kernel : verified) {
    const bool is_of_device = kernel.judged_on.starts_with(std::string_view("cuda"));
    if (!is_of_device || !seen.emplace(kernel.kernel, kernel.plugin).second) continue;
    for (const std::string tool : {"memcheck", "racecheck", "initcheck", "synccheck"}) {
      VerdictRow row;
      row.kernel = kernel.kernel, row.summary = kernel.summary, row.plugin = kernel.plugin;
      row.angle_contract = kernel.angle_contract, row.judged_on = kernel.judged_on;
      row.property = "sanitizer_" + tool;
      row.claim = fmt::format("{} of compute-sanitizer reports no error", tool);
      row.verdict = Verdict::skipped, row.reason = kernel.reason;
      if (!is_on_everything(kernel)) {  // it can run here
        on_progress(fmt::format("{} below {}", kernel.kernel, tool));
        const std::vector<std::string> words = command_of(kernel, options, tool, limit_s);
        Heard heard;
        const std::chrono::seconds longest(std::atoi(limit_s.c_str()) + 10);
        const ProgramOutput output = run_program(words, "", longest, true);
        std::istringstream lines(output.text);
        for (std::string line; std::getline(lines, line);) heard.take(line);
        judge(row, heard, output.error, limit_s);
        for (std::size_t i = 3; is_failure(row.verdict) && i < words.size(); ++i)
          row.replay += (i > 3 ? " " : "") + properties::quoted(words[i]);
      }
      on_row(row);
    }
  }
  if (seen.empty()) throw UsageError("--sanitizers: no kernel of a device was chosen");
}

}  // namespace ropewalk::tools
