// The only file that includes RapidCheck. It draws; what fails is shrunk as a case
// (properties/explain/shrink.h, docs/decisions/0072).
#include "properties/array/generator.h"

#include <fmt/format.h>
#include <rapidcheck.h>
#include <rapidcheck/detail/TestListenerAdapter.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <unordered_map>
#include <utility>

#include "harness/cases/data.h"

namespace ropewalk::properties {
namespace {

constexpr std::size_t most_combinations = std::size_t{1} << 18;
constexpr int most_candidates = 24;
constexpr std::int64_t few_conflicts = 100;

// Calls use(level) for each level of a set.
template <class Use>
void for_each_level(std::uint8_t levels, const Use& use) {
  for (unsigned bits = levels; bits != 0; bits &= bits - 1) use(std::countr_zero(bits));
}

std::uint8_t bit_of(int level) {
  return static_cast<std::uint8_t>(1u << level);
}
bool is_single(std::uint8_t levels) {
  return (levels & (levels - 1)) == 0;
}

LevelTuple levels_of(const Levels& row) {
  LevelTuple tuple;
  for (std::size_t f = 0; f < factor_count; ++f)
    tuple.push_back({static_cast<Factor>(f), row.of[f]});
  return tuple;
}

// Never rounded up to 100.
std::string percent(const Coverage& coverage) {
  if (coverage.met == coverage.possible) return "100";
  const double share = static_cast<double>(coverage.met) / static_cast<double>(coverage.possible);
  return fmt::format("{:.1f}", std::floor(1000 * share) / 10);
}

}  // namespace

// ---- a row

RuleTable::RuleTable(const Rule& rule, const LevelSets& levels)
    : factors_(rule.factors), having_(rule.factors.size()) {
  Levels row;
  const auto add = [&](const auto& self, std::size_t at) -> void {
    if (at < factors_.size())
      return for_each_level(levels[factors_[at]], [&](int level) {
        row[factors_[at]] = level;
        self(self, at + 1);
      });
    if (!rule.holds(row)) return;
    if (combinations_ == most_combinations)
      throw std::invalid_argument("a rule allows too many combinations for a table");
    const std::size_t word = combinations_ / 64;
    for (std::size_t i = 0; i < factors_.size(); ++i) {
      auto& bits = having_[i][static_cast<std::size_t>(row[factors_[i]])];
      bits.resize(word + 1);
      bits[word] |= std::uint64_t{1} << (combinations_ % 64);
    }
    ++combinations_;
  };
  add(add, 0);
  for (auto& of_factor : having_)
    for (auto& bits : of_factor) bits.resize((combinations_ + 63) / 64);
}

RowSearch::RowSearch(const LevelSets& levels, const RuleTables& rules) {
  root_.left = levels;
  for (const auto& rule : rules) add(rule);
  narrow_root();
}

void RowSearch::require(std::shared_ptr<const RuleTable> rule) {
  add(std::move(rule));
  narrow_root();
}

void RowSearch::add(std::shared_ptr<const RuleTable> rule) {
  Seen seen;
  const std::size_t count = rule->combinations_;
  seen.combinations.assign((count + 63) / 64, ~std::uint64_t{0});
  if (count % 64 != 0) seen.combinations.back() >>= 64 - count % 64;
  seen.words.resize(seen.combinations.size());
  std::iota(seen.words.begin(), seen.words.end(), 0);
  seen.levels.assign(rule->factors_.size(), 0xff);
  root_.rules.push_back(std::move(seen));
  root_.is_possible = root_.is_possible && count > 0;
  rules_.push_back(std::move(rule));
}

void RowSearch::restrict_to(const LevelSets& levels) {
  for (std::size_t f = 0; f < factor_count; ++f) root_.left.of[f] &= levels.of[f];
  narrow_root();
}

void RowSearch::forbid(const LevelTuple& tuple) {
  if (tuple.empty()) throw std::invalid_argument("a forbidden tuple needs a level");
  forbidden_.push_back(tuple);
  narrow_root();
}

void RowSearch::narrow_root() {
  now_ = root_;
  now_.is_possible = root_.is_possible && propagate();
  root_ = now_;
}

bool RowSearch::restart() {
  now_ = root_;
  return root_.is_possible;
}

bool RowSearch::fix(std::span<const FactorLevel> tuple) {
  for (const auto& [factor, level] : tuple) now_.left[factor] &= bit_of(level);
  return propagate();
}

bool RowSearch::exclude(const FactorLevel& level) {
  now_.left.remove(level.factor, level.level);
  return propagate();
}

// A factor without levels leaves no combination of its rules. One without rules is looked at, too.
bool RowSearch::propagate() {
  for (;;) {
    const LevelSets before = now_.left;
    for (std::size_t i = 0; i < rules_.size(); ++i)
      if (!filter(*rules_[i], now_.rules[i])) return false;
    if (std::ranges::count(now_.left.of, 0) > 0) return false;
    if (now_.left != before) continue;
    for (const LevelTuple& tuple : forbidden_)
      if (!filter(tuple)) return false;
    if (now_.left == before) return true;
  }
}

bool RowSearch::filter(const RuleTable& rule, Seen& seen) {
  bool is_new = false;
  for (std::size_t i = 0; i < rule.factors_.size(); ++i) {
    const std::uint8_t left = now_.left[rule.factors_[i]];
    if (left == seen.levels[i]) continue;
    is_new = true;
    const auto gone = static_cast<std::uint8_t>(seen.levels[i] & ~left);
    const bool are_few = std::popcount(left) <= std::popcount(gone);
    std::erase_if(seen.words, [&](std::uint32_t word) {
      std::uint64_t having = 0;
      for_each_level(are_few ? left : gone, [&](int level) {
        having |= rule.having_[i][static_cast<std::size_t>(level)][word];
      });
      return (seen.combinations[word] &= are_few ? having : ~having) == 0;
    });
    seen.levels[i] = left;
  }
  if (!is_new) return true;
  for (std::size_t i = 0; i < rule.factors_.size(); ++i) {
    const std::uint8_t& left = now_.left[rule.factors_[i]];
    for_each_level(left, [&](int level) {
      const auto& having = rule.having_[i][static_cast<std::size_t>(level)];
      for (const std::uint32_t word : seen.words)
        if ((having[word] & seen.combinations[word]) != 0) return;
      now_.left.remove(rule.factors_[i], level);
    });
    seen.levels[i] = left;
    if (left == 0) return false;
  }
  return true;
}

// If all levels of a forbidden tuple but one are fixed, that one is excluded.
bool RowSearch::filter(const LevelTuple& forbidden) {
  const FactorLevel* open = nullptr;
  for (const FactorLevel& each : forbidden) {
    const std::uint8_t left = now_.left[each.factor];
    if (!now_.left.has(each.factor, each.level)) return true;
    if (is_single(left)) continue;
    if (open != nullptr) return true;
    open = &each;
  }
  if (open != nullptr) now_.left.remove(open->factor, open->level);
  return open != nullptr;
}

bool RowSearch::finish(const std::function<FactorLevel()>& choose, std::int64_t most_conflicts) {
  std::vector<std::pair<LevelSets, FactorLevel>> choices;
  while (!std::ranges::all_of(now_.left.of, is_single)) {
    choices.emplace_back(now_.left, choose());
    if (fix(std::span(&choices.back().second, 1))) continue;
    for (bool goes_on = false; !goes_on;) {
      if (choices.empty() || most_conflicts-- <= 0) return false;
      const auto [left, last] = choices.back();
      choices.pop_back();
      now_ = root_;
      now_.left = left;
      goes_on = exclude(last);
    }
  }
  return true;
}

// Chooses the factor with the fewest levels.
bool RowSearch::finish_exactly(std::uint64_t random) {
  const auto choose = [&] {
    std::size_t best = 0;
    int fewest = std::numeric_limits<int>::max();
    for (std::size_t f = 0; f < factor_count; ++f) {
      const int count = std::popcount(now_.left.of[f]);
      if (count < 2 || count >= fewest) continue;
      best = f;
      fewest = count;
    }
    const auto factor = static_cast<Factor>(best);
    return FactorLevel{factor, now_.left.pick(factor, harness::hash(random, best))};
  };
  return finish(choose, std::numeric_limits<std::int64_t>::max());
}

bool RowSearch::make(const std::function<FactorLevel()>& choose, std::uint64_t random) {
  return restart() && (finish(choose, few_conflicts) || (restart() && finish_exactly(random)));
}

Levels RowSearch::row() const {
  Levels row;
  for (std::size_t f = 0; f < factor_count; ++f) row.of[f] = std::countr_zero(now_.left.of[f]);
  return row;
}

// ---- drawn rows

namespace {

rc::Gen<DrawnRow> arbitrary_row(RowSearch& search) {
  return rc::gen::exec([&search] {
    const auto seed = *rc::gen::resize(rc::kNominalSize, rc::gen::arbitrary<std::uint64_t>());
    const auto choose = [&] {
      std::vector<Factor> open;
      std::vector<int> levels;
      for (std::size_t f = 0; f < factor_count; ++f)
        if (!is_single(search.left().of[f])) open.push_back(static_cast<Factor>(f));
      const Factor factor = *rc::gen::elementOf(open);
      for_each_level(search.left()[factor], [&](int level) { levels.push_back(level); });
      return FactorLevel{factor, *rc::gen::elementOf(levels)};
    };
    return search.make(choose, seed) ? DrawnRow{search.row(), seed} : DrawnRow{{}, seed};
  });
}

}  // namespace

// RapidCheck keeps static state, so one thread at a time draws, and what is drawn is judged later.
std::vector<DrawnRow> drawn_rows(const RowSearch& search, const std::string& name, int count,
                                 std::uint64_t seed) {
  static std::mutex alone;
  const std::lock_guard lock(alone);
  rc::detail::TestParams params;
  params.seed = seed;
  params.maxSuccess = count;
  params.disableShrinking = true;
  rc::detail::TestListenerAdapter silent;
  RowSearch row = search;
  std::vector<DrawnRow> drawn;
  // With all five arguments, RapidCheck prints nothing and reads no RC_PARAMS.
  rc::detail::checkTestable([&] { drawn.push_back(*arbitrary_row(row)); },
                            rc::detail::TestMetadata{name, name}, params, silent,
                            std::unordered_map<std::string, rc::detail::Reproduce>{});
  return drawn;
}

// ---- a covering array

Cover::Cover(const RowSearch& search, int strength, std::uint64_t seed, std::vector<Factor> factors)
    : search_(search), strength_(strength), factors_(std::move(factors)), seed_(seed) {
  lane_of_.fill(-1);
  if (factors_.empty())
    for (std::size_t f = 0; f < factor_count; ++f) factors_.push_back(static_cast<Factor>(f));
  std::ranges::sort(factors_);
  if (strength < 2 || strength > 4 || std::ssize(factors_) < strength ||
      std::ranges::adjacent_find(factors_) != factors_.end())
    throw std::invalid_argument(
        fmt::format("a strength of {} needs as many different factors", strength));
  if (!search_.restart() || !search_.finish_exactly(seed))
    throw std::invalid_argument("the rules allow no row");
  search_.restart();
  for (const Factor f : factors_)
    for_each_level(search_.left()[f], [&](int level) {
      lane_of_[index_of(f) * most_levels + static_cast<std::size_t>(level)] =
          static_cast<std::int32_t>(levels_.size());
      levels_.push_back({f, level});
    });
  std::size_t stems = 1;
  for (int i = 1; i < strength; ++i) stems *= levels_.size();
  wanted_.has.assign(stems * levels_.size(), 0);
  wanted_.count.assign(stems, 0);
  LevelTuple stem;
  fill(stem, 0);
}

// Puts all tuples into the set but those that the rules exclude at once.
void Cover::fill(LevelTuple& stem, std::size_t next) {
  if (!search_.restart() || !search_.fix(stem)) return;
  const LevelSets left = search_.left();
  for (std::size_t i = next; i < factors_.size(); ++i)
    for_each_level(left[factors_[i]], [&](int level) {
      stem.push_back({factors_[i], level});
      if (std::ssize(stem) < strength_) {
        fill(stem, i + 1);
      } else {
        Lanes lanes = lanes_of(stem);
        do {
          std::size_t at = 0;
          for (const std::size_t lane : lanes) at = at * levels_.size() + lane;
          wanted_.has[at] = 1;
          ++wanted_.count[at / levels_.size()];
        } while (std::ranges::next_permutation(lanes).found);
        ++wanted_.all;
      }
      stem.pop_back();
    });
}

Cover::Lanes Cover::lanes_of(const LevelTuple& tuple) const {
  Lanes lanes;
  for (const auto& [f, level] : tuple)
    if (const int found = lane_of(f, level); found >= 0)
      lanes.push_back(static_cast<std::size_t>(found));
  return lanes;
}

LevelTuple Cover::tuple_of(std::size_t stem, std::size_t lane) const {
  LevelTuple tuple{levels_[lane]};
  for (int i = 1; i < strength_; ++i, stem /= levels_.size())
    tuple.push_back(levels_[stem % levels_.size()]);
  return tuple;
}

// The lane that completes a stem to a tuple, after `skipped` others.
std::size_t Cover::completion(const Tuples& tuples, std::size_t stem, std::int32_t skipped) const {
  std::size_t lane = 0;
  for (;; ++lane)
    if (tuples.has[stem * levels_.size() + lane] != 0 && skipped-- == 0) return lane;
}

// Removes all tuples of these levels. Returns their number.
std::int64_t Cover::erase(Tuples& tuples, const LevelTuple& levels) const {
  const Lanes lanes = lanes_of(levels);
  std::int64_t orders = 1;
  for (int i = 2; i <= strength_; ++i) orders *= i;
  const std::int64_t erased = erase(tuples, lanes, 0, strength_ - 1) / orders;
  tuples.all -= erased;
  return erased;
}

// Each of them in each order.
std::int64_t Cover::erase(Tuples& tuples, const Lanes& lanes, std::size_t stem, int more) const {
  std::int64_t erased = 0;
  if (more > 0) {
    for (const std::size_t lane : lanes)
      erased += erase(tuples, lanes, stem * levels_.size() + lane, more - 1);
  } else if (tuples.count[stem] > 0) {
    for (const std::size_t lane : lanes)
      erased += std::exchange(tuples.has[stem * levels_.size() + lane], std::uint8_t{0});
    tuples.count[stem] -= static_cast<std::int32_t>(erased);
  }
  return erased;
}

// How many tuples lanes complete with the last fixed one and others that are fixed.
void Cover::add_counts(const Tuples& tuples, std::size_t stem, int more,
                       std::span<const std::size_t> others) {
  if (more == 0) {
    const std::uint8_t* has = &tuples.has[stem * levels_.size()];
    if (tuples.count[stem] > 0)
      for (std::size_t lane = 0; lane < counts_.size(); ++lane) counts_[lane] += has[lane];
    return;
  }
  for (std::size_t i = 0; i < others.size(); ++i)
    add_counts(tuples, stem * levels_.size() + others[i], more - 1, others.first(i));
}

// After a conflict, some levels that were counted are fixed no longer.
void Cover::count_fixed(const Tuples& tuples) {
  const LevelSets& left = search_.left();
  const bool goes_on = std::ranges::all_of(counted_, [&](std::size_t lane) {
    return left[levels_[lane].factor] == bit_of(levels_[lane].level);
  });
  if (!goes_on || counts_.empty()) {
    counted_.clear();
    counted_of_ = {};
    counts_.assign(levels_.size(), 0);
  }
  for (const Factor f : factors_) {
    if (!is_single(left[f]) || counted_of_[f] != 0) continue;
    counted_of_[f] = 1;
    const int lane = lane_of(f, std::countr_zero(left[f]));
    add_counts(tuples, static_cast<std::size_t>(lane), strength_ - 2, counted_);
    counted_.push_back(static_cast<std::size_t>(lane));
  }
}

// Completes the row, always by a level that meets most. False after too many conflicts, which
// proves nothing.
bool Cover::complete(const Tuples& tuples, std::uint64_t random) {
  counts_.clear();
  const auto choose = [&] {
    count_fixed(tuples);
    std::vector<FactorLevel> best;
    std::int64_t most = -1;
    for (std::size_t f = 0; f < factor_count; ++f) {
      if (is_single(search_.left().of[f])) continue;
      for_each_level(search_.left().of[f], [&](int level) {
        const int lane = lane_of(static_cast<Factor>(f), level);
        const std::int64_t met = lane < 0 ? 0 : counts_[static_cast<std::size_t>(lane)];
        if (met < most) return;
        if (met > most) best.clear();
        most = met;
        best.push_back({static_cast<Factor>(f), level});
      });
    }
    return best[harness::hash(random, counted_.size()) % best.size()];
  };
  return search_.finish(choose, few_conflicts);
}

// Completes a row with this tuple, if there is one.
bool Cover::reach(const Tuples& tuples, const LevelTuple& tuple, std::uint64_t random) {
  if (!search_.restart() || !search_.fix(tuple)) return false;
  if (complete(tuples, random)) return true;
  return search_.restart() && search_.fix(tuple) && search_.finish_exactly(random);
}

std::uint64_t Cover::random() {
  return harness::hash(seed_, ++draws_);
}

std::optional<Levels> Cover::next() {
  std::vector<std::size_t> stems;
  for (std::size_t stem = 0; stem < wanted_.count.size(); ++stem)
    if (wanted_.count[stem] > 0) stems.push_back(stem);
  std::optional<Levels> best;
  std::int64_t best_gain = 0;
  for (int i = 0; i < most_candidates && wanted_.all > 0; ++i) {
    const std::size_t stem = stems[random() % stems.size()];
    if (wanted_.count[stem] == 0) continue;
    const auto skipped = random() % static_cast<std::uint64_t>(wanted_.count[stem]);
    const LevelTuple tuple =
        tuple_of(stem, completion(wanted_, stem, static_cast<std::int32_t>(skipped)));
    if (!search_.restart() || !search_.fix(tuple)) {
      erase(wanted_, tuple);
      continue;
    }
    if (!complete(wanted_, random())) continue;
    count_fixed(wanted_);
    std::int64_t gain = 0;
    for (const std::size_t lane : counted_) gain += counts_[lane];
    if (gain <= best_gain) continue;
    best_gain = gain;
    best = search_.row();
  }
  if (best) return best;
  settle();
  const auto stem = std::ranges::find_if(wanted_.count, [](auto count) { return count > 0; });
  if (stem == wanted_.count.end()) return {};
  const auto at = static_cast<std::size_t>(stem - wanted_.count.begin());
  reach(wanted_, tuple_of(at, completion(wanted_, at, 0)), random());
  return search_.row();
}

// Removes the impossible tuples. Each row that is found proves all its tuples possible.
void Cover::settle() {
  if (is_settled_) return;
  is_settled_ = true;
  Tuples unproven = wanted_;
  for (std::size_t stem = 0; stem < unproven.count.size(); ++stem)
    while (unproven.count[stem] > 0) {
      const LevelTuple tuple = tuple_of(stem, completion(unproven, stem, 0));
      if (reach(unproven, tuple, harness::hash(seed_, stem))) {
        erase(unproven, levels_of(search_.row()));
      } else {
        erase(unproven, tuple);
        erase(wanted_, tuple);
      }
    }
}

// Of a row that the rules exclude, only the possible tuples count.
void Cover::took(const Levels& row) {
  const LevelTuple levels = levels_of(row);
  if (!search_.restart() || !search_.fix(levels)) settle();
  met_ += erase(wanted_, levels);
}

Coverage Cover::coverage() {
  settle();
  return {met_ + wanted_.all, met_};
}

std::vector<LevelTuple> Cover::missing() {
  settle();
  std::vector<LevelTuple> all;
  for (std::size_t at = 0; at < wanted_.has.size(); ++at) {
    if (wanted_.has[at] == 0) continue;
    LevelTuple tuple = tuple_of(at / levels_.size(), at % levels_.size());
    if (std::ranges::is_sorted(tuple)) all.push_back(std::move(tuple));
  }
  std::ranges::sort(all);
  return all;
}

std::string words_of(const std::vector<ArrayCoverage>& coverage) {
  std::string out;
  for (const ArrayCoverage& each : coverage)
    out += fmt::format("{}{} % of {}-way", out.empty() ? "covered " : ", ", percent(each.count),
                       each.strength);
  return out.empty() ? out : out + " interactions of what the kernel offers";
}

}  // namespace ropewalk::properties
