// Rows of levels: those of a covering array, in which all t levels of t factors that a row can have
// together are together in a row, and those of drawn cases.
//
// Rows are made one at a time, as in AETG (Cohen, Dalal, Fredman, Patton, IEEE TSE 23, 1997). So a
// caller can try each row, say what it learned, and go on. docs/decisions/0072 says why no existing
// generator does.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "properties/array/factors.h"

namespace ropewalk::properties {

/// What levels of a few factors require of each other. `holds` reads the named factors alone.
struct Rule {
  std::vector<Factor> factors;
  std::function<bool(const Levels&)> holds;
};

/// The combinations of levels that a rule allows. Throws std::invalid_argument if there would be
/// more than 2^18.
class RuleTable {
 public:
  RuleTable(const Rule& rule, const LevelSets& levels);

 private:
  friend class RowSearch;
  std::vector<Factor> factors_;
  std::size_t combinations_ = 0;
  /// By factor and level: a bit for each combination that has the level.
  std::vector<std::array<std::vector<std::uint64_t>, most_levels>> having_;
};
using RuleTables = std::vector<std::shared_ptr<const RuleTable>>;

/// A row while its levels are chosen. After each choice, levels go that no allowed combination of a
/// rule has any more (Demeulenaere and others, "Compact-Table", CP 2016). Going back over choices
/// decides whether there is a row.
class RowSearch {
 public:
  RowSearch(const LevelSets& levels, const RuleTables& rules);
  /// Another rule.
  void require(std::shared_ptr<const RuleTable> rule);
  void require(const Rule& rule) { require(std::make_shared<const RuleTable>(rule, root_.left)); }
  /// Leaves these levels alone.
  void restrict_to(const LevelSets& levels);
  /// No row has all these levels. Throws std::invalid_argument for an empty tuple.
  void forbid(const LevelTuple& tuple);

  /// Goes back to the row in which nothing is chosen. False: there is none.
  bool restart();
  /// Chooses levels, and what follows from them. False: no row has them; then call restart().
  bool fix(std::span<const FactorLevel> tuple);
  /// The levels that each factor can still have.
  const LevelSets& left() const { return now_.left; }
  /// Completes the row with levels that choose() returns, of those that are left to factors with
  /// several. After a conflict, the last choice is undone and excluded. False: there is no row, or
  /// there were too many conflicts.
  bool finish(const std::function<FactorLevel()>& choose, std::int64_t most_conflicts);
  /// Completes the row if that is possible at all. `random` decides which row results.
  bool finish_exactly(std::uint64_t random);
  /// Begins anew and finishes; choices that lead to conflict after conflict give way to any row.
  /// False: there is no row.
  bool make(const std::function<FactorLevel()>& choose, std::uint64_t random);
  /// The complete row.
  Levels row() const;

 private:
  struct Seen {
    std::vector<std::uint64_t> combinations;  ///< of a rule: a bit for each that is left
    std::vector<std::uint32_t> words;         ///< those of `combinations` that are not 0
    std::vector<std::uint8_t> levels;         ///< by its factors: those that are in them
  };
  struct State {
    LevelSets left;
    std::vector<Seen> rules;
    bool is_possible = true;
  };
  void add(std::shared_ptr<const RuleTable> rule);
  void narrow_root();
  bool propagate();
  bool filter(const RuleTable& rule, Seen& seen);
  bool filter(const LevelTuple& forbidden);
  bool exclude(const FactorLevel& level);

  RuleTables rules_;
  std::vector<LevelTuple> forbidden_;
  State root_, now_;
};

/// A row, and a seed for what its levels leave open.
struct DrawnRow {
  Levels levels;
  std::uint64_t seed = 0;
};
/// The rows of `count` cases, which RapidCheck draws: a factor, and a level of those that are left
/// to it, again and again.
std::vector<DrawnRow> drawn_rows(const RowSearch& search, const std::string& name, int count,
                                 std::uint64_t seed);

/// Tuples that a row can have, and those of them that a row has.
struct Coverage {
  std::int64_t possible = 0, met = 0;
};

/// The coverage of the interactions of `strength` levels.
struct ArrayCoverage {
  int strength = 2;
  Coverage count;  ///< those that the kernel offers, and those that a case met
};

/// "covered 100 % of 2-way, 98.1 % of 3-way interactions of what the kernel offers"
std::string words_of(const std::vector<ArrayCoverage>& coverage);

/// Makes rows until every possible tuple is met. The same calls in the same order give the same
/// rows on every machine.
class Cover {
 public:
  /// Asks for all tuples of `strength` levels, 2 to 4, of these factors; empty: of all. Throws
  /// std::invalid_argument for another strength, for fewer factors, and if there is no row.
  Cover(const RowSearch& search, int strength, std::uint64_t seed,
        std::vector<Factor> factors = {});

  /// Returns a row that meets a tuple that no taken row has. Returns nothing if no possible tuple
  /// is left. The row counts only after took().
  std::optional<Levels> next();
  /// Counts the tuples of a row as met. It need not come from next().
  void took(const Levels& row);
  /// No row has all these levels from now on. What was met stays met.
  void forbid(const LevelTuple& tuple) {
    search_.forbid(tuple);
    is_settled_ = false;
  }

  /// Decides by an exact search which of the tuples that are not met are possible.
  Coverage coverage();
  /// The possible tuples that are not met, sorted.
  std::vector<LevelTuple> missing();

 private:
  // Tuples of lanes. A lane is a level of one of the factors. Each order of a tuple has a byte, so
  // that the lanes that complete a stem, t - 1 lanes, lie side by side.
  struct Tuples {
    std::vector<std::uint8_t> has;    ///< by stem and last lane
    std::vector<std::int32_t> count;  ///< by stem
    std::int64_t all = 0;
  };
  using Lanes = std::vector<std::size_t>;

  int lane_of(Factor f, int level) const {
    return lane_of_[index_of(f) * most_levels + static_cast<std::size_t>(level)];
  }
  Lanes lanes_of(const LevelTuple& levels) const;
  LevelTuple tuple_of(std::size_t stem, std::size_t lane) const;
  std::size_t completion(const Tuples& tuples, std::size_t stem, std::int32_t skipped) const;
  void fill(LevelTuple& stem, std::size_t next);
  std::int64_t erase(Tuples& tuples, const LevelTuple& levels) const;
  std::int64_t erase(Tuples& tuples, const Lanes& lanes, std::size_t stem, int more) const;
  void add_counts(const Tuples& tuples, std::size_t stem, int more, std::span<const std::size_t>);
  void count_fixed(const Tuples& tuples);
  bool complete(const Tuples& tuples, std::uint64_t random);
  bool reach(const Tuples& tuples, const LevelTuple& tuple, std::uint64_t random);
  void settle();
  std::uint64_t random();

  RowSearch search_;
  int strength_;
  std::vector<Factor> factors_;
  std::vector<FactorLevel> levels_;                        ///< by lane
  std::array<int, factor_count * most_levels> lane_of_{};  ///< -1: none
  Tuples wanted_;  ///< not met, and not known to be impossible
  std::uint64_t seed_, draws_ = 0;
  std::int64_t met_ = 0;
  bool is_settled_ = false;  ///< all wanted tuples are possible
  // While a row is completed: the lanes that are fixed, and by lane how many tuples it completes.
  Lanes counted_;
  LevelSets counted_of_;
  std::vector<std::uint32_t> counts_;
};

}  // namespace ropewalk::properties
