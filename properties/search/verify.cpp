#include "properties/search/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "harness/cases/data.h"
#include "harness/cases/names.h"
#include "harness/judge/judge.h"
#include "harness/process/script_host.h"
#include "properties/array/array_run.h"
#include "properties/explain/check_case.h"
#include "properties/search/run_property.h"

namespace ropewalk::properties {
using namespace harness;
using namespace report;
namespace {

std::uint64_t hash_text(std::uint64_t seed, const std::string& text) {
  std::uint64_t h = seed;
  for (const char c : text) h = hash(h, c);
  return h;
}

// Quotes a text for a shell.
std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// The words that choose the interpreter of a plugin, unless it is the usual one.
std::string python_words(const std::string& plugin) {
  const std::string interpreter = script_interpreter();
  return is_script(plugin) && interpreter != "python3" ? "--python " + quoted(interpreter) + " "
                                                       : "";
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

// `again`: the command that repeats the whole property.
void fill_verdict(VerdictRow& row, const PropertyRun& run, const std::string& again) {
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
    row.cause = run.cause;
    row.diagnosis = f.diagnosis;
    row.shrunk_case = to_text(*run.failing);
    row.replay = replay_line(row.shrunk_case, row.plugin);
    row.worst_margin = run.worst_margin;
    if (run.worst_case) row.worst_replay = replay_line(to_text(*run.worst_case), row.plugin);
    if (run.only_after_others) {
      row.reason +=
          " (only in a process that has run other cases before: a replay line would pass)";
      row.replay = again;
    }
  } else if (run.executed == 0) {
    row.verdict = f.kind == Finding::Kind::skipped ? Verdict::skipped : Verdict::unsupported;
    row.reason = f.reason.empty() ? "every case was refused" : f.reason;
  } else if (run.values == 0 || run.compared < run.executed) {
    row.verdict = Verdict::vacuous;
    row.reason =
        fmt::format("{} of {} cases compared nothing", run.executed - run.compared, run.executed);
  } else if (run.gave_up || run.executed < run.planned) {
    const bool skipped = !run.skipped.empty();
    row.verdict = skipped ? Verdict::skipped : Verdict::unsupported;
    row.reason = fmt::format("only {} of {} cases {}", run.executed, run.planned,
                             skipped ? "ran: " + run.skipped : "were accepted");
  } else {
    row.verdict = Verdict::pass;
  }
}

std::vector<const Property*> matching_properties(const VerifyPlan& plan) {
  std::vector<const Property*> out;
  for (const Property* p : all_properties())
    if (matches(plan.properties, std::string(p->name))) out.push_back(p);
  return out;
}

// Runs one pairing and data type of one kernel.
class Combination {
 public:
  // `large`: the large cases of the kernel's other combinations (ArrayLimits::large).
  Combination(Subject& subject, const VerifyPlan& plan, const Offer& offer,
              std::vector<Levels>& large)
      : subject_(subject), plan_(plan), offer_(offer), large_(large) {}

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
    RunLimits limits;
    limits.cases = plan_.cases > 0 ? plan_.cases : cases_of(plan_.profile);
    // The covering array judges the first too, and a sequence is many calls.
    if (plan_.cases == 0 && (property.judge != nullptr || property.add_calls != nullptr))
      limits.cases /= 2;
    limits.shrink = plan_.shrink;
    // The seed depends on the property alone, so every kernel gets the same cases, as far as it
    // offers them.
    limits.seed = hash_text(plan_.seed, row.property);
    const auto start = std::chrono::steady_clock::now();
    const PropertyRun run =
        run_property(subject_, property, offer_, plan_.profile, limits, shared_run(property));
    fill_verdict(row, run, whole_property(row, limits));
    if (row.verdict == Verdict::pass && judges_each_case(property)) say_coverage(row);
    if (row.verdict == Verdict::pass) row.reason = subject_.worker.unwatched();
    row.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return row;
  }

 private:
  static bool judges_each_case(const Property& property) {
    return property.judge != nullptr && property.judges == nullptr;
  }

  // What the cases of the covering array told this property; NULL: nothing. They run when the first
  // of the properties that they judge is asked for.
  const PropertyRun* shared_run(const Property& property) {
    if (property.judge == nullptr) return nullptr;
    if (!array_) {
      std::vector<const Property*> judged;
      for (const Property* each : matching_properties(plan_))
        if (each->judge != nullptr && (each->applies == nullptr || each->applies(offer_)))
          judged.push_back(each);
      ArrayLimits limits;
      limits.profile = plan_.profile;
      limits.seed = hash_text(plan_.seed, "array");
      limits.until_failure = plan_.until_failure;
      limits.most_cases = plan_.array_cases;
      if (plan_.profile == Profile::smoke) limits.large = &large_;
      array_ = run_array(subject_, offer_, judged, limits);
    }
    const auto found = array_->runs.find(property.name);
    return found == array_->runs.end() ? nullptr : &found->second;
  }

  // Says on one row of the cell what the array's cases met.
  void say_coverage(VerdictRow& row) {
    if (array_ == std::nullopt || array_->coverage.empty()) return;
    row.coverage = words_of(array_->coverage);
    row.not_offered = fmt::format("{}", fmt::join(array_->not_offered, "; "));
    row.not_met = std::move(array_->not_met);
    array_->coverage.clear();
  }

  std::string whole_property(const VerdictRow& row, const RunLimits& limits) const {
    std::string plugin = row.plugin.empty() ? "" : " --plugin " + quoted(row.plugin), shape;
    for (const std::string& word : plan_.shape_options) shape += " " + quoted(word);
    return fmt::format("ropewalk verify{} {}--kernel {} --property {} --cases {} --seed {}{}",
                       plugin, python_words(row.plugin), row.kernel, row.property, limits.cases,
                       plan_.seed, shape);
  }

  Subject& subject_;
  const VerifyPlan& plan_;
  const Offer& offer_;
  std::vector<Levels>& large_;
  std::optional<ArrayResult> array_;
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
  row.replay = replay_line(row.shrunk_case, row.plugin);
  return row;
}

}  // namespace

std::string replay_line(const std::string& case_text, const std::string& plugin) {
  return "ropewalk replay " + python_words(plugin) + "'" + case_text + "'";
}

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

Verdict verdict_of(const Finding& f) {
  switch (f.kind) {
    case Finding::Kind::crash:
      return Verdict::crash;
    case Finding::Kind::hang:
      return Verdict::hang;
    case Finding::Kind::unsupported:
      return Verdict::unsupported;
    case Finding::Kind::skipped:
      return Verdict::skipped;
    case Finding::Kind::broken:
      return Verdict::fail;
    case Finding::Kind::measured:
      return f.compared == 0 ? Verdict::vacuous : f.holds() ? Verdict::pass : Verdict::fail;
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
    VerdictRow nothing = row_for(subject_.facts);
    nothing.property = everything;
    if (!subject_.facts.cannot_run.empty()) {
      const Finding f = not_run(subject_.facts);
      nothing.verdict = verdict_of(f);
      nothing.reason = f.reason;
      on_row_(nothing);
      return;
    }
    const auto basic = [&](Pairing p, Dtype d) { return probe_offer(subject_, p, d); };
    const auto of_models = [&](Pairing p, Dtype d) {
      return probe_shapes(subject_, p, d, plan_.shapes.models);
    };
    if (!judge_cells(basic)) return;
    if (!any_offer_ && !plan_.shapes.only && !plan_.shapes.models.empty())
      if (!judge_cells(of_models)) return;
    if (any_offer_) return;
    nothing.verdict = Verdict::unsupported;
    nothing.reason = fmt::format("{}", fmt::join(reasons_, "; "));
    on_row_(nothing);
  }

 private:
  // False: nothing more is to be judged.
  bool judge_cells(const std::function<Probe(Pairing, Dtype)>& probe_cell) {
    for (const Pairing pairing : plan_.pairings)
      for (const Dtype dtype : plan_.dtypes) {
        const Probe probe = probe_cell(pairing, dtype);
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
      for (const std::string& feature : feature_names(offer))
        plan_.on_offer({facts.name, std::string(word_of(contract_words, facts.angle_contract)),
                        pairing, dtype, offered(feature)});
    Combination cell(subject_, plan_, offer, large_);
    for (const Property* property : plan_.more) on_row_(cell.judge(*property, ""));
    for (const Property* property : matching_properties(plan_)) {
      on_progress_(fmt::format("{} {} {} {}", facts.name, pairing, dtype, property->name));
      const VerdictRow row = cell.judge(*property, hung_in_);
      if (row.verdict == Verdict::hang && hung_in_.empty()) hung_in_ = row.property;
      on_row_(row);
      if (plan_.until_failure && is_failure(row.verdict)) return false;
    }
    return true;
  }

  Subject subject_;
  const VerifyPlan& plan_;
  const OnRow& on_row_;
  const OnProgress& on_progress_;
  std::vector<std::string> reasons_;  // of refusals
  std::vector<Levels> large_;
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
  return {check_case(*property, subject, c), *facts, property};
}

int exit_code_of(const std::vector<VerdictRow>& rows) {
  bool any_ran = false;
  for (const VerdictRow& row : rows) {
    if (is_failure(row.verdict) && row.known.empty()) return 1;
    any_ran = any_ran || !is_not_run(row.verdict);
  }
  return any_ran ? 0 : 3;
}

}  // namespace ropewalk::properties
