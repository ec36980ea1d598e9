// Helpers for fixed cases. A case says what it wants, and gets what the kernel offers of it.
#pragma once
#include <algorithm>
#include <optional>
#include <vector>

#include "harness/cases/axes.h"
#include "harness/cases/case.h"
#include "harness/cases/fused.h"
#include "harness/judge/offer.h"
#include "properties/property.h"

namespace ropewalk::properties {

/// What a case should have. A field that is not given changes nothing.
struct Wish {
  std::int64_t from = 0;  ///< position_from, which every kernel takes
  std::int64_t batch = 0, tokens = 0, heads = 0;
  bool second = false;  ///< two tensors, the second like the first
  bool backward = false;
  double scale = 0;
  std::optional<bool> in_place = {};  ///< of all tensors
  bool i64 = false;                   ///< positions
  bool by_token = false;              ///< table rows
  bool window = false;                ///< 3 dims more than are rotated, 2 of them before
};

/// Gives each head `room` dims more than are rotated, `offset` of them before.
inline void set_window(harness::Case& c, std::int64_t room, std::int64_t offset) {
  for (harness::TensorCase& t : c.tensors) {
    t.head_dim = c.rotary_dim + room;
    t.rotary_offset = offset;
  }
}

/// A case without axes gets those that are offered, in sections or by a model's map, with positions
/// that differ.
inline void give_axes(harness::Case& c, const harness::Offer& offer) {
  if (c.axes > 1) return;
  c.axes = offer.axis_count;
  for (std::int64_t i = 0; i < c.rotary_dim / 2; ++i)
    c.axis_of_pair.push_back(static_cast<std::uint8_t>(2 * c.axes * i / c.rotary_dim));
  c.axis_positions = harness::AxisPositions::apart;
  use_map(c, offer.axis_of_pair);
}

/// The case in the other direction, unless it has a norm or a cache, which only go forward.
inline void turn_back(harness::Case& c) {
  if (!harness::has_norm(c) && !harness::has_append(c)) c.operation = reversed(c.operation);
}
/// A case without a norm gets one of its rotated tensors.
inline void give_norm(harness::Case& c) {
  c.operation = Operation::forward;
  if (harness::has_norm(c)) return;
  for (harness::TensorCase& t : c.tensors) t.norm = t.rotate;
}
/// A case without a cache gets them for all tensors but the first, or for its only one.
inline void give_append(harness::Case& c) {
  c.operation = Operation::forward;
  if (harness::has_append(c)) return;
  for (std::size_t i = 0; i < c.tensors.size(); ++i)
    if (i > 0 || c.tensors.size() == 1) c.tensors[i].append = true;
}

/// The case with all of the wish that is offered.
inline harness::Case with(harness::Case c, const harness::Offer& offer, const Wish& wish) {
  if (wish.from != 0) c.position_from = wish.from;
  if (offer.batch && wish.batch != 0) c.batch = wish.batch;
  if (offer.tokens && wish.tokens != 0) c.tokens = wish.tokens;
  if (offer.two_tensors && wish.second && c.tensors.size() == 1) c.tensors.push_back(c.tensors[0]);
  if (offer.transpose && wish.backward) c.operation = Operation::transpose;
  if (offer.scale && wish.scale != 0) c.attention_scale = wish.scale;
  if (offer.i64_positions && wish.i64) c.position_dtype = Dtype::i64;
  if (offer.rows_by_token && wish.by_token) c.rows_by = ROPE_ROW_BY_TOKEN;
  if (offer.window_offset && wish.window) set_window(c, 3, 2);
  for (harness::TensorCase& t : c.tensors) {
    if (offer.many_heads && wish.heads != 0) t.heads = wish.heads;
    if (wish.in_place && !t.append)
      t.in_place = *wish.in_place ? offer.in_place : !offer.out_of_place;
  }
  return c;
}

/// Cases beyond the sizes of usual tests: many tokens, many heads, and many batch rows. A kernel's
/// second path (blocks of tokens, a loop over heads, a grid) begins there, and each promise must
/// hold on it too. They have other operations, scales, types of positions and placements.
inline std::vector<harness::Case> at_size(const harness::Offer& offer, Profile) {
  constexpr Wish sizes[] = {{.batch = 1, .tokens = 96, .heads = 4},
                            {.batch = 1, .tokens = 81, .heads = 5},
                            {.batch = 1, .tokens = 4, .heads = 40},
                            {.batch = 40, .tokens = 2, .heads = 3}};
  std::vector<harness::Case> cases;
  for (Wish wish : sizes) {
    const std::size_t i = cases.size();
    wish.from = 5;
    wish.backward = i >= 2;
    wish.i64 = i == 1;
    wish.window = i % 2 == 1;
    if (i % 2 == 1) wish.scale = 1.5, wish.in_place = true;
    harness::Case c = with(i % 2 == 0 ? widened(offer.base, offer) : offer.base, offer, wish);
    c.seed = 0x512e + i;
    c.shift = std::max<std::int64_t>(c.tokens - 2, 0);
    cases.push_back(c);
  }
  return cases;
}

/// Of a device's kernel: a case of more blocks than a device holds at once, so that blocks begin
/// when others end. 512 tokens of 32 heads of 128 dims are a million pairs. Smoke has it for f32.
inline std::vector<harness::Case> many_blocks(const harness::Offer& offer, Profile profile) {
  const bool is_due = profile != Profile::smoke || offer.base.dtype == Dtype::f32;
  if (!offer.on_device || !is_due) return {};
  return {
      with(widened(offer.base, offer), offer, {.from = 5, .batch = 1, .tokens = 512, .heads = 32})};
}

}  // namespace ropewalk::properties
