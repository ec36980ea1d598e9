#include "harness/cases/axes.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "harness/cases/data.h"

namespace ropewalk::harness {
namespace {

constexpr std::size_t most_pairs = 1 << 15;

// How far the positions of an axis lie from those of the first: an odd number, so that they are
// never the first's mirrored at 0. In a quarter of the cases they are far, but not where a table
// has a row for each position.
std::int64_t distance_of(const Case& c, std::int64_t axis) {
  const std::int64_t near =
      8 * axis + 1 + 2 * static_cast<std::int64_t>(hash(c.seed, 0xa9e, axis) % 3);
  const bool has_rows = c.contract == ROPE_CONTRACT_TABLE && c.rows_by == ROPE_ROW_BY_POSITION;
  if (has_rows || hash(c.seed, 0xaa3) % 4 != 3) return near;
  return near + (hash(c.seed, 0xaa3, axis) % 2 == 0 ? 40'000 : 1 << 20);
}

// Further from 0, or nearer to it at the ends of the range.
std::int64_t moved(std::int64_t position, std::int64_t by) {
  if (position < 0) return position - by >= -position_limit ? position - by : position + by;
  return position + by < position_limit ? position + by : position - by;
}

// Positions of other axes lie further from 0 or nearer to it, and none leaves the range. None
// becomes negative; of negative ones, some axes are positive.
std::int64_t apart(const Case& c, std::int64_t axis, std::int64_t position) {
  const std::int64_t by = distance_of(c, axis);
  const bool other = hash(c.seed, 0xa9f, axis) % 2 != 0;
  return other ? std::abs(position < 0 ? moved(position, by) : position - by) : moved(position, by);
}

// The axis whose positions an axis has: of two equal planes, the later one repeats the earlier.
std::int64_t source_of(const Case& c, std::int64_t axis) {
  if (c.axis_positions != AxisPositions::two_equal) return axis;
  const auto count = static_cast<std::uint64_t>(c.axes);
  const std::uint64_t last = 1 + hash(c.seed, 0xaa0) % (count - 1);
  return static_cast<std::uint64_t>(axis) != last
             ? axis
             : static_cast<std::int64_t>(hash(c.seed, 0xaa1) % last);
}

}  // namespace

std::int64_t picture_position(std::int64_t axis, std::int64_t token, std::int64_t text,
                              std::int64_t width, std::int64_t first, std::int64_t usual) {
  if (token < text) return usual;
  const std::int64_t patch = token - text;
  const std::int64_t by[] = {0, patch / width, patch % width, patch % 2};
  return moved(first, by[axis]);
}

void use_map(Case& c, const std::vector<std::uint8_t>& axis_of_pair) {
  if (axis_of_pair.empty()) return;
  c.axes = std::max<std::int64_t>(2, 1 + *std::ranges::max_element(axis_of_pair));
  c.axis_of_pair = axis_of_pair;
}

void take_axes(Case& c, const std::vector<std::uint8_t>& axis_of_pair) {
  use_map(c, axis_of_pair);
  if (!axis_of_pair.empty()) c.axis_positions = AxisPositions::picture;
}

void drop_axes(Case& c) {
  if (c.axes > 1 && c.position_rule == PositionRule::list)
    c.positions.resize(static_cast<std::size_t>(c.batch * c.tokens));
  c.axes = 1;
  c.axis_of_pair.clear();
  c.axis_positions = AxisPositions::equal;
  c.position_axis_stride = c.table_axis_stride = contiguous;
}

Case with_fewer_axes(const Case& c) {
  Case out = c;
  if (c.axes <= 2) {
    drop_axes(out);
    return out;
  }
  --out.axes;
  if (c.position_rule == PositionRule::list)
    out.positions.resize(static_cast<std::size_t>(out.axes * c.batch * c.tokens));
  for (std::uint8_t& axis : out.axis_of_pair)
    axis = std::min(axis, static_cast<std::uint8_t>(out.axes - 1));
  return out;
}

void add_planes(const Case& c, std::vector<std::int64_t>& positions) {
  const std::vector<std::int64_t> plane = positions;
  const std::int64_t text = c.position_token_stride == 0 ? c.tokens : (c.tokens + 2) / 3;
  const auto width = 2 + static_cast<std::int64_t>(hash(c.seed, 0xaa2) % 4);
  // Rows of batches may differ: every other one may be text alone.
  const bool mixed = c.position_batch_stride != 0 && hash(c.seed, 0xaa4) % 2 == 0;
  const auto is_text_row = [&](std::size_t i) {
    return mixed && (i / static_cast<std::size_t>(c.tokens) + hash(c.seed, 0xaa5)) % 2 == 0;
  };
  const auto position_of = [&](std::int64_t axis, std::size_t i) {
    const std::int64_t token = static_cast<std::int64_t>(i) % c.tokens, usual = plane[i];
    const bool is_text = token < text || (c.batch > 1 && is_text_row(i));
    if (c.axis_positions == AxisPositions::picture && !is_text)
      return picture_position(axis, token, text, width,
                              plane[i - static_cast<std::size_t>(token - text)], usual);
    const bool as_first = source_of(c, axis) == 0 || c.axis_positions == AxisPositions::equal ||
                          c.axis_positions == AxisPositions::picture ||
                          (c.axis_positions == AxisPositions::after_text && is_text);
    return as_first ? usual : apart(c, source_of(c, axis), usual);
  };
  positions.clear();
  for (std::int64_t axis = 0; axis < c.axes; ++axis)
    for (std::size_t i = 0; i < plane.size(); ++i) positions.push_back(position_of(axis, i));
}

std::vector<std::uint8_t> map_of_pairs(const Case& c, std::int64_t pairs) {
  std::vector<std::uint8_t> out;
  for (std::size_t i = 0; i < static_cast<std::size_t>(pairs); ++i)
    out.push_back(c.axis_of_pair[i % c.axis_of_pair.size()]);
  return out;
}

void reverse_planes(std::vector<std::int64_t>& positions, std::int64_t axes) {
  const auto plane = static_cast<std::ptrdiff_t>(positions.size()) / axes;
  for (auto at = positions.begin(); at != positions.end(); at += plane)
    std::reverse(at, at + plane);
}

std::string map_text(const std::vector<std::uint8_t>& map) {
  std::string out;
  for (std::size_t at = 0; at < map.size();) {
    // The period that goes on for longest, at least twice.
    std::size_t best = 1, length = 1;
    for (std::size_t period = 1; period <= 8; ++period) {
      std::size_t end = at;
      while (end < map.size() && (end < at + period || map[end] == map[end - period])) ++end;
      const std::size_t whole = (end - at) / period * period;
      if (whole > length && whole >= (period == 1 ? 2 : 2 * period)) best = period, length = whole;
    }
    std::string unit;
    for (std::size_t i = 0; i < best; ++i)
      unit += fmt::format("{}{}", i == 0 ? "" : ",", unsigned{map[at + i]});
    if (best > 1) unit = "(" + unit + ")";
    if (length > best) unit += fmt::format("*{}", length / best);
    out += (out.empty() ? "" : ",") + unit;
    at += length;
  }
  return out;
}

std::vector<std::uint8_t> map_of_text(std::string_view text) {
  std::vector<std::uint8_t> map;
  const auto take = [&](char wanted) {
    if (text.empty() || text.front() != wanted) return false;
    text.remove_prefix(1);
    return true;
  };
  const auto axis = [&](std::vector<std::uint8_t>& to) {
    if (text.empty() || text.front() < '0' || text.front() >= '0' + most_axes) return false;
    to.push_back(static_cast<std::uint8_t>(text.front() - '0'));
    text.remove_prefix(1);
    return true;
  };
  do {
    std::vector<std::uint8_t> unit;
    const bool many = take('(');
    do {
      if (!axis(unit) || unit.size() > most_pairs) return {};
    } while (many && take(','));
    if (many && !take(')')) return {};
    std::size_t times = 1;
    if (take('*')) {
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), times);
      if (error != std::errc{} || times == 0 || times > most_pairs) return {};
      text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    }
    if (map.size() + unit.size() * times > most_pairs) return {};
    for (; times > 0; --times) map.insert(map.end(), unit.begin(), unit.end());
  } while (take(','));
  return text.empty() ? map : std::vector<std::uint8_t>{};
}

}  // namespace ropewalk::harness
