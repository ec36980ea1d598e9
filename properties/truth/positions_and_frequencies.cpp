// Agreement at every position, and with frequencies of any kind.
//
// Position sweep: agreement at every position 0..131,071 and at the edges of the number types. So
// an error at a single position cannot hide. The heads of each position are e1, e2 and a
// full-mantissa vector (DataPattern::basis).
//
// Bound: that of agreement.
//
// position_sweep kills by itself: one_position_off, half_position, far_, wrong_in_reach
//
// Frequencies: inv_freq may hold any values in [0, 2 pi] in any order, not only the powers of a
// base. Cases have zero, almost zero, nearly a whole turn, all equal, rising and repeated values,
// and the bases of models in use. With a table, inv_freq is only information and may change no
// result.
//
// Bound: that of agreement.
//
// frequencies kills by itself: zero_frequency, frequencies_only
#include <algorithm>
#include <vector>

#include "properties/fixed_cases.h"
#include "properties/property.h"
#include "properties/truth/agreement.h"

namespace ropewalk::properties {
using namespace harness;
namespace {

// ---- position_sweep

constexpr std::int64_t swept_positions = 131'072;

using Positions = std::vector<std::int64_t>;

// The positions on both sides of the point where a float, a half or an integer type runs out of
// exact values. They come in groups: a kernel may refuse the far ones and is still judged on the
// others.
std::vector<Positions> edge_positions(bool negative, bool beyond_table) {
  std::vector<Positions> groups = {{255, 256, 257, 2047, 2048, 2049, 4095, 4096, 4097, 65503, 65504,
                                    65505, 65535, 65536, 65537, 131071}};
  if (beyond_table) {
    groups.push_back({131072, 1 << 20, 1000000, (1 << 24) - 1, 1 << 24});
    groups.push_back(
        {(1 << 24) + 1, 1 << 25, (1 << 25) + 1, 99999999, 1 << 28, (1 << 30) - 1, 1 << 30});
    groups.push_back({(1 << 30) + 1, 1073741889, 1500000001, 1610612736, 2000000000, 2147483583,
                      2147483584, 2147483640, 2147483643, 2147483644, 2147483645, 2147483646,
                      2147483647});
  }
  const std::size_t count = negative ? groups.size() : 0;
  for (std::size_t i = 0; i < count; ++i) {
    Positions mirrored;
    for (const std::int64_t p : groups[i]) mirrored.push_back(-p);
    groups.push_back(mirrored);
  }
  if (negative && beyond_table) groups.back().push_back(-(std::int64_t{1} << 31));
  return groups;
}

Case sweep_case(const Offer& offer, HeadWindow size) {
  Case c = with(resized(offer.base, size), offer, "heads=3");
  c.data = DataPattern::basis;
  return c;
}

// A kernel may take only the many heads of its model. Then a sweep has smaller chunks, and leaves
// out some: the profile says how many elements it may have.
void add_sweep(std::vector<Case>& cases, const Offer& offer, HeadWindow size, std::int64_t chunk,
               Profile profile) {
  constexpr std::int64_t most_of_a_case = 1 << 23, most_of_smoke = 1 << 26, most = 1 << 28;
  const std::int64_t row = elements_of_token(sweep_case(offer, size).tensors);
  chunk = std::clamp<std::int64_t>(most_of_a_case / row, 1, chunk);
  const std::int64_t all = profile == Profile::smoke ? most_of_smoke : most;
  const std::int64_t apart = profile == Profile::full ? 1 : 1 + swept_positions * row / all;
  for (std::int64_t from = 0; from < swept_positions; from += apart * chunk) {
    Case c = sweep_case(offer, size);
    c.tokens = chunk;
    c.position_from = from;
    if (size.rotary_dim > 16) {
      // One full-mantissa head is enough beside the narrow sweep. And a table by position would
      // have to be laid out up to the last row each time.
      c.data = DataPattern::unit;
      c = with(c, offer, "heads=1; rows_by=token");
    }
    cases.push_back(c);
  }
}

// A kernel that accepts only one token a call runs the edges one by one.
void add_edges(std::vector<Case>& cases, const Offer& offer, HeadWindow size) {
  const bool table = offer.base.contract == ROPE_CONTRACT_TABLE;
  Case c = sweep_case(offer, size);
  if (table) c = with(c, offer, "rows_by=token");
  if (size.rotary_dim > 16) c.data = DataPattern::unit;
  c.position_rule = PositionRule::list;
  for (const Positions& edges :
       edge_positions(offer.takes_negative_positions(),
                      !table || offer.takes(Factor::rows_by, level::by_token))) {
    const std::size_t at_once = offer.takes(Factor::tokens) ? edges.size() : 1;
    for (std::size_t i = 0; i < edges.size(); i += at_once) {
      const auto from = edges.begin() + static_cast<std::ptrdiff_t>(i);
      c.positions.clear();
      for (std::int64_t b = 0; b < c.batch; ++b)
        c.positions.insert(c.positions.end(), from, from + static_cast<std::ptrdiff_t>(at_once));
      c.tokens = static_cast<std::int64_t>(at_once);
      cases.push_back(c);
    }
  }
}

// Runs of positions that end at an edge, and orders on which no loop over positions may rely:
// falling, all equal, random.
void add_runs(std::vector<Case>& cases, const Offer& offer, HeadWindow size) {
  constexpr std::int64_t end = std::int64_t{1} << 31, run = 33;
  Case c = sweep_case(offer, size);
  c.tokens = run;
  const bool both_types = offer.takes(Factor::position_type) && c.position_dtype == Dtype::i32;
  const auto add = [&](std::int64_t from, std::int64_t step) {
    if (both_types) c.position_dtype = c.position_dtype == Dtype::i32 ? Dtype::i64 : Dtype::i32;
    c.position_from = from;
    c.position_step = step;
    cases.push_back(c);
  };
  add(1000, -1);
  add(77, 0);
  add((1 << 24) - 16, 1);
  add(end - run, 1);
  add(end - 1, -1);
  add(end - 1, 0);
  add((1 << 30) - 16, 1);
  c.position_rule = PositionRule::random;
  c.position_step = 1;
  c.position_to = end - 1;
  for (const bool below : {false, true}) {
    if (below && !offer.takes_negative_positions()) continue;
    c.position_from = below ? -end : 0;
    c.tokens = 257;
    cases.push_back(c);
  }
  if (!offer.takes_negative_positions()) return;
  c.position_rule = PositionRule::consecutive;
  c.tokens = run;
  c.position_to = 0;
  add(-16, 1);
  add(-end, 1);
  add(-end + run - 1, -1);
}

std::vector<Case> fixed_cases_position_sweep(const Offer& offer, Profile profile) {
  std::vector<Case> cases;
  const bool table = offer.base.contract == ROPE_CONTRACT_TABLE;
  const auto by_size = [](HeadWindow a, HeadWindow b) { return a.rotary_dim < b.rotary_dim; };
  // Two pairs, a fast and a slow frequency, give 12 values for each position, in heads of all
  // kinds.
  const bool any = offer.any_size && profile == Profile::smoke;
  const HeadWindow small = any ? HeadWindow{4, 4} : *std::ranges::min_element(offer.sizes, by_size);
  if (offer.takes(Factor::tokens)) {
    add_sweep(cases, offer, small, 16384, profile);
    const auto usual = std::find_if(offer.sizes.begin(), offer.sizes.end(),
                                    [](HeadWindow s) { return s.rotary_dim == 128; });
    // For a table kernel, a position is only a row index, which the small sweep covers.
    const bool wide = profile == Profile::full || (profile == Profile::standard && !table);
    if (wide && usual != offer.sizes.end()) add_sweep(cases, offer, *usual, 4096, profile);
  }
  add_edges(cases, offer, small);
  for (const HeadWindow size : offer.sizes)
    if (!table && size.rotary_dim == 128 && size.head_dim == 128) add_edges(cases, offer, size);
  if (!table && offer.takes(Factor::tokens)) add_runs(cases, offer, small);
  return cases;
}

const Registered position_sweep({
    .name = "position_sweep",
    .place = {"rotation", 20},
    .claim = "agreement at every position 0..131071 and at the edges of the number types",
    .judged_by_oracle = true,
    .fixed_cases = fixed_cases_position_sweep,
    .check = check_agreement,
});

// ---- frequencies

std::vector<Case> fixed_cases_frequencies(const Offer& offer, Profile) {
  std::vector<Case> cases;
  Case c = offer.base;
  const bool table = c.contract == ROPE_CONTRACT_TABLE;
  if (offer.takes(Factor::tokens)) {
    c.tokens = 8;
    c.position_rule = PositionRule::list;
    const std::vector<std::int64_t> reached =
        table ? std::vector<std::int64_t>{0, 1, 2, 1000, 77, 1, 5, 9}
              : std::vector<std::int64_t>{0, 1, 2, 1000, 1'048'577, 1, 5, 9};
    c.positions.clear();
    for (std::int64_t b = 0; b < c.batch; ++b)
      c.positions.insert(c.positions.end(), reached.begin(), reached.end());
  } else {
    c.position_from = 1000;
  }
  for (const double theta : {1.0, 100.0, 5e5, 1e6, 1e7, 1e9}) {
    c.rope_theta = theta;
    cases.push_back(c);
    cases.push_back(widened(c, offer));
  }
  c.rope_theta = 10000;
  // All values are exact in f32, as the f32_angle contract demands.
  constexpr double near_whole = 0x1.921fb4p+2, near_half = 0x1.921fb4p+1;
  const std::vector<double> lists[] = {
      {0},
      {0x1p-100},
      {0.5},
      {near_whole},
      {0x1p-20, 0x1p-10, 0.25, 3},        // rising
      {1, 0, 0.125, 0},                   // not monotone
      {near_half, 1.5, 2.75, 5.5},        // above 1
      {1, 0x1p-100, near_whole, 0x1p-30}  // far apart
  };
  for (const std::vector<double>& list : lists) {
    c.inv_freq.clear();
    for (std::int64_t i = 0; i < c.rotary_dim / 2; ++i)
      c.inv_freq.push_back(list[static_cast<std::size_t>(i) % list.size()]);
    cases.push_back(c);
  }
  return cases;
}

const Registered frequencies({
    .name = "frequencies",
    .place = {"rotation", 300},
    .claim = "any frequencies in [0, 2 pi] are taken as they are",
    .judged_by_oracle = true,
    .fixed_cases = fixed_cases_frequencies,
    .check = check_agreement,
});

}  // namespace
}  // namespace ropewalk::properties
