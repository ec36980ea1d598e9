#include "properties/generate.h"

#include <algorithm>

#include "harness/layouts.h"

namespace ropewalk {
namespace {

void choose_sizes(Case& c, const Offer& offer, const Choices& k) {
  if (offer.batch) c.batch = 1 + k.batch;
  if (offer.tokens) c.tokens = 1 + k.tokens;
  TensorCase& first = c.tensors[0];
  constexpr std::int64_t made_up = 10;  // of the 15 values of `size`; the others take a usual one
  if (offer.any_size && k.size <= made_up) {
    c.rotary_dim = 2 * (1 + k.pairs);
    first.head_dim = c.rotary_dim + k.extra_dims;
  } else {
    const HeadSize size =
        offer.sizes[static_cast<std::size_t>(k.size + k.pairs) % offer.sizes.size()];
    c.rotary_dim = size.rotary_dim;
    first.head_dim = size.head_dim;
  }
  if (offer.many_heads) first.heads = 1 + k.heads;
  if (offer.window_offset)
    first.rotary_offset = std::min(k.window_offset, first.head_dim - c.rotary_dim);
  if (c.tensors.size() > 1) c.tensors.assign(c.tensors.size(), first);
}

// 0: none, 1: an equal one, 2 and 3: another shape, 4: one that is only copied, 5: that as a third.
void choose_second_tensor(Case& c, const Offer& offer, const Choices& k) {
  if (!offer.two_tensors || c.tensors.size() > 1 || k.second_tensor == 0) return;
  c.tensors.push_back(c.tensors[0]);
  TensorCase& second = c.tensors[1];
  if (k.second_tensor >= 2 && offer.different_shapes) {
    second.heads = 1 + k.second_heads;
    if (offer.any_size) {
      second.head_dim = c.rotary_dim + k.extra_dims / 2;
      second.rotary_offset = 0;
    }
  }
  if (k.second_tensor == 4 && offer.unrotated_tensor) second.rotate = false;
  if (k.second_tensor == 5 && offer.three_tensors) {
    c.tensors.push_back(c.tensors[0]);
    c.tensors[2].rotate = false;
  }
}

void choose_positions(Case& c, const Offer& offer, const Choices& k) {
  const bool table = c.contract == ROPE_CONTRACT_TABLE;
  const bool by_token =
      table && (c.rows_by == ROPE_ROW_BY_TOKEN || (offer.rows_by_token && k.rows_by >= 2));
  if (by_token) c.rows_by = ROPE_ROW_BY_TOKEN;
  if (by_token && k.rows_by == 3 && offer.null_positions) c.positions_null = true;
  // A table by position is laid out up to its last row: keep that small.
  const std::int64_t log2 =
      table && !by_token ? std::min<std::int64_t>(k.position_log2, 11) : k.position_log2;
  const std::int64_t magnitude = std::int64_t{1} << log2;
  if (k.position_kind == 0) {
    c.position_from = 0;
  } else if (k.position_kind == 1) {
    c.position_from = magnitude - 1;
  } else {
    c.position_rule = PositionRule::random;
    c.position_to = magnitude;
    if (offer.negative_positions && k.negative >= 2) c.position_from = -magnitude;
  }
  if (offer.i64_positions && k.wide_positions == 1) c.position_dtype = ROPE_I64;
  constexpr double thetas[] = {10000, 500000, 2.5};
  c.rope_theta = thetas[k.theta];
  if (table && offer.spare_rows) c.table_spare_rows = k.spare_rows;
  if (table && offer.own_tables && c.tensors.size() > 1 && k.own_tables == 2) c.own_tables = true;
  c.shift = 1 + k.shift;
}

void choose_arithmetic(Case& c, const Offer& offer, const Choices& k) {
  if (offer.transpose && k.operation == 2) c.operation = ROPE_TRANSPOSE;
  // 1.1386... is YaRN's scale at factor 4, no f32; 1 is written as 0 or as itself.
  constexpr double scales[] = {0, 0, 0, 1, 1.1386294361119891, 0.5, -2, 3};
  if (offer.scale) c.attention_scale = scales[k.scale];
  constexpr DataPattern patterns[] = {DataPattern::unit,  DataPattern::unit, DataPattern::unit,
                                      DataPattern::basis, DataPattern::wide, DataPattern::tiny};
  c.data = patterns[k.data];
  const bool in_place = offer.in_place && (!offer.out_of_place || k.in_place >= 1);
  for (TensorCase& t : c.tensors) t.in_place = in_place;
  if (k.in_place == 2 && offer.out_of_place && c.tensors.size() > 1) c.tensors[1].in_place = false;
}

Strides choose_strides(const Case& c, const TensorCase& t, const Offer& offer, std::int64_t layout,
                       std::int64_t gap) {
  if (layout == 1 && offer.head_major) return head_major_strides(c, t);
  if (layout >= 2 && offer.padded) return padded_strides(c, t, gap);
  return {};
}

void choose_layout(Case& c, const Offer& offer, const Choices& k) {
  const bool separate =
      std::none_of(c.tensors.begin(), c.tensors.end(), [](const auto& t) { return t.in_place; });
  const bool fused = k.layout == 4 && offer.fused && separate && c.tensors.size() > 1;
  if (fused) fuse(c);
  for (TensorCase& t : c.tensors) {
    if (!fused) {
      t.in = choose_strides(c, t, offer, k.layout, k.gap);
      t.out = t.in_place ? t.in : choose_strides(c, t, offer, k.out_layout, 2 * k.gap);
      if (offer.shifted_start) t.in_at = t.out_at = k.start;
      if (offer.shifted_start && !t.in_place) t.out_at = k.gap;
    }
    if (k.scramble == 1) {
      scramble_unused_strides(c, t, t.in);
      scramble_unused_strides(c, t, t.out);
    }
  }
  if (c.contract == ROPE_CONTRACT_TABLE && offer.padded_table && k.table_gap > 0)
    c.table_row_stride = c.rotary_dim / 2 + k.table_gap;
  if (offer.strided_positions && k.broadcast == 1) {
    c.position_token_stride = 1 + k.gap;
    c.position_batch_stride = c.tokens * c.position_token_stride + k.gap;
  }
  if (offer.broadcast_positions && c.position_rule != PositionRule::list) {
    if (k.broadcast >= 3) c.position_batch_stride = 0;
    if (k.broadcast == 4 && c.rows_by == ROPE_ROW_BY_POSITION) c.position_token_stride = 0;
  }
  if (k.scramble == 1) {
    if (c.batch == 1) c.position_batch_stride = 1'000'003;
    if (c.tokens == 1) c.position_token_stride = 1'000'003;
  }
}

}  // namespace

Case generate_case(const Offer& offer, const Property& property, const Choices& k) {
  Case c = offer.base;
  c.property = property.name;
  c.seed = k.seed;
  choose_sizes(c, offer, k);
  choose_second_tensor(c, offer, k);
  choose_positions(c, offer, k);
  choose_arithmetic(c, offer, k);
  if (property.shape != nullptr) property.shape(c, offer);
  choose_layout(c, offer, k);
  return c;
}

}  // namespace ropewalk
