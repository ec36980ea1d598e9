// Helpers for fixed cases. A case says what it wants, and gets what the kernel offers of it.
#pragma once
#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

#include "harness/cases/axes.h"
#include "harness/cases/case.h"
#include "harness/cases/fused.h"
#include "properties/array/offer.h"
#include "properties/property.h"

namespace ropewalk::properties {

/// The case with what the kernel offers of a patch (harness::patched). Groups of words, apart by
/// semicolons, are each taken or left whole; without a group that begins with `!` there is no case.
std::optional<harness::Case> adopted(harness::Case c, std::string_view patch, const Offer& offer);
/// The same of a patch that needs nothing.
harness::Case with(const harness::Case& c, const Offer& offer, std::string_view patch);
/// A case for each patch whose needs are met.
std::vector<harness::Case> adopted_lines(const harness::Case& c, const Offer& offer,
                                         std::initializer_list<std::string_view> patches);

/// Gives each head `room` dims more than are rotated, `offset` of them before.
inline void set_window(harness::Case& c, std::int64_t room, std::int64_t offset) {
  for (harness::TensorCase& t : c.tensors) {
    t.head_dim = c.rotary_dim + room;
    t.rotary_offset = offset;
  }
}

/// A case without axes gets those that are offered, in sections or by a model's map, with positions
/// that differ.
inline void give_axes(harness::Case& c, const Offer& offer) {
  if (c.axes > 1) return;
  c.axes = offer.axis_count();
  for (std::int64_t i = 0; i < c.rotary_dim / 2; ++i)
    c.axis_of_pair.push_back(static_cast<std::uint8_t>(2 * c.axes * i / c.rotary_dim));
  c.axis_positions = harness::AxisPositions::apart;
  use_map(c, offer.accepted.axis_of_pair);
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

/// Cases beyond the sizes of usual tests: many tokens, many heads, and many batch rows. A kernel's
/// second path (blocks of tokens, a loop over heads, a grid) begins there, and each promise must
/// hold on it too. They have other operations, scales, types of positions and placements.
std::vector<harness::Case> at_size(const Offer& offer, Profile);

/// Of a device's kernel: a case of more blocks than a device holds at once, so that blocks begin
/// when others end. 512 tokens of 32 heads of 128 dims are a million pairs. Smoke has it for f32.
inline std::vector<harness::Case> many_blocks(const Offer& offer, Profile profile) {
  const bool is_due = profile != Profile::smoke || offer.base.dtype == Dtype::f32;
  if (!offer.on_device || !is_due) return {};
  return {
      with(widened(offer.base, offer), offer, "position_from=5; batch=1; tokens=512; heads=32")};
}

}  // namespace ropewalk::properties
