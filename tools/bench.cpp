// Times only what verified, in the very process that verified it, and looks again afterwards.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <set>

#include "benchmarks/board.h"
#include "benchmarks/workloads.h"
#include "properties/verify.h"
#include "tools/board_request.h"
#include "tools/session.h"
#include "tools/verbs.h"

namespace ropewalk {
namespace {

constexpr std::int64_t gate_cases = 12;  // generated cases of each property before timing
constexpr double silence_limit_s = 120;  // one benchmark may take that long
constexpr std::int64_t gate_elements = 1
                                       << 23;  // of a workload's own shape; longer ones lose tokens

std::vector<Workload> all_workloads(const std::string& file) {
  return file.empty() ? load_default_workloads() : load_workloads(file);
}

std::vector<Workload> chosen_workloads(const Options& options) {
  std::vector<Workload> chosen;
  for (const Workload& w : all_workloads(options.workload_file))
    if (matches(options.workloads, w.name) &&
        (!options.workloads.empty() || in_profile(w, profile_name(options.profile))))
      chosen.push_back(w);
  if (chosen.empty())
    throw UsageError(options.workloads.empty()
                         ? "no workload belongs to profile " + profile_name(options.profile) +
                               " (name some: --workload 'GLOB')"
                         : "no workload matches '" + options.workloads.front() +
                               "' (ropewalk list shows them)");
  return chosen;
}

// The workload's own shape as a case: what is timed is what is checked.
Case case_of(const Workload& w, const KernelFacts& facts, std::uint64_t seed) {
  Case c;
  c.kernel = facts.name;
  c.plugin = facts.plugin;
  c.property = agreement.name;
  c.contract = facts.angle_contract;
  c.pairing = w.pairing;
  c.dtype = w.dtype;
  c.batch = w.batch;
  std::int64_t row = 0;
  c.tensors.clear();
  for (const WorkloadTensor& given : w.tensors) {
    TensorCase t;
    t.heads = given.heads;
    t.head_dim = given.head_dim;
    t.rotary_offset = given.rotary_offset;
    t.in_place = w.in_place;
    c.tensors.push_back(t);
    row += given.heads * given.head_dim;
  }
  c.tokens = std::clamp<std::int64_t>(gate_elements / (w.batch * row), 1, w.tokens);
  c.rotary_dim = w.rotary_dim;
  c.rope_theta = w.rope_theta;
  c.seed = seed;
  if (w.scattered) {
    c.position_rule = PositionRule::random;
    c.position_to = scattered_position_count - 1;
  }
  return c;
}

// Verifies, times, verifies: one board in one worker process, begun again without whoever broke.
class Bench {
 public:
  Bench(const Options& options, std::vector<Workload> workloads)
      : options_(options),
        workloads_(std::move(workloads)),
        known_(known_failures(options)),
        worker_(options_for_board(options)),
        progress_(options.quiet) {
    require_kernels(worker_, options);
    for (const KernelFacts& k : worker_.kernels())
      if (matches(options.kernels, k.name) && k.cannot_run.empty()) kernels_.push_back(k);
  }

  int run(const std::function<void(const VerdictRow&)>& on_verdict,
          const std::function<void(const TimingRow&)>& on_row) {
    for (;;) {
      verify_in_one_process();
      rows_.clear();
      const Worker::TimeResult timed = time_board();
      if (timed.result.kind == CallResult::Kind::failed) throw UsageError(timed.result.text);
      if (timed.result.kind == CallResult::Kind::ok) {
        if (timed.exit_code != 0) return timed.exit_code;
        break;
      }
      // The label is KERNEL|WORKLOAD.
      const std::string kernel = timed.now_running.substr(0, timed.now_running.find('|'));
      if (kernel.empty()) throw std::runtime_error("the board's process " + timed.result.text);
      break_off(kernel, timed.result.text + " while timed (" + timed.now_running + ")", "");
    }
    check_own_shapes(" after it was timed");
    progress_.clear();
    for (const VerdictRow& row : verdicts_) on_verdict(row);
    emit(on_row);
    if (!news_.empty()) return 1;
    return !broken_.empty() || std::any_of(rows_.begin(), rows_.end(),
                                           [](const TimingRow& r) {
                                             return !r.is_ceiling() && r.outcome == "MEASURED";
                                           })
               ? 0
               : 3;
  }

 private:
  static WorkerOptions options_for_board(const Options& options) {
    WorkerOptions w = worker_options(options);
    // bench shows Google Benchmark's own table; with --json standard output is ours.
    w.output_descriptor = silent(options) ? WorkerOptions::nowhere
                          : options.json  ? STDERR_FILENO
                                          : STDOUT_FILENO;
    return w;
  }

  static bool silent(const Options& options) { return options.quiet || options.verb == "run"; }

  VerifyPlan gate() const {
    VerifyPlan plan;
    plan.profile = Profile::smoke;
    plan.seed = options_.seed;
    plan.cases = gate_cases;
    plan.shrink = false;  // whether it holds is the question here
    std::set<std::int32_t> dtypes;
    for (const Workload& w : workloads_) dtypes.insert(w.dtype);
    plan.dtypes.assign(dtypes.begin(), dtypes.end());
    return plan;
  }

  // A crash replaces the process: all who are left must then verify in the new one.
  void verify_in_one_process() {
    int starts = 0;
    do {
      worker_.kernels();
      starts = worker_.starts();
      for (const KernelFacts& k : kernels_)
        if (!broken_.contains(k.name)) verify_one(k);
      check_own_shapes("");
    } while (worker_.starts() != starts);
  }

  void verify_one(const KernelFacts& facts) {
    std::erase_if(verdicts_, [&](const VerdictRow& row) { return row.kernel == facts.name; });
    Subject subject{worker_, oracle_, facts};
    verify_kernel(
        subject, gate(),
        [&](VerdictRow row) {
          known_.judge(row);
          if (is_failure(row.verdict))
            break_off(facts.name, fmt::format("{} {}: {}", row.verdict, row.property, row.reason),
                      row.known);
          verdicts_.push_back(std::move(row));
        },
        [&](const std::string& what) { progress_.show("verifying " + what); });
  }

  // From now on the kernel has no speed. The first failure that is not known is the one to name.
  void break_off(const std::string& kernel, const std::string& why, const std::string& known) {
    if (!known.empty())
      broken_.try_emplace(kernel, why + " (known " + known + ")");
    else if (news_.insert(kernel).second)
      broken_[kernel] = why;
  }

  void check_own_shapes(const std::string& when) {
    for (const Workload& w : workloads_)
      for (const KernelFacts& facts : kernels_) {
        if (broken_.contains(facts.name)) continue;
        progress_.show(fmt::format("verifying {} on {}", facts.name, w.name));
        Subject subject{worker_, oracle_, facts};
        const Finding f = agreement.check(subject, case_of(w, facts, options_.seed));
        if (!f.ran() || f.holds()) continue;
        break_off(facts.name,
                  fmt::format("{} agreement on {}{}: {} {}", verdict_of(f), w.name, when, f.reason,
                              f.where),
                  known_.excuse(facts.name, std::string(agreement.name)));
      }
  }

  Worker::TimeResult time_board() {
    BoardRequest request;
    request.seed = options_.seed;
    request.quick = options_.profile == Profile::smoke;
    request.silent = silent(options_);
    request.workload_file = options_.workload_file;
    for (const Workload& w : workloads_) request.workloads.push_back(w.name);
    for (const KernelFacts& k : kernels_) {
      const auto broken = broken_.find(k.name);
      request.contestants[k.name] = broken == broken_.end() ? "" : "BROKEN: " + broken->second;
    }
    request.benchmark_args = options_.benchmark_args;
    progress_.clear();
    flush_output();
    return worker_.time(
        to_text(request), silence_limit_s,
        [&](const std::string&, const std::string& json) {
          rows_.push_back(timing_row_from(json));
        },
        [&](const std::string& label) {
          if (options_.verb == "run") progress_.show("timing " + label);
        });
  }

  void emit(const std::function<void(const TimingRow&)>& on_row) {
    std::stable_sort(rows_.begin(), rows_.end(), [&](const TimingRow& a, const TimingRow& b) {
      return std::pair(place_of(a.workload), a.kernel) < std::pair(place_of(b.workload), b.kernel);
    });
    for (TimingRow& row : rows_) {
      if (const auto broken = broken_.find(row.kernel); broken != broken_.end())
        take_numbers_away(row, broken->second);
      on_row(row);
      if (options_.json) fmt::print("{}\n", to_json_line(row));
      if (options_.verb == "run" && !options_.quiet) print_row(row);
    }
    for (const auto& [kernel, why] : broken_)
      fmt::print(options_.json ? stderr : stdout, "BROKEN {}: {}\n", kernel, why);
  }

  static void print_row(const TimingRow& row) {
    if (row.ns_per_token.empty())
      fmt::print("{:<24} {:<16} {}: {}\n", row.workload, row.kernel, row.outcome, row.reason);
    else
      fmt::print("{:<24} {:<16} {:>12.1f} ns/token {:>8.2f} GB/s  {}\n", row.workload, row.kernel,
                 row.ns_per_token_median, row.gb_per_s_median, row.board);
  }

  static void take_numbers_away(TimingRow& row, const std::string& why) {
    row.outcome = "BROKEN";
    row.reason = why;
    row.ns_per_token.clear();
    row.iterations.clear();
    row.ns_per_token_median = row.gb_per_s_median = 0;
  }

  std::ptrdiff_t place_of(const std::string& workload) const {
    return std::find_if(workloads_.begin(), workloads_.end(),
                        [&](const Workload& w) { return w.name == workload; }) -
           workloads_.begin();
  }

  const Options& options_;
  std::vector<Workload> workloads_;
  KnownFailures known_;
  Worker worker_;
  Oracle oracle_;
  Progress progress_;
  std::vector<KernelFacts> kernels_;
  std::map<std::string, std::string> broken_;  // kernel, why
  std::set<std::string> news_;                 // of them, those that are not known to fail
  std::vector<VerdictRow> verdicts_;
  std::vector<TimingRow> rows_;
};

}  // namespace

void require_workloads(const Options& options) {
  chosen_workloads(options);
}

int bench_and_print(const Options& options,
                    const std::function<void(const VerdictRow&)>& on_verdict,
                    const std::function<void(const TimingRow&)>& on_row) {
  Bench bench(options, chosen_workloads(options));
  return bench.run(on_verdict, on_row);
}

int run_bench(const Options& options) {
  Recorder recorder(options, options.out);
  const int code = bench_and_print(
      options, [&](const VerdictRow& row) { recorder.write(row); },
      [&](const TimingRow& row) { recorder.write(row); });
  recorder.finish(code);
  return code;
}

TimingHandler timing_handler() {
  return [](const std::string& text, const std::vector<const rope_kernel*>& kernels,
            const auto& on_row, const auto& now_running) {
    const BoardRequest request = board_request_from(text);
    BoardPlan plan;
    plan.seed = request.seed;
    plan.quick = request.quick;
    plan.silent = request.silent;
    plan.benchmark_args = request.benchmark_args;
    for (const Workload& w : all_workloads(request.workload_file))
      if (std::find(request.workloads.begin(), request.workloads.end(), w.name) !=
          request.workloads.end())
        plan.workloads.push_back(w);
    for (const auto& [name, broken] : request.contestants) {
      const auto found = std::find_if(kernels.begin(), kernels.end(),
                                      [&, n = name](const rope_kernel* k) { return n == k->name; });
      if (found == kernels.end()) throw std::runtime_error("the board has no kernel " + name);
      const char* summary = (*found)->summary;
      plan.contestants.push_back({*found, name, summary == nullptr ? "" : summary, broken});
    }
    plan.on_row = [&](const TimingRow& row) { on_row(row.kernel, to_json_line(row)); };
    plan.now_running = now_running;
    return run_board(plan);
  };
}

}  // namespace ropewalk
