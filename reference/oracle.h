// The oracle: e^(i * position * inv_freq) for any position in [-2^31, 2^31], better than 2^-100.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "reference/definition.h"
#include "reference/double_double.h"

namespace ropewalk {

using Rotation = Complex<DoubleDouble>;

/// The rotations of one frequency as three tables: positions 0..1023, multiples of 2^10, multiples
/// of 2^20. A value is made of one row of each, by angle addition in double-double.
class FrequencyTable {
 public:
  static constexpr int levels = 3;
  explicit FrequencyTable(double inv_freq);
  ~FrequencyTable();
  FrequencyTable(FrequencyTable&&) noexcept;

  /// e^(i * position * inv_freq). Range: position in [-2^31, 2^31], else std::out_of_range.
  Rotation at(std::int64_t position);

  /// The memory in use, in bytes, roughly.
  std::size_t bytes() const;

  /// The rows of one level, filled on first use. They are writable, so that a test can plant an
  /// error.
  std::vector<Rotation>& rows(int level);

 private:
  /// One row. It is computed alone while few rows were asked for, then taken from the filled level.
  /// Both give the same bits, as both are good to 2^-300 before they are rounded to 2^-106.
  Rotation row(int level, std::size_t index);
  Rotation single_row(int level, std::size_t index);

  struct Powers;
  std::unique_ptr<Powers> powers_;
  std::vector<Rotation> rows_[levels];
  std::unordered_map<std::size_t, Rotation> singles_[levels];
};

/// Keeps the tables of the frequencies used so far. When they hold more than `most_bytes` (checked
/// now and then), all are dropped. Not thread-safe.
class Oracle {
 public:
  explicit Oracle(std::size_t most_bytes = std::size_t{256} << 20);
  Oracle(const Oracle& other) : Oracle(other.most_bytes_) {}  ///< the tables are made anew
  ~Oracle();
  Rotation at(double inv_freq, std::int64_t position) { return table(inv_freq).at(position); }
  /// The reference is valid until the next call of table() or at() of this Oracle.
  FrequencyTable& table(double inv_freq);

 private:
  // the key holds the bits of the frequency
  std::unordered_map<std::uint64_t, FrequencyTable> tables_;
  std::size_t most_bytes_;
  std::uint64_t last_key_ = 0;
  FrequencyTable* last_ = nullptr;
};

}  // namespace ropewalk
