#include "properties/search/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "harness/cases/data.h"
#include "harness/cases/names.h"
#include "harness/judge/judge.h"
#include "harness/process/exceptions.h"
#include "properties/array/array_run.h"
#include "properties/array/asking.h"
#include "properties/array/factors.h"
#include "properties/explain/check_case.h"
#include "properties/explain/diagnosis.h"
#include "properties/judge_threads.h"
#include "properties/search/run_property.h"
#include "properties/search/verdict_rows.h"
#include "properties/two_runs.h"

namespace ropewalk::properties {
using namespace harness;
using namespace report;
namespace {

// Judges one pairing and data type of a kernel: a cell. Threads share out the rows of the covering
// array, then the properties.

/// What one cell of a kernel leaves to the next.
struct Carried {
  std::vector<Levels> large;   ///< the large cases that were met (ArrayLimits::large)
  std::set<std::string> told;  ///< the exceptions that rows have told
  std::string hung_in;         ///< the property in which the kernel hung; empty: none
  std::size_t claims = 0;      ///< of the kernel, as far as known before it is judged
  std::size_t judged = 0;      ///< of these, in the cells that are done
};

struct PlannedCell {
  JudgeThreads& threads;
  std::vector<harness::Subject>& subjects;  ///< one for each thread
  const VerifyPlan& plan;
  const Offer& offer;
  const std::function<void(const report::VerdictRow&)>& on_row;
  const std::function<void(const std::string&)>& on_progress;
};

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::uint64_t hash_text(std::uint64_t seed, std::string_view text) {
  std::uint64_t h = seed;
  for (const char c : text) h = hash(h, c);
  return h;
}

bool judges_each_case(const Property& property) {
  return property.judge != nullptr && property.judges == nullptr;
}

class CellRun {
 public:
  CellRun(const PlannedCell& cell, Carried& carried)
      : cell_(cell), plan_(cell.plan), carried_(carried), draws_(cell.threads.count()) {
    properties_ = chosen_properties(plan_.properties, plan_.profile);
    tried_.resize(properties_.size());
  }

  bool run() {
    run_array_for_all();
    if (is_over_) return false;
    cell_.threads.run([this](std::size_t thread) {
      try {
        try_properties(thread);
      } catch (...) {
        const std::lock_guard lock(mutex_);
        is_over_ = true;
        throw;
      }
    });
    if (is_over_) return false;
    carried_.judged += properties_.size();
    if (!conduct_) return true;
    end_conduct(*conduct_);
    cell_.on_row(*conduct_);
    return !plan_.until_failure || !is_failure(conduct_->verdict);
  }

 private:
  // A property that was judged, as far as it needs no other's result.
  struct Tried {
    bool is_done = false, is_ended = false;
    VerdictRow row;
    SideEffects side_effects;
    bool of_array = false;       // the failing case is one of the array
    std::set<std::string> told;  // what it knew to be told
    std::string raised;          // the exception that ended its case; empty: none
  };

  bool applies(const Property& property) const { return is_applicable(property, cell_.offer); }
  bool draws(const Property& property) const {
    return (property.shape != nullptr || property.add_calls != nullptr) && applies(property);
  }
  const KernelFacts& facts() const { return cell_.subjects[0].facts; }
  // The tree's bodies that the host launcher runs cost most and are never timed here: where nobody
  // names them, smoke makes a third of their cases.
  bool is_shortened() const {
    return plan_.profile == Profile::smoke && plan_.kernels.empty() && facts().plugin.empty() &&
           judged_on(facts()) == by_host_launcher;
  }
  static constexpr std::int64_t third_of_an_array = 55;
  void show(const std::string& what) const {
    const Case& base = cell_.offer.base;
    const auto ended = static_cast<std::size_t>(
        std::ranges::count_if(tried_, [](const Tried& t) { return t.is_ended; }));
    cell_.on_progress(fmt::format("{} of {} claims; {} {} {}: {}", carried_.judged + ended,
                                  std::max(carried_.claims, properties_.size()), facts().name,
                                  word_of(base.pairing), word_of(base.dtype), what));
  }

  // The cases of the covering array judge several properties. An error of the suite is told once,
  // in the row of the first.
  void run_array_for_all() {
    std::vector<const Property*> judged;
    for (const Property* each : chosen_properties(plan_.properties, plan_.profile))
      if (each->judge != nullptr && applies(*each)) judged.push_back(each);
    if (judged.empty()) return;
    first_of_array_ = judged.front();
    const auto start = Clock::now();
    ArrayLimits limits;
    limits.profile = plan_.profile;
    limits.seed = hash_text(plan_.seed, "array");
    limits.until_failure = plan_.until_failure;
    limits.most_cases = plan_.one_case ? 1 : is_shortened() ? third_of_an_array : plan_.array_cases;
    limits.on_case = [&](std::size_t at) {
      const std::lock_guard lock(mutex_);
      show(fmt::format("{} and {} more, case {}", judged.front()->name, judged.size() - 1, at + 1));
    };
    if (plan_.profile == Profile::smoke) limits.large = &carried_.large;
    // Its row need not wait for the other cases.
    if (!plan_.keeps_worker)
      limits.on_first_failing = [&](std::size_t thread, const PropertyRun& run) {
        end_early(*first_of_array_, thread, run);
      };
    try {
      array_ = run_array(cell_.threads, cell_.subjects, cell_.offer, judged, limits);
      side_effects_ = array_.side_effects;
    } catch (const WorkerError&) {  // no kernel can run
      throw;
    } catch (const std::exception& error) {
      if (is_over_) throw;  // a row that could not be written
      array_error_ = error.what();
    }
    array_s_ = seconds_since(start);
    if (has_ended_early_ && judged.size() > 1) first_of_array_ = judged[1];  // gets the time
  }

  void end_early(const Property& property, std::size_t thread, const PropertyRun& run) {
    const auto found = std::ranges::find(properties_, &property);
    const auto at = static_cast<std::size_t>(found - properties_.begin());
    Tried& mine = tried_[at];
    mine.told = carried_.told;
    array_.runs[property.name] = run;
    try_property(property, thread, mine);
    const std::lock_guard lock(mutex_);
    mine.is_done = has_ended_early_ = true;
    end(at, thread);
  }

  // After what earlier rows told, this one says nothing of its own.
  bool is_needless(std::size_t at) const {
    return !carried_.hung_in.empty() || (ended_by_ && applies(*properties_[at]));
  }

  void try_properties(std::size_t thread) {
    for (std::unique_lock lock(mutex_); next_ < properties_.size() && !is_over_;) {
      const std::size_t at = next_++;
      Tried& mine = tried_[at];
      if (!mine.is_ended) mine.told = carried_.told;
      if (!mine.is_ended && !is_needless(at)) {
        show(std::string(properties_[at]->name));
        lock.unlock();
        try_property(*properties_[at], thread, mine);
        lock.lock();
      }
      mine.is_done = true;
      for (; ended_ < tried_.size() && tried_[ended_].is_done && !is_over_; ++ended_)
        if (!tried_[ended_].is_ended) end(ended_, thread);
    }
  }

  VerdictRow row_of(const Property& property) const {
    VerdictRow row = row_for(facts());
    row.pairing = word_of(cell_.offer.base.pairing);
    row.dtype = word_of(cell_.offer.base.dtype);
    row.declared = declared_words(facts(), cell_.offer.base.dtype);
    set_property(property, row);
    return row;
  }

  void try_property(const Property& property, std::size_t thread, Tried& out) {
    Subject& subject = cell_.subjects[thread];
    subject.side_effects = std::make_shared<SideEffects>();
    RunLimits limits;
    limits.told = &out.told;
    limits.cases = plan_.cases > 0 ? plan_.cases : cases_of(plan_.profile);
    // The covering array judges the first too, and a sequence is many calls.
    if (plan_.cases == 0 && (property.judge != nullptr || property.add_calls != nullptr))
      limits.cases /= 2;
    if (is_shortened()) limits.cases = (limits.cases + 2) / 3;
    limits.shrink = plan_.shrink;
    limits.one_case = plan_.one_case;
    if (plan_.one_case) limits.cases = 1;
    // The seed depends on the property alone, so every kernel gets the same cases, as far as it
    // offers them.
    limits.seed = hash_text(plan_.seed, property.name);
    out.row = row_of(property);
    VerdictRow& row = out.row;
    const auto start = Clock::now();
    try {
      const bool is_first = &property == first_of_array_;
      if (is_first && !array_error_.empty()) throw std::runtime_error(array_error_);
      const auto found = array_.runs.find(property.name);
      const PropertyRun* shared = found == array_.runs.end() ? nullptr : &found->second;
      out.of_array = shared != nullptr && shared->failing;
      const PropertyRun run = run_property(subject, property, cell_.offer, plan_.profile, limits,
                                           shared, draws_for(property, thread));
      fill_verdict(row, run, subject.facts, whole_property(row, limits));
      out.raised = run.worst.raised;
      if (row.verdict == Verdict::pass) say_beside(row, subject, run);
    } catch (const WorkerError&) {
      throw;
    } catch (const std::exception& error) {
      row.verdict = Verdict::skipped;
      row.reason = fmt::format("{}{}", suite_error, error.what());
    }
    row.seconds = seconds_since(start) + (&property == first_of_array_ ? array_s_ : 0);
    out.side_effects = *subject.side_effects;
  }

  // What the rows before it say about the row of a property, and what it says about the cell.
  void end(std::size_t at, std::size_t thread) {
    const Property& property = *properties_[at];
    Tried& tried = tried_[at];
    tried.is_ended = true;
    if (is_needless(at) && !carried_.hung_in.empty()) {
      tried.row = row_of(property);
      tried.row.verdict = Verdict::skipped;
      tried.row.reason = "the kernel hung in " + carried_.hung_in;
      return write(tried.row);
    }
    if (is_needless(at)) return write(not_tried(row_of(property)));
    if (carried_.told.contains(tried.raised) && !tried.told.contains(tried.raised)) {
      tried.told = carried_.told;
      try_property(property, thread, tried);
    }
    VerdictRow& row = tried.row;
    side_effects_.add(tried.side_effects);
    if (row.verdict == Verdict::pass && judges_each_case(property)) say_coverage(row);
    note_exception(row, tried);
    if (row.verdict == Verdict::hang) carried_.hung_in = row.property;
    if (row.property == conduct_property && row.verdict == Verdict::pass)
      conduct_ = row;  // it waits for the calls of the others
    else
      write(row);
    is_over_ = plan_.until_failure && is_failure(row.verdict);
  }
  void write(const VerdictRow& row) {
    is_over_ = true;  // if that throws
    cell_.on_row(row);
    is_over_ = false;
  }

  // Ends the row of clean_call with what the calls of all properties did. The row of a call that
  // was not clean has the line that makes this call alone, if that shows it too.
  void end_conduct(VerdictRow& row) {
    if (side_effects_.is_of_strides()) {
      row.severity = "contract";
      const std::string told = side_effects_.unclean + "; it was judged on contiguous copies there";
      for (std::string* text : {&row.reason, &row.unwatched})
        *text = told + (text->empty() ? "" : "; ") + *text;
      Case at = side_effects_.at;
      at.property = row.property;
      row.replay = replay_line(to_text(at), facts());
    }
    if (side_effects_.is_of_strides() || side_effects_.unclean.empty()) {
      if (side_effects_.heap_calls > 0 || side_effects_.mapped_bytes > 0)
        row.where = fmt::format("{:.3g} calls of the allocator and {:.3g} KiB mapped a call",
                                per_call(side_effects_.heap_calls),
                                per_call(side_effects_.mapped_bytes) / 1024);
      if (side_effects_.waits)
        row.where += fmt::format("{}a call waits for its device or takes memory of it: no graph",
                                 row.where.empty() ? "" : "; ");
      return;
    }
    const Property& property = property_named(row.property);
    PropertyRun run;
    run.planned = row.planned + 1;
    run.executed = row.executed + 1;
    run.compared = row.compared_cases + 1;
    run.values = row.compared;
    run.worst.kind = Finding::Kind::broken;
    run.worst.reason = side_effects_.unclean;
    run.worst.cause_ids = {exception_words(side_effects_.rules, 0)};
    Case alone = side_effects_.at;
    alone.property = row.property;
    alone.calls.clear();
    Subject& subject = cell_.subjects[0];
    if (!plan_.keeps_worker) subject.worker.restart();
    run.only_after_others = plan_.keeps_worker || !fails(check_case(property, subject, alone));
    run.failing = alone;
    fill_verdict(row, run, subject.facts, whole_cell(row));
  }

  // Equal exceptions of three cases end the cell: the other properties would tell it once more. One
  // case of the array fails many properties.
  void note_exception(const VerdictRow& row, const Tried& tried) {
    if (tried.raised.empty()) return;
    carried_.told.insert(tried.raised);
    std::set<std::string_view>& by = raised_[tried.raised];
    by.insert(tried.of_array ? "the array" : property_named(row.property).name);
    if (by.size() == 3) ended_by_ = row;
  }
  // No case of the row ran: `executed` is 0. The replay line is that of the exception.
  VerdictRow not_tried(VerdictRow row) const {
    row.verdict = ended_by_->verdict;
    row.reason = ended_by_->reason;
    row.cause_ids = ended_by_->cause_ids;
    row.diagnosis = "not tried: three cases had ended with this exception";
    row.shrunk_case = ended_by_->shrunk_case;
    row.replay = ended_by_->replay;
    row.planned = 1;
    return row;
  }

  double per_call(std::int64_t all) const {
    return static_cast<double>(all) /
           static_cast<double>(std::max<std::int64_t>(side_effects_.applies, 1));
  }
  // What a reader of a PASS should know.
  static void say_beside(VerdictRow& row, const Subject& subject, const PropertyRun& run) {
    const KernelFacts& facts = subject.facts;
    std::vector<std::string> out{subject.worker.remarks()};
    if (facts.tolerated != 0)
      out.push_back(fmt::format("{} is tolerated what it does not declare: {}", facts.name,
                                exception_words(facts.tolerated, 0)));
    std::erase(out, "");
    row.unwatched = row.reason = fmt::format("{}", fmt::join(out, "; "));
    if (run.refused > 0)
      row.reason += fmt::format("{}{} drawn cases were refused, and replaced",
                                row.reason.empty() ? "" : "; ", run.refused);
  }

  CaseDraws* draws_for(const Property& property, std::size_t thread) {
    if (!draws(property)) return nullptr;
    std::optional<CaseDraws>& mine = draws_[thread];
    if (!mine) mine.emplace(cell_.subjects[thread], cell_.offer);
    return &*mine;
  }

  // Says on one row of the cell what the array's cases met.
  void say_coverage(VerdictRow& row) {
    if (array_.coverage.empty()) return;
    row.coverage = words_of(array_.coverage);
    row.not_offered = fmt::format("{}", fmt::join(array_.not_offered, "; "));
    row.not_met = std::move(array_.not_met);
    array_.coverage.clear();
  }

  std::string whole_cell(const VerdictRow& row) const {
    std::string plugin = row.plugin.empty() ? "" : " --plugin " + quoted(row.plugin), shape;
    for (const std::string& word : plan_.shape_options) shape += " " + quoted(word);
    return fmt::format("ropewalk verify{} {}--kernel {} --seed {}{}", plugin, words_for(facts()),
                       row.kernel, plan_.seed, shape);
  }
  std::string whole_property(const VerdictRow& row, const RunLimits& limits) const {
    return whole_cell(row) + fmt::format(" --property {} --cases {}", row.property, limits.cases);
  }

  const PlannedCell& cell_;
  const VerifyPlan& plan_;
  Carried& carried_;
  std::vector<std::optional<CaseDraws>> draws_;  // by thread
  std::vector<const Property*> properties_;
  ArrayResult array_;
  const Property* first_of_array_ = nullptr;
  std::string array_error_;
  bool has_ended_early_ = false;
  double array_s_ = 0;

  std::mutex mutex_;  // of what follows
  std::size_t next_ = 0, ended_ = 0;
  bool is_over_ = false;
  std::vector<Tried> tried_;
  SideEffects side_effects_;
  std::optional<VerdictRow> conduct_;
  std::map<std::string, std::set<std::string_view>> raised_;  // by exception: what it ended
  std::optional<VerdictRow> ended_by_;
};

/// Judges the properties of the plan. Rows are those of one thread, in the same order. False:
/// nothing more of the kernel is to be judged.
bool judge_cell_of(const PlannedCell& cell, Carried& carried) {
  return CellRun(cell, carried).run();
}

constexpr std::string_view first_to_ask = "agreement";

// The verdict on a kernel that crashes or hangs in supports, with a line that asks it again. One on
// a cell that cannot be judged is SKIPPED, without a line.
VerdictRow not_judged(const KernelFacts& facts, const Probe& probe) {
  Execution execution;
  execution.result = probe.last_refusal;
  VerdictRow row = row_for(facts);
  row.pairing = word_of(probe.asked.pairing);
  row.dtype = word_of(probe.asked.dtype);
  set_property(property_named(first_to_ask), row);
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
        const Probe probe = with_levels(subject, probe_cell(pairing, dtype));
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
      for (const std::string& level : level_names(&offer))
        plan.on_offer({facts.name, std::string(word_of(contract_words, facts.angle_contract)),
                       pairing, dtype, offered(level)});
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
  Cause cause;
  try {
    if (fails(found) && c.calls.empty()) cause = explain(subject, *property, c, c, found);
  } catch (const std::exception&) {  // the failure stands without a cause
  }
  return {std::move(found), subject.facts, property, std::move(cause)};
}

}  // namespace ropewalk::properties
