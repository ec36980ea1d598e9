#include "properties/array/requirements.h"

#include "properties/array/factor_table.h"

namespace ropewalk::properties {
using namespace harness;
namespace {

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

bool planes_have_their_axes(const Levels& l, Dtype, std::int32_t) {
  const int planes = l[Factor::planes], axes = l[Factor::axes];
  if (planes == level::two_equal) return axes > level::two_axes;
  return planes == level::apart || axes != level::no_axes;
}

bool planes_have_their_tokens(const Levels& l, Dtype, std::int32_t) {
  const int planes = l[Factor::planes];
  return (planes != level::after_text && planes != level::picture) || several(l, Factor::tokens);
}

bool forward_if_fused(const Levels& l, Dtype, std::int32_t) {
  return l[Factor::operation] == 0 ||
         (l[Factor::norm] == level::no_norm && l[Factor::append] == level::no_append);
}

// Near the end of a type the sum of squares overflows, and nothing is promised.
bool norm_fits_the_data(const Levels& l, Dtype dtype, std::int32_t) {
  if (l[Factor::norm] == level::no_norm) return true;
  const int data = l[Factor::data];
  return data != level::extreme && (data != level::huge || !has_wide_range(dtype));
}

// What is appended is not in place; the other tensors may be.
bool append_fits_the_placement(const Levels& l, Dtype, std::int32_t) {
  const int append = l[Factor::append], placement = l[Factor::placement];
  if (append == level::all_but_first && !has_second(l)) return false;
  return append == level::no_append || placement == level::out_of_place ||
         (append == level::all_but_first && placement != level::others_in_place);
}

bool slots_have_their_tokens(const Levels& l, Dtype, std::int32_t) {
  const int slots = l[Factor::slots];
  if (slots == level::in_order) return true;
  return l[Factor::append] != level::no_append &&
         (slots < level::skipping || several(l, Factor::tokens));
}

bool caches_are_appended_to(const Levels& l, Dtype, std::int32_t) {
  const int caches = l[Factor::caches], append = l[Factor::append];
  return caches == level::one_cache ? append == level::all_appended
                                    : caches == 0 || append != level::no_append;
}

bool caches_have_their_tensors(const Levels& l, Dtype, std::int32_t) {
  return l[Factor::caches] != level::one_cache || has_second(l);
}

bool one_cache_has_one_type(const Levels& l, Dtype, std::int32_t) {
  return l[Factor::caches] != level::one_cache || l[Factor::types] == level::alike;
}

// Many short rows take long and show little that fewer do not: at most 2^18 tokens in all rows.
bool tokens_are_few(const Levels& l, Dtype, std::int32_t) {
  constexpr std::int64_t most_tokens = 1 << 18;
  return range_of(Factor::tokens, l[Factor::tokens]).least *
             range_of(Factor::batch, l[Factor::batch]).least <=
         most_tokens;
}

}  // namespace

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
      {{axes, planes}, planes_have_their_axes},
      {{planes, tokens}, planes_have_their_tokens},
      {{operation, norm, append}, forward_if_fused},
      {{norm, data}, norm_fits_the_data},
      {{append, placement, tensors}, append_fits_the_placement},
      {{slots, append, tokens}, slots_have_their_tokens},
      {{caches, append}, caches_are_appended_to},
      {{caches, tensors}, caches_have_their_tensors},
      {{caches, types}, one_cache_has_one_type},
  };
  return all;
}

}  // namespace ropewalk::properties
