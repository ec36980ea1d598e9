// A results file is refused by BadFile, or its rows are the same after they were written and read
// again, and nothing in them has a meaning in what the writers of reports make of them.
#include <sys/mman.h>
#include <unistd.h>

#include <sstream>

#include "reports/pages/checks.h"
#include "reports/pages/render.h"
#include "reports/record/record.h"
#include "tools/fuzz/target.h"

namespace ropewalk::fuzz {
using namespace report;
namespace {

// The text in a file that exists only in memory. Throws BadFile.
Results results_of(std::string_view text) {
  static const int file = memfd_create("results", MFD_CLOEXEC);
  claim(ftruncate(file, 0) == 0, "an empty file");
  claim(pwrite(file, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()), "a file");
  return read_results("/proc/self/fd/" + std::to_string(file));
}

std::string lines_of(const Results& results) {
  std::string lines;
  const auto add = [&](const auto& row) { lines += to_json_line(row) + '\n'; };
  add(results.run);
  for (const auto& row : results.verdicts) add(row);
  for (const auto& row : results.timings) add(row);
  for (const auto& row : results.curves) add(row);
  if (results.complete) add(results.end);
  return lines;
}

std::size_t count(std::string_view text, std::string_view what) {
  std::size_t times = 0;
  for (std::size_t at = 0; (at = text.find(what, at)) != text.npos; at += what.size()) ++times;
  return times;
}

void claim_plain(std::string_view text, std::string_view what) {
  for (const char c : text) claim(c == '\n' || static_cast<unsigned char>(c) >= ' ', what);
}

/// No tag but ours, and each cell of a table in its column.
void claim_markdown(const std::string& text) {
  std::istringstream lines(text);
  std::string fence;
  std::size_t width = 0;
  for (std::string line; std::getline(lines, line);) {
    const std::string ticks = line.substr(0, std::min(line.find_first_not_of('`'), line.size()));
    const bool is_fence = ticks.size() >= 3 && ticks == line;
    if (is_fence && (fence.empty() || ticks.size() >= fence.size())) {
      fence = fence.empty() ? ticks : "";
      continue;
    }
    if (!fence.empty()) continue;
    for (const char* active : {"<script", "<img", "](http"})
      claim(line.find(active) == line.npos || line.find('`') != line.npos, "Markdown is inert");
    const bool in_table = line.starts_with('|');
    const std::size_t pipes = count(line, "|") - count(line, "\\|");
    claim(!in_table || width == 0 || pipes == width, "a row of a table has its columns");
    width = in_table ? pipes : 0;
  }
  claim(fence.empty(), "a fence ends");
}

void claim_written(const Results& results) {
  const Summary summary = summarize(results);
  const std::string page = render_html(results, summary, "/");  // draws nothing
  claim(count(page, "<script") == 1 && count(page, "<img") == 0, "the page has its own script");
  claim_plain(page, "the page has no control character");
  claim_markdown(render_markdown(results, summary));
  const std::string xml = render_junit(results, summary);
  claim_plain(xml, "JUnit has no control character");
  std::size_t ours = 0;
  for (const char* tag :
       {"<?xml ", "<testsuites ", "</testsuites>", "<testsuite ", "</testsuite>", "<testcase ",
        "</testcase>", "<failure ", "</failure>", "<skipped ", "<system-out>", "</system-out>"})
    ours += count(xml, tag);
  claim(count(xml, "<") == ours, "JUnit has its own tags");
  const std::string csv = render_csv(results, summary);
  std::size_t rows = 1 + results.verdicts.size();
  for (const Board& board : summary.boards)
    for (const Contest& contest : board.contests) rows += contest.entries.size();
  claim(count(csv, "\n") == rows, "CSV has a line for each row");
  for (const VerdictRow& row : results.verdicts)
    claim_plain(terminal_text(check_of(row)), "a terminal gets no control character");
}

}  // namespace

void run(std::string_view text) {
  const auto results = unless_refused<BadFile>([&] { return results_of(text); });
  if (!results) return;
  for (const CurveRow& curve : results->curves)
    claim(curve.x.size() == curve.y.size(), "a curve has as many x as y");
  const std::string lines = lines_of(*results);
  claim(lines_of(results_of(lines)) == lines, "rows read the same");
  claim_written(*results);
}

}  // namespace ropewalk::fuzz
