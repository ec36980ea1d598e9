#include "properties/array/array_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
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

// Where a kernel most often has a second path: the full profile meets four of these at once.
const std::vector<Factor>& path_factors() {
  using enum Factor;
  static const std::vector<Factor> all{operation, placement,  position_type, in_layout, out_layout,
                                       window,    rotary_dim, heads,         tokens,    batch};
  return all;
}

// Rows of some levels that meet all interactions of some strength. Small rows come first: they cost
// least, so large ones need only meet what is left.
struct ArrayPhase {
  Strength strength;
  bool hiding;        ///< levels that hide errors of other factors are allowed
  int most_bytes;     ///< the highest level of bytes
  std::int64_t most;  ///< the least bytes that the levels of sizes allow may be this; 0: any
};

std::vector<ArrayPhase> phases_of(Profile profile) {
  // Above this, a case takes longer than all small ones that a row of the array could replace.
  constexpr std::int64_t middle = 512 * 1024;
  const Strength two{2, {}}, three{3, {}};
  std::vector<ArrayPhase> out;
  const auto add = [&](const Strength& strength, bool large) {
    for (const bool hiding : {false, true}) {
      out.push_back({strength, hiding, level::level_1, middle});
      out.push_back({strength, hiding, level::level_2, middle});
      if (large) out.push_back({strength, hiding, level::beyond, 0});
    }
  };
  add(two, true);
  if (profile == Profile::smoke) return out;
  add(three, profile == Profile::full);
  if (profile == Profile::standard) return out;
  Strength four{4, {}};
  for (const Factor f : path_factors()) four.factors.push_back(static_cast<int>(index_of(f)));
  out.push_back({four, false, level::level_2, middle});
  return out;
}

// How many large cases a run makes before it counts those of the kernel's other pairings and data
// types: each may have a second path of its own.
int own_large_cases(const ArrayPhase& phase) {
  if (phase.hiding) return 0;
  return phase.most_bytes == level::beyond ? 2 : 6;
}

class ArrayRun {
 public:
  ArrayRun(Subject& subject, Asked& asked, const std::vector<const Property*>& properties,
           const ArrayLimits& limits)
      : subject_(subject),
        properties_(properties),
        limits_(limits),
        questions_(asked.questions),
        offered_(asked.levels),
        model_(offered_),
        cases_(questions_, model_) {
    for (const Property* each : properties_) out_.runs[each->name];
    if (limits_.large == nullptr) return;
    for (const Levels& levels : *limits_.large)
      if (const auto row = model_.row_of(levels)) rows_of_others_.push_back(*row);
  }

  ArrayResult run() {
    const std::vector<ArrayPhase> phases = phases_of(limits_.profile);
    for (const ArrayPhase& phase : phases)
      if (may_go_on()) run_phase(phase);
    if (questions_.died()) charge_supports();
    if (!is_enough()) count(phases);
    out_.not_offered = not_offered(offered_);
    return std::move(out_);
  }

 private:
  bool failed(const Property* property) const {
    return out_.runs.at(property->name).failing.has_value();
  }

  // True if more cases would tell nothing.
  bool is_enough() const {
    const auto has_failed = [this](const Property* each) { return failed(each); };
    return limits_.until_failure ? std::any_of(properties_.begin(), properties_.end(), has_failed)
                                 : std::all_of(properties_.begin(), properties_.end(), has_failed);
  }
  bool may_go_on() const {
    return (limits_.most_cases == 0 || out_.cases < limits_.most_cases) && !is_enough() &&
           refusals_ <= most_refusals && !questions_.died() && !killed_;
  }

  CoveringModel model_of(const ArrayPhase& phase) const {
    CoveringModel model = model_.model();
    const auto add = [&](const std::vector<Factor>& factors,
                         const std::function<bool(const Levels&)>& holds) {
      model.constraints.push_back(model_.constraint(factors, holds));
    };
    add({Factor::bytes}, [&](const Levels& l) { return l[Factor::bytes] <= phase.most_bytes; });
    if (phase.most > 0)
      add({size_factors.begin(), size_factors.end()},
          [&](const Levels& l) { return least_bytes(l, offered_.base.dtype) <= phase.most; });
    if (!phase.hiding)
      for (const Factor f : {Factor::position_strides, Factor::data, Factor::callers})
        add({f}, [f](const Levels& l) { return !hides_others(f, l[f]); });
    return model;
  }

  void run_phase(const ArrayPhase& phase) {
    const std::uint64_t seed = hash(limits_.seed, 0xc0, phase.strength.t, phase.most_bytes,
                                    static_cast<int>(phase.hiding));
    try {
      Cover cover(model_of(phase), {phase.strength}, seed);
      for (const LevelTuple& tuple : forbidden_) cover.forbid(tuple);
      for (const Row& row : taken_) cover.took(row);
      if (limits_.large != nullptr && phase.most_bytes >= level::level_2) {
        run_rows_of(cover, own_large_cases(phase));
        for (const Row& row : rows_of_others_) cover.took(row);
      }
      run_rows_of(cover, everything);
    } catch (const std::invalid_argument&) {
      // No row has these levels.
    }
  }

  void run_rows_of(Cover& cover, int most) {
    for (int ran = 0; ran < most && may_go_on();) {
      const std::optional<Row> row = cover.next();
      if (!row) return;
      const std::uint64_t seed = hash(limits_.seed, 0xa44a, ++rows_);
      const Levels levels = model_.levels_of(*row);
      if (const std::optional<Case> c = cases_.of(levels, seed)) {
        cover.took(*row);
        if (!judge_all_data(*c)) continue;  // it counts as not met
        ++out_.cases;
        ++ran;
        taken_.push_back(*row);
        if (limits_.large != nullptr && levels[Factor::bytes] >= level::level_2)
          limits_.large->push_back(levels);
      } else if (const LevelTuple tuple = cases_.refused_together(levels, seed);
                 !tuple.empty() && !questions_.died()) {
        ++refusals_;
        cover.forbid(tuple);
        forbidden_.push_back(tuple);
      } else {
        return;
      }
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

  // Whether the property still has to judge this case.
  bool concerns(const Property& property, const Case& c) const {
    return !failed(&property) && (property.judges == nullptr || property.judges(c));
  }

  // Errors at one end of a type do not show at the other, so a case at the ends has the data of
  // each. A large one has the data of one end.
  bool judge_all_data(Case c) {
    if (!is_extreme(c.data)) return judge(c);
    constexpr std::array ends{DataPattern::edge, DataPattern::subnormal, DataPattern::span};
    c.data = ends[c.seed % ends.size()];
    if (moves_much(c)) return judge(c);
    bool ran = true;
    for (const DataPattern data : ends) {
      c.data = data;
      ran = judge(c) && ran;
    }
    return ran;
  }

  // False: the case counts as not met, as there is no memory for it. A process that is killed twice
  // ends the array.
  bool judge(const Case& c) {
    if (std::none_of(properties_.begin(), properties_.end(),
                     [&](const Property* each) { return concerns(*each, c); }))
      return true;
    for (const bool again : {false, true}) try {
        judge_all(c);
        return true;
      } catch (const Killed& killed) {
        subject_.worker.restart();
        if (again) skip_rest(killed.what());
      } catch (const NoMemory&) {
        return false;
      } catch (const std::bad_alloc&) {
        return false;
      }
    return false;
  }

  // Each property has one case more than will run.
  void skip_rest(const std::string& reason) {
    killed_ = true;
    for (auto& [property, run] : out_.runs) {
      ++run.planned;
      run.skipped = run.worst.reason = reason;
      if (run.executed == 0) run.worst.kind = Finding::Kind::skipped;
    }
  }

  // One execution for all properties.
  void judge_all(const Case& c) {
    const bool once = moves_much(c) && c.before == Before::nothing;
    const Problem problem =
        make_problem(c, subject_.oracle, once ? SecondPositions::none : SecondPositions::reversed);
    const auto make = [&] {
      return once ? execute_once(subject_, problem, c.seed % 2 == 0) : execute(subject_, problem);
    };
    Execution execution = make();
    if (execution.result.kind == CallResult::Kind::hang && learn_pace(subject_, c))
      execution = make();
    const RowSample sample = RowSample::of(c);
    for (const Property* property : properties_) {
      if (!concerns(*property, c)) continue;
      Finding f = failure_of(execution);
      if (f.kind == Finding::Kind::measured)
        f = property->judge(subject_, problem, execution, sample);
      if (!f.ran() || (f.kind == Finding::Kind::measured && f.compared == 0)) continue;
      Case judged = c;
      judged.property = property->name;
      credit(out_.runs[property->name], f, judged);
    }
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

  static void credit(PropertyRun& run, const Finding& f, const Case& c) {
    ++run.planned;
    ++run.executed;
    ++run.compared;
    run.values += f.compared;
    if (!f.holds()) run.failing = c;
    if (run.executed == 1 || !f.holds() || f.margin > run.worst.margin) run.worst = f;
  }

  void count(const std::vector<ArrayPhase>& phases) {
    for (const int strength : {2, 3}) {
      if (std::none_of(phases.begin(), phases.end(),
                       [&](const ArrayPhase& phase) { return phase.strength.t == strength; }))
        continue;
      Cover all(model_.model(), {{strength, {}}}, 1);
      for (const LevelTuple& tuple : forbidden_) all.forbid(tuple);
      for (const auto* rows : {&taken_, &rows_of_others_})
        for (const Row& row : *rows) all.took(row);
      out_.coverage.push_back({strength, all.coverage()});
      for (const LevelTuple& tuple : all.missing()) out_.not_met.push_back(model_.words_of(tuple));
    }
  }

  static constexpr int most_refusals = 300, everything = std::numeric_limits<int>::max();

  Subject& subject_;
  const std::vector<const Property*>& properties_;
  ArrayLimits limits_;
  Questions& questions_;
  const OfferedLevels& offered_;
  ArrayModel model_;
  AcceptedCases cases_;
  ArrayResult out_;
  std::uint64_t rows_ = 0;
  int refusals_ = 0;
  bool killed_ = false;
  std::vector<LevelTuple> forbidden_;
  std::vector<Row> taken_;
  std::vector<Row> rows_of_others_;  // of large cases, met in other pairings and data types
};

// Never rounded up to 100.
std::string percent(const Coverage& coverage) {
  if (coverage.met == coverage.possible) return "100";
  const double share = static_cast<double>(coverage.met) / static_cast<double>(coverage.possible);
  return fmt::format("{:.1f}", std::floor(1000 * share) / 10);
}

}  // namespace

ArrayResult run_array(Subject& subject, Asked& asked,
                      const std::vector<const Property*>& properties, const ArrayLimits& limits) {
  return ArrayRun(subject, asked, properties, limits).run();
}

std::string words_of(const std::vector<ArrayCoverage>& coverage) {
  std::string out;
  for (const ArrayCoverage& each : coverage)
    out += fmt::format("{}{} % of {}-way", out.empty() ? "covered " : ", ", percent(each.count),
                       each.strength);
  return out.empty() ? out : out + " interactions of what the kernel offers";
}

}  // namespace ropewalk::properties
