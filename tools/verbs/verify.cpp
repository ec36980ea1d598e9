#include "properties/search/judges.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "base/glob.h"
#include "base/text.h"
#include "base/text_file.h"
#include "properties/array/offer.h"
#include "properties/property.h"
#include "reports/numbers/summary.h"
#include "reports/pages/checks.h"
#include "reports/pages/render.h"
#include "tools/command/session.h"
#include "tools/command/workload_choice.h"
#include "tools/verbs/failures.h"
#include "tools/verbs/verbs.h"

namespace ropewalk::tools {
using namespace harness;
using namespace properties;
using namespace report;
namespace {

// Prints the first failure of the run at once. Prints the passes of a kernel as one line for each
// pairing, and the other failures as blocks when the kernel is done. The block that tells most
// about the error stands first. --verbose has a line for each data type, and what was covered.
class Printer {
 public:
  explicit Printer(const VerifyOptions& options) : options_(options) {}

  void add(const VerdictRow& row) {
    if (options_.json) {
      fmt::print("{}\n", to_json_line(row));
      flush_output();
      return;
    }
    const bool new_kernel = row.kernel != cell_.first.kernel || row.plugin != cell_.first.plugin;
    if (new_kernel || cell_of(row) != cell_of(cell_.first)) finish_cell();
    if (new_kernel) finish_kernel();
    if (cell_.first.kernel.empty()) cell_.first = row;
    if (row.verdict == Verdict::pass) {
      ++cell_.passed;
      if (!(row.margin < cell_.worst.margin)) cell_.worst = row;
      cell_.properties.insert(row.property);
      cell_.cases += row.compared_cases;
      cell_.values += row.compared;
      if (options_.verbose || !row.not_met.empty())
        cell_.coverage = row.coverage.empty() ? cell_.coverage : row.coverage;
      if (row.property == conduct_property) cell_.conduct = row.where;
      add_not_offered(row);
    } else if (is_failure(row.verdict)) {
      ++cell_.failed;
      failures_.push_back(row);
      print_if_first(row);
    } else if (row.verdict == Verdict::unsupported && !row.not_offered.empty()) {
      add_not_offered(row);
    } else if (!options_.quiet && set_aside_.emplace(row.kernel, row.property, row.reason).second) {
      // Once a kernel, not once for each pairing and type.
      const bool tells_all = options_.verbose || !options_.kernels.empty();
      if (row.verdict == Verdict::skipped && is_on_everything(row) && !tells_all) {
        std::string& kernels = skipped_[row.reason];
        kernels +=
            fmt::format("{}{} ({})", kernels.empty() ? "" : ", ", row.kernel, row.angle_contract);
        return;
      }
      print(Paragraph{fmt::format("{:<5} {} ({}): {}: {}", row.verdict, row.kernel,
                                  row.angle_contract, row.property, row.reason)});
      if (!row.where.empty() && tells_all) print(Paragraph{"      " + row.where});
    }
    flush_output();
  }

  /// Prints the rows that were held back, and what was not asked of which kernels.
  void finish() {
    finish_cell();
    finish_kernel();
    for (const auto& [reason, kernels] : skipped_)
      print(Paragraph{fmt::format("{} {}: everything: {}", Verdict::skipped, kernels, reason)});
    for (const auto& [items, kernels] : not_asked_)
      print(Paragraph{fmt::format("not asked of {}, as not offered: {}", kernels, items)});
    flush_output();
  }

 private:
  // What the kernel does not offer, in the order of the rows, and in which pairings and types.
  struct OfKernel {
    VerdictRow row;
    bool judged = false;
    std::vector<std::string> in_order;
    std::map<std::string, std::set<std::string>> not_offered;
    std::set<std::string> cells;
  };
  // The passes of one pairing and data type, or of one pairing.
  struct Cell {
    VerdictRow first, worst;
    std::size_t passed = 0, failed = 0;
    std::set<std::string> properties;
    std::int64_t cases = 0, values = 0;
    std::string coverage, conduct;
  };

  void print_if_first(const VerdictRow& row) {
    if (shown_ || !row.known.empty()) return;
    shown_ = row;
    fmt::print("first failure, after {:.1f} s{}\n", seconds_of_command(),
               options_.fail_fast ? "" : "; the run goes on (--fail-fast ends it here)");
    print_failure(row, options_.all);
  }

  void add_not_offered(const VerdictRow& row) {
    std::string_view items = row.not_offered;
    const std::string cell = row.pairing + " " + row.dtype;
    while (!items.empty()) {
      const std::size_t end = std::min(items.find("; "), items.size());
      const std::string item(items.substr(0, end));
      if (of_kernel_.not_offered[item].empty()) of_kernel_.in_order.push_back(item);
      of_kernel_.not_offered[item].insert(cell);
      items.remove_prefix(std::min(end + 2, items.size()));
    }
    of_kernel_.cells.insert(cell);
    of_kernel_.row = row;
  }

  std::string not_offered() const {
    std::string out;
    for (const std::string& item : of_kernel_.in_order) {
      const std::set<std::string>& in = of_kernel_.not_offered.at(item);
      out += (out.empty() ? "" : "; ") + item;
      if (in.size() < of_kernel_.cells.size()) out += fmt::format(" (in {})", fmt::join(in, ", "));
    }
    return out;
  }

  void finish_kernel() {
    print_group();
    const std::string missing = options_.quiet ? "" : not_offered();
    const VerdictRow& row = of_kernel_.row;
    if (!missing.empty() && !of_kernel_.judged)
      print(Paragraph{fmt::format("{} {} ({}): it offers none of: {}", Verdict::unsupported,
                                  row.kernel, row.angle_contract, missing)});
    else if (!missing.empty())
      not_asked_[missing] += (not_asked_[missing].empty() ? "" : ", ") + row.kernel;
    of_kernel_ = {};
    print_failures(failures_, options_.all, shown_ ? &*shown_ : nullptr);
    failures_.clear();
    flush_output();
  }

  void finish_cell() {
    const bool tells = !options_.quiet && !options_.json;
    of_kernel_.judged |= cell_.failed + cell_.passed > 0;
    if (cell_.failed > 0 && tells)
      print(Paragraph{fmt::format("FAIL  {} {}: {} of {} properties fail", cell_.first.kernel,
                                  cell_and_words(cell_.first, " (", ")"), cell_.failed,
                                  cell_.failed + cell_.passed)});
    else if (cell_.passed > 0 && tells)
      add_to_group();
    flush_output();
    cell_ = {};
  }

  void add_to_group() {
    const auto without_type = [](VerdictRow row) {
      row.dtype.clear();
      return row.kernel + cell_and_words(row);
    };
    if (options_.verbose || without_type(cell_.first) != without_type(group_.first)) print_group();
    Cell all = std::exchange(cell_, {});
    if (!group_.first.kernel.empty()) {
      all.first.dtype = group_.first.dtype + " " + all.first.dtype;
      if (group_.worst.margin > all.worst.margin) all.worst = group_.worst;
      all.properties.merge(group_.properties);
      all.cases += group_.cases;
      all.values += group_.values;
      if (all.coverage.empty()) all.coverage = group_.coverage;
    }
    group_ = std::move(all);
  }

  void print_group() {
    const Cell group = std::exchange(group_, {});
    if (group.first.kernel.empty()) return;
    const std::string line =
        fmt::format("PASS  {} {}: {} propert{}, {} cases, {}margin {:.3f} ({})", group.first.kernel,
                    cell_and_words(group.first, " (", ")"), group.properties.size(),
                    group.properties.size() == 1 ? "y" : "ies", count_text(group.cases),
                    options_.verbose ? count_text(group.values) + " values, " : "",
                    group.worst.margin, group.worst.property);
    print(Paragraph{line});
    if (!group.coverage.empty()) print(Paragraph{"      " + group.coverage});
    if (!group.conduct.empty() && options_.verbose) print(Paragraph{"      " + group.conduct});
  }

  const VerifyOptions& options_;
  Cell cell_, group_;
  std::optional<VerdictRow> shown_;  // the first failure
  std::set<std::tuple<std::string, std::string, std::string>> set_aside_;
  std::vector<VerdictRow> failures_;
  OfKernel of_kernel_;
  std::map<std::string, std::string> skipped_, not_asked_;  // the kernels, by reason or by items
};

// Says in each failure which earlier one of its kernel has the same cause.
class SameCauses {
 public:
  void add_to(VerdictRow& row) {
    if (!is_failure(row.verdict)) return;
    auto& [causes, first] = of_[{row.kernel, row.plugin}];
    const std::size_t at = causes.add(row);
    if (at < first.size())
      row.same_cause = first[at];
    else
      first.push_back(fmt::format("{} {} {}", row.property, row.pairing, row.dtype));
  }

 private:
  std::map<std::pair<std::string, std::string>, std::pair<Causes, std::vector<std::string>>> of_;
};

// Ends a run with --fail-fast.
struct Enough {};

// The kernels that were judged in other data types than the model's alone, as they offer none of
// those. That is no clearance for the model.
class OtherTypes {
 public:
  explicit OtherTypes(const VerifyPlan& plan) {
    if (plan.other_dtypes.empty()) return;
    for (const Dtype dtype : plan.dtypes) model_.emplace(data_type(dtype).word);
  }
  void add(const VerdictRow& row, bool tells) {
    if (model_.empty() || is_not_run(row.verdict)) return;
    const bool is_of_model = model_.contains(row.dtype);
    any_of_model_ |= is_of_model;
    auto& types = judged_[row.kernel];
    if (!is_of_model && types.emplace(row.dtype).second && types.size() == 1 && tells)
      print_line(row.kernel, types);
  }
  /// The exit code of a run that else ends with 0. Of the kernels of the tree, one that offers the
  /// model's type is enough, if none was chosen.
  int finish(bool chosen, bool tells) const {
    for (const auto& [kernel, types] : judged_)
      if (!types.empty() && tells) print_line(kernel, types);
    const bool any = std::ranges::any_of(judged_, [](const auto& k) { return !k.second.empty(); });
    return any && (chosen || !any_of_model_) ? 3 : 0;
  }

 private:
  void print_line(const std::string& kernel, const std::set<std::string>& types) const {
    print(Paragraph{fmt::format("{}: judged in {}; the model's {} is not offered", kernel,
                                fmt::join(types, ", "), fmt::join(model_, ", "))});
  }
  std::set<std::string> model_;
  std::map<std::string, std::set<std::string>> judged_;  // the other types of each kernel
  bool any_of_model_ = false;
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
               compared = 0, values = 0, by_host = 0, as_declared = 0;
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
    if (!row.unwatched.empty()) unwatched.insert(row.unwatched);
    if (worst == nullptr || row.margin > worst->margin) worst = &row;
  }
  std::string all = fmt::format("{} of {} claims hold", passed, judged);
  if (known > 0) all += fmt::format(", {} failures are known", known);
  if (set_aside > 0) all += fmt::format(", {} unsupported or skipped", set_aside);
  if (worst != nullptr)
    all += fmt::format("; largest passing margin {:.3f} ({}, {})", worst->margin, worst->kernel,
                       worst->property);
  std::vector<std::string> lines{all};
  if (by_host > 0)
    lines.push_back(
        fmt::format("{} of these claims are of CUDA kernels, checked on the CPU only", by_host));
  if (as_declared > 0)
    lines.push_back(
        fmt::format("{} of these claims hold to an error that the kernel declares, larger than its "
                    "data type needs",
                    as_declared));
  lines.insert(lines.end(), unwatched.begin(), unwatched.end());
  lines.push_back(fmt::format("cases: planned {}, executed {}, compared {}; values compared {}",
                              planned, executed, compared, values));
  lines.push_back(fmt::format("seed {}, {:.1f} s{}", seed, seconds, where_time_went(rows)));
  fmt::print("\n");
  for (const std::string& line : lines) print(Paragraph{line});
}

// The ledger lists the properties of smoke, whatever profile runs. '*' stands for those without
// extensions of the contract.
LedgerNames ledger_names() {
  LedgerNames names;
  for (const Property* property : chosen_properties({}, Profile::smoke)) {
    names.all.emplace(property->name);
    const auto is_common = [](const Need& need) { return extension_of(need.factor) == 0; };
    if (std::ranges::all_of(property->needs, is_common)) names.common.emplace(property->name);
  }
  for (const std::string& level : level_names()) names.all.insert(offered(level));
  for (const std::string& level : level_names(nullptr, false)) names.common.insert(offered(level));
  return names;
}

/// Compares a run with the ledger, in both directions.
class LedgerCheck {
 public:
  /// Reads the file of --ledger, or the file that --write-ledger will replace. Throws BadFile.
  explicit LedgerCheck(const VerifyOptions& options) : options_(options) {
    const bool compares = !options.ledger.empty();
    const std::string& file = compares ? options.ledger : options.write_ledger;
    std::error_code error;
    if (const auto folder = std::filesystem::path(file).parent_path();
        !compares && !folder.empty() && !std::filesystem::is_directory(folder, error))
      throw BadFile(shown_path(file) + ": there is no such folder");
    if (compares || std::filesystem::exists(file, error))
      file_ = parse_expected(read_text_file(file), shown_path(file), names_);
    if (compares && file_.ledger.empty())
      throw BadFile(shown_path(file), 1, "is not a ledger: no line says what a kernel holds");
  }

  void on_offer(const LedgerKey& level) {
    if (matches(options_.properties, level.property)) held_.insert(level);
  }

  void on_row(const VerdictRow& row) {
    if (!row.pairing.empty() && !names_.all.contains(row.property)) return;
    const std::string what =
        fmt::format("{}{}{}", row.verdict, row.reason.empty() ? "" : ": ", row.reason);
    if (row.verdict == Verdict::pass)
      held_.insert(key_of(row));
    else if (row.pairing.empty() && row.verdict == Verdict::skipped)
      skipped_[row.kernel] = what;
    else
      refused_[row.pairing.empty() ? LedgerKey{row.kernel, {}, {}, {}, {}} : key_of(row)] = what;
  }

  /// Prints the differences, or writes the file. `code` is the exit code of the verdicts. Returns
  /// the exit code of verdicts and ledger together.
  int finish(int code) const { return options_.ledger.empty() ? write(code) : compare(code); }

 private:
  bool was_asked(const LedgerKey& key) const {
    return matches(options_.kernels, key.kernel) && matches(options_.properties, key.property) &&
           !skipped_.contains(key.kernel);
  }

  std::string why_lost(const LedgerKey& key) const {
    for (const LedgerKey& refused : {key, LedgerKey{key.kernel, {}, {}, {}, {}}})
      if (const auto found = refused_.find(refused); found != refused_.end()) return found->second;
    return "not offered";
  }

  int compare(int code) const {
    std::size_t same = 0, lost = 0, fresh = 0;
    std::set<std::string> listed, told;
    for (const LedgerKey& key : file_.ledger) {
      listed.insert(key.kernel);
      if (held_.contains(key)) {
        ++same;
      } else if (was_asked(key)) {
        ++lost;
        fmt::print(out_, "LOST  {}: {}\n", to_text(key), why_lost(key));
      } else if (const auto why = skipped_.find(key.kernel);
                 why != skipped_.end() && !options_.quiet && told.insert(key.kernel).second) {
        fmt::print(out_, "ledger: {} is not compared: {}\n", key.kernel, why->second);
      }
    }
    for (const LedgerKey& key : held_) {
      if (file_.ledger.contains(key)) continue;
      if (listed.contains(key.kernel)) {
        ++fresh;
        fmt::print(out_, "NEW   {}\n", to_text(key));
      } else if (told.insert(key.kernel).second) {  // a new kernel costs one new file only
        fmt::print(out_, "ledger: {} has no rows yet; --write-ledger adds them\n", key.kernel);
      }
    }
    fmt::print(out_, "ledger {}: {} hold, {} lost, {} new\n", options_.ledger, same, lost, fresh);
    if (lost + fresh == 0) return code;
    fmt::print(
        out_,
        "if that is meant: ropewalk verify --profile smoke --write-ledger {}, and commit it\n",
        options_.ledger);
    return 1;
  }

  int write(int code) const {
    if (code != 0) {
      fmt::print(out_, "ledger {}: not written, because the run did not hold\n",
                 options_.write_ledger);
      return code;
    }
    // What this machine or these options left out stays as it was.
    Ledger next = held_;
    for (const LedgerKey& key : file_.ledger)
      if (!was_asked(key)) next.insert(key);
    std::string text = to_text(next, names_);
    for (const Expectation& known : file_.failures) text += known.text + '\n';
    write_whole_file(options_.write_ledger, text);
    fmt::print(out_, "ledger {}: written, {} hold, {} before\n", options_.write_ledger, next.size(),
               file_.ledger.size());
    return code;
  }

  const VerifyOptions& options_;
  /// With --json, standard output holds only rows.
  std::FILE* out_ = options_.json ? stderr : stdout;
  const LedgerNames names_ = ledger_names();
  Expectations file_;
  Ledger held_;
  /// Its verdict and reason; that on all properties of a kernel has its name alone.
  std::map<LedgerKey, std::string> refused_;
  std::map<std::string, std::string> skipped_;  // by kernel: why this machine cannot run it
};

}  // namespace

int verify_and_print(const VerifyOptions& options,
                     const std::function<void(const VerdictRow&)>& on_row) {
  const double began_s = seconds_of_command();
  require_properties(options);
  KnownFailures known = known_failures(options.known_failures);
  std::optional<LedgerCheck> ledger;
  if (!options.ledger.empty() || !options.write_ledger.empty()) ledger.emplace(options);
  if (!options.part_of_run) require_kernels(options);
  Progress progress(options.quiet, true);
  Printer printer(options);
  std::vector<VerdictRow> rows;
  VerifyPlan plan = verify_plan(options);
  plan.until_failure = options.fail_fast;
  plan.one_case = options.one_case;
  if (options.chooses() && !options.part_of_run) hold_to_shape(options, plan);
  if (!options.dtype.empty() && !options.part_of_run)
    plan.dtypes = {bench::dtype_of(options.dtype)};
  if (options.part_of_run) ask_shapes(all_workloads(options), plan);
  if (ledger) plan.on_offer = [&](const LedgerKey& key) { ledger->on_offer(key); };
  OtherTypes other_types(plan);
  SameCauses same;
  const auto take = [&](VerdictRow row) {
    progress.clear();
    known.judge(row);
    same.add_to(row);
    if (ledger) ledger->on_row(row);
    on_row(row);
    other_types.add(row, !options.json);
    printer.add(row);
    rows.push_back(std::move(row));
    if (options.fail_fast && is_failure(rows.back().verdict) && rows.back().known.empty())
      throw Enough();
  };
  try {
    const auto show = [&](const std::string& what) { progress.show(what); };
    verify_with_judges(worker_options(options), plan, options.jobs, take, show);
    if (options.sanitizers) run_sanitizers(options, std::vector(rows), take, show);
  } catch (const Enough&) {
  } catch (...) {
    progress.clear();
    printer.finish();  // prints what was found before the run broke off
    throw;
  }
  progress.clear();
  printer.finish();
  if (!options.json) print_summary(rows, options.seed, seconds_of_command() - began_s);
  for (const std::string& remark : known.remarks())
    fmt::print(options.json ? stderr : stdout, "{}\n", remark);
  const bool chosen = !options.kernels.empty() || !options.plugins.empty();
  const int of_types = other_types.finish(chosen, !options.json);
  const int code = exit_code_of(rows) == 0 ? of_types : exit_code_of(rows);
  return ledger ? ledger->finish(code) : code;
}

int run(const VerifyOptions& options) {
  if (!options.provided.empty()) {
    if (options.provided.size() > 1 || !options.kernels.empty() || options.chooses() ||
        !options.ledger.empty() || !options.write_ledger.empty() || options.fail_fast ||
        options.sanitizers)
      throw UsageError(options.provided.front() +
                       " cannot be combined with other targets, shapes, a ledger or --fail-fast");
    const std::string& target = options.provided.front();
    if (target.ends_with(".safetensors") && (!options.properties.empty() || options.json ||
                                             !options.dtype.empty() || !options.out.empty()))
      throw UsageError(target + ": an answers file takes no other option than --python");
    return target.ends_with(".safetensors") ? verify_answers(target) : verify_provided(options);
  }
  if (options.exhaustive) return run_exhaustive(options);
  if (!options.junit.empty()) require_writable(options.junit);
  Recorder recorder(options, options.out);
  std::vector<VerdictRow> rows;
  const int code = verify_and_print(options, [&](const VerdictRow& row) {
    recorder.write(row);
    rows.push_back(row);
  });
  recorder.finish(code);
  if (!options.json) print_where_to_start(rows, options.all);
  if (!options.junit.empty()) {
    Results results;
    results.run = run_row(options);
    results.complete = true;
    results.end.exit_code = code;
    results.verdicts = rows;
    write_whole_file(options.junit, render_junit(results, summarize(results)));
  }
  return code;
}

}  // namespace ropewalk::tools
