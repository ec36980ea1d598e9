#include "properties/array/array_run.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <limits>
#include <mutex>
#include <new>
#include <optional>
#include <stdexcept>

#include "base/system/memory_limits.h"
#include "harness/cases/data.h"
#include "harness/judge/judge.h"
#include "harness/judge/second_try.h"
#include "properties/array/accepted_cases.h"
#include "properties/array/factor_table.h"

namespace ropewalk::properties {
using namespace harness;
namespace {

// Rows of some levels that meet all interactions of some strength. Small rows come first: they cost
// least, so large ones need only meet what is left.
struct ArrayPhase {
  int strength;
  bool hiding;                       ///< levels that hide errors of other factors are allowed
  int most_bytes;                    ///< the highest level of bytes
  bool small;                        ///< the levels of sizes allow `few_bytes`
  std::vector<Factor> factors = {};  ///< empty: all
};

// Above this, a case takes longer than all small ones that a row of the array could replace.
constexpr std::int64_t few_bytes = 512 * 1024;

std::vector<ArrayPhase> phases_of(Profile profile) {
  std::vector<ArrayPhase> out;
  const auto add = [&](int strength, bool large) {
    for (const bool hiding : {false, true}) {
      out.push_back({strength, hiding, level::level_1, true});
      out.push_back({strength, hiding, level::level_2, true});
      if (large) out.push_back({strength, hiding, level::beyond, false});
    }
  };
  add(2, true);
  if (profile == Profile::smoke) return out;
  add(3, profile == Profile::full);
  if (profile == Profile::standard) return out;
  // Where a kernel most often has a second path, four levels meet at once.
  using enum Factor;
  out.push_back({4,
                 false,
                 level::level_2,
                 true,
                 {operation, placement, position_type, in_layout, out_layout, window, rotary_dim,
                  heads, tokens, batch}});
  return out;
}

// How many large cases a run makes before it counts those of the kernel's other pairings and data
// types: each may have a second path of its own.
int own_large_cases(const ArrayPhase& phase) {
  if (phase.hiding) return 0;
  return phase.most_bytes == level::beyond ? 1 : 2;
}

constexpr std::size_t never = std::numeric_limits<std::size_t>::max();

const ModelShape* only_shape(const Subject& subject) {
  return subject.shapes != nullptr && subject.shapes->only ? &*subject.shapes->only : nullptr;
}

// A row of the array, and what its cases showed.
struct JudgedRow {
  struct Result {
    std::size_t property;
    Finding finding;
    std::optional<Case> failing;
  };
  Levels levels;
  Case of;
  std::vector<Result> results = {};
  SideEffects side_effects = {};
  bool is_judged = false;
  bool ran = false;  // else it counts as not met, as there is no memory for it
  std::string killed = {};
};

// The first thread makes the rows, and all judge them. What they show counts in the order of the
// rows, up to the row that would have been the last in one thread.
class ArrayRun {
 public:
  ArrayRun(JudgeThreads& threads, std::vector<Subject>& subjects, const Offer& offer,
           const std::vector<const Property*>& properties, const ArrayLimits& limits)
      : threads_(threads),
        subjects_(subjects),
        properties_(properties),
        limits_(limits),
        questions_(subjects[0]),
        offer_(offer),
        search_(search_of(offer_)),
        cases_(questions_, offer_),
        few_bytes_(
            std::make_shared<const RuleTable>(Rule{{size_factors.begin(), size_factors.end()},
                                                   [dtype = offer_.base.dtype](const Levels& l) {
                                                     return least_bytes(l, dtype) <= few_bytes;
                                                   }},
                                              offer_.levels)),
        failed_at_(properties.size()) {
    for (std::atomic<std::size_t>& row : failed_at_) row = never;
    for (const Property* each : properties_) out_.runs[each->name];
    if (limits_.large == nullptr) return;
    for (const Levels& levels : *limits_.large)
      if (offer_.levels.has(levels)) rows_of_others_.push_back(levels);
  }

  ArrayResult run() {
    const std::vector<ArrayPhase> phases = phases_of(limits_.profile);
    threads_.run([&](std::size_t i) {
      if (i == 0) make_rows(phases);
      judge_rows(i);
    });
    add_up();
    if (questions_.died())
      charge_supports();
    else if (!is_enough(never))
      count(phases);
    out_.not_offered = not_offered(offer_, only_shape(subjects_[0]));
    return std::move(out_);
  }

 private:
  // True if, after the failures in rows before `at`, more cases would tell nothing.
  bool is_enough(std::size_t at) const {
    const auto has_failed = [&](const std::atomic<std::size_t>& row) { return row < at; };
    return limits_.until_failure ? std::any_of(failed_at_.begin(), failed_at_.end(), has_failed)
                                 : std::all_of(failed_at_.begin(), failed_at_.end(), has_failed);
  }
  bool may_go_on() const {
    return (limits_.most_cases == 0 || std::ssize(rows_) < limits_.most_cases) &&
           !is_enough(never) && refusals_ <= most_refusals && !questions_.died() &&
           killed_at_ == never;
  }

  void make_rows(const std::vector<ArrayPhase>& phases) {
    const std::shared_ptr<void> at_end(nullptr, [&](void*) {
      const std::lock_guard lock(mutex_);
      all_handed_out_ = true;
      changed_.notify_all();
    });
    for (const ArrayPhase& phase : phases)
      if (may_go_on()) run_phase(phase);
  }

  RowSearch search_in(const ArrayPhase& phase) const {
    LevelSets levels = all_levels();
    for (std::size_t f = 0; f < factor_count; ++f)
      for (int level = 0; level < most_levels; ++level) {
        const auto factor = static_cast<Factor>(f);
        // planes that hide are few, and come with the others
        const bool hides = factor != Factor::planes && hides_others(factor, level);
        const bool is_large = factor == Factor::bytes && level > phase.most_bytes;
        if (is_large || (hides && !phase.hiding)) levels.remove(factor, level);
      }
    RowSearch search = search_;
    search.restrict_to(levels);
    if (phase.small) search.require(few_bytes_);
    return search;
  }

  void run_phase(const ArrayPhase& phase) {
    const std::uint64_t seed =
        hash(limits_.seed, 0xc0, phase.strength, phase.most_bytes, static_cast<int>(phase.hiding));
    try {
      Cover cover(search_in(phase), phase.strength, seed, phase.factors);
      for (const JudgedRow& earlier : rows_) cover.took(earlier.levels);
      if (limits_.large != nullptr && phase.most_bytes >= level::level_2) {
        run_rows_of(cover, own_large_cases(phase));
        for (const Levels& row : rows_of_others_) cover.took(row);
      }
      run_rows_of(cover, everything);
    } catch (const std::invalid_argument&) {  // no row has these levels
    }
  }

  void run_rows_of(Cover& cover, int most) {
    for (int ran = 0; ran < most && may_go_on();) {
      const std::optional<Levels> levels = cover.next();
      if (!levels) return;
      const std::uint64_t seed = hash(limits_.seed, 0xa44a, ++seeds_);
      if (const auto [c, was_asked] = cases_.of(*levels, seed); c) {
        cover.took(*levels);
        ++ran;
        hand_out({*levels, *c});
      } else if (const LevelTuple tuple = cases_.refused_together(*levels, was_asked, seed);
                 !tuple.empty() && !questions_.died()) {
        ++refusals_;
        cover.forbid(tuple);
        search_.forbid(tuple);
        forbidden_.push_back(tuple);
      } else {
        return;
      }
    }
  }

  // Other threads judge while this one makes all rows: its large case would keep them waiting.
  void hand_out(JudgedRow row) {
    std::unique_lock lock(mutex_);
    rows_.push_back(std::move(row));
    changed_.notify_one();
    if (threads_.count() == 1) judge_next(0, lock);
  }
  void judge_rows(std::size_t thread) {
    for (std::unique_lock lock(mutex_);;) {
      changed_.wait(lock, [&] { return begun_ < rows_.size() || all_handed_out_; });
      if (begun_ == rows_.size()) return;
      judge_next(thread, lock);
    }
  }
  void judge_next(std::size_t thread, std::unique_lock<std::mutex>& lock) {
    Subject& subject = subjects_[thread];
    const std::size_t at = begun_++;
    if (limits_.on_case) limits_.on_case(at);
    JudgedRow& row = rows_[at];
    lock.unlock();
    subject.side_effects = std::make_shared<SideEffects>();
    if (killed_at_ > at) row.ran = judge_all_data(subject, row.of, at, row);
    row.side_effects = *subject.side_effects;
    lock.lock();
    row.is_judged = true;
    while (judged_ < rows_.size() && rows_[judged_].is_judged) ++judged_;
    const std::size_t failed = failed_at_[0];
    if (has_told_ || failed >= std::min<std::size_t>(judged_, killed_at_) || is_enough(failed))
      return;
    has_told_ = true;
    if (!limits_.on_first_failing) return;
    PropertyRun run;
    for (std::size_t i = 0; i <= failed; ++i) add_up(rows_[i], 0, run);
    lock.unlock();
    limits_.on_first_failing(thread, run);
    lock.lock();
  }

  void add_up(const JudgedRow& row, std::size_t property, PropertyRun& run) const {
    for (const JudgedRow::Result& result : row.results)
      if (result.property == property && !run.failing) credit(run, result.finding, result.failing);
  }

  // What one thread would have found.
  void add_up() {
    for (std::size_t at = 0; at < rows_.size() && !is_enough(at); ++at) {
      const JudgedRow& row = rows_[at];
      ++out_.cases;
      out_.side_effects.add(row.side_effects);
      for (std::size_t i = 0; i < properties_.size(); ++i)
        add_up(row, i, out_.runs[properties_[i]->name]);
      if (!row.killed.empty()) return skip_rest(row.killed);
      if (!row.ran) continue;
      met_.push_back(row.levels);
      if (limits_.large != nullptr && row.levels[Factor::bytes] >= level::level_2)
        limits_.large->push_back(row.levels);
    }
  }

  // Whether one call instead of two is enough, for the time that it takes. What a kernel keeps
  // from one call to the next is small, and small cases show it.
  static bool moves_much(const Case& c) {
    constexpr std::int64_t much = 128 * 1024;
    const TensorCase& first = c.tensors[0];
    return c.batch * c.tokens * first.heads * first.head_dim *
               data_type(tensor_dtype(c, first)).bytes >
           much;
  }

  // Whether the property still has to judge this case of row `at`.
  bool concerns(std::size_t property, const Case& c, std::size_t at) const {
    const Property& p = *properties_[property];
    return failed_at_[property] > at && (p.judges == nullptr || p.judges(c));
  }

  // Errors at one end of a type do not show at the other, so a case at the ends has the data of
  // each. A large one has the data of one end.
  bool judge_all_data(Subject& subject, Case c, std::size_t at, JudgedRow& out) {
    if (!is_extreme(c.data)) return judge(subject, c, at, out);
    constexpr std::array ends{DataPattern::edge, DataPattern::subnormal, DataPattern::span};
    c.data = ends[c.seed % ends.size()];
    if (moves_much(c)) return judge(subject, c, at, out);
    bool ran = true;
    for (const DataPattern data : ends) {
      c.data = data;
      ran = judge(subject, c, at, out) && ran;
    }
    return ran;
  }

  // False: there is no memory for the case. A process that is killed twice ends the array.
  bool judge(Subject& subject, const Case& c, std::size_t at, JudgedRow& out) {
    bool any = false;
    for (std::size_t i = 0; i < properties_.size(); ++i) any = any || concerns(i, c, at);
    if (!any) return true;
    for (const bool again : {false, true}) try {
        judge_all(subject, c, at, out);
        return true;
      } catch (const Killed& killed) {
        subject.worker.restart();
        if (!again) continue;
        out.killed = killed.what();
        lower(killed_at_, at);
      } catch (const NoMemory&) {
        return false;
      } catch (const std::bad_alloc&) {
        return false;
      }
    return false;
  }

  // Each property has one case more than will run.
  void skip_rest(const std::string& reason) {
    for (auto& [property, run] : out_.runs) {
      ++run.planned;
      run.skipped = run.worst.reason = reason;
      if (run.executed == 0) run.worst.kind = Finding::Kind::skipped;
    }
  }

  // One execution for all properties.
  void judge_all(Subject& subject, const Case& c, std::size_t at, JudgedRow& out) {
    const bool once = moves_much(c) && c.before == Before::nothing;
    const Problem problem =
        make_problem(c, subject.oracle, once ? SecondPositions::none : SecondPositions::reversed);
    const Execution execution =
        once ? execute_once(subject, problem, c.seed % 2 == 0) : execute(subject, problem);
    const RowSample sample = RowSample::of(c);
    for (std::size_t i = 0; i < properties_.size(); ++i) {
      if (!concerns(i, c, at)) continue;
      Finding f = failure_of(execution);
      if (f.kind == Finding::Kind::measured)
        f = properties_[i]->judge(subject, problem, execution, sample);
      if (!f.ran() || (f.kind == Finding::Kind::measured && f.compared == 0)) continue;
      out.results.push_back({i, f, {}});
      if (f.holds()) continue;
      out.results.back().failing = c;
      out.results.back().failing->property = properties_[i]->name;
      lower(failed_at_[i], at);
    }
  }

  static void lower(std::atomic<std::size_t>& to, std::size_t value) {
    for (std::size_t now = to; now > value && !to.compare_exchange_weak(now, value);) continue;
  }

  // A crash or hang in supports, or a flag that supports breaks.
  void charge_supports() {
    Execution execution;
    execution.result = questions_.heard.last_refusal;
    Case c = questions_.heard.asked;
    for (auto& [property, run] : out_.runs) {
      c.property = property;
      if (!run.failing) credit(run, failure_of(execution), c);
    }
  }

  static void credit(PropertyRun& run, const Finding& f, const std::optional<Case>& failing) {
    ++run.planned;
    ++run.executed;
    ++run.compared;
    run.values += f.compared;
    run.failing = failing;
    if (run.executed == 1 || !f.holds() || f.margin > run.worst.margin) run.worst = f;
  }

  void count(const std::vector<ArrayPhase>& phases) {
    for (const int strength : {2, 3}) {
      if (std::none_of(phases.begin(), phases.end(),
                       [&](const ArrayPhase& phase) { return phase.strength == strength; }))
        continue;
      Cover all(search_of(offer_), strength, 1);
      for (const auto* rows : {&met_, &rows_of_others_})
        for (const Levels& row : *rows) all.took(row);
      for (const LevelTuple& tuple : forbidden_) all.forbid(tuple);
      out_.coverage.push_back({strength, all.coverage()});
      for (const LevelTuple& tuple : all.missing()) out_.not_met.push_back(words_of(tuple));
    }
  }

  static constexpr int most_refusals = 300, everything = std::numeric_limits<int>::max();

  JudgeThreads& threads_;
  std::vector<Subject>& subjects_;
  const std::vector<const Property*>& properties_;
  ArrayLimits limits_;
  Questions questions_;
  const Offer& offer_;
  RowSearch search_;
  AcceptedCases cases_;
  std::shared_ptr<const RuleTable> few_bytes_;
  ArrayResult out_;
  std::uint64_t seeds_ = 0;
  int refusals_ = 0;
  std::vector<LevelTuple> forbidden_;
  std::vector<Levels> met_;             // by the rows that ran
  std::vector<Levels> rows_of_others_;  // of large cases, met in other pairings and data types

  std::mutex mutex_;  // of the next five
  std::condition_variable changed_;
  std::deque<JudgedRow> rows_;
  std::size_t begun_ = 0, judged_ = 0;  // all rows before these
  bool has_told_ = false;
  bool all_handed_out_ = false;
  // The first row known in which a property fails, and in which a process was killed twice.
  std::vector<std::atomic<std::size_t>> failed_at_;
  std::atomic<std::size_t> killed_at_ = never;
};

}  // namespace

ArrayResult run_array(JudgeThreads& threads, std::vector<Subject>& subjects, const Offer& offer,
                      const std::vector<const Property*>& properties, const ArrayLimits& limits) {
  return ArrayRun(threads, subjects, offer, properties, limits).run();
}

}  // namespace ropewalk::properties
