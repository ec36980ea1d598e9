#include "reports/pages/checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "base/text.h"
#include "reports/record/found_plugins.h"

namespace ropewalk::report {
namespace {

constexpr std::size_t shown_failures = 3;  ///< the others are folded

Standing standing_of(Verdict verdict) {
  return is_failure(verdict)   ? Standing::failed
         : is_not_run(verdict) ? Standing::not_run
                               : Standing::verified;
}

/// Short enough for a narrow column: two decimals, cut off, so that a margin below 1 never reads as
/// 1.
std::string short_margin(double margin) {
  if (margin > 0 && margin < 0.01) return "<.01";
  return margin > 0 && margin <= 1 ? fmt::format("{:.2f}", std::floor(margin * 100) / 100)
                                   : margin_text(margin);
}

/// The more of the bound is used, the fuller: a colour and a shape. A margin that is not a number
/// gets the deepest.
std::pair<const char*, const char*> shade_of(double margin) {
  if (margin < 0.5) return {"good far", "○"};
  if (margin < 0.9) return {"good mid", "◐"};
  return {"good near", "●"};
}

Cell cell_for(const VerdictRow* row, const CheckIds& ids) {
  if (row == nullptr) return {};
  const Verdict verdict = verdict_of(*row);
  const Standing standing = standing_of(verdict);
  Cell cell;
  if (standing == Standing::verified) {
    const auto [look, symbol] = shade_of(row->margin);
    cell = Cell(fmt::format("{} {}", symbol, short_margin(row->margin)), look);
  } else if (standing == Standing::failed) {
    const bool is_number = verdict == Verdict::fail && !(row->margin <= 1);
    const auto id = ids.find(row);
    cell = Cell(Span{"✗ " + (is_number ? margin_text(row->margin) : std::string(word(verdict))),
                     Style::plain, Tone::plain, id == ids.end() ? "" : id->second});
    cell.look = "bad";
  } else {
    cell = Cell("–", "none");
  }
  cell.title = fmt::format("{} {} {}: {}{}{}{}", row->property, row->pairing, row->dtype, verdict,
                           standing == Standing::verified ? " " + margin_text(row->margin) : "",
                           row->known.empty() ? "" : ", known " + row->known,
                           row->reason.empty() ? "" : ", " + row->reason);
  return cell;
}

const VerdictRow* worse_of(const VerdictRow* a, const VerdictRow* b) {
  if (a == nullptr || b == nullptr) return a == nullptr ? b : a;
  return is_worse(*b, *a) ? b : a;
}

/// The lines of one kernel: the worst of its pairings and data types for each property.
struct KernelLine {
  const VerdictRow* of = nullptr;
  const VerdictRow* whole = nullptr;
  std::vector<const VerdictRow*> cells;
  std::string declared = {};  ///< each text once
};

bool is_same_kernel(const VerdictRow& a, const VerdictRow& b) {
  return a.kernel == b.kernel && a.plugin == b.plugin && a.angle_contract == b.angle_contract &&
         words_beside(a.judged_on) == words_beside(b.judged_on);
}

std::vector<KernelLine> lines_of(const Summary& summary) {
  std::vector<KernelLine> lines;
  for (const MatrixRow& row : summary.matrix) {
    if (lines.empty() || !is_same_kernel(*lines.back().of, *row.of))
      lines.push_back({row.of, nullptr, std::vector<const VerdictRow*>(row.cells.size())});
    KernelLine& line = lines.back();
    line.whole = worse_of(line.whole, row.whole);
    if (const std::string& own = row.of->declared; line.declared.find(own) == std::string::npos)
      line.declared += (line.declared.empty() ? "" : "; ") + own;
    for (std::size_t i = 0; i < row.cells.size(); ++i)
      line.cells[i] = worse_of(line.cells[i], row.cells[i]);
  }
  return lines;
}

Line head_of(const KernelLine& line, const CheckIds& ids) {
  Line head(Span{line.of->kernel, Style::name});
  if (line.whole != nullptr) {
    const Cell whole = cell_for(line.whole, ids);
    Span span = whole.line.spans.at(0);
    span.text = fmt::format("{}", verdict_of(*line.whole));
    span.style = Style::pill;
    span.tone = is_failure(verdict_of(*line.whole)) ? Tone::bad : Tone::none;
    head.add(span);
  }
  std::string words = line.of->angle_contract;
  for (const std::string& more :
       {words_beside(line.of->judged_on, line.declared), shown_plugin(line.of->plugin)})
    if (!more.empty()) words += ", " + more;
  head.add({words, Style::small});
  return head;
}

/// What the cases of the covering array met: a row for each kernel and each text that some of its
/// pairings and types share.
Table coverage_of(const Results& results) {
  std::map<std::tuple<std::string, std::string, std::string>, std::string> cells;
  for (const VerdictRow& row : results.verdicts) {
    if (row.coverage.empty()) continue;
    const std::string words = words_beside(row.judged_on);
    const std::string kernel = words.empty() ? row.kernel : row.kernel + " (" + words + ")";
    std::string& list = cells[{kernel, row.coverage, row.not_offered}];
    list += fmt::format("{}{} {}", list.empty() ? "" : ", ", row.pairing, row.dtype);
  }
  Table table{
      "A case of the covering array mixes levels of all features, such as a window, 64-bit "
      "positions and more than 1000 tokens. Every two levels that a kernel takes should "
      "meet in a case. What a kernel refuses was never judged.",
      {{"kernel"}, {"met"}, {"not offered"}},
      {},
      "stack"};
  for (const auto& [key, list] : cells) {
    const auto& [kernel, coverage, not_offered] = key;
    table.rows.push_back({{Line(kernel).add({list, Style::small}), coverage, not_offered}});
  }
  return table;
}

/// A group's claims, and each kernel's worst margin of each.
Part group_part(const std::string& group, const std::vector<std::size_t>& members,
                const Summary& summary, const std::vector<KernelLine>& lines, const CheckIds& ids) {
  Table claims{"",
               {{"property"},
                {"claim"},
                {"holds", true},
                {"values compared", true},
                {"largest passing margin", true}},
               {},
               "stack"};
  Table matrix{"The worst of a kernel's pairings and data types; results.csv has each.",
               {{"kernel"}},
               {},
               "matrix"};
  std::int64_t passed = 0, judged = 0;
  for (const std::size_t i : members) {
    const PropertySummary& property = summary.properties[i];
    passed += property.passed;
    judged += property.passed + property.failed;
    claims.rows.push_back({{Span{property.name, Style::name}, property.claim,
                            fmt::format("{} of {}", count_text(property.passed),
                                        count_text(property.passed + property.failed)),
                            count_text(property.compared),
                            property.passed > 0 ? margin_text(property.worst_margin) : ""}});
    matrix.columns.push_back({property.name, false, property.claim});
  }
  for (const KernelLine& line : lines) {
    TableRow row{{Cell(head_of(line, ids))}};
    bool any = false;
    for (const std::size_t i : members) {
      row.cells.push_back(cell_for(line.cells[i], ids));
      any |= line.cells[i] != nullptr;
    }
    if (any) matrix.rows.push_back(std::move(row));
  }
  Part part{fmt::format("{}: {} of {} claims hold", group, count_text(passed), count_text(judged))};
  part.is_folded = true;
  part.add(std::move(claims));
  Part each{"Each kernel's margins", "", "", false, true};
  part.add(each.add(std::move(matrix)));
  return part;
}

}  // namespace

std::string cell_of(const VerdictRow& row) {
  if (row.pairing.empty()) return row.angle_contract;
  return fmt::format("{} {} {}", row.pairing, row.dtype, row.angle_contract);
}

std::string cell_and_words(const VerdictRow& row, std::string_view between, std::string_view end) {
  const std::string words = words_beside(row);
  return words.empty() ? cell_of(row) : fmt::format("{}{}{}{}", cell_of(row), between, words, end);
}

Check check_of(const VerdictRow& row) {
  const Verdict verdict = verdict_of(row);
  Check check{standing_of(verdict), word(verdict),
              row.kernel,           std::string(is_on_everything(row) ? everything : row.property),
              cell_of(row),         words_beside(row)};
  check.message = fmt::format("{}{}{}{}{}", verdict, row.reason.empty() ? "" : ": ", row.reason,
                              row.cause.empty() ? "" : "; cause: ", row.cause);
  check.is_known = !row.known.empty();
  if (check.is_known) check.message = fmt::format("{}, known {}", verdict, row.known);
  check.seconds = row.seconds;
  if (!row.coverage.empty())
    check.output =
        row.coverage + (row.not_offered.empty() ? "" : "; not offered: " + row.not_offered);
  Facts& facts = check.facts;
  const bool exceeds = verdict == Verdict::fail && !(row.margin <= 1);
  facts.add("claim", row.claim);
  facts.add("known", row.known);
  facts.add("because", row.reason);
  facts.add("error", row.error);
  if (exceeds && row.error.empty())
    facts.add("error", fmt::format("{} times the bound of {:.4g} {}", margin_text(row.margin),
                                   row.bound, row.bound_unit));
  if (row.worst_margin > 0)
    facts.add("worst", margin_text(row.worst_margin) + " times the bound in a larger case");
  facts.add("where", row.where);
  facts.add("cause", row.cause);
  facts.add("diagnosis", row.diagnosis);
  if (!row.replay.empty()) facts.add("replay", Span{row.replay, Style::code});
  if (exceeds && !row.error.empty())
    facts.add("margin", margin_text(row.margin) + " times the bound", true);
  facts.add("severity", row.severity, true);
  facts.add("cases",
            fmt::format("{} executed of {} planned, {} values compared", count_text(row.executed),
                        count_text(row.planned), count_text(row.compared)),
            true);
  facts.add("judged on", words_beside(row.judged_on), true);
  facts.add("declared", row.declared, true);
  facts.add("plugin", shown_plugin(row.plugin), true);
  facts.add("case", row.shrunk_case, true);
  if (!row.worst_replay.empty()) facts.add("its replay", Span{row.worst_replay, Style::code}, true);
  return check;
}

CheckIds check_ids(const Summary& summary) {
  CheckIds ids;
  for (const VerdictRow* row : summary.failures)
    ids.try_emplace(row, fmt::format("failure-{}", ids.size() + 1));
  return ids;
}

std::vector<Block> failure_blocks(const Summary& summary, const CheckIds& ids) {
  std::map<std::string, std::size_t> by_name;  // the first shown of each cause
  std::vector<Check> causes;
  for (const VerdictRow* row : summary.failures) {
    const std::string name = row->same_cause.empty()
                                 ? fmt::format("{} {} {}", row->property, row->pairing, row->dtype)
                                 : row->same_cause;
    const auto [at, is_new] =
        by_name.emplace(row->kernel + "\n" + row->plugin + "\n" + name, causes.size());
    Check check = check_of(*row);
    check.id = ids.at(row);
    if (is_new)
      causes.push_back(std::move(check));
    else
      causes[at->second].more.push_back(std::move(check));
  }
  std::vector<Block> out;
  Part folded;
  folded.is_folded = true;
  for (std::size_t i = 0; i < causes.size(); ++i) {
    causes[i].is_open = i == 0 || causes.size() <= shown_failures;
    if (i < shown_failures)
      out.push_back(std::move(causes[i]));
    else
      folded.add(std::move(causes[i]));
  }
  if (folded.blocks.empty()) return out;
  folded.title = fmt::format("{} more causes", folded.blocks.size());
  out.push_back(std::move(folded));
  return out;
}

std::vector<Block> verification_blocks(const Results& results, const Summary& summary,
                                       const CheckIds& ids) {
  const std::vector<KernelLine> lines = lines_of(summary);
  if (lines.empty()) return {};
  std::vector<std::pair<std::string, std::vector<std::size_t>>> groups;
  for (std::size_t i = 0; i < summary.properties.size(); ++i) {
    const std::string& given = summary.properties[i].group;
    const std::string name = given.empty() ? "claims" : given;
    auto at = std::ranges::find(groups, name, &decltype(groups)::value_type::first);
    if (at == groups.end()) at = groups.insert(at, {name, {}});
    at->second.push_back(i);
  }
  Table map{
      "Look for ✗, which leads to the failing case, and for ●: a cell is one kernel and one "
      "group of claims, and its number is the worst margin, i.e. the worst error divided by "
      "its derived bound. The limit is 1; 0.9 to 1 is normal, as the bounds are tight. – was "
      "not run. Below the map each group unfolds into its claims.",
      {{"kernel"}},
      {},
      "matrix map"};
  for (const auto& group : groups) map.columns.push_back({group.first});
  for (const KernelLine& line : lines) {
    TableRow row{{Cell(head_of(line, ids))}};
    for (const auto& group : groups) {
      const VerdictRow* worst = nullptr;
      for (const std::size_t i : group.second) worst = worse_of(worst, line.cells[i]);
      row.cells.push_back(cell_for(worst, ids));
    }
    map.rows.push_back(std::move(row));
  }
  std::vector<Block> out{std::move(map)};
  for (const auto& [name, members] : groups)
    out.push_back(group_part(name, members, summary, lines, ids));
  Table met = coverage_of(results);
  if (met.rows.empty()) return out;
  Part part{"What the cases met", "", "", true, true};
  out.push_back(part.add(std::move(met)));
  return out;
}

}  // namespace ropewalk::report
