// Candidates for the next row of a covering array: complete rows that meet many tuples of some
// sets.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "properties/covering/partial_row.h"
#include "properties/covering/tuple_set.h"

namespace ropewalk::properties {

/// Completes rows so that they meet many tuples of the sets.
class Candidates {
 public:
  /// Both must outlive this.
  Candidates(PartialRow& row, std::span<const TupleSet> sets);

  /// Completes the row, always by a lane that meets most by its weight. Returns false after too
  /// many conflicts, which proves nothing.
  bool complete(std::uint64_t random);
  /// What the row meets, by weight, after complete().
  std::int64_t gain();

 private:
  void count_fixed();
  void count(int lane, std::int64_t sign);
  std::int64_t weighted(int lane) const;

  PartialRow& row_;
  std::span<const TupleSet> sets_;
  std::vector<std::int64_t> counts_;  ///< by lane: the tuples that it would complete, by weight
  std::vector<int> counted_;          ///< lanes, in the order of row_.fixed()
  std::vector<std::vector<int>> positions_;  ///< by set: those of the counted lanes, ascending
  std::vector<int> best_;                    ///< open lanes that meet most
};

}  // namespace ropewalk::properties
