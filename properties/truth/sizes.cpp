// Sizes: no count of tokens, heads, batch rows and pairs is special, and no width beside the window
// is. Kernels have loops for 4 or 8 at once, tails, blocks of 16 to 1024, and arrays on the stack.
// Each count below lies at an edge of one of them, or beside it.
//
// Two lists run side by side in one case, such as heads of 5 with 129 tokens. A kernel that is
// wrong for one count is wrong whatever the other is. Smoke takes the edges. The other profiles
// also take every count from 1 to 70.
//
// Bound: that of agreement for every pair. No other element may change.
//
// Kills by itself: twelve_heads, token_after, more_than_16, unusual_wide, rotary_dim_above
// Kills by itself: long_tail, rows_in_16_bits, ten_blocks
// Kills by itself: long_prompt_of_first_row, norm_of_8192, planes_of_65536
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "harness/cases/layouts.h"
#include "properties/fixed_cases.h"
#include "properties/property.h"
#include "properties/whole_output.h"

namespace ropewalk::properties {
using namespace harness;
namespace {

using Counts = std::vector<std::int64_t>;

Counts counts(Counts edges, Profile profile) {
  if (profile == Profile::smoke) return edges;
  for (std::int64_t n = 1; n <= 70; ++n) edges.push_back(n);
  return edges;
}

Case base_case(const Offer& offer) {
  const HeadWindow small = *std::ranges::min_element(
      offer.sizes, [](HeadWindow a, HeadWindow b) { return a.head_dim < b.head_dim; });
  return resized(with(offer.base, offer, "position_from=5"), small);
}

// Alternates backward and in place, so each such loop gets its counts.
void add_turned(std::vector<Case>& cases, const Case& c, const Offer& offer, std::size_t i) {
  constexpr const char* turns[] = {"in_place=0", "op=transpose; in_place=0", "in_place=1",
                                   "op=transpose; in_place=1"};
  cases.push_back(with(c, offer, turns[i % 4]));
}

// Other positions in each batch row.
void at_random(Case& c) {
  c.position_rule = PositionRule::random;
  c.position_from = 0;
  c.position_to = 300;
}

// Many tokens with one or two heads, or with several batch rows.
void add_tokens(std::vector<Case>& cases, const Offer& offer, Profile profile) {
  const Counts tokens =
      counts({5,  6,  7,  8,  9,  10, 11, 12, 13,  14,  15,  16,  17,  20,  24,  28,   31,
              32, 33, 36, 48, 63, 64, 65, 96, 100, 127, 128, 129, 255, 256, 257, 1024, 1025},
             profile);
  for (std::size_t i = 0; offer.takes(Factor::tokens) && i < tokens.size(); ++i) {
    // A prompt: each row has its own positions, with Q and K.
    const bool rows = i % 2 == 1, prompt = rows && tokens[i] >= 100;
    const std::int64_t heads = 1 + static_cast<std::int64_t>(i % 3), batch = rows ? 1 + heads : 1;
    Case c = with(base_case(offer), offer,
                  fmt::format("batch={}; tokens={}; heads={}; tensors={}", batch, tokens[i], heads,
                              prompt ? 2 : 1));
    if (prompt) at_random(c);
    add_turned(cases, c, offer, i);
  }
}

// Sizes that a kernel may handle by another path: a long prompt of several rows, or, in a run that
// is held to a model, of its heads. Then more elements than smoke has time for.
void add_large(std::vector<Case>& cases, const Offer& offer, Profile profile) {
  if (!offer.takes(Factor::tokens)) return;
  const auto add = [&](std::int64_t tokens, std::int64_t batch, const Case& from, std::size_t i) {
    Case c = with(from, offer, fmt::format("batch={}; tokens={}", batch, tokens));
    at_random(c);
    add_turned(cases, c, offer, i);
  };
  if (offer.one_model)
    for (const std::size_t turn : {0U, 3U})
      add_turned(cases, with(offer.base, offer, "position_from=3; tokens=2048"), offer, turn);
  else
    add(2100, 3, base_case(offer), 0);
  if (profile != Profile::smoke) add(4100, 1, widened(base_case(offer), offer), 3);
}

// Positions with axes, a norm and a cache, past 2^13 tokens and past 2^16.
void add_fused_prompts(std::vector<Case>& cases, const Offer& offer, Profile profile) {
  if (offer.one_model) return;
  for (const std::int64_t tokens : {8'200, 70'001}) {
    const bool has_time = profile != Profile::smoke || offer.base.dtype == Dtype::f32;
    if (tokens > 1 << 16 && !has_time) continue;
    Case plain = with(base_case(offer), offer, fmt::format("batch=1; tokens={}; heads=1", tokens));
    if (plain.tokens != tokens) continue;
    at_random(plain);
    const auto add = [&](bool offered, auto&& give) {
      if (offered) give(cases.emplace_back(plain));
    };
    add(offer.takes(Factor::axes), [&](Case& c) { give_axes(c, offer); });
    add(offer.takes(Factor::norm), give_norm);
    add(offer.takes(Factor::append), give_append);
  }
}

// Counts past 10,240, which are ten blocks of 1,024, and past 2^16, of each axis and of the
// products that a grid makes of two or three. A row of its own position costs more than a head. So
// in smoke f32 has the largest numbers of rows, and each other type those past 10,240.
void add_counts(std::vector<Case>& cases, const Offer& offer, Profile profile) {
  if (offer.one_model) return;
  const Case base = offer.any_size ? resized(base_case(offer), {2, 2}) : base_case(offer);
  for (Case& c : adopted_lines(
           base, offer,
           {"!batch=307; !tokens=1; !heads=229", "!batch=1; !tokens=283; !heads=241",
            "!batch=43; !tokens=41; !heads=39", "!batch=1; !tokens=1; !heads=66301",
            "!batch=10333; !tokens=1; !heads=1", "!batch=1; !tokens=10501; !heads=1",
            "!batch=1; !tokens=10247; !heads=1; op=transpose",
            "!batch=1; !tokens=10777; !heads=1; in_place=1", "!batch=70001; !tokens=1; !heads=1",
            "!batch=1; !tokens=66103; !heads=1", "!batch=1; !tokens=67003; !heads=1; op=transpose",
            "!batch=1; !tokens=65537; !heads=1; in_place=1"})) {
    const bool is_largest = c.batch * c.tokens > 1 << 16, of_f32 = c.dtype == Dtype::f32;
    if (c.tensors[0].heads == 1 && profile == Profile::smoke && is_largest != of_f32) continue;
    at_random(c);
    cases.push_back(c);
  }
}

// Heads of Q, fewer heads of K as in grouped queries, and batch rows.
void add_heads_and_rows(std::vector<Case>& cases, const Offer& offer, Profile profile) {
  const Counts heads = counts({5,  6,  7,  9,  10, 11, 12, 13, 14, 15, 16, 20,  24,  25,  28,  32,
                               33, 40, 48, 52, 56, 63, 64, 65, 71, 80, 96, 112, 128, 129, 256, 257},
                              profile);
  const Counts rows = counts({4,  6,  7,  9,  10, 12, 13, 14,  15,  16,  17,  18,  20, 24,
                              31, 32, 33, 48, 64, 65, 96, 100, 127, 128, 129, 256, 257},
                             profile);
  const std::size_t count = std::max(offer.takes(Factor::heads) ? heads.size() : 0,
                                     offer.takes(Factor::batch) ? rows.size() : 0);
  for (std::size_t i = 0; i < count; ++i) {
    // The largest count of one goes with the smallest of the other.
    std::int64_t batch = rows[rows.size() - 1 - i % rows.size()], many = heads[i % heads.size()];
    const bool both = offer.takes(Factor::heads) && offer.takes(Factor::batch);
    if (both && batch * many > 1200 && i < rows.size()) many = 3;
    if (both && i >= rows.size()) batch = 2;
    constexpr const char* more[] = {"", "tokens=2; rows_by=token", "tokens=1"};
    Case c = with(base_case(offer), offer,
                  fmt::format("batch={}; heads={}; {}", batch, many, more[i % 3]));
    at_random(c);
    if (offer.takes_other_heads() && offer.takes(Factor::heads) && c.tensors.size() == 1 &&
        i % 2 == 0) {
      c.tensors.push_back(c.tensors[0]);
      c.tensors[1].heads = heads[(i * 7 + 3) % heads.size()] % 16 + 1;
    }
    if (offer.takes(Factor::in_layout, level::head_major) && i % 5 >= 3)
      for (TensorCase& t : c.tensors) t.in = t.out = head_major_strides(c, t);
    add_turned(cases, c, offer, i);
  }
  // Decode with one head of K for all queries.
  if (!offer.takes_other_heads() || !offer.takes(Factor::heads) || !offer.takes(Factor::batch))
    return;
  Case c = with(base_case(offer), offer, "batch=5; tokens=1; heads=8");
  c.tensors.resize(2, c.tensors[0]);
  c.tensors[1].heads = 1;
  at_random(c);
  cases.push_back(c);
}

// More than 2^22 pairs, in one token and in a prompt: a flat index may have 22 bits. Heads have 3
// or 48 pairs, if such are supported, as a division by a power of two is exact in f32 as well.
void add_flat_pairs(std::vector<Case>& cases, const Offer& offer, Profile profile) {
  if (profile == Profile::smoke || !offer.takes(Factor::heads)) return;
  const Case c = offer.any_size ? resized(base_case(offer), {6, 6}) : base_case(offer);
  add_turned(cases, with(c, offer, fmt::format("heads={}", (1 << 22) / (c.rotary_dim / 2) + 3)),
             offer, 2);
  constexpr HeadWindow wide{96, 96};
  const bool takes_wide = std::any_of(offer.sizes.begin(), offer.sizes.end(), [&](HeadWindow size) {
    return size.head_dim == wide.head_dim && size.rotary_dim == wide.rotary_dim;
  });
  if (!offer.takes(Factor::tokens) || !takes_wide) return;
  cases.push_back(with(resized(base_case(offer), wide), offer, "tokens=6000; heads=32"));
}

struct Width {
  std::int64_t head_dim, rotary_dim, offset;
};

// Windows of any width, with dims before and behind them. One dim alone comes in both placements.
void add_widths(std::vector<Case>& cases, const Offer& offer) {
  constexpr Width widths[] = {{192, 64, 128},   {576, 64, 512},  {64, 2, 62},     {40, 8, 32},
                              {73, 8, 65},      {300, 16, 0},    {513, 32, 0},    {264, 8, 256},
                              {24, 8, 9},       {17, 8, 9},      {142, 142, 0},   {190, 190, 0},
                              {254, 250, 3},    {258, 258, 0},   {384, 384, 0},   {510, 510, 0},
                              {520, 520, 0},    {1024, 1024, 0}, {1030, 1026, 2}, {600, 8, 0},
                              {1100, 16, 1084}, {3, 2, 0},       {3, 2, 1},       {17, 16, 0},
                              {17, 16, 1},      {65, 64, 0},     {65, 64, 1}};
  std::size_t i = 0;
  for (const Width& w : widths) {
    if (!offer.any_size || (w.offset > 0 && !offer.takes(Factor::window, level::inside))) continue;
    Case c = with(base_case(offer), offer, "tokens=2; heads=2");
    c.rotary_dim = w.rotary_dim;
    set_window(c, w.head_dim - w.rotary_dim, w.offset);
    add_turned(cases, c, offer, ++i);
    if (w.head_dim == w.rotary_dim + 1) add_turned(cases, c, offer, i + 2);
  }
}

// Two to four tensors, each with heads, a window and a place of its own.
void add_tensor_sets(std::vector<Case>& cases, const Offer& offer) {
  if (!offer.takes(Factor::tensors, level::equal) || offer.base.tensors.size() > 1) return;
  Case base = with(base_case(offer), offer, "tokens=3");
  const auto add = [&](std::size_t count, auto&& change) {
    Case c = base;
    c.tensors.resize(count, base.tensors[0]);
    for (std::size_t i = 0; i < count; ++i) change(c.tensors[i], i);
    cases.push_back(c);
  };
  const auto equal = [](TensorCase&, std::size_t) {};
  add(2, equal);
  if (offer.takes(Factor::tensors, level::three)) {
    add(3, equal);
    add(4, equal);
    // All that is offered at once, so the last tensor must be handled like the first.
    const Case simple = base;
    base = with(base, offer, "op=transpose; scale=1.5");
    base.own_tables = offer.takes(Factor::tables, level::own_tables);
    add(4, [&](TensorCase& t, std::size_t i) {
      t.in_place = offer.takes(Factor::placement, level::in_place) &&
                   (i % 2 == 0 || !offer.takes(Factor::placement, level::out_of_place));
      t.rotate = !offer.takes_unrotated() || i != 1;
      if (!offer.takes_gaps()) return;
      t.in = t.out = padded_strides(base, t, 16);
      if (!t.in_place) t.out = padded_strides(base, t, 64);
    });
    base = simple;
  }
  if (offer.takes_unrotated()) add(2, [](TensorCase& t, std::size_t i) { t.rotate = i == 1; });
  if (offer.takes(Factor::placement, level::in_place) &&
      offer.takes(Factor::placement, level::out_of_place))
    for (const std::size_t alone : {std::size_t{0}, std::size_t{1}})
      add(2, [&](TensorCase& t, std::size_t i) { t.in_place = i == alone; });
  if (offer.takes(Factor::tensors, level::reshaped) && offer.takes(Factor::window, level::inside) &&
      offer.any_size)
    for (const std::size_t count : {std::size_t{2}, std::size_t{4}}) {
      if (count > 2 && !offer.takes(Factor::tensors, level::three)) continue;
      add(count, [](TensorCase& t, std::size_t i) {
        const auto n = static_cast<std::int64_t>(i);
        t.heads += n;
        t.head_dim += 4 * n;
        t.rotary_offset = 3 * n;
      });
    }
}

std::vector<Case> fixed_cases(const Offer& offer, Profile profile) {
  std::vector<Case> cases;
  add_tokens(cases, offer, profile);
  add_large(cases, offer, profile);
  add_counts(cases, offer, profile);
  add_fused_prompts(cases, offer, profile);
  add_heads_and_rows(cases, offer, profile);
  add_flat_pairs(cases, offer, profile);
  add_widths(cases, offer);
  add_tensor_sets(cases, offer);
  if (cases.empty()) cases.push_back(base_case(offer));
  return cases;
}

const Registered sizes({
    .name = "sizes",
    .place = {"sizes", 280},
    .claim = "no count of tokens, heads, rows, pairs or other dims is special",
    .judged_by_oracle = true,
    .fixed_cases = fixed_cases,
    .check = check_whole_output,
});

}  // namespace
}  // namespace ropewalk::properties
