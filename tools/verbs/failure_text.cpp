#include "tools/verbs/failure_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "base/text.h"
#include "harness/cases/case.h"
#include "harness/cases/names.h"

namespace ropewalk::tools {
using namespace harness;
using namespace report;
namespace {

constexpr std::size_t columns = 100, block_lines = 20, text_column = 17;

// Where a line ends: after a part of the text, else at a space, else after a comma, else behind the
// word that is too long.
std::size_t end_of_line(std::string_view text, std::size_t width, std::size_t least) {
  if (text.size() <= width) return text.size();
  for (const std::string_view mark : {"; ", " ", ","}) {
    const std::size_t kept = mark == " " ? 0 : 1, at = text.rfind(mark, width - kept);
    if (at != std::string_view::npos && at > least) return at + kept;
  }
  return std::min(text.find(' ', std::max(width, least)), text.size());
}

// A case's text without what tells its cell.
std::string without_cell(const std::string& case_text) {
  std::string out;
  for (std::size_t at = 0; at < case_text.size();) {
    const std::size_t end = std::min(case_text.find(' ', at), case_text.size());
    const std::string word = case_text.substr(at, end - at);
    if (!word.starts_with("pairing=") && !word.starts_with("dtype=")) out += word + " ";
    at = end + 1;
  }
  return out;
}

// Failures that the first of them explains.
struct OneCause {
  VerdictRow first;
  std::vector<VerdictRow> more;
};

std::vector<OneCause> by_cause(const std::vector<VerdictRow>& failures) {
  std::vector<OneCause> causes;
  Causes known;
  for (const VerdictRow& row : failures)
    if (const std::size_t at = known.add(row); at == causes.size())
      causes.push_back({row, {}});
    else
      causes[at].more.push_back(row);
  return causes;
}

// All that a block explains: "norm, decay (half_split f32, interleaved f32); ...".
std::string same_cause(const std::vector<VerdictRow>& rows) {
  std::vector<std::pair<std::string, std::string>> cells_of;  // properties in order, with cells
  for (const VerdictRow& row : rows) {
    const std::string cell = row.pairing + " " + row.dtype;
    const auto at = std::ranges::find_if(
        cells_of, [&](const auto& known) { return known.first == row.property; });
    if (at == cells_of.end())
      cells_of.emplace_back(row.property, cell);
    else
      at->second += ", " + cell;
  }
  std::ranges::stable_sort(cells_of,
                           [](const auto& a, const auto& b) { return a.second < b.second; });
  std::string text;
  for (std::size_t i = 0; i < cells_of.size(); ++i) {
    const bool last = i + 1 == cells_of.size() || cells_of[i + 1].second != cells_of[i].second;
    text += cells_of[i].first + (last ? fmt::format(" ({}); ", cells_of[i].second) : ", ");
  }
  const auto not_tried = std::ranges::count_if(
      rows, [](const VerdictRow& row) { return row.executed == 0 && !row.cause_ids.empty(); });
  if (not_tried > 0)
    text += fmt::format("{} of these were not tried after three equal exceptions; ", not_tried);
  return text + "--all shows each";
}

// The unit roundoff of the tensor that the row's place names, or of the first.
double unit_of(const VerdictRow& row, const std::string& case_text) {
  const Case c = case_from_text(case_text.empty() ? "dtype=" + row.dtype : case_text);
  std::size_t tensor = 0;
  for (std::size_t i = 0; i < c.tensors.size(); ++i)
    if (row.where.starts_with(std::string(tensor_words[i]) + "[")) tensor = i;
  return data_type(tensor_dtype(c, tensor)).format.u;
}

// What an error in this unit is a part of.
std::string whole_of(const std::string& unit) {
  if (unit == "u") return "";
  if (unit == "u rho") return " of |x|";
  if (unit == "u j") return " of the number of terms";
  return " of " + unit.substr(2);
}

// A line for the shell, broken only within the quotes around its case, where a newline is a space.
std::vector<std::string> replay_lines(std::string_view label, const std::string& replay) {
  const std::string text = fmt::format("      {:<10} {}", label, replay);
  const bool has_case = text.ends_with('\'');
  return wrapped(text, text_column, has_case ? text.rfind('\'', text.size() - 2) : text.size());
}

// Takes the last lines of the longest texts until the block is short enough.
void shorten(std::vector<std::vector<std::string>>& texts) {
  for (;;) {
    std::size_t lines = 0;
    for (const auto& text : texts) lines += text.size();
    auto& longest = *std::ranges::max_element(
        texts, [](const auto& a, const auto& b) { return a.size() < b.size(); });
    if (lines <= block_lines || longest.size() < 3) return;
    longest.pop_back();
    longest.back() = std::string(text_column, ' ') + "... (--all shows the rest)";
  }
}

// The failures of these rows, that which tells most first.
std::vector<VerdictRow> failures_of(const std::vector<VerdictRow>& rows) {
  std::vector<VerdictRow> failures;
  for (const VerdictRow& row : rows)
    if (is_failure(row.verdict)) failures.push_back(row);
  std::ranges::stable_sort(failures, tells_more);
  return failures;
}

}  // namespace

std::vector<std::string> wrapped(std::string_view text, std::size_t indent, std::size_t least) {
  std::vector<std::string> lines;
  do {
    const bool first = lines.empty();
    const std::size_t end =
        end_of_line(text, first ? columns : columns - indent, first ? std::max(indent, least) : 0);
    lines.push_back(std::string(first ? 0 : indent, ' ').append(text.substr(0, end)));
    text.remove_prefix(std::min(text.find_first_not_of(' ', end), text.size()));
  } while (!text.empty());
  return lines;
}

void print_lines(const std::vector<std::string>& lines) {
  fmt::print("{}\n", fmt::join(lines, "\n"));
}

std::string cell_of(const VerdictRow& row) {
  if (row.pairing.empty()) return row.angle_contract;
  return fmt::format("{} {} {}", row.pairing, row.dtype, row.angle_contract);
}

std::size_t Causes::add(const VerdictRow& row) {
  const auto is_id = [&](const char* id) { return std::ranges::count(row.cause_ids, id) > 0; };
  const std::string of = row.known + "\n",
                    cell = of + cell_of(row) + (is_id("only_outside") ? " outside" : " inside");
  std::vector<std::string> keys;
  for (const std::string& id : row.cause_ids)
    if (id != "put_right" && id != "only_outside") keys.push_back(of + id);
  if (keys.empty()) keys.push_back(of + row.property + " " + without_cell(row.shrunk_case));
  if (is_id("put_right")) keys.insert(keys.begin(), cell);
  std::size_t at = count_;
  for (const std::string& key : keys)
    if (const auto found = by_key_.find(key); found != by_key_.end()) at = found->second;
  count_ = std::max(count_, at + 1);
  if (!row.cause.empty()) keys.push_back(cell);
  for (const std::string& key : keys) by_key_.emplace(key, at);
  return at;
}

std::string cell_and_words(const VerdictRow& row, std::string_view between, std::string_view end) {
  const std::string words = words_beside(row);
  return words.empty() ? cell_of(row) : fmt::format("{}{}{}{}", cell_of(row), between, words, end);
}

std::string error_text(const VerdictRow& row, const std::string& case_text) {
  const std::string& unit = row.bound_unit;
  const bool finite = std::isfinite(row.margin);
  if (row.bound == 0 && !finite) return "where none is allowed";
  if (!unit.empty() && unit != "bound" && !unit.starts_with("u"))
    return fmt::format("{} {}, allowed {}", row.margin, unit, row.bound);
  if (unit.empty() || unit == "bound" || row.bound == 0 || !std::isfinite(row.bound))
    return margin_text(row.margin) + " times what is allowed";
  const double allowed = row.bound * unit_of(row, case_text);
  if (!finite)  // the quotient of two numbers of f64 may be infinite too
    return fmt::format("is not a finite number{}, allowed {:.1e}{}",
                       row.dtype == "f64" ? ", or above 1e308 times the bound" : "", allowed,
                       whole_of(unit));
  std::string error, limit;
  for (int digits = 1; error == limit && digits < 17; ++digits) {  // as many as tell them apart
    error = fmt::format("{:.{}e}", row.margin * allowed, digits);
    limit = fmt::format("{:.{}e}", allowed, digits);
  }
  return fmt::format("{}{}, allowed {}", error, whole_of(unit), limit);
}

void print_failure(const VerdictRow& row, const std::vector<VerdictRow>& more, bool all) {
  std::vector<std::vector<std::string>> texts{wrapped(fmt::format(
      "{:<5} {} ({}): {}", row.verdict, row.kernel, cell_and_words(row), row.property))};
  const auto add = [&](std::string_view label, const std::string& text) {
    if (!text.empty())
      texts.push_back(wrapped(fmt::format("      {:<10} {}", label, text), text_column));
  };
  add("known", row.known);
  add("claim", row.claim);
  add("because", row.reason);
  if (row.verdict == Verdict::fail && row.margin > 1)
    add("error", error_text(row, row.shrunk_case));
  if (row.worst_margin > 0)
    add("worst", margin_text(row.worst_margin) + " times the bound in a larger case");
  if (all && !row.worst_replay.empty()) texts.push_back(replay_lines("", row.worst_replay));
  add("where", row.where);
  add("cause", row.cause);
  add("diagnosis", row.diagnosis);
  const std::size_t replay_at = texts.size();
  if (!row.replay.empty()) texts.push_back(replay_lines("replay", row.replay));
  if (!more.empty()) add("same cause", same_cause(more));
  std::size_t lines = 0;
  for (const auto& text : texts) lines += text.size();
  if (!all && lines > block_lines) {
    if (!row.replay.empty())
      texts[replay_at] = {"      replay     too long for a block: --all, --json and --out give it"};
    shorten(texts);
  }
  for (const auto& text : texts) print_lines(text);
}

void print_failures(std::vector<VerdictRow> failures, bool all, const VerdictRow* shown) {
  failures = failures_of(failures);
  const auto is_shown = [&](const VerdictRow& row) {
    return shown != nullptr && row.kernel == shown->kernel && row.property == shown->property &&
           row.plugin == shown->plugin && cell_of(row) == cell_of(*shown);
  };
  if (all) {
    for (const VerdictRow& row : failures)
      if (!is_shown(row)) print_failure(row, {}, true);
    return;
  }
  for (const auto& [first, more] : by_cause(failures)) {
    if (!is_shown(first)) print_failure(first, more);
    if (!is_shown(first) || more.empty()) continue;
    print_lines(wrapped(fmt::format("{:<5} {} ({}): {}, the first failure, above", first.verdict,
                                    first.kernel, cell_and_words(first), first.property)));
    print_lines(wrapped("      same cause " + same_cause(more), text_column));
  }
}

void print_first_failure(const std::vector<VerdictRow>& rows) {
  const std::vector<VerdictRow> failures = failures_of(rows);
  if (!failures.empty()) print_failure(failures.front());
}

void print_where_to_start(const std::vector<VerdictRow>& rows, bool all) {
  const std::vector<VerdictRow> failures = failures_of(rows);
  if (failures.size() < 2) return;
  const VerdictRow& start = failures.front();
  const bool one_kernel = std::ranges::all_of(failures, [&](const VerdictRow& row) {
    return row.kernel == start.kernel && row.plugin == start.plugin;
  });
  if (one_kernel && !all && by_cause(failures).size() == 1) return;
  const std::string& what = start.cause.empty() ? start.reason : start.cause;
  std::vector<std::string> lines =
      wrapped(fmt::format("start here: {} ({}), {}{}", start.kernel, cell_and_words(start),
                          start.property, what.empty() ? "" : ", " + what));
  if (lines.size() > 2) {
    lines.resize(2);
    lines[1] = lines[1].substr(0, lines[1].rfind(' ', columns - 4)) + " ...";
  }
  print_lines(lines);
}

}  // namespace ropewalk::tools
