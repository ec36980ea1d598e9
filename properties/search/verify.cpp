#include "properties/search/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "harness/cases/data.h"
#include "harness/cases/names.h"
#include "harness/judge/judge.h"
#include "harness/process/exceptions.h"
#include "harness/process/script_host.h"
#include "properties/array/array_run.h"
#include "properties/array/offered_features.h"
#include "properties/explain/check_case.h"
#include "properties/explain/scene.h"
#include "properties/search/run_property.h"
#include "properties/search/verdict_rows.h"
#include "properties/two_runs.h"

namespace ropewalk::properties {
using namespace harness;
using namespace report;
namespace {

std::uint64_t hash_text(std::uint64_t seed, const std::string& text) {
  std::uint64_t h = seed;
  for (const char c : text) h = hash(h, c);
  return h;
}

// Runs one pairing and data type of one kernel.
class Combination {
 public:
  // `large`: the large cases of the kernel's other combinations (ArrayLimits::large). `told`: the
  // exceptions that rows of the kernel have told.
  Combination(Subject& subject, const VerifyPlan& plan, const Offer& offer,
              std::vector<Levels>& large, std::set<std::string>& told)
      : subject_(subject), plan_(plan), offer_(offer), large_(large), told_(told) {}

  VerdictRow judge(const Property& property, const std::string& hung_in) {
    VerdictRow row = row_for(subject_.facts);
    row.pairing = word_of(offer_.base.pairing);
    row.dtype = word_of(offer_.base.dtype);
    row.declared = declared_words(subject_.facts, offer_.base.dtype);
    row.property = property.name;
    row.claim = property.claim;
    if (!hung_in.empty()) {
      row.verdict = Verdict::skipped;
      row.reason = "the kernel hung in " + hung_in;
      return row;
    }
    if (ended_by_ && applies(property)) return not_tried(row);
    RunLimits limits;
    limits.told = &told_;
    limits.cases = plan_.cases > 0 ? plan_.cases : cases_of(plan_.profile);
    // The covering array judges the first too, and a sequence is many calls.
    if (plan_.cases == 0 && (property.judge != nullptr || property.add_calls != nullptr))
      limits.cases /= 2;
    limits.shrink = plan_.shrink;
    // The seed depends on the property alone, so every kernel gets the same cases, as far as it
    // offers them.
    limits.seed = hash_text(plan_.seed, row.property);
    const auto start = std::chrono::steady_clock::now();
    const PropertyRun* shared = nullptr;
    try {
      shared = shared_run(property);
      const PropertyRun run = run_property(subject_, property, offer_, plan_.profile, limits,
                                           shared, draws_for(property));
      fill_verdict(row, run, subject_.facts, whole_property(row, limits));
      if (row.verdict == Verdict::pass && judges_each_case(property)) say_coverage(row);
      if (row.verdict == Verdict::pass) row.reason = beside_a_pass(row, run);
    } catch (const WorkerError&) {  // no kernel can run
      throw;
    } catch (const std::exception& error) {
      row.verdict = Verdict::skipped;
      row.reason = fmt::format("{}{}", suite_error, error.what());
    }
    row.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    note_exception(row, shared != nullptr && shared->failing);
    return row;
  }

  /// Ends the row of clean_call with what the calls of all properties did. The row of a call that
  /// was not clean has the line that makes this call alone, if that shows it too.
  void end_conduct(VerdictRow& row) {
    const Noted noted = *subject_.noted;
    if (row.verdict != Verdict::pass) return;
    if (noted.unclean.empty()) {
      if (noted.heap_calls > 0 || noted.mapped_bytes > 0)
        row.where = fmt::format("{:.3g} calls of the allocator and {:.3g} KiB mapped a call",
                                per_call(noted.heap_calls), per_call(noted.mapped_bytes) / 1024);
      return;
    }
    const Property& property = property_named(row.property);
    PropertyRun run;
    run.planned = row.planned + 1;
    run.executed = row.executed + 1;
    run.compared = row.compared_cases + 1;
    run.values = row.compared;
    run.worst.kind = Finding::Kind::broken;
    run.worst.reason = noted.unclean;
    Case alone = noted.at;
    alone.property = row.property;
    alone.calls.clear();
    if (!plan_.keeps_worker) subject_.worker.restart();
    run.only_after_others = plan_.keeps_worker || !fails(check_case(property, subject_, alone));
    run.failing = alone;
    fill_verdict(row, run, subject_.facts, whole_cell(row));
  }

 private:
  bool applies(const Property& property) const {
    return property.applies == nullptr || property.applies(offer_);
  }

  // Equal exceptions of three cases end the cell: the other properties would tell it once more. One
  // case of the array fails many properties.
  void note_exception(const VerdictRow& row, bool of_array) {
    const std::string exception = exception_of(row.reason);
    if (exception.empty()) return;
    told_.insert(exception);
    std::set<std::string_view>& by = raised_[exception];
    by.insert(of_array ? "the array" : property_named(row.property).name);
    if (by.size() == 3) ended_by_ = row;
  }
  // No case of the row ran: `executed` is 0. The replay line is that of the exception.
  VerdictRow not_tried(VerdictRow row) const {
    row.verdict = ended_by_->verdict;
    row.reason = ended_by_->reason;
    row.diagnosis = "not tried: three cases had ended with this exception";
    row.shrunk_case = ended_by_->shrunk_case;
    row.replay = ended_by_->replay;
    row.planned = 1;
    return row;
  }

  double per_call(std::int64_t all) const {
    return static_cast<double>(all) /
           static_cast<double>(std::max<std::int64_t>(subject_.noted->applies, 1));
  }
  // What a reader of a PASS should know.
  std::string beside_a_pass(const VerdictRow& row, const PropertyRun& run) const {
    std::vector<std::string> out;
    if (!subject_.worker.remarks().empty()) out.push_back(subject_.worker.remarks());
    if (subject_.facts.tolerated != 0)
      out.push_back(fmt::format("{} is tolerated what it does not declare: {}", row.kernel,
                                exception_words(subject_.facts.tolerated, 0)));
    if (run.refused > 0) out.push_back(fmt::format("{}{}", run.refused, were_replaced));
    return fmt::format("{}", fmt::join(out, "; "));
  }
  static bool judges_each_case(const Property& property) {
    return property.judge != nullptr && property.judges == nullptr;
  }

  // What the cases of the covering array told this property; NULL: nothing. They run when the first
  // of the properties that they judge is asked for.
  const PropertyRun* shared_run(const Property& property) {
    if (property.judge == nullptr) return nullptr;
    if (!array_) {
      std::vector<const Property*> judged;
      for (const Property* each : chosen_properties(plan_.properties, plan_.profile))
        if (each->judge != nullptr && applies(*each)) judged.push_back(each);
      ArrayLimits limits;
      limits.profile = plan_.profile;
      limits.seed = hash_text(plan_.seed, "array");
      limits.until_failure = plan_.until_failure;
      limits.most_cases = plan_.array_cases;
      if (plan_.profile == Profile::smoke) limits.large = &large_;
      array_.emplace();  // an error of the suite ends the array once, and not once a property
      array_ = run_array(subject_, asked(), judged, limits);
    }
    const auto found = array_->runs.find(property.name);
    return found == array_->runs.end() ? nullptr : &found->second;
  }

  Asked& asked() {
    if (!asked_) asked_.emplace(subject_, offer_);
    return *asked_;
  }

  CaseDraws* draws_for(const Property& property) {
    if (property.shape == nullptr && property.add_calls == nullptr) return nullptr;
    if (!applies(property)) return nullptr;
    if (!draws_) draws_.emplace(asked(), offer_);
    return &*draws_;
  }

  // Says on one row of the cell what the array's cases met.
  void say_coverage(VerdictRow& row) {
    if (array_ == std::nullopt || array_->coverage.empty()) return;
    row.coverage = words_of(array_->coverage);
    row.not_offered = fmt::format("{}", fmt::join(array_->not_offered, "; "));
    row.not_met = std::move(array_->not_met);
    array_->coverage.clear();
  }

  std::string whole_cell(const VerdictRow& row) const {
    std::string plugin = row.plugin.empty() ? "" : " --plugin " + quoted(row.plugin), shape;
    for (const std::string& word : plan_.shape_options) shape += " " + quoted(word);
    return fmt::format("ropewalk verify{} {}--kernel {} --seed {}{}", plugin,
                       words_for(subject_.facts), row.kernel, plan_.seed, shape);
  }
  std::string whole_property(const VerdictRow& row, const RunLimits& limits) const {
    return whole_cell(row) + fmt::format(" --property {} --cases {}", row.property, limits.cases);
  }

  Subject& subject_;
  const VerifyPlan& plan_;
  const Offer& offer_;
  std::vector<Levels>& large_;
  std::set<std::string>& told_;
  std::map<std::string, std::set<std::string_view>> raised_;  // by exception: what it ended
  std::optional<VerdictRow> ended_by_;
  std::optional<Asked> asked_;
  std::optional<ArrayResult> array_;
  std::optional<CaseDraws> draws_;
};

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

}  // namespace

std::int64_t cases_of(Profile profile) {
  switch (profile) {
    case Profile::smoke:
      return 12;
    case Profile::standard:
      return 60;
    case Profile::full:
      return 5000;
  }
  __builtin_unreachable();
}

namespace {

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
class KernelRun {
 public:
  using OnRow = std::function<void(const VerdictRow&)>;
  using OnProgress = std::function<void(const std::string&)>;
  KernelRun(const Subject& subject, const VerifyPlan& plan, const OnRow& on_row,
            const OnProgress& on_progress)
      : subject_(subject), plan_(plan), on_row_(on_row), on_progress_(on_progress) {
    subject_.shapes = &plan.shapes;
  }

  void run() {
    leave_changed_process();
    VerdictRow nothing = row_for(subject_.facts);
    nothing.property = everything;
    if (!subject_.facts.cannot_run.empty()) {
      const Finding f = not_run(subject_.facts);
      nothing.verdict = verdict_of(f);
      nothing.reason = f.reason;
      on_row_(nothing);
      return;
    }
    const auto basic = [&](Pairing p, Dtype d) { return probe_base(subject_, p, d); };
    const auto of_models = [&](Pairing p, Dtype d) {
      return probe_shapes(subject_, p, d, plan_.shapes.models);
    };
    if (!judge_cells(basic, plan_.dtypes)) return;
    if (!any_offer_ && !judge_cells(basic, plan_.other_dtypes)) return;
    if (!any_offer_ && !plan_.shapes.only && !plan_.shapes.models.empty())
      if (!judge_cells(of_models, plan_.dtypes)) return;
    if (any_offer_) return;
    nothing.verdict = Verdict::unsupported;
    nothing.reason = fmt::format("{}", fmt::join(reasons_, "; "));
    on_row_(nothing);
  }

 private:
  void leave_changed_process() {
    if (subject_.worker.has_been_changed() && !plan_.keeps_worker) subject_.worker.restart();
  }

  // False: nothing more is to be judged.
  bool judge_cells(const std::function<Probe(Pairing, Dtype)>& probe_cell,
                   const std::vector<Dtype>& dtypes) {
    for (const Pairing pairing : plan_.pairings)
      for (const Dtype dtype : dtypes) {
        const Probe probe = with_features(subject_, probe_cell(pairing, dtype));
        if (!probe.offer) {
          for (const std::string& reason : probe.reasons) add_reason(reasons_, reason);
          if (probe.last_refusal.kind == CallResult::Kind::unsupported) continue;
          on_row_(not_judged(subject_.facts, probe));
          if (probe.last_refusal.kind != CallResult::Kind::skipped) return false;
          continue;
        }
        any_offer_ = true;
        if (!judge_cell(*probe.offer)) return false;
      }
    return true;
  }

  bool judge_cell(const Offer& offer) {
    const std::string pairing(word_of(offer.base.pairing)), dtype(word_of(offer.base.dtype));
    const KernelFacts& facts = subject_.facts;
    if (plan_.on_offer)
      for (const std::string& feature : feature_names(&offer))
        plan_.on_offer({facts.name, std::string(word_of(contract_words, facts.angle_contract)),
                        pairing, dtype, offered(feature)});
    leave_changed_process();
    *subject_.noted = {};
    Combination cell(subject_, plan_, offer, large_, told_);
    std::optional<VerdictRow> conduct;  // its row waits for the calls of the others
    for (const Property* property : plan_.more) on_row_(cell.judge(*property, ""));
    for (const Property* property : chosen_properties(plan_.properties, plan_.profile)) {
      on_progress_(fmt::format("{} {} {} {}", facts.name, pairing, dtype, property->name));
      const VerdictRow row = cell.judge(*property, hung_in_);
      if (row.verdict == Verdict::hang && hung_in_.empty()) hung_in_ = row.property;
      if (row.property == conduct_property && row.verdict == Verdict::pass) {
        conduct = row;
        continue;
      }
      on_row_(row);
      if (plan_.until_failure && is_failure(row.verdict)) return false;
    }
    if (!conduct) return true;
    cell.end_conduct(*conduct);
    on_row_(*conduct);
    return !plan_.until_failure || !is_failure(conduct->verdict);
  }

  Subject subject_;
  const VerifyPlan& plan_;
  const OnRow& on_row_;
  const OnProgress& on_progress_;
  std::vector<std::string> reasons_;  // of refusals
  std::vector<Levels> large_;
  std::set<std::string> told_;
  bool any_offer_ = false;
  std::string hung_in_;
};

}  // namespace

void verify_kernel(Subject& subject, const VerifyPlan& plan,
                   const std::function<void(const VerdictRow&)>& on_row,
                   const std::function<void(const std::string&)>& on_progress) {
  KernelRun(subject, plan, on_row, on_progress).run();
}

void verify(Worker& worker, Oracle& oracle, const VerifyPlan& plan,
            const std::function<void(const VerdictRow&)>& on_row,
            const std::function<void(const std::string&)>& on_progress) {
  const std::vector<KernelFacts> kernels = worker.kernels();
  for (const KernelFacts& facts : kernels) {
    if (!matches(plan.kernels, facts.name)) continue;
    Subject subject{worker, oracle, facts};
    verify_kernel(subject, plan, on_row, on_progress);
  }
}

Replayed replay(Worker& worker, Oracle& oracle, const Case& c) {
  const Property* property = find_property(c.property);
  if (property == nullptr)
    throw BadCase("replay line: property=" + c.property + " is unknown (ropewalk list shows them)");
  const auto& kernels = worker.kernels();
  const auto facts = std::find_if(kernels.begin(), kernels.end(),
                                  [&](const KernelFacts& k) { return k.name == c.kernel; });
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
  if (!facts->cannot_run.empty()) return {not_run(*facts), *facts, property};
  Finding found = check_case(*property, subject, c);  // a worker that starts again lists anew
  say_first_wrong(subject, c, found);
  return {std::move(found), subject.facts, property};
}

}  // namespace ropewalk::properties
