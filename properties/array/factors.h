// What a case is made of: factors, each with at most eight levels, and the sizes of levels. What
// levels are called and require of each other stands in factor_table.h. Values inside a level, such
// as which odd number of tokens, are drawn by a seed.
//
// Interactions of few factors cause nearly all failures (Kuhn, Wallace, Gallo, IEEE TSE 2004), so a
// covering array over these factors (properties/array/generator.h) meets every combination of two
// or three levels in few cases.
#pragma once
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "harness/cases/case.h"

namespace ropewalk::properties {

enum class Factor : std::uint8_t {
  operation,
  placement,
  rows_by,
  tables,
  table_rows,
  spare_rows,
  position_type,
  position_strides,
  position_order,
  position_range,
  in_layout,
  out_layout,
  start,
  window,
  rotary_dim,
  room,
  heads,
  tensors,
  tokens,
  batch,
  bytes,
  scale,
  data,
  frequencies,
  types,
  table_type,
  before,
  callers,
  axes,
  planes,
  norm,
  append,
  slots,
  caches
};
inline constexpr std::size_t factor_count = 34;
constexpr std::size_t index_of(Factor f) {
  return static_cast<std::size_t>(f);
}

/// True for factors that only a kernel with a table has.
constexpr bool is_of_tables(Factor f) {
  return f == Factor::rows_by || f == Factor::tables || f == Factor::table_rows ||
         f == Factor::spare_rows || f == Factor::table_type;
}

/// The kind of extension of the contract that a factor is of; 0: of none.
constexpr std::uint32_t extension_of(Factor f) {
  if (f == Factor::axes || f == Factor::planes) return ROPE_EXT_AXES;
  if (f == Factor::norm) return ROPE_EXT_NORM;
  const bool append = f == Factor::append || f == Factor::slots || f == Factor::caches;
  return append ? ROPE_EXT_APPEND : 0;
}

/// One level of each factor.
struct Levels {
  std::array<int, factor_count> of{};
  int& operator[](Factor f) { return of[index_of(f)]; }
  int operator[](Factor f) const { return of[index_of(f)]; }
  bool operator==(const Levels&) const = default;
};

inline constexpr int most_levels = 8;  ///< of a factor

/// For each factor a set of its levels, as bits.
struct LevelSets {
  std::array<std::uint8_t, factor_count> of{};
  bool has(const Levels& levels) const {
    for (std::size_t f = 0; f < factor_count; ++f)
      if (!has(static_cast<Factor>(f), levels.of[f])) return false;
    return true;
  }
  std::uint8_t& operator[](Factor f) { return of[index_of(f)]; }
  std::uint8_t operator[](Factor f) const { return of[index_of(f)]; }
  bool has(Factor f, int level) const { return (of[index_of(f)] >> level & 1) != 0; }
  void add(Factor f, int level) { of[index_of(f)] |= static_cast<std::uint8_t>(1 << level); }
  void remove(Factor f, int level) { of[index_of(f)] &= static_cast<std::uint8_t>(~(1 << level)); }
  /// One of the factor's, by any number.
  int pick(Factor f, std::uint64_t any) const {
    unsigned bits = of[index_of(f)];
    for (auto skipped = any % static_cast<unsigned>(std::popcount(bits)); skipped > 0; --skipped)
      bits &= bits - 1;
    return std::countr_zero(bits);
  }
  int last(Factor f) const { return std::bit_width(of[index_of(f)]) - 1; }
  bool operator==(const LevelSets&) const = default;
};

/// A level of one factor.
struct FactorLevel {
  Factor factor{};
  int level = 0;
  auto operator<=>(const FactorLevel&) const = default;  // NOLINT: clang-tidy 14 sees a null
};
/// Levels of different factors.
using LevelTuple = std::vector<FactorLevel>;

/// Levels that have a meaning beyond their place in the table.
namespace level {
enum PlacementLevel { out_of_place, in_place, first_in_place, others_in_place };
enum RowsByLevel { by_position, by_token, without_positions };
enum TablesLevel { shared_table, own_tables, own_sin, other_angles };
enum TableRowsLevel { packed_rows, row_gap, cos_beside_sin };
enum PositionTypeLevel { int32_positions, int64_positions };
enum RotaryDimLevel { few_dims, odd_pairs };  // and powers of two that divide it
enum PositionStridesLevel {
  packed_positions,
  token_stride,
  slice,
  one_row,
  one_token,
  one_position
};
enum PositionOrderLevel { consecutive, random_order, stepped, descending };
enum PositionRangeLevel {
  from_zero,
  beside_small_power,
  past_table,
  beside_power,
  at_the_end,
  negative
};
enum LayoutLevel { packed, token_gap, head_gap, both_gaps, head_major, roomy, fused, broadcast };
enum StartLevel { at_zero, shifted, unused_strides };
enum WindowLevel { whole_head, at_start, inside, at_end };
enum RoomLevel { no_room, odd_room, even_room, much_room };
enum TensorsLevel { one, equal, grouped, reshaped, copied_second, copied_first, three, four };
enum BytesLevel { level_1, level_2, beyond };
enum ScaleLevel { zero, scale_one, near_one, small, usual, negative_scale, large };
enum DataLevel { unit, wide, basis, tiny, huge, special, extreme, zero_heads };
enum FrequenciesLevel { usual_base, large_base, small_base, listed };
enum TypesLevel { alike, second_differs, others_differ, all_differ };
enum TableTypeLevel { usual_table, another_table };
enum BeforeLevel { nothing, other_contents, other_state, numbers };
enum CallersLevel { one_caller, four_callers };
enum AxesLevel { no_axes, two_axes, sections, interleaved, scattered, idle_axis, four_axes };
enum PlanesLevel { apart, equal_planes, shared_planes, two_equal, after_text, picture };
enum NormLevel { no_norm, weighted, plus_one, unweighted, one_alone, other_weights };
enum AppendLevel { no_append, all_but_first, all_appended };
enum SlotsLevel { in_order, paged, anywhere, skipping, padded };
enum CachesLevel { packed_pages, head_major_pages, page_gaps, one_cache };
}  // namespace level

struct SizeRange {
  std::int64_t least, most;
  bool contains(std::int64_t n) const { return n >= least && n <= most; }
};
/// The values of a level of tokens, batch, heads (of the first tensor), or bytes of the first
/// tensor, input alone.
SizeRange range_of(Factor f, int level);
/// True if the first tensor can have the bytes of its level.
bool sizes_fit(const Levels& levels, Dtype dtype);
/// The least bytes of the first tensor that these levels of sizes allow, input alone.
std::int64_t least_bytes(const Levels& levels, Dtype dtype);
/// The factors that least_bytes() reads.
inline constexpr std::array size_factors{Factor::tokens,     Factor::batch, Factor::heads,
                                         Factor::rotary_dim, Factor::room,  Factor::frequencies};
/// The level that holds a value of these factors; -1: none does.
int level_of(Factor f, std::int64_t value);
/// The same, and the level below the value where none holds it.
int nearest_level_of(Factor f, std::int64_t value);

/// A head: its width, and the window that is rotated.
struct HeadWindow {
  std::int64_t head_dim, rotary_dim, offset = 0;
  bool operator==(const HeadWindow&) const = default;
};
/// The widest window whose frequencies may be listed.
inline constexpr std::int64_t widest_listed = 48;
/// The levels of rotary_dim, room and window for such a head.
void set_window_levels(Levels& levels, const HeadWindow& head);
/// Heads of these three levels, those of models first. Every level has at least one.
std::vector<HeadWindow> heads_of(int rotary_dim, int room, int window);

}  // namespace ropewalk::properties
