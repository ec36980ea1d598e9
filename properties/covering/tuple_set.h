// Sets of tuples of lanes.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "properties/covering/partial_row.h"

namespace ropewalk::properties {

/// Tuples of t lanes of different factors. A stem is t - 1 of the lanes of a tuple. Each stem has a
/// bit for each lane that completes it to a tuple of the set, so a tuple is held t times.
class TupleSet {
 public:
  /// An empty set. Throws std::invalid_argument unless the strength has t or more different factors
  /// of the model, and if there are too many stems to hold.
  TupleSet(const Lanes& lanes, const Strength& strength);

  int t() const { return t_; }
  std::int64_t size() const { return size_; }
  std::size_t stems() const { return bits_.size() / words_; }
  /// The lanes of a stem, ascending.
  std::span<const int> stem_lanes(std::size_t stem) const {
    return std::span(stem_lanes_).subspan(stem * length_, length_);
  }
  /// The lanes that complete a stem to a tuple of the set.
  std::span<const std::uint64_t> completions(std::size_t stem) const {
    return std::span(bits_).subspan(stem * words_, words_);
  }
  /// The tuple of a stem and a lane, ascending.
  std::vector<int> tuple(std::size_t stem, int lane) const;

  /// The place of a lane among the lanes of the set's factors, or -1.
  int position_of(int lane) const { return positions_[static_cast<std::size_t>(lane)]; }
  std::vector<int> positions_of(std::span<const int> lanes) const;

  /// Both take ascending lanes.
  void insert(std::span<const int> tuple);
  void erase(std::span<const int> tuple);
  /// Removes all tuples of ascending lanes. Returns their number.
  std::int64_t erase_all(std::span<const int> lanes);
  void clear();

  /// Calls use(stem) for each stem that has t - 1 of these ascending positions, and among them the
  /// position `with` unless that is -1.
  template <class Use>
  void each_stem(std::span<const int> positions, int with, const Use& use) const {
    if (length_ > 0) return each(1, 0, positions, with, use);
    if (with < 0) use(std::size_t{0});
  }

 private:
  std::size_t child(std::size_t depth, std::size_t node, int position) const {
    if (depth == 1) return static_cast<std::size_t>(position);
    const int next = bases_[depth - 2][node] + position;
    return static_cast<std::size_t>(next);
  }
  template <class Use>
  void each(std::size_t depth, std::size_t node, std::span<const int> left, int with,
            const Use& use) const;
  std::vector<std::int32_t> add_depth(const std::vector<std::int32_t>& stems, std::size_t depth,
                                      const std::vector<std::int32_t>& next_factor);
  std::uint64_t& word(std::span<const int> tuple, std::size_t last);

  int t_;
  std::size_t length_, words_;  ///< of a stem
  std::int64_t size_ = 0;
  std::vector<int> positions_;
  /// By depth and node: what is added to a position to get the node of the next depth.
  std::vector<std::vector<std::int32_t>> bases_;
  std::vector<int> stem_lanes_;
  std::vector<std::uint64_t> bits_;
};

template <class Use>
void TupleSet::each(std::size_t depth, std::size_t node, std::span<const int> left, int with,
                    const Use& use) const {
  const bool last = depth == length_;
  for (std::size_t i = 0; i < left.size(); ++i) {
    const int position = left[i];
    if (with >= 0 && position > with) return;
    if (last && position < with) continue;
    const std::size_t next = child(depth, node, position);
    if (last)
      use(next);
    else
      each(depth + 1, next, left.subspan(i + 1), position == with ? -1 : with, use);
  }
}

}  // namespace ropewalk::properties
