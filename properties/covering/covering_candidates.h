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

  /// Completes the row: takes the preferred lanes that stay open, then always a lane that meets
  /// most by its weight. Returns false after too many conflicts, which proves nothing.
  bool complete(std::span<const int> preferred, std::uint64_t random);
  /// What the row meets, by weight, after complete().
  std::int64_t gain();

 private:
  void count_fixed();
  void add(int lane);
  void remove_last();

  PartialRow& row_;
  std::span<const TupleSet> sets_;
  LaneCounts counts_;
  std::vector<int> counted_;                 ///< lanes, in the order of row_.fixed()
  std::vector<std::vector<int>> positions_;  ///< by set: those of the counted lanes, ascending
  std::vector<std::uint64_t> open_;
};

/// An orthogonal array (Bush, Ann. Math. Stat. 23, 1952): q^t rows that meet each t levels of t of
/// its columns once. A row is a polynomial of degree t - 1 over the field of q elements. Column c
/// has its value at c, and the last column its leading coefficient. If t is 3 and q is even, one
/// more column has the middle coefficient.
class OrthogonalArray {
 public:
  /// Of no rows.
  OrthogonalArray() = default;
  /// Gives columns to the factors with the most levels. It has no rows if few factors fill a
  /// column, or if it would have many more rows than the strength needs.
  OrthogonalArray(const Lanes& lanes, const Strength& strength);

  int rows() const { return rows_; }
  /// The lanes of a row. A factor with fewer than q levels has none in some rows.
  std::vector<int> lanes_of(int row) const;

 private:
  int plus(int a, int b) const;
  int times(int a, int b) const;
  int element(std::span<const int> coefficients, int column) const;

  int t_ = 0, rows_ = 0;
  int q_ = 0, p_ = 0;  ///< the elements of the field, and of its prime field
  int power_ = 0;      ///< x^k as an element, where q = p^k; digit i of an element belongs to x^i
  std::vector<int> first_lanes_, levels_;  ///< by column
};

}  // namespace ropewalk::properties
