// Covering arrays with constraints and mixed strength: rows of levels such that all t levels of t
// factors that a row can have together are together in a row.
//
// Rows are made one at a time, as in AETG (Cohen, Dalal, Fredman, Patton, IEEE TSE 23, 1997) and
// PICT (Czerwonka, PNSQC 2006). So a caller can try each row, say what it learned, and go on. A row
// is the best of some candidates. A candidate begins with a tuple that no row has yet, then takes
// the level that meets the most such tuples, again and again.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace ropewalk::properties {

/// The level of each factor.
using Row = std::vector<std::uint8_t>;

/// A level of one factor.
struct FactorLevel {
  int factor = 0, level = 0;
  auto operator<=>(const FactorLevel&) const = default;  // NOLINT: clang-tidy 14 sees a null
};

/// Levels of different factors.
using LevelTuple = std::vector<FactorLevel>;

/// A predicate over the levels of a few factors, in the order of `factors`. It is called only for
/// the tuples that matter, and its answers are kept. The product of (levels + 1) over its factors
/// is at most 2^24.
struct Constraint {
  std::vector<int> factors;
  std::function<bool(std::span<const int> levels)> allows;
};

/// The factors, and the rows that are allowed.
struct CoveringModel {
  std::vector<int> levels;  ///< the number of levels of each factor, 1 to 64
  std::vector<Constraint> constraints;
};

/// Asks for all tuples of t levels, of t different factors among `factors`.
struct Strength {
  int t = 2;
  std::vector<int> factors;  ///< empty: all
};

/// Tuples that a row can have, and those of them that a row has.
struct Coverage {
  std::int64_t possible = 0, met = 0;
};

/// The coverage of the interactions of `strength` levels.
struct ArrayCoverage {
  int strength = 2;
  Coverage count;  ///< those that the kernel offers, and those that a case met
};

/// Makes rows until every possible tuple is met. The same calls in the same order give the same
/// rows on every machine. Throws std::invalid_argument for a malformed argument.
class Cover {
 public:
  /// Also throws std::invalid_argument if the constraints allow no row.
  Cover(const CoveringModel& model, const std::vector<Strength>& strengths, std::uint64_t seed);
  ~Cover();
  Cover(Cover&&) noexcept;
  Cover& operator=(Cover&&) noexcept;

  /// Returns a row that satisfies all constraints and meets a tuple that no taken row has. Returns
  /// nothing if no possible tuple is left. The row counts only after took().
  std::optional<Row> next();
  /// Counts the tuples of a row as met. It need not come from next().
  void took(const Row& row);
  /// Adds a constraint: no row has all these levels. The levels of a whole row forbid only that
  /// row.
  void forbid(const LevelTuple& tuple);

  /// The sum over all strengths. This decides which of the tuples that are not met are possible.
  Coverage coverage();
  /// The possible tuples that are not met, sorted.
  std::vector<LevelTuple> missing();

 private:
  class State;
  std::unique_ptr<State> state_;
};

/// "covered 100 % of 2-way, 98.1 % of 3-way interactions of what the kernel offers"
std::string words_of(const std::vector<ArrayCoverage>& coverage);

}  // namespace ropewalk::properties
