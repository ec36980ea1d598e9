// A comparison in the form that a person reads in a pull request.
#include "reports/pages/render.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/text.h"

namespace ropewalk::report {
namespace {

std::string symbol_of(const ComparedCell& cell) {
  if (cell.regression) return "✗";
  if (cell.outcome == Outcome::faster) return "▲";
  if (cell.outcome == Outcome::slower) return "▼";
  return cell.outcome == Outcome::same ? "=" : "?";
}

/// In percent, to tenths, rounded down or up: away from what would please.
double percent_below(double ratio) {
  return std::floor(1000 * (ratio - 1)) / 10;
}
double percent_above(double ratio) {
  return std::ceil(1000 * (ratio - 1)) / 10;
}

/// Whether a regression of the given size was seen; empty if nothing was compared.
std::string answer_of(const ComparedCell& cell) {
  if (cell.cannot_tell) return "cannot tell";
  if (cell.ratio.rounds == 0) return cell.regression ? "seen" : "";
  return cell.regression ? fmt::format("seen: at least {:.1f} %", percent_below(cell.ratio.low))
                         : fmt::format("none: at most {:.1f} %", percent_above(cell.ratio.high));
}

std::string cell_line(const ComparedCell& cell) {
  std::string ratio, times, spread, launches;
  if (cell.ratio.rounds > 0) {
    ratio = fmt::format("{} [{}]", ratio_text(cell.ratio.ratio), range_text(cell.ratio));
    times = fmt::format("{} → {}", number_text(cell.ns_a), number_text(cell.ns_b));
    spread = percent_text(100 * cell.spread);
    launches = fmt::format("{} + {}", cell.launches_a, cell.launches_b);
  }
  return fmt::format("| {} {} | {} | {} | {}{} | {} | {} | {} | {} | {} | {} |\n", symbol_of(cell),
                     cell.outcome, answer_of(cell), markdown_code(cell.kernel),
                     markdown_code(cell.workload), threads_text(cell.threads),
                     markdown_code(cell.board), ratio, spread, times, launches,
                     markdown_code(cell.note));
}

constexpr const char* table_head =
    "| outcome | regression | kernel | workload | board | ratio | spread | ns/token | launches | "
    "|\n"
    "|---|---|---|---|---|---:|---:|---:|---:|---|\n";

std::string counts_text(const Comparison& comparison) {
  std::map<Outcome, int> counts;
  for (const ComparedCell& cell : comparison.cells) ++counts[cell.outcome];
  std::string text;
  for (const auto& [outcome, count] : counts)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, outcome);
  return text;
}

std::string headline(const Comparison& comparison) {
  if (!comparison.invalid.empty())
    return "✗ Nothing was compared: " + markdown_code(comparison.invalid);
  const std::string asked = percent_text(100 * comparison.max_regression);
  const std::string untold =
      fmt::format("{} of {} compared contestants", comparison.cannot_tell, comparison.compared);
  if (comparison.regressions > 0)
    return fmt::format(
        "✗ {} regression{}{}", comparison.regressions, comparison.regressions == 1 ? "" : "s",
        comparison.cannot_tell > 0 ? fmt::format("; cannot tell for {}", untold) : "");
  if (comparison.cannot_tell > 0)
    return fmt::format("? Cannot tell: a regression of more than {} may hide in {}", asked, untold);
  return fmt::format("✓ No regression of more than {} found", asked);
}

std::string how_to_read(const Comparison& comparison) {
  const bool by_ceiling = std::ranges::any_of(
      comparison.cells, [](const ComparedCell& cell) { return cell.by_ceiling; });
  const std::string by_chance =
      fmt::format(" By chance alone up to {:.1f} of {} contestants would stand out.",
                  comparison.by_chance, comparison.compared);
  return fmt::format(
      "The ratio is the time of the second divided by that of the first; below 1 is faster{}. A "
      "regression is seen if its whole range lies above 1 by more than {}. The spread is by how "
      "much unchanged code differs.{}\n",
      by_ceiling ? ". Each time is in units of its own run's ceiling, which cancels out drift of "
                   "the machine"
                 : "",
      percent_text(100 * comparison.max_regression), comparison.of_builds ? "" : by_chance);
}

}  // namespace

std::string comparison_markdown(const Comparison& comparison) {
  std::string out =
      fmt::format("## {}\n\n{} → {}, {} {}\n\n", headline(comparison),
                  markdown_code(comparison.name_a), markdown_code(comparison.name_b),
                  comparison.of_builds ? "in" : "on", markdown_code(comparison.place));
  if (comparison.invalid.empty()) out += counts_text(comparison) + "\n\n";
  for (const std::string& verdict : comparison.verdicts)
    out += fmt::format("- ✗ {}\n", markdown_code(verdict));
  if (!comparison.verdicts.empty()) out += '\n';
  const auto add_table = [&](const std::string& title, bool regressions) {
    std::string lines;
    for (const ComparedCell& cell : comparison.cells)
      if (cell.regression == regressions) lines += cell_line(cell);
    if (lines.empty()) return;
    out += regressions ? "" : fmt::format("<details><summary>{}</summary>\n\n", title);
    out += table_head + lines + (regressions ? "\n" : "\n</details>\n\n");
  };
  add_table("", true);
  add_table("All other contestants, the undecided ones first", false);
  if (!comparison.told.empty()) {
    out += "<details><summary>Other differences between the runs</summary>\n\n";
    for (const std::string& line : comparison.told)
      out += fmt::format("- {}\n", markdown_code(line));
    out += "\n</details>\n\n";
  }
  if (comparison.invalid.empty()) out += how_to_read(comparison);
  return out;
}

}  // namespace ropewalk::report
