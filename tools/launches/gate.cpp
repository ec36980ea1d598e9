#include "tools/launches/gate.h"

#include <fmt/format.h>

#include <algorithm>

#include "benchmarks/cells/cells.h"
#include "benchmarks/workloads/workload_layout.h"
#include "harness/cases/names.h"
#include "properties/explain/check_case.h"
#include "properties/search/judges.h"
#include "tools/command/workload_choice.h"
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
      break_off(facts.name,
                fmt::format("{} agreement on {}{}: {} {}", verdict_of(f), w.name, when, f.reason,
                            f.where),
                known_.excuse(facts.name, std::string(asked)));
    }
}

}  // namespace ropewalk::tools
