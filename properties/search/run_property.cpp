#include "properties/search/run_property.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <map>
#include <sstream>

#include "harness/cases/data.h"
#include "harness/cases/fused.h"
#include "harness/judge/judge.h"
#include "properties/array/case_shape.h"
#include "properties/array/factor_table.h"
#include "properties/explain/check_case.h"
#include "properties/explain/diagnosis.h"
#include "properties/explain/shrink.h"
#include "properties/search/verdict_rows.h"

namespace ropewalk::properties {
using namespace harness;
namespace {

constexpr std::int64_t usual_elements = 4096;  // of a tensor; more of them only take longer
constexpr std::int64_t most_refused = 300;     // cases of one property
constexpr std::int64_t most_dims = 1 << 20;    // more than any head has

// Levels that are for the cases of the covering array alone: algebraic laws do not hold with them,
// or they say what happens beside the call. The square of a far scale needs a wide range.
bool is_for_the_array(Factor f, int level, Dtype dtype) {
  if (f == Factor::scale)
    return (level == level::large || level == level::small) && !has_wide_range(dtype);
  if (f == Factor::tables) return level == level::own_sin || level == level::other_angles;
  if (f == Factor::in_layout) return level == level::broadcast;
  if (f == Factor::slots) return level == level::skipping || level == level::padded;
  if (f == Factor::data) return level == level::extreme || level == level::zero_heads;
  return level > 0 && (f == Factor::types || f == Factor::table_type || f == Factor::before ||
                       f == Factor::callers);
}

// Of a kernel that takes one number of heads, tokens or rows alone, the case has as many elements
// of each of these. It has at least those of the base.
std::int64_t most_elements(const Offer& offered) {
  constexpr std::int64_t most = 1 << 20;
  const Case& base = offered.base;
  const TensorCase& first = base.tensors[0];
  std::int64_t fixed = usual_elements;
  for (const auto& [f, count] :
       {std::pair{Factor::heads, first.heads}, std::pair{Factor::tokens, base.tokens},
        std::pair{Factor::batch, base.batch}})
    if (std::has_single_bit(offered.levels[f]) && fixed < most) fixed *= count;
  return std::max(std::min(fixed, most), base.batch * base.tokens * first.heads * first.head_dim);
}

// The levels that cases are drawn of. Those of the base stay.
Offer drawn_levels(Offer offered) {
  const std::int64_t most = most_elements(offered);
  for (std::size_t i = 0; i < factor_count; ++i) {
    const auto f = static_cast<Factor>(i);
    const bool of_model = f == Factor::frequencies || f == Factor::scale;
    for (int level = 0; level < level_count(f); ++level) {
      const bool is_left_out =
          f == Factor::bytes
              ? range_of(f, level).least > most * data_type(offered.base.dtype).bytes
              : (offered.one_model && of_model) || is_for_the_array(f, level, offered.base.dtype);
      if (is_left_out && level != offered.simplest[f]) offered.levels.remove(f, level);
    }
  }
  offered.free.most_elements = offered.accepted.most_elements = most;
  return offered;
}

// Of rows in which a tensor can have few enough elements. The narrowest head of some levels is
// kept, as each row of the table asks for it.
RowSearch drawn_search(const Offer& offered) {
  using enum Factor;
  RowSearch search = search_of(offered);
  const Sizes& sizes = offered.free;
  std::map<std::array<int, 4>, std::int64_t> known;
  const auto narrowest = [&](const Levels& l) {
    const auto [at, is_new] =
        known.try_emplace({l[rotary_dim], l[room], l[window], l[frequencies]}, most_dims);
    const auto& accepted = sizes.windows[l[rotary_dim]][l[room]][l[window]];
    if (is_new)
      for (const HeadWindow& head :
           accepted.empty() ? heads_of(l[rotary_dim], l[room], l[window]) : accepted)
        if (l[frequencies] != level::listed || head.rotary_dim <= widest_listed)
          at->second = std::min(at->second, head.head_dim);
    return at->second;
  };
  const auto least = [&](Factor f, const Levels& l) {
    const auto& accepted = sizes.of(f)[l[f]];
    return accepted.empty() ? range_of(f, l[f]).least : *std::ranges::min_element(accepted);
  };
  if (!sizes.any_bytes)
    search.require(
        {{tokens, batch, heads, rotary_dim, room, window, frequencies}, [&](const Levels& l) {
           return least(tokens, l) * least(batch, l) * least(heads, l) * narrowest(l) <=
                  sizes.most_elements;
         }});
  search.require({{rows_by, position_range},
                  [&](const Levels& l) { return !has_long_table(l, offered.base.contract); }});
  return search;
}

// Counts the cases that run and keeps the worst finding.
class Runner {
 public:
  Runner(Subject& subject, const Property& property, const Offer& offer)
      : subject_(subject), property_(property), offer_(offer) {}

  /// True if the claim held on this case, in the form that the kernel needs. A refusal counts as
  /// held and as not executed.
  bool holds(const Case& packed) { return holds_as_it_is(in_form(packed, offer_.form)); }

  /// The same for a case that has this form.
  bool holds_as_it_is(const Case& c) {
    const Finding f = is_too_large(c)
                          ? unsupported(fmt::format("larger than {} MiB: left out", most_mib()))
                      : takes_any_case() ? check_case(property_, subject_, c)
                                         : check_restricted(c);
    refused_ = !f.ran();
    last_ = f;
    if (refused_) {
      if (run.executed == 0) run.worst = f;  // the reason why no case ran
      if (f.kind == Finding::Kind::skipped) run.skipped = f.reason;
      run.too_slow += f.is_too_slow ? 1 : 0;
      return true;
    }
    ++run.executed;
    run.values += f.compared;
    if (f.compared > 0 || f.kind != Finding::Kind::measured) ++run.compared;
    const bool nothing_compared = f.kind == Finding::Kind::measured && f.compared == 0;
    if (f.holds() || nothing_compared) {
      const bool first = run.executed == 1 || !run.worst.ran();
      if (first || f.margin > run.worst.margin) run.worst = f;
      return true;
    }
    run.worst = f;
    run.failing = c;
    return false;
  }

  /// A drawn case, or, where the kernel or the property cannot take it, another in its place.
  /// `most_declined`: so many of all cases may be such that the property cannot take them.
  bool holds_one_of(CaseDraws& draws, const DrawnRow& wanted, std::int64_t most_declined) {
    DrawnRow now = wanted;
    while (const std::optional<Case> c = draws.next(now)) {
      const bool held = holds_as_it_is(*c);
      if (!refused_) return held;
      if (++declined_ > most_declined) break;
      now = draws.any_row(hash(wanted.seed, declined_));
    }
    run.gave_up = true;
    if (draws.died()) charge(draws.heard());
    if (run.executed == 0 && run.worst.reason.empty())
      run.worst = unsupported(draws.heard().last_refusal.text);
    return !failing();
  }

  /// True if a crash or hang in supports is what failed.
  bool charged() const { return charged_; }

  /// The fixed cases.
  bool all_hold(const std::vector<Case>& fixed) {
    for (const Case& c : fixed) {
      if (!holds(c)) return false;
      refused_fixed += static_cast<int>(refused_ && last_.kind == Finding::Kind::unsupported);
    }
    return true;
  }

  bool failing() const { return run.failing.has_value(); }
  bool refused() const { return refused_; }

  PropertyRun run;
  int refused_fixed = 0;

 private:
  // A crash or hang in supports. The case that it was asked about need not be one of the property.
  void charge(const Refusals& heard) {
    Execution execution;
    execution.result = heard.last_refusal;
    ++run.executed;
    ++run.compared;
    run.worst = failure_of(execution);
    run.failing = heard.asked;
    run.failing->property = "agreement";
    charged_ = true;
  }

  bool takes_any_case() const {  // fixed ones list the positions of one axis
    return offer_.form == Form{} && offer_.any_size && offer_.base.axes == 1;
  }

  // Counts that are right for few heads make huge cases of a model's heads. In a run that is held
  // to a model, its prompt of 2,048 tokens should fit: 96 MiB in bf16 with the heads of
  // DeepSeek-V3.
  int most_mib() const { return offer_.one_model ? 128 : 64; }
  bool is_too_large(const Case& c) const {
    double row = 0;
    for (const TensorCase& t : c.tensors)
      row += static_cast<double>(t.heads) * static_cast<double>(t.head_dim);
    const double bytes = row * static_cast<double>(c.batch) * static_cast<double>(c.tokens) *
                         static_cast<double>(data_type(c.dtype).bytes);
    return !takes_any_case() && bytes > most_mib() * 0x1p20;
  }

  static Finding unsupported(const std::string& reason) {
    Finding f;
    f.kind = Finding::Kind::unsupported;
    f.reason = reason;
    return f;
  }

  // Not every case has the form, or the heads.
  Finding check_restricted(const Case& c) {
    try {
      return check_case(property_, subject_, c);
    } catch (const BadCase& e) {
      return unsupported(e.what());
    }
  }

  Subject& subject_;
  const Property& property_;
  const Offer& offer_;
  bool refused_ = false, charged_ = false;
  std::int64_t declined_ = 0;
  Finding last_;
};

constexpr std::int64_t most_declined = 10;  // for each case

void run_drawn(Runner& runner, const Property& property, CaseDraws& draws,
               const RunLimits& limits) {
  draws.begin(property);
  for (const DrawnRow& wanted : draws.draw(property, limits.cases, limits.seed)) {
    if (runner.failing() || runner.run.gave_up) break;
    runner.holds_one_of(draws, wanted, most_declined * limits.cases);
  }
  runner.run.refused = draws.refused();
}

// Keeps the worst of the failing cases if it is clearly worse than the smallest. Its line is given
// only if it shows the same margin again in the process in which the smallest case failed.
void keep_worst(PropertyRun& run, Subject& subject, const Property& property,
                const Shrunk& shrunk) {
  constexpr double plainly = 1.1;
  if (!(shrunk.worst_margin > plainly * shrunk.finding.margin)) return;
  run.worst_margin = shrunk.worst_margin;
  constexpr std::size_t longest = 2000;  // letters, of a line that people copy
  if (shrunk.only_after_others || to_text(shrunk.worst).size() > longest) return;
  const Finding again = property.check(subject, shrunk.worst);
  if (again.ran() && again.margin == shrunk.worst_margin) run.worst_case = shrunk.worst;
}

// True if the case fails in a fresh process, and holds when it is made again there. A kernel that
// is wrong at random would have to be so in three processes. An exception is not asked: a fresh
// process, which imports a framework again, has shown it already.
bool fails_at_first(Subject& subject, const Property& property, const Shrunk& shrunk) {
  const bool ends =
      shrunk.finding.kind == Finding::Kind::crash || shrunk.finding.kind == Finding::Kind::hang;
  if (ends || !shrunk.finding.raised.empty() || shrunk.only_after_others || property.tells_once)
    return false;
  const auto holds = [&] { return check_case(property, subject, shrunk.smallest).holds(); };
  for (int process = 0; process < 3; ++process) {
    subject.worker.restart();
    if (holds() || !holds() || !holds()) return false;
  }
  return true;
}

// Makes the failing case as small as possible, and looks for its cause. All that is reported is
// about that case. The failure was found: if the search throws, it stands without a cause.
void shrink_failure(PropertyRun& run, Subject& subject, const Property& property,
                    const Offer& offer) try {
  const Case first = *run.failing;
  const Shrunk shrunk = shrink(subject, property, offer, first, run.worst);
  run.worst = shrunk.finding;
  run.failing = shrunk.smallest;
  run.only_after_others = shrunk.only_after_others;
  if (fails_at_first(subject, property, shrunk)) {
    run.worst.cause_ids.emplace_back("only_at_first");
    return;
  }
  if (!shrunk.only_after_others)
    run.cause = explain(subject, property, shrunk.smallest, first, run.worst);
  if (run.worst.kind == Finding::Kind::measured) keep_worst(run, subject, property, shrunk);
} catch (const std::exception&) {
}

// properties/search/regressions.txt as one string, because an installed command has no such file.
constexpr const char* corpus_text =
#include "regressions.inc"
    ;

bool is_valid(const Case& c) {
  try {
    validate(c);
    return true;
  } catch (const BadCase&) {
    return false;
  }
}

// The corpus lines for this property, as cases of this kernel's contract, pairing and type. Lines
// that make no sense there (a negative position with a table by position) are left out.
std::vector<Case> regressions_of(const Property& property, const Offer& offer) {
  std::vector<Case> out;
  static const std::vector<Case> corpus = regression_corpus();
  for (Case c : corpus) {
    if (c.property != property.name) continue;
    c.kernel = offer.base.kernel;
    c.plugin = offer.base.plugin;
    c.contract = offer.base.contract;
    c.pairing = offer.base.pairing;
    c.dtype = offer.base.dtype;
    if (!c.table_dtype) c.table_dtype = offer.base.table_dtype;
    const bool declared = std::ranges::all_of(c.tensors, [&](const auto& t) {
      return offer.takes(Factor::placement, t.in_place ? level::in_place : level::out_of_place);
    });
    if (declared && is_valid(c)) out.push_back(std::move(c));
  }
  return out;
}

}  // namespace

CaseDraws::CaseDraws(Subject& subject, const Offer& offer)
    : questions_(subject),
      offer_(offer),
      levels_(drawn_levels(offer)),
      nothing_refused_(drawn_search(levels_)),
      row_(nothing_refused_) {}

void CaseDraws::begin(const Property& property) {
  property_ = &property;
  row_ = nothing_refused_;
  refused_ = tried_ = 0;
  questions_.heard = {};
}

DrawnRow CaseDraws::any_row(std::uint64_t seed) const {
  DrawnRow row{{}, seed};
  for (std::size_t f = 0; f < factor_count; ++f)
    row.levels.of[f] = levels_.levels.pick(static_cast<Factor>(f), hash(seed, f));
  return row;
}

// The factors are taken in an order of the seed: each should be the first to choose as often.
std::optional<Levels> CaseDraws::completed(const DrawnRow& wanted) {
  std::array<std::size_t, factor_count> order{};
  for (std::size_t f = 0; f < factor_count; ++f) order[f] = f;
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
    return hash(wanted.seed, 0x0d, a) < hash(wanted.seed, 0x0d, b);
  });
  const auto choose = [&] {
    const LevelSets& left = row_.left();
    const auto f = static_cast<Factor>(*std::ranges::find_if(
        order, [&](std::size_t each) { return !std::has_single_bit(left.of[each]); }));
    int level = wanted.levels[f];
    while (!left.has(f, level)) level = (level + 1) % most_levels;
    return FactorLevel{f, level};
  };
  if (!row_.make(choose, wanted.seed)) return {};
  return row_.row();
}

std::optional<Case> CaseDraws::next(const DrawnRow& wanted) {
  const auto shape = [&](Case& c) {
    c.property = property_->name;
    if (property_->without_norm) drop_norm(c);
    if (property_->shape != nullptr) property_->shape(c, offer_);
    round_sizes(c, offer_.form);
  };
  const AcceptedCases cases(questions_, levels_, shape);
  // Rows near one that was refused often are refused too, so another is drawn.
  constexpr int most_of_a_row = 12;
  DrawnRow row = wanted;
  for (int i = 1; tried_ <= most_refused; ++i) {
    if (i % most_of_a_row == 0) row = any_row(hash(wanted.seed, i));
    const std::optional<Levels> levels = completed(row);
    if (!levels) return {};
    auto [c, was_asked] = cases.of(*levels, row.seed);
    if (c) {
      if (property_->add_calls != nullptr) property_->add_calls(*c, offer_);
      last_ = *levels;
      return std::move(c);
    }
    ++tried_;
    if (was_asked) ++refused_;
    const LevelTuple together = cases.refused_together(*levels, was_asked, row.seed);
    if (together.empty() || died()) return {};
    row_.forbid(together);
  }
  return {};
}

std::vector<Case> regression_corpus() {
  std::vector<Case> cases;
  std::istringstream lines(corpus_text);
  for (std::string line; std::getline(lines, line);)
    if (!line.empty() && line[0] != '#') cases.push_back(case_from_text(line));
  return cases;
}

std::vector<Case> fixed_cases_of(const Property& property, Offer offer, Profile profile) {
  offer.base.property = property.name;
  if (property.fixed_cases == nullptr) return {};
  std::vector<Case> fixed = property.fixed_cases(offer, profile);
  constexpr std::size_t without_all_positions = 32;  // which a kernel may refuse
  for (std::size_t i = 0; i < fixed.size(); ++i)
    in_each_call(fixed[i], [i](Case& call) { set_switches(call, i % without_all_positions); });
  return fixed;
}

PropertyRun run_property(Subject& subject, const Property& property, const Offer& offer,
                         Profile profile, const RunLimits& limits, const PropertyRun* shared,
                         CaseDraws* draws) {
  Runner runner(subject, property, offer);
  if (shared != nullptr) runner.run = *shared;
  if (const std::string missing = missing_for(property, offer); !missing.empty()) {
    runner.run.worst.kind = Finding::Kind::unsupported;
    runner.run.missing = missing;
    runner.run.worst.reason = "needs " + missing;
    return runner.run;
  }
  for (const Case& c : regressions_of(property, offer)) {
    if (runner.failing() || limits.one_case) break;
    runner.holds(c);
    // a kernel may refuse regression cases, so they are not planned
    if (!runner.refused()) ++runner.run.planned;
  }
  std::vector<Case> fixed = fixed_cases_of(property, offer, profile);
  if (limits.one_case) fixed.resize(std::min<std::size_t>(fixed.size(), runner.run.executed == 0));
  const bool is_enough = limits.one_case && (runner.run.executed > 0 || !fixed.empty());
  const std::int64_t drawn = draws == nullptr || is_enough ? 0 : limits.cases;
  if (!runner.failing()) runner.run.planned += std::ssize(fixed) + drawn;
  if (runner.run.planned == 0) runner.run.worst.reason = "the kernel takes no case of it";
  const bool fixed_hold = !runner.failing() && runner.all_hold(fixed);
  if (drawn > 0 && fixed_hold) run_drawn(runner, property, *draws, limits);
  // A fixed case that the kernel honestly refuses is not planned: what it refuses is listed with
  // the levels of the covering array.
  if (fixed_hold && runner.run.executed > 0) runner.run.planned -= runner.refused_fixed;
  const bool is_told = limits.told != nullptr && limits.told->contains(runner.run.worst.raised);
  if (runner.failing() && limits.shrink && !runner.charged() && !is_told)
    shrink_failure(runner.run, subject, property, offer);
  return runner.run;
}

}  // namespace ropewalk::properties
