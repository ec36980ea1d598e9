// diff A B: two kernels are compared here, two dumps and two providers of angles in Python.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/text.h"
#include "base/text_file.h"
#include "harness/cases/names.h"
#include "harness/worker/own_workers.h"
#include "properties/observe/difference.h"
#include "reports/figures/chart.h"
#include "tools/command/session.h"
#include "tools/command/targets.h"
#include "tools/command/workload_choice.h"
#include "tools/verbs/verbs.h"

namespace ropewalk::tools {
using namespace harness;
using namespace properties;
using namespace report;
namespace {

// The kernel of a target, in a worker of its own.
class Side {
 public:
  Side(const DiffOptions& options, const std::string& target) {
    KernelChoice choice = options;
    choice.targets = {target};
    choice.no_cuda = !target.starts_with("cuda");
    choice.baselines = target.starts_with("gcc_") || target.starts_with("clang_");
    take_targets(choice);
    const WorkerOptions worker = worker_options(choice);
    PluginKernels found = kernels_by_plugin(worker);
    require_kernels(found.kernels, choice);
    std::vector<std::string> names;
    for (const KernelFacts& k : found.kernels)
      if (matches(choice.kernels, k.name)) names.push_back(k.name), facts_ = k;
    if (names.size() != 1)
      throw UsageError(fmt::format("{} is {} kernels; name one: {}", target, names.size(),
                                   fmt::join(names, ", ")));
    if (!facts_.cannot_run.empty()) throw UsageError(facts_.name + ": " + facts_.cannot_run);
    workers_.emplace(worker, std::move(found));
  }
  Subject subject() { return {workers_->of(facts_), oracle_, facts_}; }
  const KernelFacts& facts() const { return facts_; }

 private:
  KernelFacts facts_;
  std::optional<OwnWorkers> workers_;
  Oracle oracle_;
};

std::string equal_text(const Apart& apart) {
  if (apart.equal == apart.compared) return "all";
  const double percent =
      100 * static_cast<double>(apart.equal) / static_cast<double>(apart.compared);
  if (percent > 99.99) return fmt::format("all but {}", count_text(apart.compared - apart.equal));
  return fmt::format("{:.4g} %", percent);
}

// 0 to 3, 4 to 15 ...
std::int64_t end_of_row(std::size_t row) {
  return row + 1 == std::size(position_rows) ? swept_to : position_rows[row + 1] - 1;
}
std::string positions_text(std::size_t row) {
  return count_text(position_rows[row]) + " to " + count_text(end_of_row(row));
}

Facts facts_of(const CellDifference& d, const std::string& a, const std::string& b) {
  Apart swept;
  for (const Apart& row : d.by_position) swept.add(row);
  const double share = (swept.u_rho > 0 ? swept.u_rho : d.all.u_rho) * data_type(d.dtype).format.u;
  Facts out;
  for (const auto& [name, at] : {std::pair("first", *d.first), {"largest", *d.worst}}) {
    const std::string nearer =
        at.nearer.empty() ? "" : "; " + at.nearer + " is nearer to the exact rotation";
    out.add(name, fmt::format("position {}, {}: {:.9g} of {}, {:.9g} of {}{}", at.position,
                              at.where, at.a, a, at.b, b, nearer));
  }
  const std::int64_t most = std::max(d.a_nearer, d.b_nearer), all = d.a_nearer + d.b_nearer;
  if (const double percent = 100 * static_cast<double>(most) / static_cast<double>(all); all > 0)
    out.add("nearer", fmt::format("{}, in {:.3g} % of {} pairs that differ",
                                  most == d.a_nearer ? a : b, percent, count_text(all)));
  if (std::isfinite(share))
    out.add("a logit",
            fmt::format("q.k moves by at most {:.2g} |q| |k|{}", 2 * share + share * share,
                        swept.u_rho > 0 ? ", at positions up to " + count_text(swept_to) : ""));
  return out;
}

Table table_of(const CellDifference& d) {
  Table out{.indent = 2};
  out.columns = {{"positions"}, {"equal bits", true}, {"largest ulp", true}, {"u |x|", true}};
  out.columns.push_back({fmt::format("(rotary_dim {})", d.rotary_dim)});
  for (std::size_t row = 0; row < d.by_position.size(); ++row)
    if (const Apart& apart = d.by_position[row]; apart.compared > 0)
      out.rows.push_back({{positions_text(row), equal_text(apart),
                           fmt::format("{:.4g}", apart.ulps), fmt::format("{:.3g}", apart.u_rho)}});
  return out;
}

void print_cell(const CellDifference& d, const std::string& a, const std::string& b, bool details) {
  if (!d.not_compared.empty()) return;
  std::string text = fmt::format("{} {}: ", word_of(d.pairing), word_of(d.dtype));
  if (d.all.compared == 0)
    text += "no call gave two outputs";
  else
    text += fmt::format("{} of {} elements are equal in every bit, in {} calls", equal_text(d.all),
                        count_text(d.all.compared), d.cases);
  if (d.all.equal < d.all.compared)
    text +=
        fmt::format("; the largest distance is {:.4g} ulp, {:.3g} u |x|", d.all.ulps, d.all.u_rho);
  Part cell{text};
  for (const std::string& fault : d.faults) cell.add(Paragraph{"  " + fault, "", 4});
  if (details && d.first) cell.add(facts_of(d, a, b)).add(table_of(d));
  fmt::print("{}", terminal_text(cell));
}

// One line for each reason.
void print_not_compared(const std::vector<CellDifference>& cells) {
  std::map<std::string, std::vector<std::string>> by_reason;
  for (const CellDifference& d : cells)
    if (!d.not_compared.empty())
      by_reason[d.not_compared].push_back(
          fmt::format("{} {}", word_of(d.pairing), word_of(d.dtype)));
  for (const auto& [reason, names] : by_reason)
    fmt::print("{}", terminal_text(Paragraph{
                         fmt::format("not compared: {} ({})", fmt::join(names, ", "), reason)}));
}

std::string json_of(const CellDifference& d) {
  const auto apart = [](const Apart& x) {
    return fmt::format(R"("compared":{},"equal":{},"ulps":{:.9g},"u_rho":{:.9g})", x.compared,
                       x.equal, std::min(x.ulps, 1e308), std::min(x.u_rho, 1e308));
  };
  std::string rows;
  for (std::size_t row = 0; row < d.by_position.size(); ++row)
    rows += fmt::format(R"({}{{"from":{},{}}})", row == 0 ? "" : ",", position_rows[row],
                        apart(d.by_position[row]));
  const auto number = [](double value) {
    return std::isfinite(value) ? fmt::format("{:.17g}", value) : "null";
  };
  std::string first;
  if (d.first)
    first = fmt::format(R"(,"first":{{"position":{},"where":{},"a":{},"b":{}}})", d.first->position,
                        json_text(d.first->where), number(d.first->a), number(d.first->b));
  return fmt::format(
      R"({{"pairing":"{}","dtype":"{}","not_compared":{},"calls":{},"refused":{},{},"faults":{},)"
      R"("by_position":[{}]{}}})",
      word_of(d.pairing), word_of(d.dtype), json_text(d.not_compared), d.cases, d.refused,
      apart(d.all), d.faults.size(), rows, first);
}

void draw(const std::string& file, const std::vector<CellDifference>& cells,
          const std::string& title) {
  using namespace report;
  Chart chart{.title = "How far two kernels are apart",
              .x = {"position", Scale::logarithmic, Unit::power_of_two},
              .y = {"largest distance / |x|", Scale::logarithmic, Unit::power_of_ten, error_floor}};
  for (const CellDifference& d : cells) {
    if (!d.not_compared.empty() || chart.series.size() == chart_series_max) continue;
    Series series{.name = fmt::format("{}, {} {}", title, word_of(d.pairing), word_of(d.dtype)),
                  .draw = Draw::joined,
                  .style = {static_cast<int>(chart.series.size()), 0}};
    for (std::size_t row = 0; row < d.by_position.size(); ++row) {
      const double u = data_type(d.dtype).format.u;
      series.x.push_back(static_cast<double>(end_of_row(row)));
      series.y.push_back(std::max(d.by_position[row].u_rho * u, chart.y.floor));
    }
    chart.series.push_back(std::move(series));
  }
  write_whole_file(file, picture_file(chart));
}

bool is_dump(const std::string& target) {
  return target.ends_with(".safetensors") || target.ends_with(".npz") || target.ends_with(".pt");
}

// Whether they differ by more than what is allowed.
bool differs(const CellDifference& d, const DiffOptions& options) {
  return !d.faults.empty() || d.all.ulps > options.max_ulp || (options.max_ulp == 0 && !d.equal());
}

int diff_with_dump(const DiffOptions& options) {
  const bool dump_is_first = is_dump(options.targets[0]);
  const std::string &file = options.targets[dump_is_first ? 0 : 1],
                    &target = options.targets[dump_is_first ? 1 : 0];
  const DumpCase dump = case_of_dump(file, options.configs.empty() ? "" : options.configs.front());
  Side side(options, target);
  Subject subject = side.subject();
  const CellDifference d =
      compare_with_values(subject, case_from_text(dump.inputs), case_from_text(dump.outputs), file);
  if (!d.not_compared.empty()) throw UsageError(d.not_compared);
  if (options.json) {
    fmt::print("{}\n", json_of(d));
  } else {
    fmt::print("{} and {}\n", file, side.facts().name);
    print_cell(d, file, side.facts().name, !options.quiet);
  }
  if (!options.svg.empty()) draw(options.svg, {d}, file + " and " + side.facts().name);
  return d.all.compared == 0 ? 2 : differs(d, options) ? 1 : 0;
}

}  // namespace

// Exit codes, as of diff(1): 0 equal, or within --max-ulp; 1 they differ; 2 cannot be compared.
int run(const DiffOptions& options) {
  const std::string &first = options.targets[0], &second = options.targets[1];
  if (is_dump(first) != is_dump(second)) return diff_with_dump(options);
  if (is_dump(first) || (has_providers(first) && has_providers(second)))
    if (const std::optional<int> code = diff_in_python(options)) return *code;
  Side a(options, first), b(options, second);
  VerifyPlan plan = verify_plan(options);
  if (options.chooses()) hold_to_shape(options, plan);
  if (!options.dtype.empty()) plan.dtypes = {bench::dtype_of(options.dtype)};
  if (!options.json) {
    fmt::print("{} and {}{}\n", a.facts().name, b.facts().name,
               first == second ? ", which are the same" : "");
    const std::int32_t of_a = a.facts().angle_contract, of_b = b.facts().angle_contract;
    const bool tables = of_a == ROPE_CONTRACT_TABLE || of_b == ROPE_CONTRACT_TABLE;
    if (of_a != of_b)
      fmt::print("angles: {} and {}{}\n", word_of(contract_words, of_a),
                 word_of(contract_words, of_b),
                 tables ? "; a table is exact, rounded to its type" : "");
  }
  Subject subject_a = a.subject(), subject_b = b.subject();
  Progress progress(options.quiet, true);
  std::vector<CellDifference> cells;
  bool is_told = options.quiet;
  const auto on_cell = [&](const CellDifference& d) {
    progress.clear();
    cells.push_back(d);
    if (options.json) return fmt::print("{}\n", json_of(d));
    print_cell(d, a.facts().name, b.facts().name, !is_told);
    is_told = is_told || d.first.has_value();
    flush_output();
  };
  compare_kernels(subject_a, subject_b, plan, on_cell,
                  [&](const std::string& what) { progress.show("compares " + what); });
  if (!options.svg.empty()) draw(options.svg, cells, a.facts().name + " and " + b.facts().name);
  const auto is_compared = [](const CellDifference& d) { return d.not_compared.empty(); };
  if (std::ranges::none_of(cells, is_compared))
    throw UsageError(fmt::format("{} and {} have no pairing and data type in common: {}",
                                 a.facts().name, b.facts().name, cells.front().not_compared));
  if (std::ranges::none_of(cells, [](const CellDifference& d) { return d.all.compared > 0; }))
    return 2;  // its faults are told
  if (!options.json) {
    print_not_compared(cells);
    fmt::print("{:.1f} s\n", seconds_of_command());
  }
  const auto is_apart = [&](const CellDifference& d) { return differs(d, options); };
  return std::ranges::any_of(cells, is_apart) ? 1 : 0;
}

}  // namespace ropewalk::tools
