#include "reference/oracle.h"

#include <bit>
#include <stdexcept>

#include "reference/real.h"

namespace ropewalk {
namespace {

constexpr int bits_per_level = 10;
constexpr std::int64_t index_mask = (std::int64_t{1} << bits_per_level) - 1;
constexpr std::int64_t max_position = std::int64_t{1} << 31;

// Positions 0..1023, then k 2^10 for k in 0..1023, then k 2^20 for k in 0..2048. The last row is
// 2^31 itself.
constexpr std::size_t row_count[FrequencyTable::levels] = {1024, 1024, 2049};

// The memory of all tables is added up once for this many new frequencies. Each takes at most 131
// kB.
constexpr std::size_t tables_between_counts = 256;

DoubleDouble to_double_double(const Real& x) {
  const double hi = x.convert_to<double>();
  const Real rest = x - Real(hi);
  return {hi, rest.convert_to<double>()};
}

Rotation rounded(const Complex<Real>& r) {
  return {to_double_double(r.re), to_double_double(r.im)};
}

// Filling a level takes about as long as this many single rows, so it does not pay for a few
// positions.
constexpr std::size_t single_rows_before_filling = 128;
}  // namespace

/// e^(i 2^j inv_freq) for j = 0, 1, ...: one sine and cosine, then as many squarings as needed.
/// Each squaring doubles the relative error, so the 32nd is good to about 2^-300.
struct FrequencyTable::Powers {
  explicit Powers(double inv_freq) : of_two(1, {Real(0), Real(0)}) {
    const Real angle(inv_freq);
    mpfr_sin_cos(of_two[0].im.backend().data(), of_two[0].re.backend().data(),
                 angle.backend().data(), MPFR_RNDN);
  }
  const Complex<Real>& at(int j) {
    while (std::ssize(of_two) <= j) of_two.push_back(rotate(of_two.back(), of_two.back()));
    return of_two[static_cast<std::size_t>(j)];
  }
  std::vector<Complex<Real>> of_two;
};

FrequencyTable::FrequencyTable(double inv_freq) : powers_(std::make_unique<Powers>(inv_freq)) {}
FrequencyTable::~FrequencyTable() = default;
FrequencyTable::FrequencyTable(FrequencyTable&&) noexcept = default;

/// Row k is e^(i k step inv_freq), made by one angle addition after the other. 2048 additions lose
/// 11 bits.
std::vector<Rotation>& FrequencyTable::rows(int level) {
  std::vector<Rotation>& rows = rows_[level];
  if (!rows.empty()) return rows;
  const Complex<Real> turn = powers_->at(bits_per_level * level);
  Complex<Real> row{Real(1), Real(0)};
  rows.reserve(row_count[level]);
  for (std::size_t k = 0; k < row_count[level]; ++k) {
    rows.push_back(rounded(row));
    row = rotate(row, turn);
  }
  return rows;
}

Rotation FrequencyTable::row(int level, std::size_t index) {
  return rows_[level].empty() ? single_row(level, index) : rows_[level][index];
}

Rotation FrequencyTable::single_row(int level, std::size_t index) {
  const auto [single, is_new] = singles_[level].try_emplace(index);
  if (!is_new) return single->second;
  if (singles_[level].size() > single_rows_before_filling) return rows(level)[index];
  Complex<Real> product{Real(1), Real(0)};
  bool first = true;
  for (int bit = 0; index >> bit != 0; ++bit) {
    if (((index >> bit) & 1) == 0) continue;
    const Complex<Real>& factor = powers_->at(bits_per_level * level + bit);
    product = first ? factor : rotate(product, factor);
    first = false;
  }
  return single->second = rounded(product);
}

std::size_t FrequencyTable::bytes() const {
  std::size_t rows = 64;  // the squarings and the maps, roughly
  for (int level = 0; level < levels; ++level)
    rows += rows_[level].size() + 2 * singles_[level].size();
  return rows * sizeof(Rotation);
}

Rotation FrequencyTable::at(std::int64_t position) {
  if (position < -max_position || position > max_position)
    throw std::out_of_range("oracle: position outside [-2^31, 2^31]");
  const std::int64_t distance = position < 0 ? -position : position;
  const auto low = static_cast<std::size_t>(distance & index_mask);
  const auto middle = static_cast<std::size_t>((distance >> bits_per_level) & index_mask);
  const auto high = static_cast<std::size_t>(distance >> (2 * bits_per_level));
  // Row 0 of a level is exactly 1. Leaving it out changes no bit and saves time.
  Rotation value = low == 0 ? Rotation{1.0, 0.0} : row(0, low);
  if (middle != 0) value = rotate(row(1, middle), value);
  if (high != 0) value = rotate(row(2, high), value);
  return position < 0 ? conjugate(value) : value;
}

Oracle::Oracle(std::size_t most_bytes) : most_bytes_(most_bytes) {}
Oracle::~Oracle() = default;

FrequencyTable& Oracle::table(double inv_freq) {
  const auto key = std::bit_cast<std::uint64_t>(inv_freq);
  if (last_ != nullptr && key == last_key_) return *last_;
  auto found = tables_.find(key);
  if (found == tables_.end()) {
    std::size_t bytes = 0;
    if (tables_.size() % tables_between_counts == 0)
      for (const auto& [other, table] : tables_) bytes += table.bytes();
    if (bytes > most_bytes_) tables_.clear();
    found = tables_.emplace(key, FrequencyTable(inv_freq)).first;
  }
  last_key_ = key;
  last_ = &found->second;
  return *last_;
}

}  // namespace ropewalk
