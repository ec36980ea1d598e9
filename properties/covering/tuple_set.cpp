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

// The sum of three bits: one bit of weight one, and one of weight two.
struct BitSum {
  std::uint64_t one, two;
};
BitSum sum_of(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  const std::uint64_t half = a ^ b;
  return {half ^ c, (a & b) | (half & c)};
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
  weight_logs_.assign(length_ == 0 ? 1 : stem_lanes_.size() / length_, 0);
  for (std::size_t stem = 0; stem < weight_logs_.size(); ++stem)
    for (const int lane : stem_lanes(stem))
      weight_logs_[stem] += lanes.weight_logs[word_with(lane)];
  bits_.assign(weight_logs_.size() * words_, 0);
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

LaneCounts::LaneCounts(const Lanes& lanes, std::span<const TupleSet> sets)
    : words_(lanes.words), word_logs_(lanes.weight_logs), largest_(lanes.words) {
  // No lane gets more than the sum of all stems of a row.
  const unsigned log_max = *std::max_element(word_logs_.begin(), word_logs_.end());
  std::uint64_t bound = 0;
  std::size_t logs = 1;
  for (const TupleSet& set : sets) {
    const std::vector<int> row = set.positions_of(lanes.first);
    std::uint64_t stems = 1;
    for (int i = 1; i < set.t(); ++i) stems = stems * (row.size() - index(i) + 1) / index(i);
    const std::size_t log = index(set.t() - 1) * log_max;
    bound += stems << log;
    logs = std::max(logs, log + 1);
  }
  planes_ = std::max(logs + 2, static_cast<std::size_t>(std::bit_width(bound)));
  waiting_.resize(logs);
  bits_.assign(words_ * planes_, 0);
}

void LaneCounts::clear() {
  std::fill(bits_.begin(), bits_.end(), 0);
  for (Waiting& waiting : waiting_) waiting.count = 0;
}

void LaneCounts::add(const TupleSet& set, std::size_t stem) {
  const std::size_t log = set.weight_log(stem);
  Waiting& waiting = waiting_[log];
  waiting.bits[waiting.count++] = set.completions(stem).data();
  if (waiting.count < waiting.bits.size()) return;
  waiting.count = 0;
  add_seven(waiting, log);
}

// A tree of adders makes three bits of the seven (Harley and Seal), which are added to the planes.
void LaneCounts::add_seven(const Waiting& waiting, std::size_t log) {
  const auto& bits = waiting.bits;
  for (std::size_t word = 0; word < words_; ++word) {
    const BitSum a = sum_of(bits[0][word], bits[1][word], bits[2][word]);
    const BitSum b = sum_of(bits[3][word], bits[4][word], bits[5][word]);
    const BitSum one = sum_of(a.one, b.one, bits[6][word]);
    const BitSum two = sum_of(a.two, b.two, one.two);
    std::uint64_t* plane = &bits_[word * planes_];
    const BitSum sum_one = sum_of(plane[log], one.one, 0);
    const BitSum sum_two = sum_of(plane[log + 1], two.one, sum_one.two);
    const BitSum sum_four = sum_of(plane[log + 2], two.two, sum_two.two);
    plane[log] = sum_one.one;
    plane[log + 1] = sum_two.one;
    plane[log + 2] = sum_four.one;
    std::uint64_t carry = sum_four.two;
    for (std::size_t k = log + 3; carry != 0; ++k) {
      const std::uint64_t next = plane[k] & carry;
      plane[k] ^= carry;
      carry = next;
    }
  }
}

void LaneCounts::add_waiting() {
  for (std::size_t log = 0; log < waiting_.size(); ++log) {
    for (; waiting_[log].count > 0; --waiting_[log].count) {
      const std::uint64_t* bits = waiting_[log].bits[waiting_[log].count - 1];
      for (std::size_t word = 0; word < words_; ++word) {
        std::uint64_t carry = bits[word];
        for (std::uint64_t* plane = &bits_[word * planes_ + log]; carry != 0; ++plane) {
          const std::uint64_t next = *plane & carry;
          *plane ^= carry;
          carry = next;
        }
      }
    }
  }
}

void LaneCounts::subtract(const TupleSet& set, std::size_t stem) {
  add_waiting();
  const auto bits = set.completions(stem);
  for (std::size_t word = 0; word < words_; ++word) {
    std::uint64_t borrow = bits[word];
    for (std::uint64_t* plane = &bits_[word * planes_ + set.weight_log(stem)]; borrow != 0;
         ++plane) {
      const std::uint64_t next = ~*plane & borrow;
      *plane ^= borrow;
      borrow = next;
    }
  }
}

void LaneCounts::keep_largest(std::span<std::uint64_t> lanes) {
  add_waiting();
  const unsigned log_max = word_logs_.front();
  for (std::size_t k = planes_ + log_max; k-- > 0;) {
    std::uint64_t any = 0;
    for (std::size_t word = 0; word < words_; ++word) {
      const std::size_t plane = k - word_logs_[word];  // wraps around if it is negative
      largest_[word] = plane < planes_ ? lanes[word] & bits_[word * planes_ + plane] : 0;
      any |= largest_[word];
    }
    if (any != 0) std::copy(largest_.begin(), largest_.end(), lanes.begin());
  }
}

std::int64_t LaneCounts::sum(std::span<const int> lanes) {
  add_waiting();
  std::int64_t sum = 0;
  for (const int lane : lanes) {
    const std::size_t word = word_with(lane);
    for (std::size_t k = 0; k < planes_; ++k)
      if ((bits_[word * planes_ + k] & bit_of(lane)) != 0)
        sum += std::int64_t{1} << (k + word_logs_[word]);
  }
  return sum;
}

}  // namespace ropewalk::properties
