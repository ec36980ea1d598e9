#include "tools/launches/launches.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/printable.h"
#include "benchmarks/cells/cells.h"
#include "benchmarks/engine/crew.h"
#include "benchmarks/machine/environment.h"
#include "benchmarks/workloads/workload_layout.h"
#include "harness/cases/names.h"
#include "properties/explain/check_case.h"
#include "properties/search/judges.h"
#include "reports/pages/report.h"
#include "tools/command/workload_choice.h"
#include "tools/launches/board.h"
#include "tools/launches/kernels_to_time.h"

namespace ropewalk::tools {
using namespace bench;
using namespace harness;
using namespace properties;
using namespace report;
namespace {

// Generated cases of each property, by profile. They are few, because verify judges kernels
// thoroughly.
constexpr std::int64_t gate_cases_smoke = 3, gate_cases = 12;
// The first cases of the covering array, which cover most of its pairs.
constexpr std::int64_t gate_array_smoke = 32, gate_array = 64;
// Elements of a workload's own shape, by profile. Larger shapes get fewer tokens.
constexpr std::int64_t gate_elements_smoke = 1 << 18, gate_elements = 1 << 21;

constexpr std::string_view asked = "agreement";

// The workload's own shape as a case, so that the timed shape is the checked shape.
Case own_case(const Workload& w, const KernelFacts& facts, std::uint64_t seed,
              std::int64_t tokens) {
  Case c = case_of(w, tokens);
  c.kernel = facts.name;
  c.plugin = facts.plugin;
  c.property = asked;
  c.contract = facts.angle_contract;
  c.seed = seed;
  return c;
}

// A board may end once while no kernel runs, as its process may be killed from outside.
constexpr int lost_most = 1;
constexpr double silence_limit_s = 120;  // one epoch or benchmark may take as long

std::map<std::int32_t, Worker> workers_of(const KernelsToTime& out) {
  std::map<std::int32_t, Worker> workers;
  for (const auto& [memory, options] : out.workers) workers.try_emplace(memory, options);
  return workers;
}

}  // namespace

Gate::Gate(const BenchOptions& options, const std::vector<Workload>& workloads,
           std::map<std::int32_t, Worker>& workers, Progress& progress)
    : options_(options),
      workloads_(workloads),
      workers_(workers),
      progress_(progress),
      known_(known_failures(options.known_failures)) {
  for (auto& [memory, worker] : workers_)
    for (const KernelFacts& k : worker.kernels())
      if (k.memory == memory && matches(options.kernels, k.name) &&
          why_not_timed(options, k).empty())
        kernels_.push_back(k);
}

bool Gate::knows(const std::string& kernel) const {
  return std::ranges::count(kernels_, kernel, &KernelFacts::name) > 0;
}

VerifyPlan Gate::plan() const {
  VerifyPlan plan;
  plan.profile = Profile::smoke;
  plan.seed = options_.seed;
  plan.cases = options_.profile == Profile::smoke ? gate_cases_smoke : gate_cases;
  plan.shrink = false;       // only the verdict matters here
  plan.keeps_worker = true;  // the first of them is the one that times
  plan.array_cases = options_.profile == Profile::smoke ? gate_array_smoke : gate_array;
  std::set<Dtype> dtypes;
  std::set<Pairing> pairings;
  for (const Workload& w : workloads_) {
    dtypes.insert(w.dtype);
    pairings.insert(w.pairing);
  }
  plan.pairings.assign(pairings.begin(), pairings.end());
  plan.dtypes.assign(dtypes.begin(), dtypes.end());
  ask_shapes(workloads_, plan);
  return plan;
}

/// A process beside the one that times, with what judges there.
struct Gate::Beside {
  explicit Beside(const Worker& of) : worker(of.another()) {}
  Worker worker;
  Oracle oracle;
};

// A crash replaces the process that times. All remaining kernels must then be verified in the new
// one.
void Gate::verify(std::int32_t memory, bool whole) {
  Worker& worker = workers_.at(memory);
  std::deque<Beside> beside;
  const int judges = whole && memory == ROPE_HOST ? usual_judges() : 1;
  for (int i = 1; i < judges; ++i) beside.emplace_back(worker);
  JudgeThreads threads(beside.size() + 1);
  int starts = 0;
  do {
    worker.kernels();
    starts = worker.starts();
    for (const KernelFacts& k : kernels_)
      if (whole && k.memory == memory && !broken_.contains(k.name)) verify_one(k, threads, beside);
    check_own_shapes(memory, "", whole);
  } while (worker.starts() != starts);
}

void Gate::verify_one(const KernelFacts& facts, JudgeThreads& threads, std::deque<Beside>& beside) {
  std::erase_if(verdicts_, [&](const VerdictRow& row) { return row.kernel == facts.name; });
  std::vector<Subject> subjects{{workers_.at(facts.memory), oracle_, facts}};
  for (Beside& other : beside) subjects.push_back({other.worker, other.oracle, facts});
  verify_kernel(
      threads, subjects, plan(),
      [&](VerdictRow row) {
        known_.judge(row);
        if (is_failure(row.verdict))
          break_off(facts.name, fmt::format("{} {}: {}", row.verdict, row.property, row.reason),
                    row.known);
        verdicts_.push_back(std::move(row));
      },
      [&](const std::string& what) { progress_.show("verifying " + what); });
}

void Gate::break_off(const std::string& kernel, const std::string& why, const std::string& known) {
  if (!known.empty())
    broken_.try_emplace(kernel, Breakage{why + " (known " + known + ")", known});
  else if (news_.insert(kernel).second)
    broken_[kernel] = {why, ""};
}

bool Gate::passed(const KernelFacts& facts, const Workload& w) const {
  return std::ranges::any_of(verdicts_, [&](const VerdictRow& row) {
    return row.kernel == facts.name && row.verdict == Verdict::pass &&
           row.pairing == word_of(w.pairing) && row.dtype == word_of(w.dtype);
  });
}

// If the kernel refuses the reduced token count, the gate checks the full count.
Finding Gate::own_shape(const KernelFacts& facts, const Workload& w, bool whole) {
  Subject subject{workers_.at(facts.memory), oracle_, facts};
  if ((facts.flags & ROPE_NEEDS_ALIGN_64) != 0 && !begins_aligned(w)) {
    Finding f;
    f.kind = Finding::Kind::unsupported;
    return f;
  }
  const std::int64_t elements =
      options_.profile == Profile::smoke || !whole ? gate_elements_smoke : gate_elements;
  std::int64_t row = 0;
  for (const TensorCase& t : w.tensors) row += t.heads * t.head_dim;
  Case c = own_case(w, facts, options_.seed,
                    std::clamp<std::int64_t>(elements / (w.batch * row), 1, w.tokens));
  const auto check = [&](const Case& of) {
    Finding f = check_case(property_named(asked), subject, of);
    if (!f.holds() || subject.side_effects->unclean.empty()) return f;
    f.kind = Finding::Kind::broken;
    f.reason = subject.side_effects->unclean;
    return f;
  };
  const Finding f = check(c);
  if (f.ran() || c.tokens == w.tokens) return f;
  c = own_case(w, facts, options_.seed, w.tokens);
  try {
    const CallResult answer = ask_supports(subject, make_question(c));
    return answer.kind == CallResult::Kind::ok ? check(c) : f;
  } catch (const BadCase&) {  // too large for a case
    return f;
  }
}

void Gate::check_own_shapes(std::int32_t memory, const std::string& when, bool whole) {
  for (const Workload& w : workloads_)
    for (const KernelFacts& facts : kernels_) {
      if (facts.memory != memory || broken_.contains(facts.name)) continue;
      progress_.show(fmt::format("verifying {} on {}", facts.name, w.name));
      const Finding f = own_shape(facts, w, whole);
      if (!f.ran() || !passed(facts, w)) unverified_.insert({facts.name, w.name});
      if (!f.ran() || f.holds()) continue;
      break_off(
          facts.name,
          fmt::format("{} agreement on {}{}: {} {}", verdict_of(f), w.name, when, f.reason,
                      f.where),
          known_.excuse({facts.name, std::string(word_of(contract_words, facts.angle_contract)),
                         std::string(word_of(w.pairing)), std::string(word_of(w.dtype)),
                         std::string(asked)}));
    }
}

Launches::Launches(const BenchOptions& options, std::vector<Workload> workloads)
    : options_(options),
      workloads_(std::move(workloads)),
      effort_(effort_of(options)),
      budget_(effort_, options.began, options.margin),
      progress_(options.quiet),
      kernels_(kernels_to_time(options)),
      workers_(workers_of(kernels_)),
      gate_(options, workloads_, workers_, progress_),
      kept_(options, options.google_benchmark ? "" : options.out, "measured.jsonl") {
  if (!options.baseline.empty() && !gate_.knows(options.baseline))
    throw UsageError("--baseline: no kernel '" + options.baseline +
                     "' is timed here (ropewalk list shows them)");
  if (const auto allowed = std::ssize(allowed_cpus()); options.threads > allowed)
    throw UsageError(
        fmt::format("--threads {}: this process may use {} processors", options.threads, allowed));
}

int Launches::run(const std::function<void(const VerdictRow&)>& on_verdict,
                  const std::function<void(const TimingRow&)>& on_row) {
  say_plan();
  if (options_.google_benchmark) return run_google_benchmark(on_verdict);
  if (const int code = run_all(); code != 0) {
    for (const TimingRow& row : left_out_)
      fmt::print(stderr, "SKIPPED {}: {}\n", row.kernel, row.reason);
    say_what_none_takes(stderr);
    return code;
  }
  progress_.clear();
  settle();
  for (const VerdictRow& row : gate_.verdicts()) on_verdict(row);
  emit(on_row);
  return exit_code();
}

int Launches::run_google_benchmark(const std::function<void(const VerdictRow&)>& on_verdict) {
  const int code = run_launch(0, ROPE_HOST);
  progress_.clear();
  for (const VerdictRow& row : gate_.verdicts()) on_verdict(row);
  say_broken(options_.json ? stderr : stdout);
  return gate_.has_news() ? 1 : code;
}

// Restarts at launch 0 after each launch, because a kernel that breaks late may have led groups of
// complete launches.
int Launches::run_all() {
  left_out_ = leave_out(workloads_, gate_.kernels(), budget_);
  if (!budget_.too_small().empty()) return 0;
  if (const int code = pick_ceilings(); code != 0) return code;
  if (!budget_.too_small().empty()) return 0;
  for (std::int64_t launch = 0; launch < effort_.launches;) {
    if (complete_.contains(launch)) {
      ++launch;
      continue;
    }
    if (budget_.ends_before(std::ssize(complete_), rows_)) break;
    complete_.insert(launch);  // unless a kernel breaks after it has led groups
    budget_.begin_launch();
    if (const int code = run_launch(launch); code != 0) return code;
    if (!budget_.too_small().empty()) break;
    launch = 0;
  }
  return 0;
}

// Returns 3 if no kernel takes any workload, wherever it runs.
int Launches::run_launch(std::int64_t launch) {
  int code = 3;
  for (const auto& [memory, worker] : workers_) {
    const int here = run_launch(launch, memory);
    if (here != 0 && here != 3) return here;
    code = std::min(code, here);
  }
  return code;
}

int Launches::run_launch(std::int64_t launch, std::int32_t memory) {
  for (;;) {
    for (auto& [any, each] : workers_) each.restart();  // none runs beside what is timed
    double before_s = budget_.left_s();
    const bool is_first = verified_.insert(memory).second;
    gate_.verify(memory, is_first);
    if (is_first && options_.part_of_run) budget_.begin();  // what run judges is not its bench's
    if (is_first) before_s = budget_.left_s();              // later launches verify less
    for (const auto& [kernel, why] : gate_.broken()) forget_groups_led_by(kernel);
    const BoardRequest request = request_for(launch, memory);
    const Worker::TimeResult timed = time_board(request, launch, memory);
    if (timed.result.kind == CallResult::Kind::ok) {
      if (timed.exit_code != 0) return timed.exit_code;
      budget_.spend(before_s - budget_.left_s(), request.launch_s);
      break;
    }
    if (!budget_.too_small().empty()) return 0;
    blame(timed);
  }
  const auto broken_before = gate_.broken();
  gate_.check_own_shapes(memory, " after it was timed", false);
  for (const auto& [kernel, why] : gate_.broken())
    if (!broken_before.contains(kernel)) forget_groups_led_by(kernel);
  return 0;
}

// A board's process ended, hung or failed. The kernel whose code ran is broken.
void Launches::blame(const Worker::TimeResult& timed) {
  const std::string kernel = kernel_of_label(timed.now_running);
  const std::string& seen = timed.result.text;
  if (gate_.knows(kernel) && !gate_.broken().contains(kernel))
    return break_off(kernel, seen + " while timed (" + timed.now_running + ")");
  if (timed.result.kind == CallResult::Kind::failed && timed.now_running.empty())
    throw UsageError(seen);
  if (lost_++ == lost_most)
    throw BoardLost("the process that times kernels ended twice while no kernel ran: " + seen);
}

// Ceilings are picked in a process of their own and measured in those of the launches. The best of
// many looks too fast in the run that picked it.
int Launches::pick_ceilings() {
  const auto host = workers_.find(ROPE_HOST);
  if (host == workers_.end()) return 0;
  BoardRequest request = request_for(0, ROPE_HOST);
  request.ceilings_only = true;
  if (budget_.counts()) request.launch_s = budget_.share_s(40);
  request.kernels.clear();
  // No kernel runs here, so no plugin is loaded, and no thread of a plugin runs beside it.
  WorkerOptions without_plugins = kernels_.workers.at(ROPE_HOST);
  without_plugins.plugins.clear();
  std::vector<KernelFacts> own = host->second.kernels();
  std::erase_if(own, [](const KernelFacts& k) { return !k.plugin.empty(); });
  host->second.restart();
  Worker worker(without_plugins, own);
  for (;;) {
    std::erase_if(request.workloads, [&](const Workload& w) { return ceilings_.contains(w.name); });
    if (request.workloads.empty() || !budget_.too_small().empty()) return 0;
    Worker::BoardSinks sinks = sinks_of(
        request, 0, [&](const TimingRow& row) { ceilings_[row.workload].push_back(row.variant); });
    sinks.progress = [&](const std::string& label) { progress_.show("trying " + label); };
    const Worker::TimeResult timed = worker.time(to_text(request), silence_limit_s, sinks);
    if (timed.result.kind == CallResult::Kind::ok) return timed.exit_code;
    if (budget_.too_small().empty()) blame(timed);
  }
}

// Whether the budget of the user is spent before there are as many launches as a claim needs. A
// launch that has begun may take a quarter of it more.
bool Launches::is_out_of_time() {
  const auto done = std::ssize(complete_) - 1;
  if (done >= least_launches) return false;
  return done < 0 ? budget_.is_over(fmt::format("looking for the ceilings of {} of {} workloads",
                                                ceilings_.size(), workloads_.size()))
                  : budget_.is_over(fmt::format("{} of {} launches", done, least_launches), 0.25);
}

BoardRequest Launches::request_for(std::int64_t launch, std::int32_t memory) {
  BoardRequest request;
  request.google_benchmark = options_.google_benchmark;
  request.seed = options_.seed;
  request.workloads = workloads_;
  for (const KernelFacts& k : gate_.kernels()) {
    if (k.memory != memory) continue;
    const auto broken = gate_.broken().find(k.name);
    request.kernels[k.name] = broken == gate_.broken().end() ? "" : broken->second.reason;
  }
  request.unverified = gate_.unverified();
  request.benchmark_args = options_.benchmark_args;
  request.rounds = effort_.rounds;
  request.epoch_s = effort_.epoch_s;
  request.group_s = effort_.group_s;
  request.launch = launch;
  if (budget_.counts()) {
    const auto launches = budget_.launches_left(std::ssize(complete_) - 1);
    request.launch_s = budget_.share_s(launches * std::ssize(workers_));
    request.done = budget_.settled_groups(rows_);
    request.done.merge(std::set(budget_.without_time()));
  }
  request.threads = options_.threads;
  request.baseline = options_.baseline;
  request.ceilings = ceilings_;
  for (const TimingRow& row : rows_) {
    if (row.launch == launch && row.is_ceiling())  // the last rows of a group
      request.done.insert(group_of(row));
    if (row.epoch_us > 0) request.epochs_s[group_of(row)] = 1e-6 * row.epoch_us;
  }
  return request;
}

Worker::TimeResult Launches::time_board(const BoardRequest& request, std::int64_t launch,
                                        std::int32_t memory) {
  progress_.clear();
  flush_output();
  budget_.begin_board();
  // Groups that a process did not end are timed again.
  std::erase_if(rows_, [&](const TimingRow& row) {
    return row.launch == launch && memory_of(row) == memory &&
           !request.done.contains(group_of(row));
  });
  return workers_.at(memory).time(
      to_text(request), silence_limit_s,
      sinks_of(request, launch, [&](TimingRow row) { take(std::move(row)); }));
}

// With --json, standard output holds only rows.
Worker::BoardSinks Launches::sinks_of(const BoardRequest& request, std::int64_t launch,
                                      const std::function<void(TimingRow)>& on_row) {
  Worker::BoardSinks sinks;
  sinks.row = [this, &request, on_row](const std::string& json) -> std::string {
    try {
      on_row(board_row_from(json, request));
      return is_out_of_time() ? "there is no time left" : "";
    } catch (const BadFile& unusable) {
      return std::string("sent a row that cannot be used: ") + unusable.what();
    }
  };
  sinks.progress = [this, launch](const std::string& label) {
    if (!options_.google_benchmark) progress_.show(time_left(launch, label));
  };
  sinks.show = [this](const std::string& text, bool remark) {
    if (options_.quiet) return;
    const bool to_out = !remark && !options_.json;
    std::fputs(printable_lines(text).c_str(), to_out ? stdout : stderr);
    if (to_out) flush_output();
  };
  return sinks;
}

void Launches::take(TimingRow row) {
  for (const KernelFacts& k : gate_.kernels())
    if (k.name == kernel_of(row)) row.judged_on = judged_on(k);
  const auto broken = gate_.broken().find(row.kernel);
  const bool told = broken != gate_.broken().end();
  if (row.outcome == Outcome::broken && told) row.known = broken->second.known;
  kept_.write(row);
  if (row.is_ceiling() && (rows_.empty() || !rows_.back().is_ceiling()))  // the first of its group
    budget_.end_group(group_of(row));
  // It was judged while timed, so the gate does not know of the break yet.
  if (row.outcome == Outcome::broken && !told)
    break_off(row.kernel, fmt::format("{} ({})", row.reason, row.workload));
  rows_.push_back(std::move(row));
}

void Launches::break_off(const std::string& kernel, const std::string& why) {
  gate_.break_off(kernel, why);
  forget_groups_led_by(kernel);
}

// Without a baseline the rounds of a group are useless, so they are measured again.
void Launches::forget_groups_led_by(const std::string& kernel) {
  std::set<std::pair<std::int64_t, std::string>> led;
  for (const TimingRow& row : rows_)
    if (row.role == Role::baseline && row.kernel == kernel) {
      led.insert({row.launch, group_of(row)});
      complete_.erase(row.launch);
    }
  std::erase_if(rows_, [&](const TimingRow& row) {
    return led.contains({row.launch, group_of(row)});
  });
}

// Broken and implausible kernels get no number; claims_of() decides which those are.
void Launches::settle() {
  skip_groups(budget_.without_time(), rows_);
  std::move(left_out_.begin(), left_out_.end(), std::back_inserter(rows_));
  for (TimingRow& row : rows_)
    if (const auto broken = gate_.broken().find(kernel_of(row)); broken != gate_.broken().end()) {
      take_numbers_away(row, Outcome::broken, broken->second.reason);
      row.known = broken->second.known;
    }
  std::erase_if(
      rows_, [](const TimingRow& row) { return row.is_twin() && row.outcome == Outcome::broken; });
  std::ranges::stable_sort(rows_, [&](const TimingRow& a, const TimingRow& b) {
    return std::tuple(place_of(a.workload), a.board, a.threads, a.launch, a.kernel) <
           std::tuple(place_of(b.workload), b.board, b.threads, b.launch, b.kernel);
  });
  const Claims claims = claims_of(rows_, options_.margin);
  valid_ = claims.valid;
  std::set<const TimingRow*> implausible;
  for (const ClaimGroup& group : claims.groups)
    for (const Claim& claim : group.claims)
      if (claim.outcome == Outcome::implausible)
        implausible.insert(claim.rows.begin(), claim.rows.end());
  for (TimingRow& row : rows_)
    if (implausible.contains(&row))
      take_numbers_away(row, Outcome::implausible,
                        "faster than memory allows: it beats the ceiling");
}

void Launches::emit(const std::function<void(const TimingRow&)>& on_row) {
  for (const TimingRow& row : rows_) on_row(row);
  std::error_code error;
  std::filesystem::remove(kept_.file(), error);
  for (const TimingRow& row : rows_) {
    if (!options_.json) break;
    fmt::print("{}\n", to_json_line(row));
    flush_output();
  }
  std::FILE* to = options_.json ? stderr : stdout;
  const bool has_report = options_.part_of_run && !options_.verbose;  // with all tables
  const Claims claims = claims_of(rows_, options_.margin);
  Summary summary;
  summary.boards = make_boards(rows_, claims);
  if (!options_.quiet && !has_report) fmt::print(to, "{}", terminal_text(leaderboards(summary)));
  if (!valid_) fmt::print(to, "INVALID: {}\n", claims.invalid_because);
  for (const ClaimGroup& group : claims.groups)
    for (const Claim& claim : group.claims)
      if (has_report && claim.outcome == Outcome::implausible)
        fmt::print(to, "IMPLAUSIBLE {}: {}\n", claim.kernel, claim.reason);
  if (!budget_.too_small().empty()) fmt::print(stderr, "error: {}\n", budget_.too_small());
  say_what_none_takes(to);
  say_broken(to);
}

void Launches::say_broken(std::FILE* to) const {
  for (const auto& [kernel, why] : gate_.broken())
    fmt::print(to, "BROKEN {}: {}\n", kernel, why.reason);
}

void Launches::say_what_none_takes(std::FILE* to) const {
  if (!budget_.too_small().empty()) return;
  for (const Workload& w : workloads_)
    if (std::ranges::count(rows_, w.name, &TimingRow::workload) == 0)
      fmt::print(to, "SKIPPED {}: no chosen kernel takes {}\n", w.name, board_of(w, ""));
}

int Launches::exit_code() const {
  const auto any = [&](Outcome outcome) {
    return std::ranges::any_of(
        rows_, [&](const TimingRow& r) { return !r.is_reference() && r.outcome == outcome; });
  };
  if (gate_.has_news() || any(Outcome::implausible)) return 1;
  if (!valid_ || !budget_.too_small().empty()) return 3;
  return !gate_.broken().empty() || any(Outcome::measured) ? 0 : 3;
}

std::size_t Launches::place_of(const std::string& workload) const {
  const auto found =
      std::ranges::find_if(workloads_, [&](const Workload& w) { return w.name == workload; });
  return static_cast<std::size_t>(found - workloads_.begin());
}

// Prints the plan. A group is one workload on one board.
void Launches::say_plan() const {
  if (options_.quiet) return;
  std::set<bool> by_table;
  for (const KernelFacts& k : gate_.kernels())
    by_table.insert(k.angle_contract == ROPE_CONTRACT_TABLE);
  std::FILE* to = options_.json ? stderr : stdout;
  fmt::print(to, "bench: profile {}, seed {}, {} workloads, at most {} groups of {} kernels",
             profile_name(options_.profile), options_.seed, workloads_.size(),
             workloads_.size() * by_table.size(), gate_.kernels().size());
  if (budget_.counts())
    fmt::print(to, "; {:.4g} s, at most {} launches", effort_.budget_s, effort_.launches);
  else if (!options_.google_benchmark)
    fmt::print(to, "; {} launches of {} rounds or more", effort_.launches, effort_.rounds);
  if (options_.threads > 1)
    fmt::print(to, "; with 1 thread and with {}, on processors {} (a + joins siblings of a core)",
               options_.threads, processors_text(processors_for(options_.threads, allowed_cpus())));
  fmt::print(to, "\n");
  std::map<std::string, std::vector<std::string>> skipped;  // by the reason
  for (const KernelFacts& k : kernels_.never_timed) skipped[k.cannot_run].push_back(k.name);
  for (const auto& [reason, names] : skipped)
    fmt::print(to, "SKIPPED {}: {}\n", fmt::join(names, ", "), reason);
}

std::string Launches::time_left(std::int64_t launch, const std::string& label) const {
  const std::size_t bar = label.find('|');
  const std::size_t place =
      bar == std::string::npos
          ? 0
          : place_of(label.substr(bar + 1, label.find('|', bar + 1) - bar - 1));
  const double done = static_cast<double>(place) / static_cast<double>(workloads_.size());
  const std::string left =
      budget_.counts() ? fmt::format(", at most {:.0f} s left", std::max(budget_.left_s(), 0.0))
                       : "";
  return fmt::format("launch {} of {}, {:.0f} % of it{}: {}", launch + 1, effort_.launches,
                     100 * done, left, label);
}

}  // namespace ropewalk::tools
