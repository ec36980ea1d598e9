#include "properties/array/case_shape.h"

#include <algorithm>
#include <cstdlib>
#include <limits>

namespace ropewalk::properties {
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

// Moves the counts towards a number of bytes, one after the other.
void move_counts(CaseShape& s, Dtype dtype, SizeRange bytes) {
  for (ShapeCount* count : {&s.tokens, &s.batch, &s.heads}) {
    const std::int64_t now = s.bytes(dtype);
    if (bytes.contains(now)) return;
    const std::int64_t one = now / count->value;  // bytes of one of these
    count->set_near(now < bytes.least ? (bytes.least + one - 1) / one : bytes.most / one);
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

}  // namespace

bool has_long_table(const Levels& l, std::int32_t contract) {
  return contract == ROPE_CONTRACT_TABLE && l[Factor::rows_by] == level::by_position &&
         l[Factor::position_range] == level::past_table;
}

void ShapeCount::set_near(std::int64_t wanted) {
  value = std::clamp(wanted, range.least, range.most);
  if (accepted->empty()) return;
  value = *std::min_element(accepted->begin(), accepted->end(), [&](auto a, auto b) {
    return std::abs(a - wanted) < std::abs(b - wanted);
  });
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
  if (has_long_table(l, contract)) keep_narrowest(windows);
  if (windows.empty()) return {};
  s.window = draw.of(q_window, windows);
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

}  // namespace ropewalk::properties
