#include "properties/array/factor_table.h"

#include "properties/array/level_draw.h"

namespace ropewalk::properties {
using namespace harness;
namespace {

void operate(Case& c, int level, const LevelDraw&) {
  c.operation = static_cast<Operation>(level);
}

int operation_of(const Case& c) {
  return static_cast<int>(c.operation);
}

void type_positions(Case& c, int level, const LevelDraw&) {
  c.position_dtype = level == 0 ? Dtype::i32 : Dtype::i64;
}

void precede(Case& c, int level, const LevelDraw&) {
  c.before = static_cast<Before>(level);
}

int position_type_of(const Case& c) {
  return c.position_dtype == Dtype::i64 ? 1 : 0;
}

// Of three tensors, also all but the second, or one alone of those after the first.
void place(Case& c, int level, const LevelDraw& draw) {
  const std::size_t count = c.tensors.size();
  const std::uint64_t which = draw.bits(q_placement);
  for (std::size_t i = 0; i < count; ++i) {
    const bool others = i > 0 && (which % 2 == 0 || i == 1 + which / 2 % (count - 1));
    c.tensors[i].in_place =
        level == level::in_place ||
        (level == level::first_in_place && (i == 0 || (i > 1 && which % 2 == 0))) ||
        (level == level::others_in_place && others);
  }
}

int placement_of(const Case& c) {
  return c.tensors[0].in_place ? level::in_place : level::out_of_place;
}

void index_tables(Case& c, int level, const LevelDraw&) {
  if (c.contract != ROPE_CONTRACT_TABLE) return;
  c.rows_by = level == level::by_position ? ROPE_ROW_BY_POSITION : ROPE_ROW_BY_TOKEN;
  c.positions_null = level == level::without_positions;
}

int indexing_of(const Case& c) {
  if (c.contract != ROPE_CONTRACT_TABLE || c.rows_by == ROPE_ROW_BY_POSITION)
    return level::by_position;
  return c.positions_null ? level::without_positions : level::by_token;
}

void spare_table_rows(Case& c, int level, const LevelDraw& draw) {
  if (c.contract == ROPE_CONTRACT_TABLE && level > 0) c.table_spare_rows = draw.in(q_gap, {1, 40});
}

void choose_tables(Case& c, int level, const LevelDraw& draw) {
  c.own_tables = level == level::own_tables;
  c.own_sin = level == level::own_sin;
  c.table_apart = level == level::other_angles ? draw.in(q_gap, {1, 99}) : 0;
}

// 1.1386... is YaRN's scale at factor 4, not exact in f32. A type of wide range has room for far
// scales, their squares and parts of them.
void choose_scale(Case& c, int level, const LevelDraw& draw) {
  constexpr double usual[] = {1.1386294361119891, 0.5, 1.0693, 0.0884, 3, 64},
                   below[] = {-2, -1, -0.7}, large[] = {5000, 4097, 8192};
  const bool far = has_wide_range(c.dtype) && draw.bits(q_wide) % 4 == 0;
  const bool odd = draw.bits(q_scale) % 2 != 0;
  const double scales[] = {0,
                           1,
                           odd ? 1 - 1e-4 : 1 + 1e-4,
                           far   ? 0x1p-40
                           : odd ? 1e-3
                                 : 1e-4,
                           draw.of(q_scale, usual),
                           draw.of(q_scale, below),
                           far ? 0x1p40 : draw.of(q_scale, large)};
  c.attention_scale = scales[level];
}

int scale_of_base(const Case& c) {
  return c.attention_scale == 0 ? level::zero : level::usual;
}

void choose_data(Case& c, int level, const LevelDraw&) {
  constexpr DataPattern patterns[] = {
      DataPattern::unit, DataPattern::wide,    DataPattern::basis, DataPattern::tiny,
      DataPattern::huge, DataPattern::special, DataPattern::edge,  DataPattern::zero_heads};
  c.data = patterns[level];
}

// Four callers have memory of their own, or share it. They have one state or two.
void call_at_once(Case& c, int level, const LevelDraw& draw) {
  c.callers = level == level::four_callers ? 4 : 1;
  c.caller_states = CallerStates::one;
  if (level != level::four_callers) return;
  c.shift = draw.in(q_callers, {0, 1});
  c.caller_states = static_cast<CallerStates>(draw.bits(q_callers) / 2 % 3);
}

// ---- what levels require of each other

bool sizes_have_room(const Levels& l, Dtype dtype, std::int32_t) {
  return sizes_fit(l, dtype);
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
    case level::one_position:  // four callers show no more of it, and take as long as many rows
      return several(l, Factor::tokens) && several(l, Factor::batch) &&
             l[Factor::rows_by] == level::by_position && l[Factor::callers] == level::one_caller;
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
  constexpr std::int64_t most_tokens = 1 << 18;
  return range_of(Factor::tokens, l[Factor::tokens]).least *
             range_of(Factor::batch, l[Factor::batch]).least <=
         most_tokens;
}

}  // namespace

const std::array<FactorRow, factor_count>& factor_table() {
  static const std::array<FactorRow, factor_count> table{{
      {"operation", {"forward", "backward"}, operate, operation_of},
      {"placement",
       {"out of place", "in place", "first in place", "all but first in place"},
       place,
       placement_of},
      {"table rows by", {"position", "token", "token, no positions"}, index_tables, indexing_of},
      {"tables", {"shared", "own", "own sin", "other angles"}, choose_tables},
      {"table rows", {"packed", "with gaps", "cos beside sin"}},
      {"spare table rows", {"none", "some"}, spare_table_rows},
      {"position type", {"i32", "i64"}, type_positions, position_type_of},
      {"position strides",
       {"packed", "token stride", "slice of rows", "one row", "one token", "one position"}},
      {"position order", {"consecutive", "random", "stepped", "descending"}},
      {"position range",
       {"from 0", "beside 2^k up to 2^16", "past 131072", "beside 2^k from 2^17", "at 2^31",
        "negative"}},
      {"input layout",
       {"packed", "token gaps", "head gaps", "both gaps", "head-major", "head-major with room",
        "fused", "broadcast"}},
      {"output layout",
       {"packed", "token gaps", "head gaps", "both gaps", "head-major", "head-major with room",
        "fused"}},
      {"start", {"0", "shifted", "absurd unused strides"}},
      {"window", {"whole head", "at the start", "inside", "at the end"}},
      {"rotary_dim",
       {"up to 8", "2 mod 4", "4 mod 8", "8 mod 16", "16 mod 32", "32 mod 64", "0 mod 64",
        "above 256"}},
      {"dims beside the window", {"none", "odd", "even", "as many or more"}},
      {"heads", {"1", "2", "3 to 9", "10 to 31", "32 to 48", "above 48"}},
      {"tensors",
       {"1", "2 equal", "grouped", "2 shapes", "second copied", "first copied", "3", "4"}},
      {"tokens", {"1", "2 to 9", "10 to 32", "33 to 100", "101 to 1000", "above 1000"}},
      {"batch", {"1", "2 or 3", "4 to 11", "12 to 100", "above 512"}},
      {"bytes of a tensor", {"up to 32 KiB", "up to 4 MiB", "16 MiB"}},
      {"scale",
       {"0", "1", "beside 1", "small", "usual", "negative", "above 4096"},
       choose_scale,
       scale_of_base},
      {"data",
       {"unit", "wide", "basis", "tiny", "huge", "special", "ends of the type", "zero heads"},
       choose_data},
      {"frequencies", {"base 10000", "base 500000", "base 2.5", "listed"}},
      {"data types",
       {"alike", "another of the second tensor", "another of all but the first",
        "one of each tensor"},
       nullptr,
       nullptr,
       "tensors of several data types"},
      {"table type", {"usual", "another"}, nullptr, nullptr, "a table of another type"},
      {"before",
       {"nothing", "other contents at the same addresses", "another state", "numbers in outputs"},
       precede},
      {"callers", {"one", "four at once"}, call_at_once, nullptr, "callers at once"},
  }};
  return table;
}

bool hides_others(Factor f, int level) {
  // One position for a whole row or for all, data whose pairs have no finite truth or a wide bound,
  // zeros. Four callers hide nothing, but take as long as many rows.
  if (f == Factor::position_strides) return level >= level::one_token;
  if (f == Factor::callers) return level == level::four_callers;
  return f == Factor::data &&
         (level == level::special || level == level::extreme || level == level::zero_heads);
}

const std::vector<Requirement>& requirements() {
  using enum Factor;
  static const std::vector<Requirement> all{
      {{rotary_dim, room, heads, tokens, batch, bytes, frequencies}, sizes_have_room},
      {{in_layout, tokens, heads, tensors}, in_layout_has_its_axes},
      {{out_layout, tokens, heads, tensors}, out_layout_has_its_axes},
      {{placement, in_layout, out_layout}, layouts_fit_the_placement},
      {{placement, tensors}, placement_has_its_tensors},
      {{tables, tensors}, tables_have_their_tensors},
      {{rows_by, position_type, position_strides}, positions_are_given},
      {{position_strides, tokens, batch, rows_by, callers}, position_strides_have_their_axes},
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
