// No other file includes the library. For 1.7.1 and 1.9.1 (Debian 12, 13).
#include "benchmarks/engine/google_benchmark.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <ostream>
#include <regex>
#include <sstream>
#include <utility>

#include "base/random.h"

namespace ropewalk::bench {
namespace {

/// Hands on what is written, at each flush.
class Shown final : public std::stringbuf {
 public:
  Shown(const GoogleBenchmarkPlan& plan, bool remark) : plan_(plan), remark_(remark) {}
  int sync() override {
    if (!str().empty()) plan_.show(str(), remark_);
    str({});
    return 0;
  }

 private:
  const GoogleBenchmarkPlan& plan_;
  bool remark_;
};

/// One repetition, or one step of the library's search for its length. The library aborts if
/// repetitions differ in their iterations, so a refused cell still counts them.
void time_cell(benchmark::State& state, Cell& cell, const GoogleBenchmarkPlan& plan,
               Oracle& oracle) {
  plan.now_running(cell.label());
  const auto calls = static_cast<std::int64_t>(state.max_iterations);
  std::uint64_t random = fresh_seed();
  Epoch epoch;
  if (cell.ready()) epoch = cell.draw_epoch(calls, random);
  while (state.KeepRunningBatch(state.max_iterations))
    if (!cell.refusal) cell.run(epoch);
  if (!cell.refusal && cell.keeps_arguments()) cell.judge(oracle, random);
  if (cell.refusal) return state.SkipWithError(cell.refusal->reason.c_str());
  state.SetBytesProcessed(calls * cell.row.bytes);
  state.SetItemsProcessed(calls * cell.row.tokens);  // tokens
}

/// Returns the first flag that the library does not accept. The library keeps pointers into argv,
/// so the texts live as long as the process.
std::string initialize(const std::vector<std::string>& flags) {
  static std::vector<std::string> kept;
  static std::vector<char*> pointers;
  kept = {"ropewalk"};
  kept.insert(kept.end(), flags.begin(), flags.end());
  pointers.clear();
  for (std::string& flag : kept) pointers.push_back(flag.data());
  int count = static_cast<int>(pointers.size());
  pointers.push_back(nullptr);
  benchmark::Initialize(&count, pointers.data());
  return count > 1 ? pointers[1] : "";
}

/// With any other value the library ends the process, or takes the flag for a request for help.
struct Values {
  const char *flag, *pattern;
};
constexpr Values known_values[] = {
    {"--benchmark_min_time", R"([0-9]*\.?[0-9]+(e-?[0-9]+)?[sx]?)"},
    {"--benchmark_repetitions", "[1-9][0-9]{0,5}"},
    {"--benchmark_format", "console|json|csv"},
    {"--benchmark_out_format", "console|json|csv"},
    {"--benchmark_time_unit", "ns|us|ms|s"},
};

bool is_usable(const std::string& flag, const std::string& value) try {
  if (flag == "--benchmark_filter") (void)std::regex(value, std::regex::extended);
  if (flag == "--benchmark_out" && !std::ofstream(value, std::ios::app)) return false;
  for (const Values& known : known_values)
    if (flag == known.flag && !std::regex_match(value, std::regex(known.pattern))) return false;
  return true;
} catch (const std::regex_error&) {
  return false;
}

}  // namespace

std::string benchmark_flag_fault(const std::vector<std::string>& flags) {
  for (const std::string& flag : flags) {
    if (!flag.starts_with("--benchmark_") && !flag.starts_with("--v="))
      return "'" + flag + "' is not a flag of Google Benchmark (--benchmark_...)";
    const std::size_t end = std::min(flag.find('='), flag.size());
    if (!is_usable(flag.substr(0, end), end < flag.size() ? flag.substr(end + 1) : ""))
      return "'" + flag + "' has a value that Google Benchmark does not take";
  }
  const std::string unknown = initialize(flags);
  return unknown.empty() ? "" : "Google Benchmark does not accept '" + unknown + "'";
}

int run_google_benchmark(const GoogleBenchmarkPlan& plan) {
  initialize(plan.flags);
  std::vector<std::unique_ptr<LazyData>> data;
  std::vector<std::unique_ptr<Cell>> cells;  // destroyed before their data
  Oracle oracle;
  for (const Workload& workload : plan.workloads) {
    LazyData& here = *data.emplace_back(std::make_unique<LazyData>(workload, plan.seed));
    for (const Candidate& c : plan.kernels) {
      plan.now_running(c.name + "|" + workload.name);
      if (refusal_of(c, workload)) continue;
      const KernelPlan takes = plan_of(c, workload);
      if (!takes.supported) continue;
      Cell& cell = *cells.emplace_back(make_kernel_cell(*c.kernel, takes, workload, here));
      cell.row.kernel = c.name;
      benchmark::RegisterBenchmark(cell.label().c_str(), [&](benchmark::State& state) {
        time_cell(state, cell, plan, oracle);
      })->UseRealTime();
    }
  }
  Shown shown(plan, false), remarks(plan, true);
  std::ostream out(&shown), err(&remarks);
  benchmark::BenchmarkReporter* const reporter = benchmark::CreateDefaultDisplayReporter();
  reporter->SetOutputStream(&out);
  reporter->SetErrorStream(&err);
  const std::size_t matched = benchmark::RunSpecifiedBenchmarks(reporter);
  out.flush();
  err.flush();
  benchmark::ClearRegisteredBenchmarks();
  plan.now_running("");
  const bool any_wrong = std::ranges::any_of(cells, [](const auto& cell) {
    return cell->refusal && cell->refusal->outcome == report::Outcome::broken;
  });
  return any_wrong ? 1 : matched == 0 ? 3 : 0;
}

}  // namespace ropewalk::bench
