#include "properties/search/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "harness/cases/names.h"
#include "harness/judge/judge.h"
#include "properties/array/offered_features.h"
#include "properties/explain/check_case.h"
#include "properties/explain/diagnosis.h"
#include "properties/search/cell_run.h"
#include "properties/search/verdict_rows.h"
#include "properties/two_runs.h"

namespace ropewalk::properties {
using namespace harness;
using namespace report;
namespace {

constexpr std::string_view first_to_ask = "agreement";

// The verdict on a kernel that crashes or hangs in supports, with a line that asks it again. One on
// a cell that cannot be judged is SKIPPED, without a line.
VerdictRow not_judged(const KernelFacts& facts, const Probe& probe) {
  Execution execution;
  execution.result = probe.last_refusal;
  VerdictRow row = row_for(facts);
  row.pairing = word_of(probe.asked.pairing);
  row.dtype = word_of(probe.asked.dtype);
  row.property = first_to_ask;
  row.claim = property_named(first_to_ask).claim;
  row.verdict = verdict_of(failure_of(execution));
  row.reason = probe.last_refusal.text;
  if (row.verdict == Verdict::skipped) return row;
  row.planned = row.executed = row.compared_cases = 1;
  Case c = probe.asked;
  c.property = row.property;
  row.shrunk_case = to_text(c);
  row.replay = replay_line(row.shrunk_case, facts);
  return row;
}

// Of a kernel that cannot run here. ROPEWALK_REQUIRE_GPU=1 says that a device must be there.
Finding not_run(const KernelFacts& facts) {
  const char* required = std::getenv("ROPEWALK_REQUIRE_GPU");
  const bool is_required =
      facts.memory == ROPE_CUDA && required != nullptr && std::string_view(required) == "1";
  Finding f;
  f.kind = is_required ? Finding::Kind::broken : Finding::Kind::skipped;
  f.reason = (is_required ? "ROPEWALK_REQUIRE_GPU is 1, and " : "") + facts.cannot_run;
  return f;
}

// Judges one kernel, pairing by pairing and type by type.
struct KernelRun {
  JudgeThreads& threads;
  std::vector<Subject>& subjects;
  const VerifyPlan& plan;
  const std::function<void(const VerdictRow&)>& on_row;
  const std::function<void(const std::string&)>& on_progress;
  Subject& subject = subjects[0];
  std::vector<std::string> reasons = {};  // of refusals
  bool any_offer = false;
  std::map<std::pair<Pairing, Dtype>, Probe> probes = {};
  Carried carried = {};

  void run() {
    for (Subject& each : subjects) each.shapes = &plan.shapes;
    leave_changed_process();
    VerdictRow nothing = row_for(subject.facts);
    nothing.property = everything;
    if (!subject.facts.cannot_run.empty()) {
      const Finding f = not_run(subject.facts);
      nothing.verdict = verdict_of(f);
      nothing.reason = f.reason;
      if (subject.facts.memory == ROPE_CUDA && f.kind == Finding::Kind::skipped)
        nothing.where =
            "supports, which needs no device, says of " +
            offer_words(subject, plan.shapes.only ? std::vector<ModelShape>{} : plan.shapes.models);
      on_row(nothing);
      return;
    }
    const auto basic = [&](Pairing p, Dtype d) { return probed(p, d); };
    const auto of_models = [&](Pairing p, Dtype d) {
      return probe_shapes(subject, p, d, plan.shapes.models);
    };
    count_claims();
    if (!judge_cells(basic, plan.dtypes)) return;
    if (!any_offer && !judge_cells(basic, plan.other_dtypes)) return;
    if (!any_offer && !plan.shapes.only && !plan.shapes.models.empty())
      if (!judge_cells(of_models, plan.dtypes)) return;
    if (any_offer) return;
    nothing.verdict = Verdict::unsupported;
    nothing.reason = fmt::format("{}", fmt::join(reasons, "; "));
    on_row(nothing);
  }

  void leave_changed_process() {
    for (Subject& each : subjects)
      if (each.worker.has_been_changed() && !plan.keeps_worker) each.worker.restart();
  }

  const Probe& probed(Pairing pairing, Dtype dtype) {
    const auto [at, is_new] = probes.try_emplace({pairing, dtype});
    if (is_new) at->second = probe_base(subject, pairing, dtype);
    return at->second;
  }
  // Asks ahead, for the progress. What is no refusal, such as a crash, ends the asking, and
  // judge_cells() tells of it in its place.
  void count_claims() {
    const std::size_t of_a_cell = chosen_properties(plan.properties, plan.profile).size();
    for (const Pairing pairing : plan.pairings)
      for (const Dtype dtype : plan.dtypes) {
        const Probe& probe = probed(pairing, dtype);
        if (probe.offer) carried.claims += of_a_cell;
        if (!probe.offer && probe.last_refusal.kind != CallResult::Kind::unsupported) return;
      }
  }

  // False: nothing more is to be judged.
  bool judge_cells(const std::function<Probe(Pairing, Dtype)>& probe_cell,
                   const std::vector<Dtype>& dtypes) {
    for (const Pairing pairing : plan.pairings)
      for (const Dtype dtype : dtypes) {
        const Probe probe = with_features(subject, probe_cell(pairing, dtype));
        if (!probe.offer) {
          for (const std::string& reason : probe.reasons) add_reason(reasons, reason);
          if (probe.last_refusal.kind == CallResult::Kind::unsupported) continue;
          on_row(not_judged(subject.facts, probe));
          if (probe.last_refusal.kind != CallResult::Kind::skipped) return false;
          continue;
        }
        any_offer = true;
        if (!judge_cell(*probe.offer)) return false;
      }
    return true;
  }

  bool judge_cell(const Offer& offer) {
    const std::string pairing(word_of(offer.base.pairing)), dtype(word_of(offer.base.dtype));
    const KernelFacts& facts = subject.facts;
    if (plan.on_offer)
      for (const std::string& feature : feature_names(&offer))
        plan.on_offer({facts.name, std::string(word_of(contract_words, facts.angle_contract)),
                       pairing, dtype, offered(feature)});
    leave_changed_process();
    return judge_cell_of({threads, subjects, plan, offer, on_row, on_progress}, carried);
  }
};

}  // namespace

std::int64_t cases_of(Profile profile) {
  return profile == Profile::smoke ? 12 : profile == Profile::standard ? 60 : 5000;
}

void verify_kernel(JudgeThreads& threads, std::vector<Subject>& subjects, const VerifyPlan& plan,
                   const std::function<void(const VerdictRow&)>& on_row,
                   const std::function<void(const std::string&)>& on_progress) {
  KernelRun{threads, subjects, plan, on_row, on_progress}.run();
}

Replayed replay(Worker& worker, Oracle& oracle, const Case& c) {
  const Property* property = find_property(c.property);
  if (property == nullptr)
    throw BadCase("replay line: property=" + c.property + " is unknown (ropewalk list shows them)");
  const auto& kernels = worker.kernels();
  const auto facts =
      std::ranges::find_if(kernels, [&](const KernelFacts& k) { return k.name == c.kernel; });
  if (facts == kernels.end())
    throw BadCase("replay line: kernel=" + c.kernel + " is unknown (ropewalk list shows them)");
  if (facts->angle_contract != c.contract)
    throw BadCase(fmt::format("replay line: contract={} but kernel {} is of contract {}",
                              word_of(contract_words, c.contract), c.kernel,
                              word_of(contract_words, facts->angle_contract)));
  Subject subject{worker, oracle, *facts};
  validate(c);
  if (is_extreme(c.data) && property->check != property_named(first_to_ask).check)
    throw BadCase("replay line: data=subnormal, edge and span are for property=agreement");
  if (!facts->cannot_run.empty()) return {not_run(*facts), *facts, property, {}};
  Finding found = check_case(*property, subject, c);  // a worker that starts again lists anew
  std::string cause;
  try {
    if (fails(found) && c.calls.empty()) cause = explain(subject, *property, c, c, found);
  } catch (const std::exception&) {  // the failure stands without a cause
  }
  return {std::move(found), subject.facts, property, std::move(cause)};
}

}  // namespace ropewalk::properties
