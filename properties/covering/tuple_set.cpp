#include "properties/covering/tuple_set.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <stdexcept>
#include <string>

namespace ropewalk::properties {
namespace {

constexpr std::size_t stem_words_max = std::size_t{1} << 26;  // 512 MiB

std::size_t index(int value) {
  return static_cast<std::size_t>(value);
}

// In the order of their lanes.
std::vector<int> factors_of(const Lanes& lanes, const Strength& strength) {
  std::vector<int> factors = strength.factors;
  if (factors.empty()) {
    factors.resize(lanes.first.size());
    std::iota(factors.begin(), factors.end(), 0);
  }
  for (const int factor : factors)
    if (factor < 0 || index(factor) >= lanes.first.size())
      throw std::invalid_argument("a strength names factor " + std::to_string(factor) +
                                  ", which the model lacks");
  std::sort(factors.begin(), factors.end(),
            [&](int a, int b) { return lanes.first[index(a)] < lanes.first[index(b)]; });
  if (strength.t < 1 || index(strength.t) > factors.size() ||
      std::adjacent_find(factors.begin(), factors.end()) != factors.end())
    throw std::invalid_argument("a strength of " + std::to_string(strength.t) +
                                " needs as many different factors");
  return factors;
}

}  // namespace

TupleSet::TupleSet(const Lanes& lanes, const Strength& strength)
    : t_(strength.t),
      length_(index(t_ - 1)),
      words_(lanes.words),
      positions_(lanes.factor.size(), -1) {
  const std::vector<int> factors = factors_of(lanes, strength);
  std::vector<int> lane_at;               // by position
  std::vector<std::int32_t> next_factor;  // by position: where the next factor begins
  for (const int factor : factors) {
    const int count = std::popcount(lanes.masks[index(factor)]);
    for (int level = 0; level < count; ++level) {
      const int lane = lanes.first[index(factor)] + level;
      positions_[index(lane)] = static_cast<int>(lane_at.size());
      next_factor.push_back(static_cast<std::int32_t>(lane_at.size()) + count - level);
      lane_at.push_back(lane);
    }
  }
  std::vector<std::int32_t> stems;
  for (std::size_t depth = 1; depth <= length_; ++depth)
    stems = add_depth(stems, depth, next_factor);
  for (const std::int32_t position : stems) stem_lanes_.push_back(lane_at[index(position)]);
  bits_.assign((length_ == 0 ? 1 : stem_lanes_.size() / length_) * words_, 0);
}

// Appends each position of a later factor to each stem. A stem is one node of the depth before.
std::vector<std::int32_t> TupleSet::add_depth(const std::vector<std::int32_t>& stems,
                                              std::size_t depth,
                                              const std::vector<std::int32_t>& next_factor) {
  const std::size_t length = depth - 1, count = depth == 1 ? 1 : stems.size() / length;
  std::vector<std::int32_t> longer, bases;
  for (std::size_t node = 0; node < count; ++node) {
    const auto stem = std::span(stems).subspan(node * length, length);
    const std::int32_t begin = depth == 1 ? 0 : next_factor[index(stem.back())];
    bases.push_back(static_cast<std::int32_t>(longer.size() / depth) - begin);
    for (auto position = begin; index(position) < next_factor.size(); ++position) {
      longer.insert(longer.end(), stem.begin(), stem.end());
      longer.push_back(position);
    }
    if (longer.size() / depth * words_ > stem_words_max)
      throw std::invalid_argument("a strength of " + std::to_string(t_) + " has too many tuples");
  }
  if (depth > 1) bases_.push_back(std::move(bases));
  return longer;
}

std::vector<int> TupleSet::tuple(std::size_t stem, int lane) const {
  const auto lanes = stem_lanes(stem);
  std::vector<int> tuple(lanes.begin(), lanes.end());
  tuple.insert(std::upper_bound(tuple.begin(), tuple.end(), lane), lane);
  return tuple;
}

std::vector<int> TupleSet::positions_of(std::span<const int> lanes) const {
  std::vector<int> positions;
  for (const int lane : lanes)
    if (const int position = position_of(lane); position >= 0) positions.push_back(position);
  return positions;
}

std::uint64_t& TupleSet::word(std::span<const int> tuple, std::size_t last) {
  std::size_t stem = 0, depth = 0;
  for (std::size_t i = 0; i < tuple.size(); ++i)
    if (i != last) stem = child(++depth, stem, position_of(tuple[i]));
  return bits_[stem * words_ + word_with(tuple[last])];
}

void TupleSet::insert(std::span<const int> tuple) {
  for (std::size_t i = 0; i < tuple.size(); ++i) word(tuple, i) |= bit_of(tuple[i]);
  ++size_;
}

void TupleSet::erase(std::span<const int> tuple) {
  for (std::size_t i = 0; i < tuple.size(); ++i) word(tuple, i) &= ~bit_of(tuple[i]);
  --size_;
}

std::int64_t TupleSet::erase_all(std::span<const int> lanes) {
  std::vector<std::uint64_t> set(words_, 0);
  for (const int lane : lanes) set[word_with(lane)] |= bit_of(lane);
  std::int64_t erased = 0;
  each_stem(positions_of(lanes), -1, [&](std::size_t stem) {
    for (std::size_t word = 0; word < words_; ++word) {
      std::uint64_t& bits = bits_[stem * words_ + word];
      erased += std::popcount(bits & set[word]);
      bits &= ~set[word];
    }
  });
  erased /= t_;
  size_ -= erased;
  return erased;
}

void TupleSet::clear() {
  std::fill(bits_.begin(), bits_.end(), 0);
  size_ = 0;
}

}  // namespace ropewalk::properties
