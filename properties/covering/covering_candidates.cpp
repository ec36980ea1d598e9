#include "properties/covering/covering_candidates.h"

#include <algorithm>
#include <bit>

#include "harness/cases/data.h"

namespace ropewalk::properties {
namespace {

constexpr std::int64_t conflicts_max = 100;

struct FieldOrder {
  int q, p, power;
};
constexpr FieldOrder field_orders[] = {{2, 2, 0}, {3, 3, 0}, {4, 2, 3},   {5, 5, 0},   {7, 7, 0},
                                       {8, 2, 3}, {9, 3, 2}, {11, 11, 0}, {13, 13, 0}, {16, 2, 3}};

std::size_t index(int value) {
  return static_cast<std::size_t>(value);
}

std::int64_t power_of(std::int64_t base, int exponent) {
  std::int64_t power = 1;
  for (int i = 0; i < exponent; ++i) power *= base;
  return power;
}

}  // namespace

Candidates::Candidates(PartialRow& row, std::span<const TupleSet> sets)
    : row_(row),
      sets_(sets),
      counts_(row.lanes(), sets),
      positions_(sets.size()),
      open_(row.lanes().words) {}

void Candidates::add(int lane) {
  counted_.push_back(lane);
  for (std::size_t s = 0; s < sets_.size(); ++s) {
    const int position = sets_[s].position_of(lane);
    if (position < 0) continue;
    auto& all = positions_[s];
    all.insert(std::upper_bound(all.begin(), all.end(), position), position);
    sets_[s].each_stem(all, position, [&](std::size_t stem) { counts_.add(sets_[s], stem); });
  }
}

void Candidates::remove_last() {
  for (std::size_t s = 0; s < sets_.size(); ++s) {
    const int position = sets_[s].position_of(counted_.back());
    if (position < 0) continue;
    auto& all = positions_[s];
    sets_[s].each_stem(all, position, [&](std::size_t stem) { counts_.subtract(sets_[s], stem); });
    all.erase(std::lower_bound(all.begin(), all.end(), position));
  }
  counted_.pop_back();
}

// Counts, for each lane, the tuples that it has with the fixed lanes. Some that were counted may be
// undone.
void Candidates::count_fixed() {
  const auto fixed = row_.fixed();
  const auto same = std::mismatch(counted_.begin(), counted_.end(), fixed.begin(), fixed.end());
  const auto kept = static_cast<std::size_t>(same.first - counted_.begin());
  while (counted_.size() > kept) remove_last();
  while (counted_.size() < fixed.size()) add(fixed[counted_.size()]);
}

bool Candidates::complete(std::span<const int> preferred, std::uint64_t random) {
  counts_.clear();
  counted_.clear();
  for (auto& positions : positions_) positions.clear();
  const auto choose = [&] {
    for (; !preferred.empty(); preferred = preferred.subspan(1)) {
      const int lane = preferred.front();
      if ((row_.open(word_with(lane)) & bit_of(lane)) != 0) return lane;
    }
    for (std::size_t word = 0; word < open_.size(); ++word) open_[word] = row_.open(word);
    count_fixed();
    counts_.keep_largest(open_);
    const auto count = static_cast<std::uint64_t>(lane_count(open_));
    return lane_at(open_, static_cast<int>(harness::hash(random, row_.fixed().size()) % count));
  };
  return row_.finish(choose, conflicts_max);
}

std::int64_t Candidates::gain() {
  count_fixed();
  return counts_.sum(row_.fixed());
}

OrthogonalArray::OrthogonalArray(const Lanes& lanes, const Strength& strength) : t_(strength.t) {
  std::vector<int> factors = factors_of(lanes, strength);
  const auto levels = [&](int factor) { return std::popcount(lanes.masks[index(factor)]); };
  std::stable_sort(factors.begin(), factors.end(),
                   [&](int a, int b) { return levels(a) > levels(b); });
  std::int64_t needed = 1;
  for (int i = 0; i < t_; ++i) needed *= levels(factors[index(i)]);
  for (const FieldOrder& field : field_orders) {
    const std::int64_t rows = power_of(field.q, t_);
    const auto nearly_fill = std::count_if(factors.begin(), factors.end(), [&](int factor) {
      return levels(factor) <= field.q && 4 * levels(factor) > 3 * field.q;
    });
    // With fewer factors, candidates without an array do as well.
    if (field.q + 1 < t_ || nearly_fill < t_ + 2 || rows < needed / 2 || rows > needed * 8 / 5)
      continue;
    q_ = field.q;
    p_ = field.p;
    power_ = field.power;
    rows_ = static_cast<int>(rows);
    if (rows >= needed) break;
  }
  if (rows_ == 0) return;
  const std::size_t columns = index(q_) + (t_ == 3 && q_ % 2 == 0 ? 2 : 1);
  for (const int factor : factors) {
    if (levels(factor) > q_ || 2 * levels(factor) <= q_ || levels_.size() == columns) continue;
    first_lanes_.push_back(lanes.first[index(factor)]);
    levels_.push_back(levels(factor));
  }
}

int OrthogonalArray::plus(int a, int b) const {
  int sum = 0;
  for (int place = 1; place < q_; place *= p_) sum += (a / place + b / place) % p_ * place;
  return sum;
}

int OrthogonalArray::times(int a, int b) const {
  int product = 0;
  const int top = q_ / p_;  // the place of the highest digit
  for (int place = top; place > 0; place /= p_) {
    const int carried = product / top;
    product = product % top * p_;
    for (int i = 0; i < carried; ++i) product = plus(product, power_);
    for (int i = 0; i < b / place % p_; ++i) product = plus(product, a);
  }
  return product;
}

int OrthogonalArray::element(std::span<const int> coefficients, int column) const {
  if (column == q_) return coefficients.back();
  if (column > q_) return coefficients[1];
  int value = 0;
  for (std::size_t i = coefficients.size(); i-- > 0;)
    value = plus(times(value, column), coefficients[i]);
  return value;
}

std::vector<int> OrthogonalArray::lanes_of(int row) const {
  std::vector<int> coefficients, lanes;
  for (int i = 0; i < t_; ++i, row /= q_) coefficients.push_back(row % q_);
  for (std::size_t column = 0; column < levels_.size(); ++column) {
    const int level = element(coefficients, static_cast<int>(column));
    if (level < levels_[column]) lanes.push_back(first_lanes_[column] + level);
  }
  return lanes;
}

}  // namespace ropewalk::properties
