// A comparison as a document that a person reads in a pull request.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/text.h"
#include "reports/pages/render.h"

namespace ropewalk::report {
namespace {

std::string symbol_of(const ComparedCell& cell) {
  if (cell.regression) return "✗";
  if (cell.outcome == Outcome::faster) return "▲";
  if (cell.outcome == Outcome::slower) return "▼";
  return cell.outcome == Outcome::same ? "=" : "?";
}

/// Whether a regression of the given size was seen; empty if nothing was compared. Percentages are
/// rounded away from what would please.
std::string answer_of(const ComparedCell& cell) {
  if (cell.cannot_tell) return "cannot tell";
  if (cell.ratio.rounds == 0) return cell.regression ? "seen" : "";
  if (cell.regression)
    return fmt::format("seen: at least {:.1f} %", std::floor(1000 * (cell.ratio.low - 1)) / 10);
  return fmt::format("none: at most {:.1f} %", std::ceil(1000 * (cell.ratio.high - 1)) / 10);
}

TableRow row_of(const ComparedCell& cell) {
  std::string ratio, times, spread, launches;
  if (cell.ratio.rounds > 0) {
    ratio = fmt::format("{} [{}]", ratio_text(cell.ratio.ratio), range_text(cell.ratio));
    times = fmt::format("{} → {}", number_text(cell.ns_a), number_text(cell.ns_b));
    spread = percent_text(100 * cell.spread);
    launches = fmt::format("{} + {}", cell.launches_a, cell.launches_b);
  }
  return {{fmt::format("{} {}", symbol_of(cell), cell.outcome), answer_of(cell), cell.kernel,
           cell.workload + threads_text(cell.threads), cell.board, ratio, spread, times, launches,
           cell.note}};
}

std::string counts_text(const Comparison& comparison) {
  std::map<Outcome, int> counts;
  for (const ComparedCell& cell : comparison.cells) ++counts[cell.outcome];
  std::string text;
  for (const auto& [outcome, count] : counts)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, outcome);
  return text;
}

std::pair<Standing, std::string> headline(const Comparison& comparison) {
  if (!comparison.invalid.empty())
    return {Standing::failed, "Nothing was compared: " + comparison.invalid};
  const std::string asked = percent_text(100 * comparison.max_regression);
  const std::string untold =
      fmt::format("{} of {} compared contestants", comparison.cannot_tell, comparison.compared);
  if (comparison.regressions > 0)
    return {Standing::failed,
            fmt::format("{} regression{}{}", comparison.regressions,
                        comparison.regressions == 1 ? "" : "s",
                        comparison.cannot_tell > 0 ? "; cannot tell for " + untold : "")};
  if (comparison.cannot_tell > 0)
    return {Standing::not_run,
            fmt::format("Cannot tell: a regression of more than {} may hide in {}", asked, untold)};
  return {Standing::verified, fmt::format("No regression of more than {} found", asked)};
}

std::string how_to_read(const Comparison& comparison) {
  const bool by_ceiling = std::ranges::any_of(comparison.cells, &ComparedCell::by_ceiling);
  const std::string by_chance =
      fmt::format(" By chance alone up to {:.1f} of {} contestants would stand out.",
                  comparison.by_chance, comparison.compared);
  return fmt::format(
      "The ratio is the time of the second divided by that of the first; below 1 is faster{}. A "
      "regression is seen if its whole range lies above 1 by more than {}. The spread is by how "
      "much unchanged code differs.{}",
      by_ceiling ? ". Each time is in units of its own run's ceiling, which cancels out drift of "
                   "the machine"
                 : "",
      percent_text(100 * comparison.max_regression), comparison.of_builds ? "" : by_chance);
}

}  // namespace

Document comparison_of(const Comparison& comparison) {
  const auto [standing, title] = headline(comparison);
  Document out{title, standing};
  out.lead.push_back(Paragraph{fmt::format("{} → {}, {} {}", comparison.name_a, comparison.name_b,
                                           comparison.of_builds ? "in" : "on", comparison.place)});
  if (comparison.invalid.empty()) out.lead.push_back(Paragraph{counts_text(comparison)});
  Facts changed;
  for (const std::string& verdict : comparison.verdicts) changed.add("✗", verdict);
  if (!changed.facts.empty()) out.lead.push_back(changed);
  const Table empty{"",
                    {{"outcome"},
                     {"regression"},
                     {"kernel"},
                     {"workload"},
                     {"board"},
                     {"ratio", true},
                     {"spread", true},
                     {"ns/token", true},
                     {"launches", true},
                     {""}},
                    {}};
  Table regressions = empty, others = empty;
  for (const ComparedCell& cell : comparison.cells)
    (cell.regression ? regressions : others).rows.push_back(row_of(cell));
  if (!regressions.rows.empty()) out.lead.push_back(std::move(regressions));
  if (!others.rows.empty())
    out.parts.push_back(Part{"All other contestants, the undecided ones first", "", "", true}.add(
        std::move(others)));
  Facts told;
  for (const std::string& line : comparison.told) told.add("differs", line);
  if (!told.facts.empty())
    out.parts.push_back(
        Part{"Other differences between the runs", "", "", true}.add(std::move(told)));
  if (comparison.invalid.empty()) out.foot.push_back(how_to_read(comparison));
  return out;
}

}  // namespace ropewalk::report
