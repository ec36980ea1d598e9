#include "properties/array/factors.h"

#include <algorithm>
#include <limits>
#include <span>

#include "properties/array/factor_table.h"

namespace ropewalk::properties {
namespace {

constexpr std::int64_t widest_head = 1200;
constexpr std::int64_t kib = 1024, mib = 1024 * kib;
constexpr SizeRange token_ranges[] = {{1, 1},    {2, 9},      {10, 32},
                                      {33, 100}, {101, 1000}, {1001, 4200}};
constexpr SizeRange batch_ranges[] = {{1, 1}, {2, 3}, {4, 11}, {12, 100}, {513, 1100}};
constexpr SizeRange head_ranges[] = {{1, 1}, {2, 2}, {3, 9}, {10, 31}, {32, 48}, {49, 260}};
constexpr SizeRange byte_ranges[] = {{1, 32 * kib}, {32 * kib + 1, 4 * mib}, {16 * mib, 21 * mib}};

// The level of a rotary_dim: its largest power of two, or that it is large.
int dim_level(std::int64_t d) {
  int level = d <= 8 ? 0 : d > 256 ? 7 : 1;
  for (std::int64_t power = 4; level > 0 && level < 6 && d % power == 0; power *= 2) ++level;
  return level;
}

// The usual one of a level first, then all others up to 256.
using Dims = std::vector<std::int64_t>;
const Dims& rotary_dims(int level) {
  static const auto all = [] {
    std::array<Dims, 8> dims{
        {{8}, {18}, {20}, {24}, {80}, {32}, {64}, {512, 258, 260, 264, 320, 384, 510, 1024}}};
    for (std::int64_t d = 2; d <= 256; d += 2) {
      Dims& of_level = dims[static_cast<std::size_t>(dim_level(d))];
      if (d != of_level[0]) of_level.push_back(d);
    }
    return dims;
  }();
  return all[static_cast<std::size_t>(level)];
}

// Dims of a head beside its window.
Dims rooms_of(int level, std::int64_t rotary_dim) {
  switch (static_cast<level::RoomLevel>(level)) {
    case level::no_room:
      return {0};
    case level::odd_room:
      return {3, 1, 5, 7, 9, 13};
    case level::even_room:
      return {16, 8, 32, 64, 2, 4, 6};
    case level::much_room:
      return {rotary_dim, 2 * rotary_dim, 3 * rotary_dim, 8 * rotary_dim};
  }
  __builtin_unreachable();
}

std::int64_t odd_offset(std::int64_t room) {
  return room % 8 == 0 ? room / 2 : room / 2 | 1;
}

// The smallest and largest head_dim of two levels. A replay line lists frequencies one by one, so
// such heads are narrow.
SizeRange make_head_dims(int rotary_dim, int room, bool listed) {
  SizeRange out{std::numeric_limits<std::int64_t>::max(), 0};
  const int window = room == level::no_room ? level::whole_head : level::inside;
  for (const HeadWindow& head : heads_of(rotary_dim, room, window)) {
    if (listed && head.rotary_dim > widest_listed) continue;
    out.least = std::min(out.least, head.head_dim);
    out.most = std::max(out.most, head.head_dim);
  }
  return out;
}

// The same from a table, as constraints ask again and again.
SizeRange head_dims(int rotary_dim, int room, bool listed) {
  static const auto table = [] {
    std::array<SizeRange, 8 * 4 * 2> all;
    for (std::size_t i = 0; i < all.size(); ++i)
      all[i] = make_head_dims(static_cast<int>(i / 8), static_cast<int>(i / 2 % 4), i % 2 != 0);
    return all;
  }();
  return table[static_cast<std::size_t>((rotary_dim * 4 + room) * 2 + (listed ? 1 : 0))];
}

// The bytes that the first tensor can have; most = 0: there is no such head.
SizeRange possible_bytes(const Levels& l, Dtype dtype) {
  const SizeRange dims =
      head_dims(l[Factor::rotary_dim], l[Factor::room], l[Factor::frequencies] == level::listed);
  if (dims.most == 0) return dims;
  SizeRange product{dims.least * data_type(dtype).bytes, dims.most * data_type(dtype).bytes};
  for (const Factor f : {Factor::tokens, Factor::batch, Factor::heads}) {
    const SizeRange r = range_of(f, l[f]);
    product.least *= r.least;
    product.most *= r.most;
  }
  return product;
}

std::span<const SizeRange> ranges_of(Factor f) {
  if (f == Factor::tokens) return token_ranges;
  if (f == Factor::batch) return batch_ranges;
  if (f == Factor::heads) return head_ranges;
  return byte_ranges;
}

}  // namespace

SizeRange range_of(Factor f, int level) {
  return ranges_of(f)[static_cast<std::size_t>(level)];
}

int level_of(Factor f, std::int64_t value) {
  const auto holds = [&](const SizeRange& range) { return range.contains(value); };
  const auto ranges = ranges_of(f);
  const auto found = std::ranges::find_if(ranges, holds);
  return found == ranges.end() ? -1 : static_cast<int>(found - ranges.begin());
}

int nearest_level_of(Factor f, std::int64_t value) {
  int level = level_count(f) - 1;
  while (level > 0 && range_of(f, level).least > value) --level;
  return level;
}

bool sizes_fit(const Levels& l, Dtype dtype) {
  const SizeRange product = possible_bytes(l, dtype);
  if (product.most == 0) return false;
  const SizeRange bytes = range_of(Factor::bytes, l[Factor::bytes]);
  return product.least <= bytes.most && product.most >= bytes.least;
}

std::int64_t least_bytes(const Levels& levels, Dtype dtype) {
  return possible_bytes(levels, dtype).least;
}

void set_window_levels(Levels& levels, const HeadWindow& head) {
  const std::int64_t d = head.rotary_dim, room = head.head_dim - d;
  levels[Factor::rotary_dim] = dim_level(d);
  levels[Factor::room] = room == 0       ? level::no_room
                         : room >= d     ? level::much_room
                         : room % 2 == 0 ? level::even_room
                                         : level::odd_room;
  levels[Factor::window] = room == 0             ? level::whole_head
                           : head.offset == 0    ? level::at_start
                           : head.offset == room ? level::at_end
                                                 : level::inside;
}

std::vector<HeadWindow> heads_of(int rotary_dim, int room, int window) {
  std::vector<HeadWindow> out;
  if ((room == level::no_room) != (window == level::whole_head)) return out;
  for (const std::int64_t dim : rotary_dims(rotary_dim))
    for (const std::int64_t beside : rooms_of(room, dim)) {
      const std::int64_t offset = window == level::at_end   ? beside
                                  : window == level::inside ? odd_offset(beside)
                                                            : 0;
      const HeadWindow head{dim + beside, dim, offset};
      Levels levels;  // some rooms belong to another level for some dims
      set_window_levels(levels, head);
      if (head.head_dim <= widest_head && levels[Factor::rotary_dim] == rotary_dim &&
          levels[Factor::room] == room && levels[Factor::window] == window)
        out.push_back(head);
    }
  return out;
}

}  // namespace ropewalk::properties
