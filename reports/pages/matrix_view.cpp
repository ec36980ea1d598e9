// The verification matrix, and the failures to which its cells lead, as data for the templates.
#include "reports/pages/matrix_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>

#include "base/text.h"
#include "reports/pages/view.h"
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

/// How deep the green of a margin is. A margin that is not a number gets the deepest.
const char* shade_of(double margin) {
  return margin < 0.5 ? "far" : margin < 0.9 ? "mid" : "near";
}

/// The same as a shape: the more of the bound is used, the fuller.
const char* shape_of(double margin) {
  return margin < 0.5 ? "○" : margin < 0.9 ? "◐" : "●";
}

View cell_view(const VerdictRow* row, const FailureIds& ids) {
  View item;
  item.set("has_cell", flag(row != nullptr));
  if (row == nullptr) return item;
  const auto verdict = verdict_of(*row);
  const Mark mark = mark_of(verdict);
  const bool holds = !is_failure(verdict) && !is_not_run(verdict);
  item.set("cell_class", holds ? fmt::format("good {}", shade_of(row->margin)) : mark.css_class);
  item.set("cell_symbol", mark.symbol);
  item.set("cell_mark", holds ? shape_of(row->margin) : mark.symbol);
  item.set("cell_text", cell_text(*row));
  item.set("cell_short", holds ? short_margin(row->margin) : cell_text(*row));
  item.set("cell_title",
           clean_line(fmt::format("{} {} / {}: {} {}{}{}{}{}", row->property, row->pairing,
                                  row->dtype, verdict, holds ? margin_text(row->margin) : "",
                                  row->known.empty() ? "" : ", known ", row->known,
                                  row->reason.empty() ? "" : ", ", row->reason)));
  item.set("cell_holds", flag(holds));
  item.set("cell_failed", flag(is_failure(verdict)));
  item.set("cell_not_run", flag(is_not_run(verdict)));
  const auto id = ids.find(row);
  item.set("cell_failure_id", id == ids.end() ? "" : id->second);
  return item;
}

View cell_views(const std::vector<const VerdictRow*>& cells, const FailureIds& ids) {
  View out{View::type::list};
  for (const VerdictRow* cell : cells) out << cell_view(cell, ids);
  return out;
}

View line_view(const MatrixRow& row, const FailureIds& ids) {
  View line;
  line.set("line_pairing", clean_line(row.of->pairing));
  line.set("line_dtype", clean_line(row.of->dtype));
  line.set("line_contract", clean_line(row.of->angle_contract));
  line.set("line_kernel", clean_line(row.of->kernel));
  const std::string judged_on = words_beside(*row.of);
  line.set("line_judged_on", clean_line(judged_on));
  line.set("has_line_judged_on", flag(!judged_on.empty()));
  View whole{View::type::list};
  if (row.whole != nullptr) whole << cell_view(row.whole, ids);
  line.set("whole", std::move(whole));
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
  group.set("group_name", clean_line(begin->of->kernel));
  group.set("group_plugin", clean_line(shown_plugin(begin->of->plugin)));
  group.set("group_is_plugin", flag(!begin->of->plugin.empty()));
  const std::string judged_on = words_beside(begin->of->judged_on, declared_in(begin, end));
  group.set("group_judged_on", clean_line(judged_on));
  group.set("has_group_judged_on", flag(!judged_on.empty()));
  group.set("group_contract", clean_line(begin->of->angle_contract));
  group.set("group_cells", cell_views(worst_cells(begin, end), ids));
  const VerdictRow* worst = nullptr;
  for (const MatrixRow* row = begin; row != end; ++row) {
    lines << line_view(*row, ids);
    if (row->whole != nullptr && (worst == nullptr || is_worse(*row->whole, *worst)))
      worst = row->whole;
  }
  View whole{View::type::list};
  if (worst != nullptr) whole << cell_view(worst, ids);
  group.set("group_whole", std::move(whole));
  group.set("lines", std::move(lines));
  return group;
}

View failure_view(const VerdictRow& row, const std::string& id) {
  View item;
  const std::string property =
      is_on_everything(row) ? std::string(everything) : clean_line(row.property);
  item.set("failure_id", id);
  item.set("failure_property", property);
  item.set("failure_verdict", std::string(word(verdict_of(row))));
  item.set("failure_kernel", clean_line(row.kernel));
  const std::string judged_on = words_beside(row);
  item.set("failure_contract",
           clean_line(fmt::format("{} / {} / {}{}{}", row.pairing, row.dtype, row.angle_contract,
                                  judged_on.empty() ? "" : ", ", judged_on)));
  View fields{View::type::list};
  std::string block;
  const auto add = [&](const char* name, const std::string& value) {
    if (value.empty()) return;
    fields << named(name, value);
    block += fmt::format("{:<10} {}\n", name, clean_line(value));
  };
  add("claim", row.claim);
  add("reason", row.reason);
  add("known", row.known);
  if (verdict_of(row) == Verdict::fail) {
    const std::string worst =
        row.worst_margin > 0 ? fmt::format(", {} in a larger case", margin_text(row.worst_margin))
                             : "";
    add("margin", fmt::format("{} times the bound{}", margin_text(row.margin), worst));
    if (row.bound > 0) add("bound", fmt::format("{:.4g} {}", row.bound, row.bound_unit));
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
  item.set("failure_fields", std::move(fields));
  if (!block.empty()) block.pop_back();
  item.set("failure_block", markdown_block(block));
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

View standouts_view(const Summary& summary) {
  constexpr std::size_t failures_max = 6, closest_max = 3;
  const auto used = [](const VerdictRow* row) {
    return std::isnan(row->margin) ? std::numeric_limits<double>::infinity() : row->margin;
  };
  std::vector<const VerdictRow*> closest(summary.properties.size());  // one a property
  for (const MatrixRow& row : summary.matrix)
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      const VerdictRow* cell = row.cells[i];
      if (cell == nullptr || verdict_of(*cell) != Verdict::pass) continue;
      if (closest[i] == nullptr || used(cell) > used(closest[i])) closest[i] = cell;
    }
  std::erase(closest, nullptr);
  std::stable_sort(closest.begin(), closest.end(),
                   [&](const auto* a, const auto* b) { return used(a) > used(b); });
  closest.resize(std::min(closest.size(), closest_max));
  std::vector<const VerdictRow*> rows = summary.failures;
  rows.resize(std::min(rows.size(), failures_max));
  rows.insert(rows.end(), closest.begin(), closest.end());
  const FailureIds ids = failure_ids(summary);
  View out{View::type::list};
  for (const VerdictRow* row : rows) {
    const auto verdict = verdict_of(*row);
    std::string text =
        fmt::format("{} of {} {}", is_on_everything(*row) ? everything : row->property,
                    row->pairing, row->dtype);
    if (verdict == Verdict::pass || verdict == Verdict::fail)
      text += fmt::format(": {} of the bound", margin_text(row->margin));
    View item;
    item.set("standout_failed", flag(is_failure(verdict)));
    item.set("standout_id", is_failure(verdict) ? ids.at(row) : "");
    item.set("standout_word", std::string(is_failure(verdict) ? word(verdict) : "closest"));
    item.set("standout_kernel", clean_line(row->kernel));
    item.set("standout_text", clean_line(text));
    out << std::move(item);
  }
  return out;
}

View coverage_view(const Results& results) {
  std::map<std::tuple<std::string, std::string, std::string>, std::string> cells;
  std::vector<decltype(cells)::key_type> order;
  for (const VerdictRow& row : results.verdicts) {
    if (row.coverage.empty()) continue;
    const std::string words = words_beside(row.judged_on);
    const std::string kernel = words.empty() ? row.kernel : row.kernel + " (" + words + ")";
    const std::tuple key{kernel, row.coverage, row.not_offered};
    std::string& list = cells[key];
    if (list.empty()) order.push_back(key);
    list += fmt::format("{}{} {}", list.empty() ? "" : ", ", row.pairing, row.dtype);
  }
  View out{View::type::list};
  for (const auto& key : order) {
    View item;
    item.set("met_kernel", clean_line(std::get<0>(key)));
    item.set("met_cells", clean_line(cells.at(key)));
    item.set("met_words", clean_line(std::get<1>(key)));
    item.set("met_not_offered", clean_line(std::get<2>(key)));
    out << std::move(item);
  }
  return out;
}

View failures_view(const Summary& summary) {
  View out{View::type::list};
  const FailureIds ids = failure_ids(summary);
  for (const VerdictRow* row : summary.failures) {
    View item = failure_view(*row, ids.at(row));
    item.set("failure_open", flag(row == summary.failures.front() || summary.failures.size() <= 3));
    out << std::move(item);
  }
  return out;
}

}  // namespace ropewalk::report
