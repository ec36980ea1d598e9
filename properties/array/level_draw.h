// Draws what levels leave open, by a seed.
#pragma once
#include <cstdint>
#include <iterator>

#include "harness/cases/data.h"
#include "properties/array/factors.h"

namespace ropewalk::properties {

/// Each question has a number of its own, so one draw does not move the others.
class LevelDraw {
 public:
  explicit LevelDraw(std::uint64_t seed) : seed_(seed) {}
  std::uint64_t bits(int question) const { return harness::hash(seed_, 0xd4a3, question); }
  std::int64_t in(int question, SizeRange range) const {
    const auto count = static_cast<std::uint64_t>(range.most - range.least) + 1;
    return range.least + static_cast<std::int64_t>(bits(question) % count);
  }
  template <class List>
  const auto& of(int question, const List& list) const {
    return list[static_cast<std::size_t>(bits(question) % std::size(list))];
  }

 private:
  std::uint64_t seed_;
};

enum Question {
  q_tokens,
  q_batch,
  q_heads,
  q_window,
  q_group,
  q_shape,
  q_scale,
  q_theta,
  q_range,
  q_power,
  q_step,
  q_gap,
  q_axis,
  q_start,
  q_frequency,
  q_slice,
  q_fit,
  q_types,
  q_table_type,
  q_callers,
  q_offset,
  q_width,
  q_placement,
  q_wide,
  q_layout,
  q_planes,
  q_norm,
  q_epsilon,
  q_slots,
  q_caches,
  q_section,  ///< and the three after it
  q_section_end = q_section + 3,
  q_map,
  q_marks
};

}  // namespace ropewalk::properties
