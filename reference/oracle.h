// The oracle: e^(i * position * inv_freq) for any position in [-2^31, 2^31], better than 2^-100.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "reference/definition.h"
#include "reference/double_double.h"

namespace ropewalk {

using Rotation = Complex<DoubleDouble>;

/// The angles of one frequency as three tables: positions 0..1023, multiples of 2^10, multiples of
/// 2^20. A value is composed of one row of each by angle addition in double-double.
class FrequencyTable {
 public:
  static constexpr int levels = 3;
  explicit FrequencyTable(double inv_freq);
  ~FrequencyTable();
  FrequencyTable(FrequencyTable&&) noexcept;

  /// e^(i * position * inv_freq). Range: position in [-2^31, 2^31], else std::out_of_range.
  Rotation at(std::int64_t position);

  /// The rows of one level, filled on first use. Writable so that a test can plant an error.
  std::vector<Rotation>& rows(int level);

 private:
  /// One row: computed by itself while few are asked for, then from the filled level; same bits.
  Rotation row(int level, std::size_t index);

  struct Powers;
  std::unique_ptr<Powers> powers_;
  std::vector<Rotation> rows_[levels];
  int single_rows_[levels] = {};
};

/// Keeps the tables of the frequencies met so far (bounded: the least recently used goes). Not
/// thread-safe.
class Oracle {
 public:
  Oracle();
  ~Oracle();
  Rotation at(double inv_freq, std::int64_t position) { return table(inv_freq).at(position); }
  /// The reference stays valid until the next call of table() or at() of this Oracle.
  FrequencyTable& table(double inv_freq);

 private:
  struct Cache;
  std::unique_ptr<Cache> cache_;
};

}  // namespace ropewalk
