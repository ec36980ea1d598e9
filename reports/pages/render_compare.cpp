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

/// Whether a regression of the given size was seen; empty if nothing was compared.
std::string answer_of(const ComparedCell& cell) {
  if (cell.regression) return "seen";
  if (cell.ratio.rounds == 0) return "";
  return cell.cannot_tell ? "cannot tell" : "none";
}

std::string cell_line(const ComparedCell& cell) {
  std::string ratio, times, spread;
  if (cell.ratio.rounds > 0) {
    ratio = fmt::format("{} [{}]", ratio_text(cell.ratio.ratio), range_text(cell.ratio));
    times = fmt::format("{} → {}", number_text(cell.ns_a), number_text(cell.ns_b));
    spread = percent_text(100 * cell.spread);
  }
  const std::string launches =
      cell.launches_a > 0 ? fmt::format("{} + {}", cell.launches_a, cell.launches_b) : "";
  return fmt::format("| {} {} | {} | {} | {}{} | {} | {} | {} | {} | {} | {} |\n", symbol_of(cell),
                     cell.outcome, answer_of(cell), markdown_code(cell.kernel),
                     markdown_code(cell.workload), threads_text(cell.threads),
                     markdown_code(cell.board), ratio, spread, times, launches,
                     markdown_code(cell.note));
}

/// In percent, to tenths, rounded down or up.
double percent_below(double ratio) {
  return std::floor(1000 * (ratio - 1)) / 10;
}
double percent_above(double ratio) {
  return std::ceil(1000 * (ratio - 1)) / 10;
}

std::string answer_of(const BuildCell& cell) {
  if (cell.answer == BuildAnswer::no_worse)
    return fmt::format("no worse than {:.1f} %", percent_above(cell.ratio.high));
  if (cell.answer != BuildAnswer::regressed)
    return cell.answer == BuildAnswer::cannot_tell ? "cannot tell" : "not compared";
  if (cell.ratio.rounds == 0) return "regressed";
  return fmt::format("regressed by at least {:.1f} %", percent_below(cell.ratio.low));
}

std::string build_line(const BuildCell& cell) {
  std::string out = fmt::format("- {}: {} on {}, {}{}", answer_of(cell), markdown_code(cell.kernel),
                                markdown_code(cell.workload), markdown_code(cell.board),
                                threads_text(cell.threads));
  const bool is_ours = cell.ratio.rounds > 0;  // else it may quote a kernel
  if (!cell.why.empty()) out += "; " + (is_ours ? cell.why : markdown_code(cell.why));
  if (is_ours && std::isfinite(cell.ratio.high))
    out += fmt::format("; {:+.1f} % to {:+.1f} % in {} rounds of {} launches",
                       percent_below(cell.ratio.low), percent_above(cell.ratio.high),
                       cell.ratio.rounds, cell.launches);
  return out + "\n";
}

constexpr const char* table_head =
    "| outcome | regression | kernel | workload | board | ratio | spread | ns/token | launches | "
    "|\n"
    "|---|---|---|---|---|---:|---:|---:|---:|---|\n";

std::string counts_text(const Comparison& comparison) {
  std::map<Outcome, int> counts;
  for (const ComparedCell& cell : comparison.cells) ++counts[cell.outcome];
  std::string text;
  for (const Outcome outcome :
       {Outcome::faster, Outcome::slower, Outcome::same, Outcome::unresolved, Outcome::broken,
        Outcome::implausible, Outcome::skipped, Outcome::changed, Outcome::gone, Outcome::added})
    if (counts[outcome] > 0)
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", counts[outcome], outcome);
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
  return fmt::format(
      "The ratio is the time of the second run divided by that of the first; below 1 is faster{}. "
      "Its range is that of all launches of one run over all launches of the other. The range "
      "reaches at least the spread to either side. The spread is how far launches of unchanged "
      "code differ: those of the baseline and of its null twin. With fewer than {} launches on a "
      "side, or without a ceiling, the spread is at least {:.0f} %, as measured between processes. "
      "A regression is seen if the whole range lies above 1 by more than {}. There is none if the "
      "whole range lies below that limit. In all other cases the runs cannot tell, and the "
      "last column says what would decide (bench --launches 9). By chance alone up to {:.1f} of {} "
      "contestants would stand out.\n",
      by_ceiling ? ". Each time is in units of its own run's ceiling, which cancels out drift of "
                   "the machine"
                 : "",
      launches_to_trust, 100 * assumed_spread, percent_text(100 * comparison.max_regression),
      comparison.by_chance, comparison.compared);
}

}  // namespace

std::string comparison_markdown(const Comparison& comparison, const std::string& name_a,
                                const std::string& name_b) {
  std::string out =
      fmt::format("## {}\n\n{} → {}, on {}\n\n", headline(comparison), markdown_code(name_a),
                  markdown_code(name_b), markdown_code(comparison.machine));
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

std::string builds_markdown(const BuildComparison& comparison, const std::string& name) {
  std::string out =
      fmt::format("head against base in {}: {} of {} regressed, cannot tell for {}; allowed {}\n\n",
                  markdown_code(name), comparison.regressions,
                  std::ssize(comparison.cells) + std::ssize(comparison.failures),
                  comparison.cannot_tell, percent_text(100 * comparison.max_regression));
  for (const std::string& failure : comparison.failures)
    out += fmt::format("- regressed: {}\n", markdown_code(failure));
  for (const BuildCell& cell : comparison.cells) out += build_line(cell);
  return out;
}

}  // namespace ropewalk::report
