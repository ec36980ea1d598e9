#include "properties/array/case_layout.h"

#include "harness/cases/layouts.h"
#include "properties/array/case_shape.h"

namespace ropewalk::properties {
using namespace harness;
namespace {

void lay_positions(Case& c, const Levels& l, const LevelDraw& draw) {
  switch (static_cast<level::PositionStridesLevel>(l[Factor::position_strides])) {
    case level::packed_positions:
      break;
    case level::token_stride:
      c.position_token_stride = draw.in(q_slice, {2, 5});
      c.position_batch_stride = c.tokens * c.position_token_stride + 1;
      break;
    case level::slice:
      c.position_batch_stride = c.tokens + draw.in(q_slice, {1, 5});
      break;
    case level::one_row:
      c.position_batch_stride = 0;
      break;
    case level::one_token:
      c.position_token_stride = 0;
      c.position_batch_stride = 1;
      break;
    case level::one_position:
      c.position_batch_stride = c.position_token_stride = 0;
      break;
  }
}

void lay_tables(Case& c, const Levels& l, const LevelDraw& draw) {
  if (c.contract != ROPE_CONTRACT_TABLE) return;
  const std::int64_t half = c.rotary_dim / 2;
  switch (static_cast<level::TableRowsLevel>(l[Factor::table_rows])) {
    case level::packed_rows:
      break;
    case level::row_gap:
      c.table_row_stride = half + (has_long_table(l, c.contract) ? 1 : draw.in(q_gap, {1, 9}));
      break;
    case level::cos_beside_sin:
      c.table_row_stride = 2 * half;
      break;
  }
}

Strides strides_of(const Case& c, const TensorCase& t, int layout, std::int64_t gap, bool by_time) {
  Strides s;
  switch (static_cast<level::LayoutLevel>(layout)) {
    case level::packed:
    case level::fused:
      return s;
    case level::token_gap:
      s.head = t.head_dim;
      s.token = t.heads * s.head + gap;
      s.batch = c.tokens * s.token;
      return s;
    case level::head_gap:
      s.head = t.head_dim + gap;
      s.token = t.heads * s.head;
      s.batch = c.tokens * s.token;
      return s;
    case level::both_gaps:
      return by_time ? time_major_strides(c, t, gap % 8) : padded_strides(c, t, gap);
    case level::head_major:
      return head_major_strides(c, t);
    case level::roomy:
      return head_major_strides(c, t, gap);
    case level::broadcast:
      s = {c.tokens * t.heads * t.head_dim, t.heads * t.head_dim, t.head_dim};
      return s;
  }
  __builtin_unreachable();
}

void broadcast_an_axis(const Case& c, TensorCase& t, const LevelDraw& draw) {
  std::vector<std::int64_t Strides::*> axes;
  if (c.tokens > 1) axes.push_back(&Strides::token);
  if (t.heads > 1) axes.push_back(&Strides::head);
  if (c.batch > 1) axes.push_back(&Strides::batch);
  if (!axes.empty()) t.in.*draw.of(q_axis, axes) = 0;
}

void lay_tensors(Case& c, const Levels& l, const LevelDraw& draw) {
  const int in = l[Factor::in_layout], out = l[Factor::out_layout];
  constexpr std::int64_t gaps[] = {16, 1, 4, 8, 2};
  const std::int64_t gap = draw.of(q_gap, gaps);
  if (in == level::fused) {
    fuse(c);
    if (l[Factor::placement] == level::out_of_place && out == level::packed) part_outputs(c);
  } else {
    const std::uint64_t bits = draw.bits(q_layout);
    const bool by_time = bits % 3 == 0;
    // K may lie like the output of Q, or, where that lies like the input, otherwise than both.
    const int other = in != out ? out : in == level::packed ? level::head_major : level::packed;
    const bool turns = bits / 4 % 4 == 0 && in != level::broadcast && out != level::fused;
    for (std::size_t i = 0; i < c.tensors.size(); ++i) {
      TensorCase& t = c.tensors[i];
      const bool turned = turns && i % 2 == 1;
      t.in = strides_of(c, t, turned ? other : in, gap, by_time);
      t.out = t.in_place ? t.in : strides_of(c, t, turned ? in : out, 2 * gap, by_time);
      if (in == level::broadcast) broadcast_an_axis(c, t, draw);
    }
  }
}

void start_tensors(Case& c, const Levels& l, const LevelDraw& draw) {
  if (l[Factor::start] == level::shifted)
    for (TensorCase& t : c.tensors) {
      t.in_at = draw.in(q_start, {1, 5});
      t.out_at = t.in_place ? t.in_at : draw.in(q_axis, {0, 3});
    }
  if (l[Factor::start] != level::unused_strides) return;
  for (TensorCase& t : c.tensors) {
    scramble_unused_strides(c, t, t.in);
    scramble_unused_strides(c, t, t.out);
  }
  constexpr std::int64_t absurd = 1'000'003;
  if (c.batch == 1) c.position_batch_stride = absurd;
  if (c.tokens == 1) c.position_token_stride = absurd;
}

}  // namespace

void lay_out(Case& c, const Levels& levels, const LevelDraw& draw) {
  lay_positions(c, levels, draw);
  lay_tables(c, levels, draw);
  lay_tensors(c, levels, draw);
  start_tensors(c, levels, draw);
}

}  // namespace ropewalk::properties
