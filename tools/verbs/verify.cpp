#include "properties/search/judges.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "properties/explain/diagnosis.h"
#include "properties/search/verdict_rows.h"
#include "tools/command/session.h"
#include "tools/command/workload_choice.h"
#include "tools/suite/ledger.h"
#include "tools/verbs/verbs.h"

namespace ropewalk::tools {
using namespace harness;
using namespace properties;
using namespace report;
namespace {

std::string cell_of(const VerdictRow& row) {
  if (row.pairing.empty()) return row.angle_contract;
  return fmt::format("{} {} {}", row.pairing, row.dtype, row.angle_contract);
}

// Failures that the first of them explains.
struct OneCause {
  VerdictRow first;
  std::vector<VerdictRow> more;
};

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

// Two failures of a kernel are of one cause if they share one of these words: the name of what it
// does instead (two may fit), the words of a crash or a broken rule, that only the first call of a
// process fails, or else the same case and place in several cells.
std::vector<std::string> cause_keys(const VerdictRow& row) {
  const auto key = [&](const std::string& words) { return row.known + "\n" + words; };
  if (row.reason.find(only_at_first) != std::string::npos) return {key(std::string(only_at_first))};
  if (const std::string raised = exception_of(row.reason); !raised.empty()) return {key(raised)};
  if (row.property == conduct_property) {  // counts differ from cell to cell
    std::string words = row.reason;
    std::erase_if(words, [](char c) { return c >= '0' && c <= '9'; });
    return {key(words)};
  }
  if (row.cause.empty())
    return {key(row.verdict != Verdict::fail
                    ? row.reason
                    : row.property + row.reason + row.where + without_cell(row.shrunk_case))};
  std::vector<std::string> keys;
  constexpr std::string_view between = ", or ";
  const std::string names = row.cause.substr(0, row.cause.find(" ("));
  for (std::size_t at = 0, end = 0; end != std::string::npos; at = end + between.size()) {
    end = names.find(between, at);
    keys.push_back(key(names.substr(at, end - at)));
  }
  return keys;
}

// Sorts failures of one kernel into causes. A failure that has no name, and is gone once the wrong
// pairs are put right, goes to the first error of pairs in its cell.
std::vector<OneCause> by_cause(const std::vector<VerdictRow>& failures) {
  std::vector<OneCause> causes;
  std::map<std::string, std::size_t> by_key, by_cell;
  for (const VerdictRow& row : failures) {
    const bool put_right = row.diagnosis.ends_with(holds_put_right);
    const std::string cell = row.known + cell_of(row);
    std::size_t at = causes.size();
    if (const auto found = by_cell.find(cell); put_right && found != by_cell.end())
      at = found->second;
    const auto keys = cause_keys(row);
    for (const std::string& key : keys)
      if (const auto found = by_key.find(key); found != by_key.end()) at = found->second;
    if (at == causes.size())
      causes.push_back({row, {}});
    else
      causes[at].more.push_back(row);
    for (const std::string& key : keys) by_key.emplace(key, at);
    if (put_right || !row.cause.empty()) by_cell.emplace(cell, at);
  }
  return causes;
}

// One line for all that a block explains: "norm, decay (half_split f32, interleaved f32); ...".
void print_same_cause(const std::vector<VerdictRow>& rows) {
  std::vector<std::pair<std::string, std::string>> cells_of;  // properties in order, with cells
  for (const VerdictRow& row : rows) {
    const std::string cell = row.pairing + " " + row.dtype;
    const auto at = std::find_if(cells_of.begin(), cells_of.end(),
                                 [&](const auto& known) { return known.first == row.property; });
    if (at == cells_of.end())
      cells_of.emplace_back(row.property, cell);
    else
      at->second += ", " + cell;
  }
  std::stable_sort(cells_of.begin(), cells_of.end(),
                   [](const auto& a, const auto& b) { return a.second < b.second; });
  std::string text;
  for (std::size_t i = 0; i < cells_of.size(); ++i) {
    const bool last = i + 1 == cells_of.size() || cells_of[i + 1].second != cells_of[i].second;
    text += cells_of[i].first + (last ? fmt::format(" ({}); ", cells_of[i].second) : ", ");
  }
  const auto not_tried = std::count_if(rows.begin(), rows.end(), [](const VerdictRow& row) {
    return row.executed == 0 && !exception_of(row.reason).empty();
  });
  if (not_tried > 0)
    text += fmt::format("{} of these were not tried after three equal exceptions; ", not_tried);
  fmt::print("      same cause {}--all shows each\n", text);
}

// Prints the passes of one kernel, pairing and type as one line, once all are there. Prints
// failures as blocks when the kernel is done. The block that tells most about the error stands
// first.
class Printer {
 public:
  explicit Printer(const VerifyOptions& options) : options_(options) {}

  void add(const VerdictRow& row) {
    if (options_.json) {
      fmt::print("{}\n", to_json_line(row));
      flush_output();
      return;
    }
    const bool new_kernel = row.kernel != first_.kernel || row.plugin != first_.plugin;
    if (new_kernel || cell_of(row) != cell_of(first_)) finish_cell();
    if (new_kernel) print_failures();
    if (first_.kernel.empty()) first_ = row;
    if (row.verdict == Verdict::pass) {
      ++passed_;
      if (!(row.margin < worst_.margin)) worst_ = row;
      cases_ += row.compared_cases;
      values_ += row.compared;
      if (!row.coverage.empty()) coverage_ = row.coverage;
      if (!row.not_offered.empty()) not_offered_ = row.not_offered;
      if (row.property == conduct_property) conduct_ = row.where;
    } else if (is_failure(row.verdict)) {
      failed_.push_back(row.property);
      failures_.push_back(row);
    } else if (!options_.quiet && set_aside_.emplace(row.kernel, row.property, row.reason).second) {
      // Once a kernel, not once for each pairing and type.
      fmt::print("{:<5} {} ({}): {}: {}\n", row.verdict, row.kernel, row.angle_contract,
                 row.property, row.reason);
    }
    flush_output();
  }

  /// Prints the rows that were held back.
  void finish() {
    finish_cell();
    print_failures();
  }

 private:
  void finish_cell() {
    const bool tells = !options_.quiet && !options_.json;
    if (!failed_.empty() && tells)
      fmt::print("{:<5} {:<12} {:<24} {} of {} properties fail: {}\n", "FAIL", first_.kernel,
                 cell_and_words(first_, " (", ")"), failed_.size(), failed_.size() + passed_,
                 fmt::join(failed_, ", "));
    else if (passed_ > 0 && tells)
      print_pass();
    flush_output();
    first_ = worst_ = {};
    worst_.margin = 0;
    passed_ = 0;
    failed_.clear();
    cases_ = values_ = 0;
    coverage_.clear();
    not_offered_.clear();
    conduct_.clear();
  }

  void print_pass() {
    fmt::print("PASS  {:<12} {:<24} {} properties, {} cases, {} values; worst margin {:.3f} ({})\n",
               first_.kernel, cell_and_words(first_, " (", ")"), passed_, cases_, values_,
               worst_.margin, worst_.property);
    if (!coverage_.empty()) fmt::print("      {}\n", coverage_);
    if (!conduct_.empty()) fmt::print("      {}\n", conduct_);
    // What a kernel refuses is often the same in each pairing and type. It is printed in full once.
    if (not_offered_.empty()) return;
    const bool is_new = refused_.emplace(first_.kernel, not_offered_).second;
    fmt::print("      not offered: {}\n", is_new ? not_offered_ : "the same");
  }

  void print_failures() {
    std::stable_sort(failures_.begin(), failures_.end(), tells_more);
    if (options_.all)
      for (const VerdictRow& row : failures_) print_failure(row);
    else
      for (const OneCause& cause : by_cause(failures_)) {
        print_failure(cause.first);
        if (!cause.more.empty()) print_same_cause(cause.more);
      }
    failures_.clear();
    flush_output();
  }

  const VerifyOptions& options_;
  VerdictRow first_, worst_;
  std::set<std::tuple<std::string, std::string, std::string>> set_aside_;
  std::vector<std::string> failed_;
  std::vector<VerdictRow> failures_;
  std::size_t passed_ = 0;
  std::int64_t cases_ = 0, values_ = 0;
  std::string coverage_, not_offered_, conduct_;  // of this cell
  std::set<std::pair<std::string, std::string>> refused_;
};

// The three properties that took most of the judges' time.
std::string where_time_went(const std::vector<VerdictRow>& rows) {
  std::map<std::string, double> by_property;
  double all = 0;
  for (const VerdictRow& row : rows) {
    by_property[row.property] += row.seconds;
    all += row.seconds;
  }
  std::vector<std::pair<double, std::string>> longest;
  for (const auto& [property, seconds] : by_property)
    longest.emplace_back(100 * seconds / std::max(all, 1e-9), property);
  std::sort(longest.rbegin(), longest.rend());
  longest.resize(std::min<std::size_t>(longest.size(), 3));
  std::vector<std::string> words;
  for (const auto& [percent, property] : longest)
    if (percent >= 0.5) words.push_back(fmt::format("{} {:.0f} %", property, percent));
  return words.empty() ? "" : fmt::format(" (most of it: {})", fmt::join(words, ", "));
}

void print_summary(const std::vector<VerdictRow>& rows, std::uint64_t seed, double seconds) {
  std::int64_t passed = 0, judged = 0, known = 0, set_aside = 0, planned = 0, executed = 0,
               compared = 0, values = 0, by_host = 0, as_declared = 0, replaced = 0;
  const VerdictRow* worst = nullptr;
  std::set<std::string> unwatched;
  for (const VerdictRow& row : rows) {
    if (is_not_run(row.verdict)) {
      ++set_aside;
      continue;
    }
    ++judged;
    if (!row.known.empty()) ++known;
    planned += row.planned;
    executed += row.executed;
    compared += row.compared_cases;
    values += row.compared;
    if (row.verdict != Verdict::pass) continue;
    ++passed;
    if (row.judged_on == by_host_launcher) ++by_host;
    if (!row.declared.empty()) ++as_declared;
    std::string beside = row.reason;
    if (beside.ends_with(properties::were_replaced)) {  // the last that is said
      const std::size_t end = beside.rfind(';');
      replaced += std::stoll(beside.substr(end == std::string::npos ? 0 : end + 1));
      beside.resize(end == std::string::npos ? 0 : end);
    }
    if (!beside.empty()) unwatched.insert(beside);
    if (worst == nullptr || row.margin > worst->margin) worst = &row;
  }
  fmt::print("\n{} of {} claims hold", passed, judged);
  if (known > 0) fmt::print(", {} failures are known", known);
  if (set_aside > 0) fmt::print(", {} unsupported or skipped", set_aside);
  if (worst != nullptr)
    fmt::print("; worst margin that holds {:.3f} ({}, {})", worst->margin, worst->kernel,
               worst->property);
  if (by_host > 0)
    fmt::print("\n{} of these claims hold by the host launcher: they say nothing about a GPU",
               by_host);
  if (as_declared > 0)
    fmt::print(
        "\n{} of these claims hold to an error that the kernel declares, larger than its data "
        "type needs",
        as_declared);
  for (const std::string& what : unwatched) fmt::print("\n{}", what);
  if (replaced > 0) fmt::print("\n{}{}", replaced, properties::were_replaced);
  fmt::print("\ncases: planned {}, executed {}, compared {}; values compared {}\n", planned,
             executed, compared, values);
  fmt::print("seed {}, {:.1f} s{}\n", seed, seconds, where_time_went(rows));
}

}  // namespace

std::string cell_and_words(const VerdictRow& row, std::string_view between, std::string_view end) {
  const std::string words = words_beside(row);
  return words.empty() ? cell_of(row) : fmt::format("{}{}{}{}", cell_of(row), between, words, end);
}

void print_failure(const VerdictRow& row) {
  fmt::print("{:<5} {} ({}): {}\n", row.verdict, row.kernel, cell_and_words(row), row.property);
  if (!row.known.empty()) fmt::print("      known      {}\n", row.known);
  fmt::print("      claim      {}\n", row.claim);
  if (!row.reason.empty()) fmt::print("      because    {}\n", row.reason);
  if (row.verdict == Verdict::fail && row.margin > 1)
    fmt::print("      margin     {:.9g} of a bound of {:.4g} {}\n", row.margin, row.bound,
               row.bound_unit);
  if (row.worst_margin > 0)
    fmt::print("      worst      {:.9g} times the bound in a larger case{}{}\n", row.worst_margin,
               row.worst_replay.empty() ? "" : ": ", row.worst_replay);
  if (!row.where.empty()) fmt::print("      where      {}\n", row.where);
  if (!row.cause.empty()) fmt::print("      cause      {}\n", row.cause);
  if (!row.diagnosis.empty()) fmt::print("      diagnosis  {}\n", row.diagnosis);
  if (!row.replay.empty()) fmt::print("      replay     {}\n", row.replay);
}

void print_where_to_start(const std::vector<VerdictRow>& rows) {
  const VerdictRow* start = nullptr;
  for (const VerdictRow& row : rows)
    if (is_failure(row.verdict) && (start == nullptr || tells_more(row, *start))) start = &row;
  if (start == nullptr) return;
  const std::string& what = start->cause.empty() ? start->reason : start->cause;
  fmt::print("start here: {} ({}), {}{}{}\n", start->kernel, cell_and_words(*start),
             start->property, what.empty() ? "" : ", " + what,
             start->replay.empty() ? "" : ": " + start->replay);
}

int verify_and_print(const VerifyOptions& options,
                     const std::function<void(const VerdictRow&)>& on_row) {
  const auto start = std::chrono::steady_clock::now();
  require_properties(options);
  KnownFailures known = known_failures(options.known_failures);
  std::optional<LedgerCheck> ledger;
  if (!options.ledger.empty() || !options.write_ledger.empty()) ledger.emplace(options);
  if (!options.part_of_run) require_kernels(options);
  Progress progress(options.quiet);
  Printer printer(options);
  std::vector<VerdictRow> rows;
  VerifyPlan plan = verify_plan(options);
  if (options.chooses() && !options.part_of_run) hold_to_shape(options, plan);
  if (!options.dtype.empty() && !options.part_of_run)
    plan.dtypes = {bench::dtype_of(options.dtype)};
  if (options.part_of_run) ask_shapes(all_workloads(options), plan);
  if (ledger) plan.on_offer = [&](const LedgerKey& key) { ledger->on_offer(key); };
  const auto take = [&](VerdictRow row) {
    progress.clear();
    known.judge(row);
    if (ledger) ledger->on_row(row);
    on_row(row);
    printer.add(row);
    rows.push_back(std::move(row));
  };
  try {
    verify_with_judges(worker_options(options), plan, options.jobs, take,
                       [&](const std::string& what) { progress.show(what); });
  } catch (...) {
    progress.clear();
    printer.finish();  // prints what was found before the run broke off
    throw;
  }
  progress.clear();
  printer.finish();
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (!options.json) print_summary(rows, options.seed, seconds);
  for (const std::string& remark : known.remarks())
    fmt::print(options.json ? stderr : stdout, "{}\n", remark);
  const int code = exit_code_of(rows);
  return ledger ? ledger->finish(code) : code;
}

int run(const VerifyOptions& options) {
  if (options.exhaustive) return run_exhaustive(options);
  Recorder recorder(options, options.out);
  std::vector<VerdictRow> rows;
  const int code = verify_and_print(options, [&](const VerdictRow& row) {
    recorder.write(row);
    rows.push_back(row);
  });
  recorder.finish(code);
  if (!options.json) print_where_to_start(rows);
  return code;
}

}  // namespace ropewalk::tools
