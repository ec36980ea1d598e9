#include "properties/array/case_shape.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <utility>

#include "harness/cases/fused.h"
#include "harness/cases/layouts.h"

namespace ropewalk::properties {
using namespace harness;
namespace {

ShapeCount count_of(Factor f, const Levels& levels, const std::vector<std::int64_t>* by_level,
                    const LevelDraw& draw, int question) {
  ShapeCount out{0, range_of(f, levels[f]), &by_level[levels[f]]};
  // Counts near the lower end cost less. A third are multiples of 16, where there is one.
  const SizeRange low{out.range.least,
                      std::min(out.range.most, out.range.least + out.range.least / 2 + 8)};
  std::int64_t wanted = draw.in(question, low);
  if (draw.bits(question) % 3 == 0 && wanted > 16) wanted += 15 - (wanted + 15) % 16;
  out.set_near(wanted);
  if (!out.accepted->empty()) out.value = draw.of(question, *out.accepted);
  return out;
}

// Moves the counts towards a number of bytes, one after the other, and again if one went too far.
void move_counts(CaseShape& s, Dtype dtype, SizeRange bytes) {
  for (ShapeCount* count : {&s.tokens, &s.batch, &s.heads, &s.tokens, &s.batch}) {
    const std::int64_t now = s.bytes(dtype);
    if (bytes.contains(now)) return;
    const std::int64_t one = now / count->value;  // bytes of one of these
    const bool shrinks = now > bytes.most;
    count->set_near(shrinks ? bytes.most / one : (bytes.least + one - 1) / one, shrinks);
  }
}

// Gives the first tensor as many bytes as its level says, near the least: more of the same only
// take longer. Where the counts do not suffice, the head is another of the same levels: the one
// that takes the fewest bytes, or, for every fourth seed, the one that was drawn.
bool fit_bytes(CaseShape& s, const std::vector<HeadWindow>& windows, Dtype dtype, SizeRange bytes,
               bool keeps_head) {
  constexpr std::int64_t large = 1 << 20;
  const std::int64_t enough = bytes.least == 1      ? bytes.most
                              : bytes.least < large ? 4 * bytes.least
                                                    : bytes.least + bytes.least / 16;
  const SizeRange near{bytes.least, std::min(bytes.most, enough)};
  const CaseShape drawn = s;
  std::optional<CaseShape> best;
  const auto try_head = [&](const HeadWindow& window) {
    for (const SizeRange range : {near, bytes}) {
      s = drawn;
      s.window = window;
      move_counts(s, dtype, range);
      if (!range.contains(s.bytes(dtype))) continue;
      if (!best || s.bytes(dtype) < best->bytes(dtype)) best = s;
      return near.contains(s.bytes(dtype));
    }
    return false;
  };
  const bool found = try_head(drawn.window) || (best && keeps_head) ||
                     std::any_of(windows.begin(), windows.end(), try_head) || best;
  if (found) s = *best;
  return found;
}

void keep_narrowest(std::vector<HeadWindow>& windows) {
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (const HeadWindow& w : windows) least = std::min(least, w.rotary_dim);
  constexpr std::int64_t narrow = 4;
  std::erase_if(windows,
                [&](const HeadWindow& w) { return w.rotary_dim > std::max(least, narrow); });
}

// ---- memory

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

// The planes of the axes lie one behind the other, with room between them or without. Or all axes
// of a token lie side by side, or those of a batch row.
void lay_planes(Case& c, const Levels& l, const LevelDraw& draw) {
  const std::uint64_t bits = draw.bits(q_planes);
  const std::int64_t gap = 1 + static_cast<std::int64_t>(bits / 8 % 5);
  if (c.axes == 1) return;
  if (l[Factor::planes] == level::shared_planes) {
    c.position_axis_stride = 0;
  } else if (l[Factor::position_strides] == level::token_stride && bits % 2 == 0) {
    c.position_axis_stride = 1;
    c.position_token_stride = c.axes + gap - 1;
    c.position_batch_stride = c.tokens * c.position_token_stride;
  } else if (l[Factor::position_strides] == level::slice && bits % 2 == 0) {
    c.position_axis_stride = c.tokens;
    c.position_batch_stride = c.axes * c.tokens;
  } else if (bits % 4 == 1 && l[Factor::position_strides] == level::packed_positions) {
    c.position_axis_stride = c.batch * c.tokens + gap;
  }
  if (c.contract != ROPE_CONTRACT_TABLE || c.rows_by != ROPE_ROW_BY_TOKEN) return;
  const std::int64_t half = c.rotary_dim / 2, rows = c.batch * c.tokens + c.table_spare_rows;
  if (l[Factor::table_rows] == level::row_gap && bits % 2 == 0) {
    c.table_axis_stride = half;
    c.table_row_stride = c.axes * half;
  } else if (l[Factor::table_rows] == level::packed_rows && bits % 2 == 0) {
    c.table_axis_stride = rows * half + gap;
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

// Caches in one buffer lie side by side in every slot, or one behind the other in every page.
void lay_caches(Case& c, const Levels& l, const LevelDraw& draw) {
  if (!has_append(c)) return;
  constexpr std::int64_t sizes[] = {16, 1, 5, 128, 8, 3}, large[] = {256, 512, 656, 784};
  constexpr std::int64_t most = 1 << 18;  // elements of a large page
  const std::int64_t gap = draw.in(q_gap, {1, 9});
  const bool by_slot = draw.bits(q_caches) / 8 % 2 == 0;
  const std::int64_t all = elements_of_token(c.tensors);
  const bool is_large = draw.bits(q_marks) / 64 % 3 == 0 && all * large[3] <= most;
  const std::int64_t size = c.page_size =
      is_large ? draw.of(q_caches, large) : draw.of(q_caches, sizes);
  std::int64_t at = 0;
  c.one_cache = l[Factor::caches] == level::one_cache;
  for (TensorCase& t : c.tensors) {
    const std::int64_t slot = t.heads * t.head_dim;
    if (l[Factor::caches] == level::head_major_pages)
      t.cache = {t.heads * size * t.head_dim, t.head_dim, size * t.head_dim};
    if (l[Factor::caches] == level::page_gaps) {
      t.cache.head = t.head_dim + gap;
      t.cache.token = t.heads * t.cache.head + gap / 2;
      t.cache.batch = size * t.cache.token + gap;
    }
    if (!c.one_cache) continue;
    t.cache = {size * all, by_slot ? all : slot, t.head_dim};
    t.cache_at = by_slot ? at : size * at;
    at += slot;
  }
}

void start_tensors(Case& c, const Levels& l, const LevelDraw& draw) {
  if (l[Factor::start] == level::shifted)
    for (TensorCase& t : c.tensors) {
      if (!c.one_cache) t.cache_at = draw.in(q_slots, {0, 3});
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

bool has_long_table(const Levels& l, std::int32_t contract) {
  return contract == ROPE_CONTRACT_TABLE && l[Factor::rows_by] == level::by_position &&
         l[Factor::position_range] == level::past_table;
}

void ShapeCount::set_near(std::int64_t wanted, bool at_most) {
  value = std::clamp(wanted, range.least, range.most);
  if (accepted->empty()) return;
  const auto distance = [&](std::int64_t count) {
    return std::pair(at_most && count > wanted, std::abs(count - wanted));
  };
  value = *std::ranges::min_element(*accepted, {}, distance);
}

std::optional<CaseShape> shape_of(const Levels& l, Dtype dtype, std::int32_t contract,
                                  const Sizes& sizes, const LevelDraw& draw) {
  CaseShape s{count_of(Factor::tokens, l, sizes.tokens, draw, q_tokens),
              count_of(Factor::batch, l, sizes.batch, draw, q_batch),
              count_of(Factor::heads, l, sizes.heads, draw, q_heads),
              {}};
  std::vector<HeadWindow> windows =
      sizes.windows[l[Factor::rotary_dim]][l[Factor::room]][l[Factor::window]];
  if (windows.empty())
    windows = heads_of(l[Factor::rotary_dim], l[Factor::room], l[Factor::window]);
  if (l[Factor::frequencies] == level::listed)
    std::erase_if(windows, [](const HeadWindow& w) { return w.rotary_dim > widest_listed; });
  if (windows.empty()) return {};
  std::vector<HeadWindow> drawn = windows;  // where its bytes need it, the head is another
  if (has_long_table(l, contract)) keep_narrowest(drawn);
  s.window = draw.of(q_window, drawn);
  const std::int64_t most = sizes.most_elements * data_type(dtype).bytes;
  if (sizes.any_bytes) {
    if (most > 0) move_counts(s, dtype, {1, most});
    return s;
  }
  const bool keeps_head = draw.bits(q_fit) % 4 == 0;
  SizeRange bytes = range_of(Factor::bytes, l[Factor::bytes]);
  if (most > 0) bytes.most = std::min(bytes.most, most);
  if (!fit_bytes(s, windows, dtype, bytes, keeps_head)) return {};
  // Where a kernel takes all that was asked, a window may begin anywhere.
  const bool anywhere =
      sizes.windows[l[Factor::rotary_dim]][l[Factor::room]][l[Factor::window]].empty();
  if (l[Factor::window] == level::inside && anywhere && draw.bits(q_offset) % 2 == 0)
    s.window.offset = draw.in(q_offset, {1, s.window.head_dim - s.window.rotary_dim - 1});
  return s;
}

void lay_out(Case& c, const Levels& levels, const LevelDraw& draw) {
  lay_positions(c, levels, draw);
  lay_tables(c, levels, draw);
  lay_planes(c, levels, draw);
  lay_tensors(c, levels, draw);
  lay_caches(c, levels, draw);
  start_tensors(c, levels, draw);
}

}  // namespace ropewalk::properties
