#include "properties/search/verdict_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/text.h"
#include "harness/cases/names.h"
#include "harness/judge/second_try.h"
#include "harness/process/exceptions.h"
#include "harness/process/script_host.h"
#include "properties/explain/causes.h"
#include "properties/search/verify.h"

namespace ropewalk::properties {
using namespace harness;
using namespace report;

std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string words_for(const KernelFacts& facts) {
  const std::string interpreter = script_interpreter();
  std::string words;
  if (is_script(facts.plugin) && interpreter != "python3")
    words += "--python " + quoted(interpreter) + " ";
  if (facts.tolerated != 0) words += "--tolerate " + tolerance_words(facts.tolerated) + " ";
  return words;
}

void set_property(const Property& property, VerdictRow& row) {
  row.property = property.name;
  row.claim = property.claim;
  row.group = property.place.group;
}

VerdictRow row_for(const KernelFacts& facts) {
  VerdictRow row;
  row.kernel = facts.name;
  row.summary = facts.summary;
  row.plugin = facts.plugin;
  row.angle_contract = word_of(contract_words, facts.angle_contract);
  row.judged_on = judged_on(facts);
  return row;
}

namespace {

// The unit roundoff of the tensor that the row's place names, or of the first.
double unit_of(const VerdictRow& row) {
  const Case c = case_from_text(row.shrunk_case.empty() ? "dtype=" + row.dtype : row.shrunk_case);
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

}  // namespace

std::string error_text(const VerdictRow& row) {
  const std::string& unit = row.bound_unit;
  const bool finite = std::isfinite(row.margin);
  if (row.bound == 0 && !finite) return "where none is allowed";
  if (!unit.empty() && unit != "bound" && !unit.starts_with("u"))
    return fmt::format("{} {}, allowed {}", row.margin, unit, row.bound);
  if (unit.empty() || unit == "bound" || row.bound == 0 || !std::isfinite(row.bound))
    return margin_text(row.margin) + " times what is allowed";
  const double allowed = row.bound * unit_of(row);
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

void fill_verdict(VerdictRow& row, const PropertyRun& run, const KernelFacts& facts,
                  const std::string& again) {
  const Finding& f = run.worst;
  row.planned = run.planned;
  row.executed = run.executed;
  row.compared_cases = run.compared;
  row.compared = run.values;
  row.margin = f.margin;
  row.bound = f.bound;
  row.bound_unit = f.bound_unit;
  row.where = f.where;
  if (run.failing) {
    row.verdict = verdict_of(f);
    row.reason = f.reason;
    row.cause = run.cause.words;
    row.cause_ids = run.cause.ids;
    row.cause_ids.insert(row.cause_ids.end(), f.cause_ids.begin(), f.cause_ids.end());
    row.diagnosis = f.diagnosis;
    row.shrunk_case = to_text(*run.failing);
    row.replay = replay_line(row.shrunk_case, facts);
    if (row.verdict == Verdict::fail && row.margin > 1) row.error = error_text(row);
    row.worst_margin = run.worst_margin;
    if (run.worst_case) row.worst_replay = replay_line(to_text(*run.worst_case), facts);
    if (run.only_after_others) {
      row.cause_ids = {"keeps_something"};
      row.reason += " (it held when it was made again, alone, in a new process)";
      row.replay = again;
    } else if (std::ranges::count(f.cause_ids, "only_at_first") > 0) {
      row.reason += fmt::format(" ({})", sentence_of("only_at_first"));
    }
  } else if (run.executed == 0) {
    row.verdict = f.kind == Finding::Kind::skipped ? Verdict::skipped : Verdict::unsupported;
    row.not_offered = run.missing;
    row.reason = f.reason.empty() ? "every case was refused" : f.reason;
  } else if (run.values == 0 || run.compared < run.executed) {
    row.verdict = Verdict::vacuous;
    row.cause_ids = {"compared_nothing"};
    row.reason =
        fmt::format("{} of {} cases compared nothing", run.executed - run.compared, run.executed);
  } else if (run.gave_up || run.executed + run.too_slow < run.planned) {
    const bool skipped = !run.skipped.empty();
    row.verdict = skipped ? Verdict::skipped : Verdict::unsupported;
    row.reason = fmt::format("only {} of {} cases {}", run.executed, run.planned,
                             skipped ? "ran: " + run.skipped : "were accepted");
    if (run.refused > 0) row.reason += fmt::format("; {} drawn ones were refused", run.refused);
  } else {
    row.verdict = Verdict::pass;
    if (run.too_slow > 0)
      row.reason = fmt::format("{} of {} cases ran: {}", run.executed, run.planned, run.skipped);
  }
}

std::string replay_line(const std::string& case_text, const KernelFacts& facts) {
  return "ropewalk replay " + words_for(facts) + "'" + case_text + "'";
}

Verdict verdict_of(const Finding& f) {
  using Kind = Finding::Kind;
  constexpr std::pair<Kind, Verdict> not_measured[] = {{Kind::crash, Verdict::crash},
                                                       {Kind::hang, Verdict::hang},
                                                       {Kind::unsupported, Verdict::unsupported},
                                                       {Kind::skipped, Verdict::skipped},
                                                       {Kind::broken, Verdict::fail}};
  for (const auto& [kind, verdict] : not_measured)
    if (f.kind == kind) return verdict;
  return f.compared == 0 ? Verdict::vacuous : f.holds() ? Verdict::pass : Verdict::fail;
}

int exit_code_of(const std::vector<VerdictRow>& rows) {
  bool any_ran = false, unknown = false;
  for (const VerdictRow& row : rows) {
    if (is_failure(row.verdict) && row.known.empty()) return 1;
    any_ran = any_ran || !is_not_run(row.verdict);
    unknown =
        unknown || row.reason.ends_with(ended_from_outside) || row.reason.starts_with(suite_error);
  }
  return any_ran && !unknown ? 0 : 3;
}

}  // namespace ropewalk::properties
