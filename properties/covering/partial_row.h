// A row of a covering array while its levels are chosen. After each choice, the constraints remove
// levels that cannot follow: those that no allowed tuple has (forward checking), and those that do
// not fit the last other factor (arc consistency). Backtracking decides whether a row exists.
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "properties/covering/covering.h"

namespace ropewalk::properties {

/// A lane is a bit for one level of one factor, in words of 64. The lanes of a factor are
/// consecutive, in one word.
struct Lanes {
  explicit Lanes(const std::vector<int>& levels);

  std::size_t words = 0;
  std::vector<int> first;            ///< by factor: the lane of its level 0
  std::vector<std::uint64_t> masks;  ///< by factor: its lanes within their word
  std::vector<int> factor;           ///< by lane: its factor, or -1

  std::size_t factor_of(int lane) const {
    return static_cast<std::size_t>(factor[static_cast<std::size_t>(lane)]);
  }
  int level_of(int lane) const { return lane - first[factor_of(lane)]; }
  /// The lanes of a row, ascending. Throws std::invalid_argument if the model has no such row.
  std::vector<int> of(const Row& row) const;
  /// The same for some of the factors.
  std::vector<int> of(const LevelTuple& tuple) const;
};

constexpr std::size_t word_with(int lane) {
  return static_cast<std::size_t>(lane) / 64;
}
constexpr std::uint64_t bit_of(int lane) {
  return std::uint64_t{1} << (static_cast<unsigned>(lane) % 64);
}

/// The number of lanes in a set.
int lane_count(std::span<const std::uint64_t> set);
/// The lane of a set that has `skipped` lower ones.
int lane_at(std::span<const std::uint64_t> set, int skipped);

/// Some levels of a row, and for each other factor the levels that it can still have.
class PartialRow {
 public:
  explicit PartialRow(const CoveringModel& model);

  const Lanes& lanes() const { return lanes_; }
  /// Adds a constraint: no row has all these lanes. Restarts the row.
  void forbid(const std::vector<int>& tuple);

  /// Goes back to the row in which nothing is chosen. Returns false if it is known that the
  /// constraints allow no row.
  bool restart();
  /// Chooses a lane, and what follows from it. Returns false if a constraint is violated; then the
  /// row is of no use until restart().
  bool fix(int lane);
  /// The same for several lanes.
  bool fix(std::span<const int> lanes);
  /// The lanes that were chosen or that followed, in this order.
  std::span<const int> fixed() const { return fixed_; }
  bool complete() const { return fixed_.size() == lanes_.first.size(); }
  /// Whether the lane is fixed or can be chosen.
  bool is_live(int lane) const { return (state_[word_with(lane)] & bit_of(lane)) != 0; }
  /// The lanes of a word that can be chosen.
  std::uint64_t open(std::size_t word) const { return state_[word] & state_[lanes_.words + word]; }

  /// Completes the row with the open lanes that choose() returns. After a conflict, the last choice
  /// is undone and excluded. Returns false if there is no row, or after too many conflicts.
  template <class Choose>
  bool finish(const Choose& choose, std::int64_t conflicts_max);
  /// Completes the row if that is possible at all. `random` decides which row results.
  bool finish_exactly(std::uint64_t random);

  Row row() const;

 private:
  /// A constraint with the answers known so far.
  struct Table {
    std::vector<std::size_t> factors;
    std::vector<int> levels;
    std::vector<std::size_t> strides;
    std::function<bool(std::span<const int>)> allows;
    /// By a number with a digit for each factor. A digit is a level, or the number of levels while
    /// none is chosen. The answer is whether an allowed tuple agrees with the chosen levels.
    std::vector<std::uint8_t> answers;
  };
  struct Use {
    std::size_t table = 0, digit = 0;
  };
  struct Choice {
    int lane = 0;
    std::size_t fixed = 0;  ///< before the choice
  };

  void add_table(const Constraint& constraint);
  bool extends(Table& table, std::size_t index);
  bool answer(Table& table, std::size_t index);
  std::uint64_t live(std::size_t factor) const {
    return state_[word_with(lanes_.first[factor])] & lanes_.masks[factor];
  }
  bool is_free(std::size_t factor) const {
    return (state_[lanes_.words + word_with(lanes_.first[factor])] & lanes_.masks[factor]) != 0;
  }
  std::uint64_t& index_of(std::size_t table) { return state_[2 * lanes_.words + table]; }
  bool keep(std::size_t factor, std::uint64_t left);
  bool supports(Table& table, std::size_t index, std::size_t digit);
  bool filter(std::size_t table, bool after_narrowing);
  bool filter_forbidden(std::size_t id);
  bool settle(int lane);
  bool propagate();
  void clear_work();
  bool exclude(int lane);
  void push(int lane);
  int pop();
  bool back_up(std::size_t bottom, std::int64_t& conflicts_left);

  Lanes lanes_;
  std::vector<Table> tables_;
  std::vector<std::vector<Use>> uses_;    ///< by factor
  std::vector<std::uint64_t> conflicts_;  ///< by table: 1 + the conflicts that it found
  std::vector<std::vector<int>> forbidden_;
  std::vector<std::vector<std::size_t>> forbidden_with_;  ///< by lane
  /// The live lanes, the lanes of factors that are not fixed, and an index into each table.
  std::vector<std::uint64_t> state_, root_state_, stack_;
  std::vector<int> fixed_, root_fixed_;
  std::vector<int> pending_;           ///< lanes to fix
  std::vector<std::size_t> narrowed_;  ///< tables to filter, as a factor has lost levels
  std::vector<bool> is_narrowed_;
  std::vector<Choice> choices_;
  bool root_allowed_ = true;
};

template <class Choose>
bool PartialRow::finish(const Choose& choose, std::int64_t conflicts_max) {
  const std::size_t bottom = choices_.size();
  bool found = true;
  while (found && !complete()) {
    const int lane = choose();
    push(lane);
    if (!fix(lane)) found = back_up(bottom, conflicts_max);
  }
  stack_.resize(stack_.size() - state_.size() * (choices_.size() - bottom));
  choices_.resize(bottom);
  return found;
}

}  // namespace ropewalk::properties
