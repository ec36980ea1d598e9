#include <fmt/format.h>

#include <map>

#include "base/text.h"
#include "reports/numbers/summary.h"
#include "reports/pages/render.h"
#include "reports/pages/view.h"
#include "reports/record/found_plugins.h"

namespace ropewalk::report {
namespace {

/// The cases of one suite and their counts.
struct Suite {
  std::string cases;
  int tests = 0, failures = 0, skipped = 0;
  double seconds = 0;

  void add_case(const std::string& group, const std::string& title, double case_seconds,
                const std::string& inside) {
    ++tests;
    if (case_seconds > 0 && case_seconds < 1e9) seconds += case_seconds;
    cases += fmt::format("    <testcase classname=\"{}\" name=\"{}\" time=\"{:.3f}\"",
                         xml_text(group), xml_text(title), case_seconds > 0 ? case_seconds : 0);
    cases += inside.empty() ? "/>\n" : ">\n" + inside + "    </testcase>\n";
  }
  std::string failure(const std::string& type, const std::string& message,
                      const std::string& body) {
    ++failures;
    return fmt::format("      <failure type=\"{}\" message=\"{}\">{}</failure>\n", xml_text(type),
                       xml_text(clean_line(message)), xml_text(body));
  }
  std::string skip(const std::string& message) {
    ++skipped;
    return fmt::format("      <skipped message=\"{}\"/>\n", xml_text(clean_line(message)));
  }
  /// Writes a known failure as <skipped>, as pytest writes its expected failures. CI servers
  /// neither count it as a pass nor turn red for it, and they show its message. Most of them do not
  /// show a <property>.
  std::string known(const std::string& message, const std::string& body) {
    return skip(message) + fmt::format("      <system-out>{}</system-out>\n", xml_text(body));
  }
};

std::string failure_body(const VerdictRow& row) {
  std::string body;
  for (const auto& [name, value] : failure_facts(row)) body += fmt::format("{}: {}\n", name, value);
  return body;
}

/// What the covering array met, for a test case that passed.
std::string output_of(const VerdictRow& row) {
  std::string text = row.coverage + "\n";
  if (!row.not_offered.empty()) text += "not offered: " + row.not_offered + "\n";
  return fmt::format("      <system-out>{}</system-out>\n", xml_text(text));
}

/// The kernel with what its verdicts rest on, e.g. "mine_host (host launcher)".
std::string kernel_name(const VerdictRow& row) {
  const std::string words = words_beside(row);
  return words.empty() ? row.kernel : row.kernel + " (" + words + ")";
}

std::string suite_name(const VerdictRow& row) {
  if (row.plugin.empty()) return kernel_name(row);
  return fmt::format("{} ({})", kernel_name(row), shown_plugin(row.plugin));
}

using Suites = std::map<std::string, Suite>;  // by name

void add_verdict(const VerdictRow& row, Suite& suite) {
  const Verdict verdict = verdict_of(row);
  const std::string group =
      fmt::format("{}.{}.{}.{}", kernel_name(row), row.pairing, row.dtype, row.angle_contract);
  const std::string title = std::string(is_on_everything(row) ? everything : row.property);
  const std::string message =
      fmt::format("{}{}{}{}{}", verdict, row.reason.empty() ? "" : ": ", row.reason,
                  row.cause.empty() ? "" : "; cause: ", row.cause);
  std::string inside;
  if (is_failure(verdict))
    inside = row.known.empty()
                 ? suite.failure(std::string(word(verdict)), message, failure_body(row))
                 : suite.known(fmt::format("{}, known {}", verdict, row.known), failure_body(row));
  if (is_not_run(verdict)) inside = suite.skip(message);
  if (!row.coverage.empty()) inside += output_of(row);
  suite.add_case(group, title, row.seconds, inside);
}

/// Adds only breaks that verification has not reported already. A known failure does not excuse
/// another.
void add_broken_timings(const Summary& summary, const Results& results, Suites& suites) {
  std::map<std::string, bool> failed;
  for (const VerdictRow& row : results.verdicts)
    if (is_failure(verdict_of(row)) && row.known.empty()) failed[row.kernel] = true;
  for (const Board& board : summary.boards)
    for (const Contest& contest : board.contests)
      for (const BoardEntry& entry : contest.entries) {
        if (entry.has_speed || entry.outcome == Outcome::skipped || failed[kernel_of(*entry.row)])
          continue;
        if (!entry.known.empty()) continue;
        Suite& suite = suites[entry.row->kernel];
        const std::string inside =
            suite.failure(std::string(word(entry.outcome)),
                          fmt::format("{}: {}", entry.outcome, entry.reason), "");
        suite.add_case(entry.row->kernel + ".timed", entry.row->workload + " on " + board.name, 0,
                       inside);
      }
}

/// `failures` counts those of all other suites. A run that failed for a reason that no row states
/// must not be green.
void add_run(const Results& results, const Summary& summary, int failures, Suite& suite) {
  std::string inside;
  if (!results.complete)
    inside = suite.failure("CUT_OFF", "the run was cut off before its end", "");
  else if (results.end.exit_code == 1 && failures == 0)
    inside = suite.failure("FAIL", "the run ended with exit code 1: see its output", "");
  suite.add_case("ropewalk.run", "complete", results.end.seconds, inside);
  if (summary.timings.empty()) return;
  inside.clear();
  if (!summary.claims.valid)
    inside = suite.failure("INVALID", "INVALID: " + summary.claims.invalid_because, "");
  suite.add_case("ropewalk.run", "valid", 0, inside);
}

}  // namespace

std::string render_junit(const Results& results, const Summary& summary) {
  Suites suites;
  for (const VerdictRow& row : results.verdicts) add_verdict(row, suites[suite_name(row)]);
  add_broken_timings(summary, results, suites);
  int failures_so_far = 0;
  for (const auto& each : suites) failures_so_far += each.second.failures;
  add_run(results, summary, failures_so_far, suites["ropewalk"]);
  int tests = 0, failures = 0, skipped = 0;
  std::string body;
  for (const auto& [name, suite] : suites) {
    tests += suite.tests;
    failures += suite.failures;
    skipped += suite.skipped;
    body += fmt::format(
        "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\" "
        "time=\"{:.3f}\">\n{}  </testsuite>\n",
        xml_text(name), suite.tests, suite.failures, suite.skipped, suite.seconds, suite.cases);
  }
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<testsuites name=\"ropewalk\" tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\">\n"
      "{}</testsuites>\n",
      tests, failures, skipped, body);
}

}  // namespace ropewalk::report
