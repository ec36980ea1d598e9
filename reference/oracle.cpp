#include "reference/oracle.h"

#include <bit>
#include <boost/multiprecision/mpfr.hpp>
#include <cstddef>
#include <list>
#include <stdexcept>
#include <unordered_map>

namespace ropewalk {
namespace {

// 100 decimal digits are 334 bits; on the stack, without expression templates.
using Real = boost::multiprecision::number<
    boost::multiprecision::mpfr_float_backend<100, boost::multiprecision::allocate_stack>,
    boost::multiprecision::et_off>;

constexpr int bits_per_level = 10;
constexpr std::int64_t index_mask = (std::int64_t{1} << bits_per_level) - 1;
constexpr std::int64_t max_position = std::int64_t{1} << 31;

// Positions 0..1023, k 2^10 for k in 0..1023, k 2^20 for k in 0..2048: the last row is 2^31 itself.
constexpr std::size_t row_count[FrequencyTable::levels] = {1024, 1024, 2049};

// About 131 kB each once all three levels are in use, so 134 MB at most. Four heads of 512 dims
// fit: whoever takes turns over more frequencies than that fills a table for every value.
constexpr std::size_t max_tables = 1024;

DoubleDouble to_double_double(const Real& x) {
  const double hi = x.convert_to<double>();
  const Real rest = x - Real(hi);
  return {hi, rest.convert_to<double>()};
}

/// e^(i position inv_freq) at 334 bits: the angle is exact, both functions are correctly rounded.
Complex<Real> direct(double inv_freq, std::int64_t position) {
  const Real angle = Real(inv_freq) * Real(position);
  Complex<Real> out{Real(0), Real(0)};
  mpfr_sin_cos(out.im.backend().data(), out.re.backend().data(), angle.backend().data(), MPFR_RNDN);
  return out;
}

Rotation rounded(const Complex<Real>& r) {
  return {to_double_double(r.re), to_double_double(r.im)};
}

constexpr std::int64_t step_of(int level) {
  return std::int64_t{1} << (bits_per_level * level);
}

/// Row k is e^(i k step inv_freq), one angle addition after the other: each is off by a few units
/// of 2^-334, 2048 of them by less than 2^-320.
std::vector<Rotation> fill(double inv_freq, int level) {
  const Complex<Real> turn = direct(inv_freq, step_of(level));
  Complex<Real> row{Real(1), Real(0)};
  std::vector<Rotation> rows;
  rows.reserve(row_count[level]);
  for (std::size_t k = 0; k < row_count[level]; ++k) {
    rows.push_back(rounded(row));
    row = rotate(row, turn);
  }
  return rows;
}

// Filling a level costs as much as this many single rows: a few positions are not worth it.
constexpr int single_rows_before_filling = 128;

}  // namespace

FrequencyTable::FrequencyTable(double inv_freq) : inv_freq_(inv_freq) {}

std::vector<Rotation>& FrequencyTable::rows(int level) {
  std::vector<Rotation>& rows = rows_[level];
  if (rows.empty()) rows = fill(inv_freq_, level);
  return rows;
}

Rotation FrequencyTable::row(int level, std::size_t index) {
  if (rows_[level].empty() && single_rows_[level] < single_rows_before_filling) {
    ++single_rows_[level];
    return rounded(direct(inv_freq_, static_cast<std::int64_t>(index) * step_of(level)));
  }
  return rows(level)[index];
}

Rotation FrequencyTable::at(std::int64_t position) {
  if (position < -max_position || position > max_position) {
    throw std::out_of_range("oracle: position outside [-2^31, 2^31]");
  }
  const std::int64_t distance = position < 0 ? -position : position;
  const auto low = static_cast<std::size_t>(distance & index_mask);
  const auto middle = static_cast<std::size_t>((distance >> bits_per_level) & index_mask);
  const auto high = static_cast<std::size_t>(distance >> (2 * bits_per_level));
  // Row 0 of a level is exactly 1: leaving it out changes no bit and spares the work.
  Rotation value = low == 0 ? Rotation{1.0, 0.0} : row(0, low);
  if (middle != 0) {
    value = rotate(row(1, middle), value);
  }
  if (high != 0) {
    value = rotate(row(2, high), value);
  }
  return position < 0 ? conjugate(value) : value;
}

/// The most recently used table stands first.
struct Oracle::Cache {
  struct Entry {
    std::uint64_t key;
    FrequencyTable table;
  };
  std::list<Entry> entries;
  std::unordered_map<std::uint64_t, std::list<Entry>::iterator> index;
};

Oracle::Oracle() : cache_(std::make_unique<Cache>()) {}
Oracle::~Oracle() = default;

FrequencyTable& Oracle::table(double inv_freq) {
  const auto key = std::bit_cast<std::uint64_t>(inv_freq);
  auto& entries = cache_->entries;
  auto& index = cache_->index;
  if (!entries.empty() && entries.front().key == key) {
    return entries.front().table;
  }
  if (const auto found = index.find(key); found != index.end()) {
    entries.splice(entries.begin(), entries, found->second);
    return entries.front().table;
  }
  if (entries.size() == max_tables) {
    index.erase(entries.back().key);
    entries.pop_back();
  }
  entries.push_front({key, FrequencyTable(inv_freq)});
  index.emplace(key, entries.begin());
  return entries.front().table;
}

}  // namespace ropewalk
