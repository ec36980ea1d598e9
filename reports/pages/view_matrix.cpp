// The verification matrix, and the failures to which its cells lead, as data for the templates.
#include "reports/pages/view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "base/text.h"
#include "reports/record/found_plugins.h"

namespace ropewalk::report {
namespace {

using FailureIds = std::map<const VerdictRow*, std::string>;

FailureIds failure_ids(const Summary& summary) {
  FailureIds ids;
  for (const VerdictRow* row : summary.failures)
    ids.try_emplace(row, fmt::format("failure-{}", ids.size() + 1));
  return ids;
}

/// Short enough for a narrow column: two decimals, cut off, so that a margin below 1 never reads as
/// 1.
std::string short_margin(double margin) {
  if (margin > 0 && margin < 0.01) return "<.01";
  return margin > 0 && margin <= 1 ? fmt::format("{:.2f}", std::floor(margin * 100) / 100)
                                   : margin_text(margin);
}

/// The margin if there is one, else the verdict.
std::string cell_text(const VerdictRow& row) {
  const auto verdict = verdict_of(row);
  const bool number = verdict == Verdict::pass || (verdict == Verdict::fail && !(row.margin <= 1));
  return number ? margin_text(row.margin) : std::string(word(verdict));
}

/// How deep the green of a margin is, and the same as a shape: the more of the bound is used, the
/// fuller. A margin that is not a number gets the deepest.
Mark shade_of(double margin) {
  if (margin < 0.5) return {"good far", "○"};
  return margin < 0.9 ? Mark{"good mid", "◐"} : Mark{"good near", "●"};
}

View cell_view(const VerdictRow* row, const FailureIds& ids) {
  View item;
  item.set("has_cell", row != nullptr);
  if (row == nullptr) return item;
  const auto verdict = verdict_of(*row);
  const bool holds = !is_failure(verdict) && !is_not_run(verdict);
  const Mark shade = holds ? shade_of(row->margin) : mark_of(verdict);
  item.set("cell_class", shade.css_class);
  item.set("cell_symbol", mark_of(verdict).symbol);
  item.set("cell_mark", shade.symbol);
  item.set("cell_text", cell_text(*row));
  item.set("cell_short", holds ? short_margin(row->margin) : cell_text(*row));
  item.set("cell_title", fmt::format("{} {} / {}: {} {}{}{}{}{}", row->property, row->pairing,
                                     row->dtype, verdict, holds ? margin_text(row->margin) : "",
                                     row->known.empty() ? "" : ", known ", row->known,
                                     row->reason.empty() ? "" : ", ", row->reason));
  item.set("cell_holds", holds);
  item.set("cell_failed", is_failure(verdict));
  item.set("cell_not_run", is_not_run(verdict));
  const auto id = ids.find(row);
  item.set("cell_failure_id", id == ids.end() ? "" : id->second);
  return item;
}

View cell_views(const std::vector<const VerdictRow*>& cells, const FailureIds& ids) {
  return views_of(cells, [&](const VerdictRow* cell) { return cell_view(cell, ids); });
}

/// The cell alone, or nothing for NULL.
View list_with(const VerdictRow* cell, const FailureIds& ids) {
  return cell_views(std::vector(std::size_t{cell != nullptr}, cell), ids);
}

View line_view(const MatrixRow& row, const FailureIds& ids) {
  View line;
  line.set("line_pairing", row.of->pairing);
  line.set("line_dtype", row.of->dtype);
  line.set("line_contract", row.of->angle_contract);
  line.set("line_kernel", row.of->kernel);
  line.set("line_judged_on", words_beside(*row.of));
  line.set("whole", list_with(row.whole, ids));
  line.set("cells", cell_views(row.cells, ids));
  return line;
}

bool same_kernel(const MatrixRow& a, const MatrixRow& b) {
  return a.of->kernel == b.of->kernel && a.of->plugin == b.of->plugin &&
         a.of->angle_contract == b.of->angle_contract &&
         words_beside(a.of->judged_on) == words_beside(b.of->judged_on);
}

/// For each property the worst cell of all lines.
std::vector<const VerdictRow*> worst_cells(const MatrixRow* begin, const MatrixRow* end) {
  std::vector<const VerdictRow*> worst = begin->cells;
  for (const MatrixRow* row = begin + 1; row != end; ++row)
    for (std::size_t i = 0; i < worst.size(); ++i) {
      const VerdictRow* cell = row->cells[i];
      if (cell != nullptr && (worst[i] == nullptr || is_worse(*cell, *worst[i]))) worst[i] = cell;
    }
  return worst;
}

/// What the lines of a kernel declare, each text once: it differs by data type, not by pairing.
std::string declared_in(const MatrixRow* begin, const MatrixRow* end) {
  std::string out;
  for (const MatrixRow* row = begin; row != end; ++row)
    if (out.find(row->of->declared) == std::string::npos)
      out += (out.empty() ? "" : "; ") + row->of->declared;
  return out;
}

View group_view(const MatrixRow* begin, const MatrixRow* end, const FailureIds& ids) {
  View group, lines{View::type::list};
  group.set("group_kernel", pieces(clean_line(begin->of->kernel)));
  group.set("group_name", begin->of->kernel);
  group.set("group_plugin", shown_plugin(begin->of->plugin));
  group.set("group_judged_on", words_beside(begin->of->judged_on, declared_in(begin, end)));
  group.set("group_contract", begin->of->angle_contract);
  group.set("group_cells", cell_views(worst_cells(begin, end), ids));
  const VerdictRow* worst = nullptr;
  for (const MatrixRow* row = begin; row != end; ++row) {
    lines << line_view(*row, ids);
    if (row->whole != nullptr && (worst == nullptr || is_worse(*row->whole, *worst)))
      worst = row->whole;
  }
  group.set("group_whole", list_with(worst, ids));
  group.set("lines", std::move(lines));
  return group;
}

View failure_view(const VerdictRow& row, const std::string& id) {
  View item, fields{View::type::list};
  item.set("failure_id", id);
  item.set("failure_property", is_on_everything(row) ? std::string(everything) : row.property);
  item.set("failure_verdict", word(verdict_of(row)));
  item.set("failure_kernel", row.kernel);
  const std::string judged_on = words_beside(row);
  item.set("failure_contract",
           fmt::format("{} / {} / {}{}{}", row.pairing, row.dtype, row.angle_contract,
                       judged_on.empty() ? "" : ", ", judged_on));
  std::string block;
  for (const auto& [name, value] : failure_facts(row)) {
    fields << named(name, value);
    block += fmt::format("{:<10} {}\n", name, clean_line(value));
  }
  item.set("failure_fields", std::move(fields));
  if (!block.empty()) block.pop_back();
  item.set("failure_block", View(markdown_block(block)));
  return item;
}

}  // namespace

View matrix_view(const Summary& summary) {
  View out{View::type::list};
  const FailureIds ids = failure_ids(summary);
  const MatrixRow* end = summary.matrix.data() + summary.matrix.size();
  for (const MatrixRow* row = summary.matrix.data(); row != end;) {
    const MatrixRow* next =
        std::find_if(row, end, [row](const MatrixRow& other) { return !same_kernel(*row, other); });
    out << group_view(row, next, ids);
    row = next;
  }
  return out;
}

std::vector<std::pair<std::string_view, std::string>> failure_facts(const VerdictRow& row) {
  std::vector<std::pair<std::string_view, std::string>> facts;
  const auto add = [&facts](std::string_view name, const std::string& value) {
    if (!value.empty()) facts.emplace_back(name, value);
  };
  add("claim", row.claim);
  add("reason", row.reason);
  add("known", row.known);
  if (verdict_of(row) == Verdict::fail) {
    const std::string worst =
        row.worst_margin > 0 ? fmt::format(", {} in a larger case", margin_text(row.worst_margin))
                             : "";
    add("error", row.error);
    add("margin", fmt::format("{} times the bound{}", margin_text(row.margin), worst));
    add("severity", row.severity);
    if (row.bound > 0 && row.error.empty())
      add("bound", fmt::format("{:.4g} {}", row.bound, row.bound_unit));
  }
  add("where", row.where);
  add("cause", row.cause);
  add("diagnosis", row.diagnosis);
  add("cases",
      fmt::format("{} executed of {} planned, {} values compared", count_text(row.executed),
                  count_text(row.planned), count_text(row.compared)));
  add("judged on", words_beside(row.judged_on));
  add("declared", row.declared);
  add("plugin", shown_plugin(row.plugin));
  add("case", row.shrunk_case);
  add("replay", row.replay);
  add("worst", row.worst_replay);
  return facts;
}

View coverage_view(const Results& results) {
  std::map<std::tuple<std::string, std::string, std::string>, std::string> cells;
  for (const VerdictRow& row : results.verdicts) {
    if (row.coverage.empty()) continue;
    const std::string words = words_beside(row.judged_on);
    const std::string kernel = words.empty() ? row.kernel : row.kernel + " (" + words + ")";
    std::string& list = cells[{kernel, row.coverage, row.not_offered}];
    list += fmt::format("{}{} {}", list.empty() ? "" : ", ", row.pairing, row.dtype);
  }
  return views_of(cells, [](const auto& cell) {
    const auto& [kernel, coverage, not_offered] = cell.first;
    View item;
    item.set("met_kernel", kernel);
    item.set("met_cells", cell.second);
    item.set("met_words", coverage);
    item.set("met_not_offered", not_offered);
    return item;
  });
}

View failures_view(const Summary& summary) {
  const FailureIds ids = failure_ids(summary);
  std::map<std::string, std::size_t> by_name;  // the first shown of each cause
  std::vector<std::vector<const VerdictRow*>> causes;
  for (const VerdictRow* row : summary.failures) {
    const std::string name = row->same_cause.empty()
                                 ? fmt::format("{} {} {}", row->property, row->pairing, row->dtype)
                                 : row->same_cause;
    const auto [at, is_new] =
        by_name.emplace(row->kernel + "\n" + row->plugin + "\n" + name, causes.size());
    if (is_new) causes.emplace_back();
    causes[at->second].push_back(row);
  }
  View out{View::type::list};
  for (std::size_t i = 0; i < causes.size(); ++i) {
    View item = failure_view(*causes[i][0], ids.at(causes[i][0]));
    item.set("failure_open", i == 0 || causes.size() <= shown_failures);
    if (i == shown_failures)
      item.set("failure_fold", fmt::format("{} more causes", causes.size() - shown_failures));
    causes[i].erase(causes[i].begin());
    item.set("more", views_of(causes[i], [&](const VerdictRow* row) {
               return failure_view(*row, ids.at(row));
             }));
    item.set("more_count", std::to_string(causes[i].size()));
    if (i + 1 == causes.size()) item.set("ends_fold", i >= shown_failures);
    out << std::move(item);
  }
  return out;
}

}  // namespace ropewalk::report
