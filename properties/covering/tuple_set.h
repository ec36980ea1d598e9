// Sets of tuples of lanes.
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "properties/covering/partial_row.h"

namespace ropewalk::properties {

/// Tuples of t lanes of different factors. A stem is t - 1 of the lanes of a tuple. Each stem has a
/// bit for each lane that completes it to a tuple of the set, so a tuple is held t times. A stem is
/// a number with a digit for each of its lanes, ascending: the place of the lane among those of the
/// set's factors.
class TupleSet {
 public:
  /// An empty set. Throws std::invalid_argument unless the strength has t or more different factors
  /// of the model, and if there are too many stems to hold.
  TupleSet(const Lanes& lanes, const Strength& strength)
      : t_(strength.t), words_(lanes.words), positions_(lanes.factor.size(), -1) {
    std::vector<int> factors = strength.factors;
    if (factors.empty()) {
      factors.resize(lanes.first.size());
      std::iota(factors.begin(), factors.end(), 0);
    }
    std::ranges::sort(factors);
    const bool has_factors = t_ >= 1 && t_ <= std::ssize(factors) && factors.front() >= 0 &&
                             factors.back() < std::ssize(lanes.first) &&
                             std::ranges::adjacent_find(factors) == factors.end();
    if (!has_factors)
      throw std::invalid_argument("a strength of " + std::to_string(t_) +
                                  " needs as many different factors of the model");
    for (const int factor : factors) {
      const int first = lanes.first[index(factor)];
      for (int lane = first; lane < first + std::popcount(lanes.masks[index(factor)]); ++lane) {
        positions_[index(lane)] = static_cast<int>(lanes_.size());
        lanes_.push_back(lane);
      }
    }
    constexpr std::size_t most_words = std::size_t{1} << 26;  // 512 MiB
    std::size_t stems = 1;
    for (int i = 1; i < t_; ++i)
      if ((stems *= lanes_.size()) * words_ > most_words)
        throw std::invalid_argument("a strength of " + std::to_string(t_) + " has too many tuples");
    bits_.assign(stems * words_, 0);
  }

  int t() const { return t_; }
  std::int64_t size() const { return size_; }
  std::size_t stems() const { return bits_.size() / words_; }
  /// The lanes of a stem. Only stems whose lanes ascend have completions.
  std::vector<int> stem_lanes(std::size_t stem) const {
    std::vector<int> lanes(index(t_ - 1));
    for (std::size_t i = lanes.size(); i-- > 0; stem /= lanes_.size())
      lanes[i] = lanes_[stem % lanes_.size()];
    return lanes;
  }
  /// The lanes that complete a stem to a tuple of the set.
  std::span<const std::uint64_t> completions(std::size_t stem) const {
    return std::span(bits_).subspan(stem * words_, words_);
  }
  /// The tuple of a stem and a lane, ascending.
  std::vector<int> tuple(std::size_t stem, int lane) const {
    std::vector<int> tuple = stem_lanes(stem);
    tuple.insert(std::upper_bound(tuple.begin(), tuple.end(), lane), lane);
    return tuple;
  }
  /// The place of a lane among the lanes of the set's factors, or -1.
  int position_of(int lane) const { return positions_[index(lane)]; }

  /// Both take ascending lanes.
  void insert(std::span<const int> tuple) {
    for (std::size_t i = 0; i < tuple.size(); ++i) word(tuple, i) |= bit_of(tuple[i]);
    ++size_;
  }
  void erase(std::span<const int> tuple) {
    for (std::size_t i = 0; i < tuple.size(); ++i) word(tuple, i) &= ~bit_of(tuple[i]);
    --size_;
  }
  /// Removes all tuples of ascending lanes. Returns their number.
  std::int64_t erase_all(std::span<const int> lanes) {
    std::vector<std::uint64_t> set(words_, 0);
    std::vector<int> positions;
    for (const int lane : lanes) {
      set[word_with(lane)] |= bit_of(lane);
      if (position_of(lane) >= 0) positions.push_back(position_of(lane));
    }
    std::int64_t erased = 0;
    each_stem(positions, -1, [&](std::size_t stem) {
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
  void clear() {
    std::ranges::fill(bits_, 0);
    size_ = 0;
  }

  /// Calls use(stem) for each stem that has t - 1 of these ascending positions, and among them the
  /// position `with` unless that is -1.
  template <class Use>
  void each_stem(std::span<const int> positions, int with, const Use& use) const {
    each(t_ - 1, 0, positions, with, use);
  }

 private:
  static std::size_t index(int value) { return static_cast<std::size_t>(value); }
  std::size_t longer(std::size_t stem, int position) const {
    return stem * lanes_.size() + index(position);
  }

  template <class Use>
  void each(int more, std::size_t stem, std::span<const int> left, int with, const Use& use) const {
    if (more == 0) {
      if (with < 0) use(stem);
      return;
    }
    for (std::size_t i = 0; i < left.size() && (with < 0 || left[i] <= with); ++i)
      each(more - 1, longer(stem, left[i]), left.subspan(i + 1), left[i] == with ? -1 : with, use);
  }

  std::uint64_t& word(std::span<const int> tuple, std::size_t last) {
    std::size_t stem = 0;
    for (std::size_t i = 0; i < tuple.size(); ++i)
      if (i != last) stem = longer(stem, position_of(tuple[i]));
    return bits_[stem * words_ + word_with(tuple[last])];
  }

  int t_;
  std::size_t words_;  ///< of a stem
  std::int64_t size_ = 0;
  std::vector<int> positions_, lanes_;  ///< by lane; by position
  std::vector<std::uint64_t> bits_;
};

}  // namespace ropewalk::properties
