#include "properties/array/array_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>

#include "base/system/memory_limits.h"
#include "harness/cases/data.h"
#include "harness/judge/judge.h"
#include "properties/array/array_model.h"
#include "properties/whole_output.h"

namespace ropewalk::properties {
using namespace harness;
namespace {

int strength_of(Profile profile) {
  switch (profile) {
    case Profile::smoke:
    case Profile::standard:
      return 2;
    case Profile::full:
      return 3;
  }
  __builtin_unreachable();
}

class ArrayRun {
 public:
  ArrayRun(Subject& subject, const Offer& offer, const ArrayLimits& limits)
      : subject_(subject),
        limits_(limits),
        questions_(subject_),
        offered_(ask_levels(questions_, offer)),
        model_(offered_),
        all_(model_.model(), {{strength_of(limits.profile), {}}}, hash(limits.seed, 0xc0)) {
    for (const ArrayJudge& each : array_judges()) out_.runs[each.property];
  }

  ArrayResult run() {
    // The smallest cases first. Large ones cost most, so there are no more of them than it takes:
    // with the level of bytes fixed, t - 1 others meet in each combination. `all_` counts, and
    // makes the rows that are left.
    run_rows({level::level_1}, 0);
    run_rows({level::level_1, level::level_2}, 0);
    run_rows({level::beyond}, 1);
    run_rows_of(all_);
    if (questions_.died) charge_supports();
    report();
    return std::move(out_);
  }

 private:
  bool may_go_on() const {
    return (limits_.most_cases == 0 || out_.cases < limits_.most_cases) && !all_have_failed() &&
           refusals_ <= most_refusals && !questions_.died;
  }

  // Rows of these levels of bytes. They meet `less` levels fewer than the profile wants.
  void run_rows(const std::vector<int>& bytes, int less) {
    CoveringModel model = model_.model();
    std::vector<int> wanted;
    for (const int each : bytes)
      if (const int at = model_.place_of(Factor::bytes, each).level;
          at < model.levels[index_of(Factor::bytes)])
        wanted.push_back(at);
    if (wanted.empty()) return;
    model.constraints.push_back(
        {{static_cast<int>(index_of(Factor::bytes))}, [wanted](std::span<const int> levels) {
           return std::find(wanted.begin(), wanted.end(), levels[0]) != wanted.end();
         }});
    try {
      Cover cover(model, {{strength_of(limits_.profile) - less, {}}},
                  hash(limits_.seed, wanted.back(), less));
      for (const LevelTuple& tuple : forbidden_) cover.forbid(tuple);
      for (const Row& row : rows_taken_) cover.took(row);
      run_rows_of(cover);
    } catch (const std::invalid_argument&) {
      // no row has these levels
    }
  }

  void run_rows_of(Cover& cover) {
    while (may_go_on()) {
      const std::optional<Row> row = cover.next();
      if (!row) return;
      const std::uint64_t seed = hash(limits_.seed, 0xa44a, ++rows_);
      std::optional<Case> c;
      if (is_taken(questions_, offered_, model_.levels_of(*row), seed, c)) {
        cover.took(*row);
        if (!judge(*c)) continue;  // it is left to `all_`, which lists it as not met
        ++out_.cases;
        if (&cover != &all_) all_.took(*row);
        rows_taken_.push_back(*row);
      } else if (const LevelTuple tuple = refused_together(*row, seed);
                 !tuple.empty() && !questions_.died) {
        cover.forbid(tuple);
        if (&cover != &all_) all_.forbid(tuple);
        forbidden_.push_back(tuple);
      } else {
        return;
      }
    }
  }

  bool all_have_failed() const {
    return std::all_of(out_.runs.begin(), out_.runs.end(),
                       [](const auto& each) { return each.second.failing.has_value(); });
  }

  // The levels of a refused row that the kernel refuses together. The others are brought back to
  // the simplest levels one by one.
  LevelTuple refused_together(const Row& row, std::uint64_t seed) {
    ++refusals_;
    Levels refused = model_.levels_of(row);
    std::vector<Factor> needed;
    for (std::size_t f = 0; f < factor_count; ++f) {
      if (refused.of[f] == offered_.simplest.of[f]) continue;
      const auto factor = static_cast<Factor>(f);
      Levels simpler = refused;
      simpler[factor] = offered_.simplest[factor];
      std::optional<Case> c;
      if (are_possible(simpler, offered_.base) &&
          !is_taken(questions_, offered_, simpler, hash(seed, f), c))
        refused = simpler;
      else
        needed.push_back(factor);
    }
    LevelTuple tuple;
    for (const Factor f : needed) tuple.push_back(model_.place_of(f, refused[f]));
    return tuple;
  }

  // One call for all judges. False: there is no memory for the case.
  bool judge(Case c) {
    try {
      const Problem problem = make_problem(c, subject_.oracle);
      const Execution execution = execute(subject_, problem);
      for (const ArrayJudge& each : array_judges()) {
        PropertyRun& run = out_.runs[each.property];
        if (run.failing) continue;
        Finding f = failure_of(execution);
        if (f.kind == Finding::Kind::measured) f = each.judge(subject_, problem, execution);
        if (!f.ran() || (f.kind == Finding::Kind::measured && f.compared == 0)) continue;
        c.property = each.property;
        credit(run, f, c);
      }
      return true;
    } catch (const NoMemory&) {
      return false;
    } catch (const std::bad_alloc&) {
      return false;
    }
  }

  // A crash or hang in supports, or a flag that supports breaks.
  void charge_supports() {
    Execution execution;
    execution.result = *questions_.died;
    Case c = questions_.asked;
    for (auto& [property, run] : out_.runs) {
      c.property = property;
      if (!run.failing) credit(run, failure_of(execution), c);
    }
  }

  static void credit(PropertyRun& run, const Finding& f, const Case& c) {
    ++run.planned;
    ++run.executed;
    ++run.compared;
    run.values += f.compared;
    if (!f.holds()) run.failing = c;
    if (run.executed == 1 || !f.holds() || f.margin > run.worst.margin) run.worst = f;
  }

  void report() {
    out_.strength = strength_of(limits_.profile);
    out_.coverage = all_.coverage();
    out_.not_offered = not_offered(offered_);
    for (const LevelTuple& tuple : all_.missing()) out_.not_met.push_back(model_.words_of(tuple));
  }

  static constexpr int most_refusals = 300;

  Subject& subject_;
  ArrayLimits limits_;
  Questions questions_;
  OfferedLevels offered_;
  ArrayModel model_;
  Cover all_;  // the accountant
  ArrayResult out_;
  std::uint64_t rows_ = 0;
  int refusals_ = 0;
  std::vector<LevelTuple> forbidden_;
  std::vector<Row> rows_taken_;
};

}  // namespace

const std::vector<ArrayJudge>& array_judges() {
  static const std::vector<ArrayJudge> judges{
      {"agreement", compare_with_truth},
      {"untouched_dims", [](Subject&, const Problem& problem, const Execution& execution) {
         return compare_untouched(problem, execution);
       }}};
  return judges;
}

ArrayResult run_array(Subject& subject, const Offer& offer, const ArrayLimits& limits) {
  return ArrayRun(subject, offer, limits).run();
}

}  // namespace ropewalk::properties
