#include "properties/array/factors.h"

#include <algorithm>
#include <limits>

#include "properties/array/factor_table.h"

namespace ropewalk::properties {
using namespace harness;
namespace {

constexpr std::int64_t widest_head = 1200, most_tokens = 1 << 18;
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
      return {3, 5, 7, 9, 13};
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
  const int window = room == level::no_room ? level::whole_head : level::at_start;
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

// Whether the first tensor can have so many bytes.
bool sizes_fit(const Levels& l, Dtype dtype, std::int32_t) {
  const SizeRange product = possible_bytes(l, dtype);
  if (product.most == 0) return false;
  const SizeRange bytes = range_of(Factor::bytes, l[Factor::bytes]);
  return product.least <= bytes.most && product.most >= bytes.least;
}

bool several(const Levels& l, Factor f) {
  return l[f] > 0;  // the first level of tokens, batch and heads is one
}

bool has_second(const Levels& l) {
  return l[Factor::tensors] != level::one;
}

bool layout_has_its_axes(const Levels& l, Factor f) {
  switch (static_cast<level::LayoutLevel>(l[f])) {
    case level::packed:
      return true;
    case level::token_gap:
      return several(l, Factor::tokens);
    case level::head_gap:
      return several(l, Factor::heads);
    case level::both_gaps:
    case level::head_major:
    case level::roomy:
      return several(l, Factor::tokens) && several(l, Factor::heads);
    case level::fused:
      return has_second(l);
    case level::broadcast:
      return several(l, Factor::tokens) || several(l, Factor::heads);
  }
  __builtin_unreachable();
}

bool in_layout_has_its_axes(const Levels& l, Dtype, std::int32_t) {
  return layout_has_its_axes(l, Factor::in_layout);
}
bool out_layout_has_its_axes(const Levels& l, Dtype, std::int32_t) {
  return layout_has_its_axes(l, Factor::out_layout);
}

bool layouts_fit_the_placement(const Levels& l, Dtype, std::int32_t) {
  const int in = l[Factor::in_layout], out = l[Factor::out_layout];
  switch (static_cast<level::PlacementLevel>(l[Factor::placement])) {
    case level::out_of_place:
      if (in == level::fused) return out == level::packed || out == level::fused;
      return out != level::fused;
    case level::in_place:
      return in != level::broadcast && in == out;
    case level::first_in_place:
    case level::others_in_place:
      return in != level::broadcast && in != level::fused && out != level::fused;
  }
  __builtin_unreachable();
}

bool placement_has_its_tensors(const Levels& l, Dtype, std::int32_t) {
  const int placement = l[Factor::placement];
  return placement == level::out_of_place || placement == level::in_place || has_second(l);
}

bool tables_have_their_tensors(const Levels& l, Dtype, std::int32_t) {
  const int set = l[Factor::tensors];
  return l[Factor::tables] == level::shared_table || l[Factor::tables] == level::other_angles ||
         (has_second(l) && set != level::copied_second && set != level::copied_first);
}

bool positions_are_given(const Levels& l, Dtype, std::int32_t) {
  return l[Factor::rows_by] != level::without_positions ||
         (l[Factor::position_type] == 0 && l[Factor::position_strides] == 0);
}

bool position_strides_have_their_axes(const Levels& l, Dtype, std::int32_t) {
  switch (static_cast<level::PositionStridesLevel>(l[Factor::position_strides])) {
    case level::packed_positions:
      return true;
    case level::token_stride:
      return several(l, Factor::tokens);
    case level::slice:
    case level::one_row:
      return several(l, Factor::batch);
    case level::one_token:
      return several(l, Factor::tokens) && l[Factor::rows_by] == level::by_position;
  }
  __builtin_unreachable();
}

bool order_has_its_tokens(const Levels& l, Dtype, std::int32_t) {
  const int order = l[Factor::position_order];
  return order == level::consecutive || order == level::random_order || several(l, Factor::tokens);
}

// A table by position has a row for each position up to the last, so it stays narrow.
bool table_reaches(const Levels& l, Dtype, std::int32_t contract) {
  if (contract != ROPE_CONTRACT_TABLE || l[Factor::rows_by] != level::by_position) return true;
  const int range = l[Factor::position_range];
  if (range == level::past_table) return l[Factor::rotary_dim] == 0;
  return range == level::from_zero || range == level::beside_small_power;
}

bool room_is_in_the_window(const Levels& l, Dtype, std::int32_t) {
  return (l[Factor::window] == level::whole_head) == (l[Factor::room] == level::no_room);
}

bool start_has_its_axes(const Levels& l, Dtype, std::int32_t) {
  switch (static_cast<level::StartLevel>(l[Factor::start])) {
    case level::at_zero:
      return true;
    case level::shifted:
      return l[Factor::in_layout] != level::fused;
    case level::unused_strides:
      return !several(l, Factor::tokens) || !several(l, Factor::batch) ||
             !several(l, Factor::heads);
  }
  __builtin_unreachable();
}

bool grouped_has_its_heads(const Levels& l, Dtype, std::int32_t) {
  return l[Factor::tensors] != level::grouped || several(l, Factor::heads);
}

// Tensors in one buffer have one type. Two tensors have one that differs.
bool types_have_their_tensors(const Levels& l, Dtype, std::int32_t) {
  const int types = l[Factor::types], set = l[Factor::tensors];
  if (types == level::alike) return true;
  if (l[Factor::in_layout] == level::fused) return false;
  return types == level::second_differs ? has_second(l) : set == level::three || set == level::four;
}

// Data near the end of a type leave no room for a large scale.
bool scale_fits_the_data(const Levels& l, Dtype, std::int32_t) {
  if (l[Factor::scale] != level::large) return true;
  const int data = l[Factor::data];
  return data != level::huge && data != level::wide;
}

// A large case costs as much as a hundred small ones, so it should show what it can.
bool large_ones_hide_nothing(const Levels& l, Dtype, std::int32_t) {
  return l[Factor::bytes] != level::beyond ||
         (!hides_others(Factor::data, l[Factor::data]) &&
          !hides_others(Factor::position_strides, l[Factor::position_strides]));
}

// A case moves at most 64 MiB. A tensor of another type may have four times as many bytes as the
// first.
bool large_ones_are_few(const Levels& l, Dtype, std::int32_t) {
  const int set = l[Factor::tensors], types = l[Factor::types];
  switch (static_cast<level::BytesLevel>(l[Factor::bytes])) {
    case level::level_1:
      return true;
    case level::level_2:
      return types == level::alike || types == level::second_differs;
    case level::beyond:
      return (set == level::one || set == level::grouped) && types == level::alike;
  }
  __builtin_unreachable();
}

// A large case is called once, and four callers need four times the memory. The properties history
// and threads have cases of their own, and of some hundred KiB.
bool large_ones_are_called_once(const Levels& l, Dtype, std::int32_t) {
  return l[Factor::bytes] == level::level_1 ||
         (l[Factor::before] == level::nothing && l[Factor::callers] == level::one_caller);
}

// Many short rows take long and show little that fewer do not: at most 2^18 tokens in all rows.
bool tokens_are_few(const Levels& l, Dtype, std::int32_t) {
  return range_of(Factor::tokens, l[Factor::tokens]).least *
             range_of(Factor::batch, l[Factor::batch]).least <=
         most_tokens;
}

template <std::size_t N>
int find_range(const SizeRange (&ranges)[N], std::int64_t value) {
  const auto found = std::find_if(std::begin(ranges), std::end(ranges),
                                  [&](const SizeRange& r) { return r.contains(value); });
  return found == std::end(ranges) ? -1 : static_cast<int>(found - std::begin(ranges));
}

}  // namespace

SizeRange range_of(Factor f, int level) {
  const auto i = static_cast<std::size_t>(level);
  if (f == Factor::tokens) return token_ranges[i];
  if (f == Factor::batch) return batch_ranges[i];
  if (f == Factor::heads) return head_ranges[i];
  return byte_ranges[i];
}

int level_of(Factor f, std::int64_t value) {
  if (f == Factor::tokens) return find_range(token_ranges, value);
  if (f == Factor::batch) return find_range(batch_ranges, value);
  if (f == Factor::heads) return find_range(head_ranges, value);
  return find_range(byte_ranges, value);
}

int nearest_level_of(Factor f, std::int64_t value) {
  int level = level_count(f) - 1;
  while (level > 0 && range_of(f, level).least > value) --level;
  return level;
}

std::int64_t least_bytes(const Levels& levels, Dtype dtype) {
  return possible_bytes(levels, dtype).least;
}

bool hides_others(Factor f, int level) {
  // One position for a whole row, data whose pairs have no finite truth or a wide bound, zeros.
  // Four callers hide nothing, but take as long as many rows.
  if (f == Factor::position_strides) return level == level::one_token;
  if (f == Factor::callers) return level == level::four_callers;
  return f == Factor::data &&
         (level == level::special || level == level::extreme || level == level::zero_heads);
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

const std::vector<Requirement>& requirements() {
  using enum Factor;
  static const std::vector<Requirement> all{
      {{rotary_dim, room, heads, tokens, batch, bytes, frequencies}, sizes_fit},
      {{in_layout, tokens, heads, tensors}, in_layout_has_its_axes},
      {{out_layout, tokens, heads, tensors}, out_layout_has_its_axes},
      {{placement, in_layout, out_layout}, layouts_fit_the_placement},
      {{placement, tensors}, placement_has_its_tensors},
      {{tables, tensors}, tables_have_their_tensors},
      {{rows_by, position_type, position_strides}, positions_are_given},
      {{position_strides, tokens, batch, rows_by}, position_strides_have_their_axes},
      {{position_order, tokens}, order_has_its_tokens},
      {{rows_by, position_range, rotary_dim}, table_reaches},
      {{window, room}, room_is_in_the_window},
      {{start, in_layout, tokens, batch, heads}, start_has_its_axes},
      {{tensors, heads}, grouped_has_its_heads},
      {{types, tensors, in_layout}, types_have_their_tensors},
      {{scale, data}, scale_fits_the_data},
      {{bytes, tensors, types}, large_ones_are_few},
      {{bytes, data, position_strides}, large_ones_hide_nothing},
      {{bytes, before, callers}, large_ones_are_called_once},
      {{tokens, batch}, tokens_are_few},
  };
  return all;
}

}  // namespace ropewalk::properties
