#include "properties/covering/partial_row.h"

#include <array>
#include <bit>
#include <limits>
#include <stdexcept>
#include <string>

#include "harness/cases/data.h"

namespace ropewalk::properties {
namespace {

constexpr std::size_t entries_max = std::size_t{1} << 24;
constexpr std::size_t arity_max = 24;  // each factor at least doubles the entries
constexpr std::uint8_t unknown = 0, yes = 1, no = 2;

std::size_t size(int value) {
  return static_cast<std::size_t>(value);
}

}  // namespace

Lanes::Lanes(const std::vector<int>& levels) {
  int next = 0;
  for (const int count : levels) {
    if (count < 1 || count > 64)
      throw std::invalid_argument("a factor has " + std::to_string(count) + " levels, not 1 to 64");
    if (next + count > static_cast<int>(words) * 64) {
      next = static_cast<int>(words++) * 64;
      factor.resize(words * 64, -1);
    }
    std::fill_n(factor.begin() + next, count, static_cast<int>(first.size()));
    first.push_back(next);
    masks.push_back((~std::uint64_t{0} >> (64 - count)) << (next % 64));
    next += count;
  }
}

std::vector<int> Lanes::of(const LevelTuple& tuple) const {
  std::vector<int> lanes;
  for (const auto& [f, level] : tuple) {
    if (f < 0 || size(f) >= first.size() || level < 0 || level >= std::popcount(masks[size(f)]))
      throw std::invalid_argument("the model has no level " + std::to_string(level) +
                                  " of a factor " + std::to_string(f));
    lanes.push_back(first[size(f)] + level);
  }
  std::ranges::sort(lanes);
  lanes.erase(std::unique(lanes.begin(), lanes.end()), lanes.end());
  return lanes;
}

std::vector<int> Lanes::of(const Row& row) const {
  if (row.size() != first.size())
    throw std::invalid_argument("a row has " + std::to_string(row.size()) + " levels, the model " +
                                std::to_string(first.size()) + " factors");
  LevelTuple tuple;
  for (const std::uint8_t level : row) tuple.push_back({static_cast<int>(tuple.size()), level});
  return of(tuple);
}

int lane_count(std::span<const std::uint64_t> set) {
  int count = 0;
  for (const std::uint64_t word : set) count += std::popcount(word);
  return count;
}

int lane_at(std::span<const std::uint64_t> set, int skipped) {
  std::size_t word = 0;
  for (; skipped >= std::popcount(set[word]); ++word) skipped -= std::popcount(set[word]);
  std::uint64_t bits = set[word];
  for (; skipped > 0; --skipped) bits &= bits - 1;
  return static_cast<int>(word) * 64 + std::countr_zero(bits);
}

PartialRow::PartialRow(const CoveringModel& model)
    : lanes_(model.levels), uses_(model.levels.size()), forbidden_with_(lanes_.factor.size()) {
  for (const Constraint& constraint : model.constraints) add_table(constraint);
  conflicts_.assign(tables_.size(), 1);
  is_narrowed_.assign(tables_.size(), false);
  state_.assign(2 * lanes_.words + tables_.size(), 0);
  for (std::size_t f = 0; f < lanes_.first.size(); ++f) {
    state_[word_with(lanes_.first[f])] |= lanes_.masks[f];
    state_[lanes_.words + word_with(lanes_.first[f])] |= lanes_.masks[f];
    if (std::has_single_bit(lanes_.masks[f])) pending_.push_back(lanes_.first[f]);
  }
  for (std::size_t c = 0; c < tables_.size(); ++c) index_of(c) = tables_[c].answers.size() - 1;
  for (std::size_t c = 0; root_allowed_ && c < tables_.size(); ++c)
    root_allowed_ = extends(tables_[c], index_of(c)) && filter(c, false);
  root_allowed_ = root_allowed_ && propagate();
  root_state_ = state_;
  root_fixed_ = fixed_;
}

void PartialRow::add_table(const Constraint& constraint) {
  Table table;
  table.allows = constraint.allows;
  std::size_t entries = 1;
  for (const int factor : constraint.factors) {
    if (factor < 0 || size(factor) >= lanes_.first.size() ||
        std::ranges::count(constraint.factors, factor) > 1)
      throw std::invalid_argument("a constraint needs different factors of the model, not " +
                                  std::to_string(factor));
    uses_[size(factor)].push_back({tables_.size(), table.factors.size()});
    table.factors.push_back(size(factor));
    table.levels.push_back(std::popcount(lanes_.masks[size(factor)]));
    table.strides.push_back(entries);
    entries *= size(table.levels.back() + 1);
    if (entries > entries_max)
      throw std::invalid_argument("a constraint over " + std::to_string(constraint.factors.size()) +
                                  " factors is too wide for a table");
  }
  table.answers.assign(entries, unknown);
  tables_.push_back(std::move(table));
}

void PartialRow::forbid(const std::vector<int>& tuple) {
  for (const int lane : tuple) forbidden_with_[size(lane)].push_back(forbidden_.size());
  forbidden_.push_back(tuple);
  root_allowed_ = restart() && filter_forbidden(forbidden_.size() - 1) && propagate();
  root_state_ = state_;
  root_fixed_ = fixed_;
}

bool PartialRow::restart() {
  state_ = root_state_;
  fixed_ = root_fixed_;
  clear_work();
  choices_.clear();
  stack_.clear();
  return root_allowed_;
}

bool PartialRow::extends(Table& table, std::size_t index) {
  const std::uint8_t known = table.answers[index];
  return known == unknown ? answer(table, index) : known == yes;
}

bool PartialRow::answer(Table& table, std::size_t index) {
  std::array<int, arity_max> levels{};
  const std::size_t arity = table.levels.size();
  std::size_t open = arity;
  for (std::size_t d = 0; d < arity; ++d) {
    levels[d] = static_cast<int>(index / table.strides[d] % size(table.levels[d] + 1));
    if (levels[d] == table.levels[d]) open = d;
  }
  bool found = false;
  if (open == arity) {
    found = table.allows(std::span(levels.data(), arity));
  } else {
    for (int level = table.levels[open]; !found && level > 0; --level)
      found = extends(table, index - table.strides[open] * size(level));
  }
  table.answers[index] = found ? yes : no;
  return found;
}

// Leaves only these lanes to a factor.
bool PartialRow::keep(std::size_t factor, std::uint64_t left) {
  const std::size_t word = word_with(lanes_.first[factor]);
  state_[word] = (state_[word] & ~lanes_.masks[factor]) | left;
  if (std::has_single_bit(left))
    pending_.push_back(static_cast<int>(word) * 64 + std::countr_zero(left));
  for (const Use& use : uses_[factor]) {
    if (!is_narrowed_[use.table]) narrowed_.push_back(use.table);
    is_narrowed_[use.table] = true;
  }
  return left != 0;
}

// Whether an allowed tuple agrees with the index and with a live level of the digit's factor.
bool PartialRow::supports(Table& table, std::size_t index, std::size_t digit) {
  if (!extends(table, index)) return false;
  const std::size_t factor = table.factors[digit];
  const std::size_t base = index - table.strides[digit] * size(table.levels[digit]);
  for (std::uint64_t bits = live(factor); bits != 0; bits &= bits - 1) {
    const int level = std::countr_zero(bits) - lanes_.first[factor] % 64;
    if (extends(table, base + table.strides[digit] * size(level))) return true;
  }
  return false;
}

// Removes the levels that the constraint excludes after what is fixed. If two factors are free, the
// levels of each must fit the live levels of the other: only that can change when levels go.
bool PartialRow::filter(std::size_t c, bool after_narrowing) {
  Table& table = tables_[c];
  std::array<std::uint8_t, arity_max> free{};
  std::size_t free_count = 0;
  for (std::size_t d = 0; d < table.factors.size(); ++d)
    if (is_free(table.factors[d])) free[free_count++] = static_cast<std::uint8_t>(d);
  if (after_narrowing && free_count != 2) return true;
  for (std::size_t i = 0; i < free_count; ++i) {
    const std::size_t d = free[i], factor = table.factors[d];
    const std::size_t base = index_of(c) - table.strides[d] * size(table.levels[d]);
    const std::uint64_t before = live(factor);
    std::uint64_t left = before;
    for (std::uint64_t bits = before; bits != 0; bits &= bits - 1) {
      const int level = std::countr_zero(bits) - lanes_.first[factor] % 64;
      const std::size_t index = base + table.strides[d] * size(level);
      if (free_count == 2 ? !supports(table, index, free[1 - i]) : !extends(table, index))
        left &= ~(bits & (~bits + 1));
    }
    if (left != before && !keep(factor, left)) return false;
  }
  return true;
}

// If all lanes of a forbidden tuple but one are fixed, that one is excluded.
bool PartialRow::filter_forbidden(std::size_t id) {
  int open = -1;
  for (const int lane : forbidden_[id]) {
    if (!is_live(lane)) return true;
    if (!is_free(lanes_.factor_of(lane))) continue;
    if (open >= 0) return true;
    open = lane;
  }
  return open >= 0 && keep(lanes_.factor_of(open), live(lanes_.factor_of(open)) & ~bit_of(open));
}

// Fixes a lane and filters what depends on it.
bool PartialRow::settle(int lane) {
  const std::size_t factor = lanes_.factor_of(lane);
  if (!is_live(lane)) return false;
  if (!is_free(factor)) return true;
  state_[word_with(lane)] &= ~lanes_.masks[factor] | bit_of(lane);
  state_[lanes_.words + word_with(lane)] &= ~lanes_.masks[factor];
  fixed_.push_back(lane);
  for (const Use& use : uses_[factor]) {
    Table& table = tables_[use.table];
    index_of(use.table) -=
        table.strides[use.digit] * size(table.levels[use.digit] - lanes_.level_of(lane));
    if (extends(table, index_of(use.table)) && filter(use.table, false)) continue;
    ++conflicts_[use.table];
    return false;
  }
  return std::all_of(forbidden_with_[size(lane)].begin(), forbidden_with_[size(lane)].end(),
                     [&](std::size_t id) { return filter_forbidden(id); });
}

bool PartialRow::propagate() {
  for (;;) {
    if (!pending_.empty()) {
      const int lane = pending_.back();
      pending_.pop_back();
      if (!settle(lane)) return false;
    } else if (!narrowed_.empty()) {
      const std::size_t c = narrowed_.back();
      narrowed_.pop_back();
      is_narrowed_[c] = false;
      if (filter(c, true)) continue;
      ++conflicts_[c];
      return false;
    } else {
      return true;
    }
  }
}

// Drops the work that a conflict left behind.
void PartialRow::clear_work() {
  pending_.clear();
  for (const std::size_t c : narrowed_) is_narrowed_[c] = false;
  narrowed_.clear();
}

bool PartialRow::fix(int lane) {
  clear_work();
  pending_.push_back(lane);
  return propagate();
}

bool PartialRow::fix(std::span<const int> lanes) {
  return std::ranges::all_of(lanes, [&](int lane) { return fix(lane); });
}

bool PartialRow::exclude(int lane) {
  clear_work();
  const std::size_t factor = lanes_.factor_of(lane);
  return keep(factor, live(factor) & ~bit_of(lane)) && propagate();
}

void PartialRow::push(int lane) {
  stack_.insert(stack_.end(), state_.begin(), state_.end());
  choices_.push_back({lane, fixed_.size()});
}

int PartialRow::pop() {
  const Choice last = choices_.back();
  choices_.pop_back();
  const std::size_t left = stack_.size() - state_.size();
  std::copy(stack_.begin() + static_cast<std::ptrdiff_t>(left), stack_.end(), state_.begin());
  stack_.resize(left);
  fixed_.resize(last.fixed);
  return last.lane;
}

bool PartialRow::back_up(std::size_t bottom, std::int64_t& conflicts_left) {
  do {
    if (choices_.size() == bottom || conflicts_left-- <= 0) return false;
  } while (!exclude(pop()));
  return true;
}

// Chooses the factor with the fewest levels for the conflicts of its constraints (dom/wdeg:
// Boussemart, Hemery, Lecoutre, Sais, ECAI 2004).
bool PartialRow::finish_exactly(std::uint64_t random) {
  const auto choose = [&] {
    std::size_t best = 0;
    std::uint64_t best_levels = 0, best_conflicts = 0;
    for (std::size_t f = 0; f < lanes_.first.size(); ++f) {
      if (!is_free(f)) continue;
      const auto levels = static_cast<std::uint64_t>(std::popcount(live(f)));
      std::uint64_t conflicts = 1;
      for (const Use& use : uses_[f]) conflicts += conflicts_[use.table];
      if (best_levels != 0 && levels * best_conflicts >= best_levels * conflicts) continue;
      best = f;
      best_levels = levels;
      best_conflicts = conflicts;
    }
    const std::uint64_t lanes = live(best);
    const std::uint64_t count = std::max(best_levels, std::uint64_t{1});
    const auto skipped = static_cast<int>(harness::hash(random, fixed_.size()) % count);
    return lanes_.first[best] / 64 * 64 + lane_at(std::span(&lanes, 1), skipped);
  };
  return finish(choose, std::numeric_limits<std::int64_t>::max());
}

Row PartialRow::row() const {
  Row row(lanes_.first.size());
  for (const int lane : fixed_)
    row[lanes_.factor_of(lane)] = static_cast<std::uint8_t>(lanes_.level_of(lane));
  return row;
}

}  // namespace ropewalk::properties
