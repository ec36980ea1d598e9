#include "tools/verbs/failures.h"

#include <fmt/format.h>

#include <algorithm>
#include <regex>
#include <utility>

#include "reports/pages/checks.h"

namespace ropewalk::tools {
using namespace report;
namespace {

constexpr std::size_t block_lines = 20;

// The failures of these rows, that which tells most first.
std::vector<VerdictRow> failures_of(const std::vector<VerdictRow>& rows) {
  std::vector<VerdictRow> failures;
  for (const VerdictRow& row : rows)
    if (is_failure(row.verdict)) failures.push_back(row);
  std::ranges::stable_sort(failures, tells_more);
  return failures;
}

// A check for each cause, with the others of its cause in it.
struct OneCause {
  const VerdictRow* first;
  Check check;
  int not_tried = 0;
};
std::vector<OneCause> by_cause(const std::vector<VerdictRow>& failures) {
  std::vector<OneCause> causes;
  Causes known;
  for (const VerdictRow& row : failures) {
    const std::size_t at = known.add(row);
    if (at == causes.size()) {
      causes.push_back({&row, check_of(row)});
      continue;
    }
    causes[at].not_tried += row.executed == 0 && !row.cause_ids.empty() ? 1 : 0;
    causes[at].check.more.push_back(check_of(row));
    causes[at].check.more.back().where = row.pairing + " " + row.dtype;
  }
  return causes;
}

}  // namespace

std::size_t Causes::add(const VerdictRow& row) {
  const auto is_id = [&](const char* id) { return std::ranges::count(row.cause_ids, id) > 0; };
  const std::string of = row.known + "\n",
                    cell = of + cell_of(row) + (is_id("only_outside") ? " outside" : " inside");
  std::vector<std::string> keys;
  for (const std::string& id : row.cause_ids)
    if (id != "put_right" && id != "only_outside") keys.push_back(of + id);
  static const std::regex cell_words("(^| )(pairing|dtype)=[^ ]*");
  if (keys.empty())
    keys.push_back(of + row.property + std::regex_replace(row.shrunk_case, cell_words, ""));
  if (is_id("put_right")) keys.insert(keys.begin(), cell);
  std::size_t at = count_;
  for (const std::string& key : keys)
    if (const auto found = by_key_.find(key); found != by_key_.end()) at = found->second;
  count_ = std::max(count_, at + 1);
  if (!row.cause.empty()) keys.push_back(cell);
  for (const std::string& key : keys) by_key_.emplace(key, at);
  return at;
}

void print(const Block& block, std::size_t lines_max) {
  fmt::print("{}", terminal_text(block, lines_max));
}

void print_failure(const VerdictRow& row, bool all) {
  print(check_of(row), all ? 0 : block_lines);
}

void print_failures(std::vector<VerdictRow> failures, bool all, const VerdictRow* shown) {
  failures = failures_of(failures);
  const auto is_shown = [&](const VerdictRow& row) {
    return shown != nullptr && row.kernel == shown->kernel && row.property == shown->property &&
           row.plugin == shown->plugin && cell_of(row) == cell_of(*shown);
  };
  if (all) {
    for (const VerdictRow& row : failures)
      if (!is_shown(row)) print_failure(row, true);
    return;
  }
  for (auto& [first, check, not_tried] : by_cause(failures)) {
    if (is_shown(*first)) {
      if (check.more.empty()) continue;
      check.name = first->property + ", the first failure, above";
      check.facts = {};
    }
    if (not_tried > 0)
      check.facts.add("not tried",
                      fmt::format("{} of the same cause, after three equal exceptions", not_tried));
    print(check, block_lines);
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
  print(Paragraph{fmt::format("start here: {} ({}), {}{}", start.kernel, cell_and_words(start),
                              start.property, what.empty() ? "" : ", " + what)},
        2);
}

}  // namespace ropewalk::tools
