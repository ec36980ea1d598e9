// The four files of a report.
#include <fmt/format.h>

#include <future>
#include <stdexcept>
#include <system_error>

#include "base/text.h"
#include "base/text_file.h"
#include "reports/figures/chart.h"
#include "reports/pages/checks.h"
#include "reports/pages/render.h"
#include "reports/pages/report.h"
#include "reports/record/found_plugins.h"

namespace ropewalk::report {
namespace {

/// Style and script, with the nonce by which the page's policy knows them. No other style or script
/// has any effect in the page, even if a foreign name plants one: it would have to name the
/// fingerprint of the results in which it stands.
PageCode page_code(const Results& results) {
  const std::string fingerprint = fingerprint_of(results);
  return {fingerprint.substr(fingerprint.find(':') + 1), page_text("report.css") + chart_css(),
          page_text("report.js")};
}

/// The kernel with what its verdicts rest on, e.g. "mine_host (host launcher)".
std::string suite_name(const VerdictRow& row) {
  std::string name = row.kernel;
  for (const std::string& words : {words_beside(row), shown_plugin(row.plugin)})
    if (!words.empty()) name += " (" + words + ")";
  return name;
}

using Suites = std::map<std::string, Part>;  // by name

Check failed_check(std::string kernel, std::string name, const std::string& verdict,
                   const std::string& message) {
  return {Standing::failed, verdict, std::move(kernel), std::move(name), "", message};
}

/// Adds only breaks that verification has not reported already. A known failure does not excuse
/// another. Returns whether there was one.
bool add_broken_timings(const Summary& summary, const Results& results, Suites& suites) {
  bool any = false;
  std::map<std::string, bool> failed;
  for (const VerdictRow& row : results.verdicts)
    if (is_failure(verdict_of(row)) && row.known.empty()) failed[row.kernel] = true;
  for (const Board& board : summary.boards)
    for (const Contest& contest : board.contests)
      for (const BoardEntry& entry : contest.entries)
        if (!entry.has_speed && entry.outcome != Outcome::skipped &&
            !failed[kernel_of(*entry.row)] && entry.known.empty()) {
          any = true;
          suites[entry.row->kernel].add(
              failed_check(entry.row->kernel + ".timed", entry.row->workload + " on " + board.name,
                           std::string(word(entry.outcome)),
                           fmt::format("{}: {}", entry.outcome, entry.reason)));
        }
  return any;
}

/// Of the run itself: one that failed for a reason that no row states must not be green.
void add_run(const Results& results, const Summary& summary, bool any_failed, Part& suite) {
  Check complete{Standing::verified, "PASS", "ropewalk.run", "complete", ""};
  if (!results.complete)
    complete =
        failed_check("ropewalk.run", "complete", "CUT_OFF", "the run was cut off before its end");
  else if (results.end.exit_code == 1 && !any_failed)
    complete = failed_check("ropewalk.run", "complete", "FAIL",
                            "the run ended with exit code 1: see its output");
  complete.seconds = results.end.seconds;
  suite.add(std::move(complete));
  if (summary.timings.empty()) return;
  Check valid{Standing::verified, "PASS", "ropewalk.run", "valid", ""};
  if (!summary.claims.valid)
    valid = failed_check("ropewalk.run", "valid", "INVALID",
                         "INVALID: " + summary.claims.invalid_because);
  suite.add(std::move(valid));
}

}  // namespace

std::string render_html(const Results& results, const Summary& summary,
                        const std::string& gnuplot) {
  return html_of(report_of(results, summary), page_code(results), gnuplot);
}

std::string render_markdown(const Results& results, const Summary& summary) {
  return markdown_of(report_of(results, summary));
}

std::string render_export(const Results& results) {
  const Summary summary = summarize(results);
  const auto fact = [&](const char* name) {
    const auto found = results.run.environment.find(name);
    return found == results.run.environment.end() ? "not known" : found->second;
  };
  Document out{summary.headline + (summary.claims.valid ? "" : ", speeds INVALID"),
               summary.standing};
  out.lead.push_back(
      Paragraph{Line(fmt::format("{}, revision {},", fact("cpu_model"), fact("git_revision")))
                    .add({results.run.command, Style::code})});
  out.lead.push_back(answer_table(summary));
  return markdown_of(out);
}

std::string render_junit(const Results& results, const Summary& summary) {
  Suites suites;
  bool any_failed = false;
  for (const VerdictRow& row : results.verdicts) {
    Check check = check_of(row);
    any_failed |= check.standing == Standing::failed && !check.is_known;
    suites[suite_name(row)].add(std::move(check));
  }
  any_failed |= add_broken_timings(summary, results, suites);
  add_run(results, summary, any_failed, suites["ropewalk"]);
  Document out{"ropewalk", summary.standing};
  for (auto& [name, suite] : suites) {
    suite.title = name;
    out.parts.push_back(std::move(suite));
  }
  return junit_of(out);
}

void write_report(const Results& results, const std::filesystem::path& out_dir) {
  std::error_code error;
  std::filesystem::create_directories(out_dir, error);
  if (error) throw std::runtime_error(out_dir.string() + ": cannot be made: " + error.message());
  const Summary summary = summarize(results);
  // The page takes as long as the other three formats together, so they run beside it.
  struct Others {
    std::string markdown, csv, junit;
  };
  auto others = std::async(std::launch::async, [&] {
    return Others{render_markdown(results, summary), render_csv(results, summary),
                  render_junit(results, summary)};
  });
  const std::string html = render_html(results, summary);
  const auto [markdown, csv, junit] = others.get();
  write_whole_file(out_dir / "report.md", markdown);
  write_whole_file(out_dir / "report.html", html);
  write_whole_file(out_dir / "results.csv", csv);
  write_whole_file(out_dir / "junit.xml", junit);
}

}  // namespace ropewalk::report
