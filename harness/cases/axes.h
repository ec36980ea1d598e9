// Positions with axes (rope_axes) in a case: their planes, and the map from pairs to axes as text.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "harness/cases/case.h"

namespace ropewalk::harness {

inline constexpr std::int64_t most_axes = 4;

/// The axis that pair i turns by.
inline std::size_t axis_of(const std::vector<std::uint8_t>& axis_of_pair, std::int64_t pair) {
  return axis_of_pair.empty() ? 0 : axis_of_pair[static_cast<std::size_t>(pair)];
}

/// Gives a case the axes that a map names, at least two; nothing changes if the map is empty.
void use_map(Case& c, const std::vector<std::uint8_t>& axis_of_pair);
/// The same, with a picture after text.
void take_axes(Case& c, const std::vector<std::uint8_t>& axis_of_pair);
/// Takes the axes away; a list keeps the positions of the first.
void drop_axes(Case& c);
/// The case without its last axis, whose pairs turn by the one before it.
Case with_fewer_axes(const Case& c);

/// Adds the planes of a case of several axes to `positions`, which have the first.
void add_planes(const Case& c, std::vector<std::int64_t>& positions);

/// The position of token `token` on an axis, of `text` tokens of text and then a picture with rows
/// of `width` patches. `first` is the position of the picture's first token, and `usual` what the
/// token has without axes. Axis 0 is time, 1 the row, 2 the column.
std::int64_t picture_position(std::int64_t axis, std::int64_t token, std::int64_t text,
                              std::int64_t width, std::int64_t first, std::int64_t usual);

/// The map of so many pairs: those of the case, and again from its first where it has fewer.
std::vector<std::uint8_t> map_of_pairs(const Case& c, std::int64_t pairs);

/// Reverses the order of positions within each plane.
void reverse_planes(std::vector<std::int64_t>& positions, std::int64_t axes);

/// A map in short: "0*16,1*24" for runs, "(0,1,2)*20" for what repeats.
std::string map_text(const std::vector<std::uint8_t>& axis_of_pair);
/// Reads such a text. Empty: it is none, or has more than 2^15 pairs.
std::vector<std::uint8_t> map_of_text(std::string_view text);

}  // namespace ropewalk::harness
