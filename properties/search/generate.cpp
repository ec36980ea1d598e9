#include "properties/search/generate.h"

#include <algorithm>
#include <cmath>

#include "harness/cases/data.h"
#include "harness/cases/layouts.h"

namespace ropewalk::properties {
using namespace harness;
namespace {

constexpr std::int64_t batches[] = {1, 2, 3, 5, 8, 11};
constexpr std::int64_t token_counts[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 33};
constexpr std::int64_t head_counts[] = {1, 2, 3, 4, 6, 8, 17};
constexpr std::int64_t dims[] = {0, 1, 2, 3, 4, 5, 6, 16, 64};  // extra dims, and offsets
constexpr std::int64_t gaps[] = {0, 1, 2, 4, 16};
constexpr std::int64_t most_elements = 4096;  // of a tensor; larger ones only take longer

std::int64_t pairs_of(const Choices& k) {
  constexpr std::int64_t usual = 69, large[] = {100, 127, 200};
  return k.pairs <= usual ? 1 + k.pairs : large[k.pairs - usual - 1];
}

void choose_sizes(Case& c, const Offer& offer, const Choices& k) {
  TensorCase& first = c.tensors[0];
  constexpr std::int64_t made_up = 10;  // of 15 values of `size`, 10 are made up, 5 are usual sizes
  if (offer.any_size && k.size <= made_up) {
    c.rotary_dim = 2 * pairs_of(k);
    first.head_dim = c.rotary_dim + dims[k.extra_dims];
  } else {
    const HeadSize size =
        offer.sizes[static_cast<std::size_t>(k.size + k.pairs) % offer.sizes.size()];
    c.rotary_dim = size.rotary_dim;
    first.head_dim = size.head_dim;
  }
  std::int64_t room = std::max<std::int64_t>(most_elements / first.head_dim, 1);
  const auto take = [&room](std::int64_t wanted) {
    const std::int64_t taken = std::min(wanted, room);
    room /= taken;
    return taken;
  };
  if (offer.many_heads) first.heads = take(head_counts[k.heads]);
  if (offer.batch) c.batch = take(batches[k.batch]);
  if (offer.tokens) c.tokens = take(token_counts[k.tokens]);
  if (offer.window_offset)
    first.rotary_offset = std::min(dims[k.window_offset], first.head_dim - c.rotary_dim);
  // a kernel may support only grouped queries, a K of another width, or only a copied third tensor
  const TensorCase& base = offer.base.tensors[0];
  for (std::size_t i = 1; i < c.tensors.size(); ++i) {
    const TensorCase own = c.tensors[i];
    TensorCase& t = c.tensors[i] = first;
    t.rotate = own.rotate;
    if (!offer.many_heads) t.heads = own.heads;
    if (!own.rotate || own.head_dim == base.head_dim) continue;
    t.head_dim = own.head_dim;
    t.rotary_offset = own.rotary_offset;
  }
}

// A tensor that is only copied, with a head size of its own.
TensorCase copied(TensorCase t, const Offer& offer, const Choices& k) {
  t.rotate = false;
  t.rotary_offset = 0;
  if (offer.any_size && offer.different_shapes)
    t.head_dim = 1 + dims[k.extra_dims] + (k.gap % 2 == 1 ? t.head_dim : 0);  // also wider heads
  return t;
}

// Another shape than the first tensor's: other heads and, if any size is offered, another width and
// window.
TensorCase reshaped(const Case& c, const Offer& offer, const Choices& k) {
  TensorCase t = c.tensors[0];
  if (!offer.different_shapes) return t;
  t.heads = head_counts[k.second_heads];
  if (!offer.any_size) return t;
  t.head_dim = c.rotary_dim + dims[k.extra_dims / 2];
  t.rotary_offset = offer.window_offset ? std::min(dims[k.gap], t.head_dim - c.rotary_dim) : 0;
  return t;
}

// 0: one tensor, 1: an equal second, 2 and 3: a second of another shape, 4: a second that is only
// copied, 5: a third that is only copied, 6: the first is only copied, 7: a third of another shape,
// 8: a copied fourth.
void choose_second_tensor(Case& c, const Offer& offer, const Choices& k) {
  const bool copies = offer.unrotated_tensor;
  const bool three = offer.three_tensors && copies;
  if (!offer.two_tensors || c.tensors.size() > 1 || k.second_tensor == 0) return;
  const TensorCase first = c.tensors[0];
  const bool shaped = k.second_tensor == 2 || k.second_tensor == 3 || k.second_tensor >= 6;
  c.tensors.push_back(shaped ? reshaped(c, offer, k) : first);
  if (k.second_tensor == 4 && copies) c.tensors[1] = copied(first, offer, k);
  if (k.second_tensor == 6 && copies) c.tensors[0] = copied(first, offer, k);
  if (k.second_tensor == 5 && three) c.tensors.push_back(copied(first, offer, k));
  if (k.second_tensor >= 7 && three) c.tensors.push_back(first);
  if (k.second_tensor == 8 && three) c.tensors.push_back(copied(first, offer, k));
}

void choose_positions(Case& c, const Offer& offer, const Choices& k) {
  const bool table = c.contract == ROPE_CONTRACT_TABLE;
  const bool by_token =
      table && (c.rows_by == ROPE_ROW_BY_TOKEN || (offer.rows_by_token && k.rows_by >= 2));
  if (by_token) c.rows_by = ROPE_ROW_BY_TOKEN;
  if (by_token && k.rows_by == 3 && offer.null_positions) c.positions_null = true;
  // A table by position is laid out up to its last row, so this is kept small.
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
  if (offer.i64_positions && k.wide_positions == 1) c.position_dtype = Dtype::i64;
  constexpr double thetas[] = {10000, 500000, 2.5, 10000};  // choose_frequencies replaces the last
  if (!offer.one_model) c.rope_theta = thetas[k.theta];
  if (table && offer.spare_rows) c.table_spare_rows = k.spare_rows;
  if (table && offer.own_tables && c.tensors.size() > 1 && k.own_tables == 2) c.own_tables = true;
  c.shift = 1 + k.shift;
}

void choose_arithmetic(Case& c, const Offer& offer, const Choices& k) {
  if (offer.transpose && k.operation == 2) c.operation = Operation::transpose;
  // 1.1386... is YaRN's scale at factor 4, not exact in f32. 1 is written as 0 or as itself.
  constexpr double scales[] = {
      0,     0,      0,       1,      1.1386294361119891, 0.5, -2, 3, 1.0693, 0.0884, 64, -1, 1000,
      0.001, 0x1p40, -0x1p40, 0x1p-40};
  // A type of narrow range has no room for the last five values, their squares, or parts of them.
  const std::int64_t room = has_wide_range(c.dtype) ? k.scale : k.scale % 12;
  if (offer.scale && !offer.one_model) c.attention_scale = scales[room];
  constexpr DataPattern patterns[] = {DataPattern::unit,  DataPattern::unit,   DataPattern::unit,
                                      DataPattern::basis, DataPattern::wide,   DataPattern::tiny,
                                      DataPattern::huge,  DataPattern::special};
  c.data = patterns[k.data];
  const bool near_the_end = c.data == DataPattern::huge || c.data == DataPattern::wide;
  if (std::abs(scale_of(c)) > 64 && near_the_end)
    c.data = DataPattern::unit;  // this pattern leaves room for 64
  // 0: none in place, 1: all, 2: all but the second, 3: only the second, 4: only the last.
  for (std::size_t i = 0; i < c.tensors.size(); ++i) {
    const bool wanted = k.in_place == 1 || (k.in_place == 2 && i != 1) ||
                        (k.in_place == 3 && i == 1) ||
                        (k.in_place == 4 && i + 1 == c.tensors.size());
    c.tensors[i].in_place = offer.in_place && (wanted || !offer.out_of_place);
  }
}

// Frequencies that are not powers of a base: zero, almost zero, nearly a whole turn, in any order.
void choose_frequencies(Case& c, const Choices& k) {
  constexpr std::int64_t most_pairs = 24;  // the replay line lists them all
  if (k.theta != 3 || c.rotary_dim / 2 > most_pairs) return;
  constexpr double edges[] = {0, 1e-9, 6.25, 1, 0.125, 3.25};
  for (std::int64_t i = 0; i < c.rotary_dim / 2; ++i) {
    const std::uint64_t bits = hash(k.seed, 0xf4e9, i);
    const double any = 0.5 + std::abs(unit_value(bits, 24)) * 4;
    c.inv_freq.push_back(double{static_cast<float>(bits % 3 == 0 ? edges[bits % 6] : any)});
  }
}

Strides choose_strides(const Case& c, const TensorCase& t, const Offer& offer, std::int64_t layout,
                       std::int64_t gap) {
  if (layout == 1 && offer.head_major)
    return head_major_strides(c, t, offer.roomy_head_major ? gap : 0);
  if (layout == 5 && offer.padded) return time_major_strides(c, t, gap);
  if (layout >= 2 && offer.padded) return padded_strides(c, t, gap);
  return {};
}

void choose_layout(Case& c, const Offer& offer, const Choices& k) {
  const bool separate =
      std::none_of(c.tensors.begin(), c.tensors.end(), [](const auto& t) { return t.in_place; });
  const bool fused = k.layout == 4 && offer.fused && separate && c.tensors.size() > 1;
  if (fused) fuse(c);
  if (fused && k.out_layout % 2 == 1) part_outputs(c);
  std::int64_t layout = k.layout;
  for (TensorCase& t : c.tensors) {
    if (!fused) {
      t.in = choose_strides(c, t, offer, layout, gaps[k.gap]);
      t.out = t.in_place ? t.in : choose_strides(c, t, offer, k.out_layout, 2 * gaps[k.gap]);
      layout = (layout + k.out_layout) % 6;  // K may have another layout than Q
      if (offer.shifted_start) t.in_at = t.out_at = k.start;
      if (offer.shifted_start && !t.in_place) t.out_at = k.gap;
    }
    if (k.scramble == 1) {
      scramble_unused_strides(c, t, t.in);
      scramble_unused_strides(c, t, t.out);
    }
  }
  // 3: cos and sin of a row may lie side by side.
  if (c.contract == ROPE_CONTRACT_TABLE && offer.padded_table && k.table_gap > 0)
    c.table_row_stride = c.rotary_dim / 2 + (k.table_gap == 3 ? c.rotary_dim / 2 : k.table_gap);
  if (offer.strided_positions && k.broadcast == 1) {
    c.position_token_stride = 1 + k.gap;
    c.position_batch_stride = c.tokens * c.position_token_stride + k.gap;
  }
  if (offer.strided_positions && k.broadcast == 2) {  // a slice of longer rows
    c.position_token_stride = 1;
    c.position_batch_stride = c.tokens + 1 + k.gap;
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
  round_sizes(c, offer.form);
  choose_second_tensor(c, offer, k);
  choose_positions(c, offer, k);
  choose_arithmetic(c, offer, k);
  if (property.shape != nullptr) property.shape(c, offer);
  if (!offer.one_model) choose_frequencies(c, k);
  choose_layout(c, offer, k);
  if (property.add_calls != nullptr) property.add_calls(c, offer);
  return c;
}

}  // namespace ropewalk::properties
