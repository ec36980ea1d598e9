// A comparison as a person reads it in a pull request.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "reports/compare.h"
#include "reports/text.h"

namespace ropewalk {
namespace {

std::string symbol_of(const ComparedCell& cell) {
  if (cell.regression) return "✗";
  if (cell.outcome == "FASTER") return "▲";
  if (cell.outcome == "SLOWER") return "▼";
  return cell.outcome == "SAME" ? "=" : "?";
}

std::string cell_line(const ComparedCell& cell) {
  std::string ratio, times, floor;
  if (cell.ratio.rounds > 0) {
    ratio = fmt::format("{} [{} – {}]", ratio_text(cell.ratio.ratio), ratio_text(cell.ratio.low),
                        ratio_text(cell.ratio.high));
    times = fmt::format("{} → {}", number_text(cell.ns_a), number_text(cell.ns_b));
    floor = percent_text(100 * cell.floor);
  }
  const std::string launches =
      cell.launches_a > 0 ? fmt::format("{} + {}", cell.launches_a, cell.launches_b) : "";
  const std::string threads =
      cell.threads > 1 ? fmt::format(", {} threads", cell.threads) : std::string();
  return fmt::format("| {} {} | {} | {}{} | {} | {} | {} | {} | {} | {} |\n", symbol_of(cell),
                     cell.outcome, markdown_code(cell.kernel), markdown_code(cell.workload),
                     threads, markdown_code(cell.board), ratio, floor, times, launches,
                     markdown_code(cell.note));
}

constexpr const char* table_head =
    "| outcome | kernel | workload | board | ratio | noise floor | ns/token | launches | |\n"
    "|---|---|---|---|---:|---:|---:|---:|---|\n";

std::string counts_text(const Comparison& comparison) {
  std::map<std::string, int> counts;
  for (const ComparedCell& cell : comparison.cells) ++counts[cell.outcome];
  std::string text;
  for (const char* word : {"FASTER", "SLOWER", "SAME", "UNRESOLVED", "BROKEN", "IMPLAUSIBLE",
                           "SKIPPED", "UNSUPPORTED", "CHANGED", "GONE", "NEW"})
    if (counts[word] > 0)
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", counts[word], word);
  return text;
}

std::string headline(const Comparison& comparison) {
  if (!comparison.invalid.empty())
    return "✗ Nothing was compared: " + markdown_code(comparison.invalid);
  if (comparison.regressions == 0) return "✓ No regression found";
  return fmt::format("✗ {} regression{}", comparison.regressions,
                     comparison.regressions == 1 ? "" : "s");
}

std::string how_to_read(const Comparison& comparison) {
  const bool by_ceiling = std::any_of(comparison.cells.begin(), comparison.cells.end(),
                                      [](const ComparedCell& cell) { return cell.by_ceiling; });
  return fmt::format(
      "The ratio is the time of the second run over that of the first, below 1 is faster{}. Its "
      "range is that of all launches of the one over all of the other; with fewer than {} "
      "launches on a side it is at least {:.0f} % to either side, the spread that processes were "
      "seen to have. SLOWER and FASTER: the whole range lies beyond the cell's noise floor, the "
      "larger one of the two runs. {} By chance alone up to {:.1f} of {} cells would stand out.\n",
      by_ceiling ? ", each in units of its own run's ceiling, so that a machine that drifts falls "
                   "out of it"
                 : "",
      launches_to_trust, 100 * assumed_spread,
      comparison.max_regression > 0 ? fmt::format("A regression is SLOWER by more than {}.",
                                                  percent_text(100 * comparison.max_regression))
                                    : "SLOWER is a regression.",
      comparison.by_chance, comparison.cells.size());
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
  add_table("All other cells", false);
  if (!comparison.told.empty()) {
    out += "<details><summary>What else differs</summary>\n\n";
    for (const std::string& line : comparison.told)
      out += fmt::format("- {}\n", markdown_code(line));
    out += "\n</details>\n\n";
  }
  if (comparison.invalid.empty()) out += how_to_read(comparison);
  return out;
}

}  // namespace ropewalk
