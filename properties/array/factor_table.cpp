#include "properties/array/factor_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/cases/axes.h"
#include "harness/cases/fused.h"
#include "properties/array/level_draw.h"

namespace ropewalk::properties {
using namespace harness;
namespace {

// Of three tensors, also all but the second, or one alone of those after the first.
void place(Case& c, int level, const LevelDraw& draw) {
  const std::size_t count = c.tensors.size();
  const std::uint64_t which = draw.bits(q_placement);
  for (std::size_t i = 0; i < count; ++i) {
    const bool others = i > 0 && (which % 2 == 0 || i == 1 + which / 2 % (count - 1));
    c.tensors[i].in_place =
        level == level::in_place ||
        (level == level::first_in_place && (i == 0 || (i > 1 && which % 2 == 0))) ||
        (level == level::others_in_place && others);
  }
}

void index_tables(Case& c, int level, const LevelDraw&) {
  if (c.contract != ROPE_CONTRACT_TABLE) return;
  c.rows_by = level == level::by_position ? ROPE_ROW_BY_POSITION : ROPE_ROW_BY_TOKEN;
  c.positions_null = level == level::without_positions;
}

int indexing_of(const Case& c) {
  if (c.contract != ROPE_CONTRACT_TABLE || c.rows_by == ROPE_ROW_BY_POSITION)
    return level::by_position;
  return c.positions_null ? level::without_positions : level::by_token;
}

void choose_tables(Case& c, int level, const LevelDraw& draw) {
  c.own_tables = level == level::own_tables;
  c.own_sin = level == level::own_sin;
  c.table_apart = level == level::other_angles ? draw.in(q_gap, {1, 99}) : 0;
  c.table_apart_pair = c.table_apart % 2 == 0 && c.table_apart > 0 ? -2 : -1;
}

// 1.1386... is YaRN's scale at factor 4, not exact in f32. A type of wide range has room for far
// scales, their squares and parts of them.
void choose_scale(Case& c, int level, const LevelDraw& draw) {
  constexpr double usual[] = {1.1386294361119891, 0.5, 1.0693, 0.0884, 3, 64},
                   below[] = {-2, -1, -0.7}, large[] = {5000, 4097, 8192};
  const bool far = has_wide_range(c.dtype) && draw.bits(q_wide) % 4 == 0;
  const bool odd = draw.bits(q_scale) % 2 != 0;
  const double scales[] = {0,
                           1,
                           odd ? 1 - 1e-4 : 1 + 1e-4,
                           far   ? 0x1p-40
                           : odd ? 1e-3
                                 : 1e-4,
                           draw.of(q_scale, usual),
                           draw.of(q_scale, below),
                           far ? 0x1p40 : draw.of(q_scale, large)};
  c.attention_scale = scales[level];
}

// Four callers have memory of their own, or share it. They have one state or two.
void call_at_once(Case& c, int level, const LevelDraw& draw) {
  c.callers = level == level::four_callers ? 4 : 1;
  c.caller_states = CallerStates::one;
  if (level != level::four_callers) return;
  c.callers_share = draw.in(q_callers, {0, 1}) == 1;
  c.fresh = hash(c.seed, 0xf125) % 2 == 0;
  c.caller_states = static_cast<CallerStates>(draw.bits(q_callers) / 2 % 3);
}

// Which axis each pair turns by. Sections begin anywhere, and the map of a single pair names any
// axis. Two and four axes are in sections, in turn, or scattered.
void choose_axes(Case& c, int level, const LevelDraw& draw) {
  drop_axes(c);
  if (level == level::no_axes) return;
  c.axes = level == level::two_axes ? 2 : level == level::four_axes ? 4 : 3;
  const std::int64_t half = c.rotary_dim / 2;
  std::int64_t begins[4] = {};  // of the sections
  for (int a = 1; a < 4; ++a) {
    const std::int64_t even = a * half / c.axes;
    begins[a] = std::max(begins[a - 1], even + draw.in(q_section + a, {-half / 8, half / 8}));
  }
  const auto idle = static_cast<std::int64_t>(draw.bits(q_section) % 3);
  const auto form = c.axes == 3 ? 0 : draw.bits(q_map) % 3;
  const std::int64_t repeated = c.axes * draw.in(q_section, {half / (2 * c.axes), half / c.axes});
  for (std::int64_t i = 0; i < half; ++i) {
    std::int64_t axis = 0;
    while (axis + 1 < c.axes && i >= begins[axis + 1]) ++axis;
    if (level == level::interleaved || form == 1) axis = i < repeated ? i % c.axes : 0;
    const std::uint64_t any = hash(draw.bits(q_section), i);
    if (level == level::scattered || form == 2 || half == 1)
      axis = static_cast<std::int64_t>(any % static_cast<std::uint64_t>(c.axes));
    if (level == level::idle_axis && axis == idle) axis = (axis + 1) % c.axes;
    c.axis_of_pair.push_back(static_cast<std::uint8_t>(axis));
  }
}

void choose_planes(Case& c, int level, const LevelDraw&) {
  constexpr AxisPositions rules[] = {AxisPositions::apart,      AxisPositions::equal,
                                     AxisPositions::equal,      AxisPositions::two_equal,
                                     AxisPositions::after_text, AxisPositions::picture};
  if (c.axes > 1) c.axis_positions = rules[level];
}

// Weights are no wider than the arithmetic of each tensor that has them.
void choose_weight_type(Case& c, int level, const LevelDraw& draw) {
  bool f64_alone = true;
  for (const TensorCase& t : c.tensors)
    f64_alone = f64_alone && (!t.norm || tensor_dtype(c, t) == Dtype::f64);
  std::vector<Dtype> types = types_beside(c.dtype);
  if (!f64_alone) std::erase(types, Dtype::f64);
  if (level == level::other_weights)
    c.weight_dtype = draw.of(q_norm, types);
  else if (c.dtype == Dtype::f64 && !f64_alone)
    c.weight_dtype = Dtype::f32;
}

// The norm of rotated tensors, or of all, or of one alone. Wide data are far from 1 in some cases,
// as far as sums of their squares are promised.
void choose_norm(Case& c, int level, const LevelDraw& draw) {
  drop_norm(c);
  c.weight_dtype.reset();
  const std::uint64_t marks = draw.bits(q_marks);
  c.weight_plus_one = level == level::plus_one || (level == level::other_weights && marks % 2 != 0);
  c.epsilon = 1e-6;
  if (level == level::no_norm) return;
  constexpr double epsilons[] = {1e-6, 1e-5, 1e-12, 0x1p-60, 1, 0.1};
  c.epsilon = draw.of(q_epsilon, epsilons);
  const std::uint64_t bits = draw.bits(q_norm);
  if (level == level::unweighted) c.weight_plus_one = bits / 16 % 2 == 0;  // of no account
  if (c.data == DataPattern::wide && has_wide_range(c.dtype) && marks / 512 % 2 == 0)
    c.data = c.dtype == Dtype::f64 ? DataPattern::huge : DataPattern::far;
  const std::size_t last = c.tensors.size() - 1;
  for (std::size_t i = 0; i < c.tensors.size(); ++i) {
    TensorCase& t = c.tensors[i];
    const bool some[] = {i == 0, i == last, i == 0 || i == last, i == last || i > 0};
    t.norm = level == level::one_alone ? some[marks / 64 % 2 == 0 ? marks % 2 : marks % 4]
                                       : t.rotate || bits % 4 == 0;
    t.weight = level != level::unweighted && (level != level::other_weights || marks / 2 % 4 > 1 ||
                                              (i > 0) == (marks / 2 % 4 > 0));
  }
  choose_weight_type(c, level, draw);
}

// All tensors, or all but the first; of both, one alone or two of three in some cases.
void choose_append(Case& c, int level, const LevelDraw& draw) {
  drop_append(c);
  const std::uint64_t bits = draw.bits(q_marks) / 8;
  const bool one = bits % 4 == 0;
  const std::size_t other = bits / 4 % 2 == 0 ? 1 : c.tensors.size() - 1;
  for (std::size_t i = 0; i < c.tensors.size(); ++i) {
    TensorCase& t = c.tensors[i];
    const bool is_other = i > 0 && i == other && bits / 8 % 2 == 0;
    t.append = (level == level::all_appended && (i == 0 || !one || is_other)) ||
               (level == level::all_but_first && i > 0 && (!one || i == other));
  }
}

void choose_slots(Case& c, int level, const LevelDraw& draw) {
  c.slots.clear();
  c.pages = 0;
  c.slot_rule = static_cast<SlotRule>(level);
  c.slot_dtype = level > 0 && draw.bits(q_slots) % 2 == 0 ? Dtype::i32 : Dtype::i64;
}

int axes_of_base(const Case& c) {
  constexpr int levels[] = {level::no_axes, level::two_axes, level::interleaved, level::four_axes};
  return levels[c.axes - 1];
}
int norm_of_base(const Case& c) {
  if (!has_norm(c)) return level::no_norm;
  if (!c.tensors[0].weight) return level::unweighted;
  return c.weight_plus_one ? level::plus_one : level::weighted;
}
int append_of_base(const Case& c) {
  if (!has_append(c)) return level::no_append;
  return c.tensors[0].append ? level::all_appended : level::all_but_first;
}

const std::array<FactorRow, factor_count> table{{
    {"operation",
     {"forward", "backward"},
     [](Case& c, int level, const LevelDraw&) { c.operation = static_cast<Operation>(level); },
     [](const Case& c) { return static_cast<int>(c.operation); },
     "a backward pass"},
    {"placement",
     {"out of place", "in place", "first in place", "all but first in place"},
     place,
     [](const Case& c) -> int {
       return c.tensors[0].in_place ? level::in_place : level::out_of_place;
     }},
    {"table rows by", {"position", "token", "token, no positions"}, index_tables, indexing_of},
    {"tables", {"shared", "own", "own sin", "other angles"}, choose_tables},
    {"table rows", {"packed", "with gaps", "cos beside sin"}},
    {"spare table rows",
     {"none", "some"},
     [](Case& c, int level, const LevelDraw& draw) {
       if (c.contract == ROPE_CONTRACT_TABLE && level > 0)
         c.table_spare_rows = draw.in(q_gap, {1, 40});
     }},
    {"position type",
     {"i32", "i64"},
     [](Case& c, int level, const LevelDraw&) {
       c.position_dtype = level == 0 ? Dtype::i32 : Dtype::i64;
     },
     [](const Case& c) { return c.position_dtype == Dtype::i64 ? 1 : 0; }},
    {"position strides",
     {"packed", "token stride", "slice of rows", "one row", "one token", "one position"}},
    {"position order", {"consecutive", "random", "stepped", "descending"}},
    {"position range",
     {"from 0", "beside 2^k up to 2^16", "past 131072", "beside 2^k from 2^17", "at 2^31",
      "negative"}},
    {"input layout",
     {"packed", "token gaps", "head gaps", "both gaps", "head-major", "head-major with room",
      "fused", "broadcast"}},
    {"output layout",
     {"packed", "token gaps", "head gaps", "both gaps", "head-major", "head-major with room",
      "fused"}},
    {"start", {"0", "shifted", "absurd unused strides"}},
    {"window", {"whole head", "at the start", "inside", "at the end"}},
    {"rotary_dim",
     {"up to 8", "2 mod 4", "4 mod 8", "8 mod 16", "16 mod 32", "32 mod 64", "0 mod 64",
      "above 256"}},
    {"dims beside the window", {"none", "odd", "even", "as many or more"}},
    {"heads",
     {"1", "2", "3 to 9", "10 to 31", "32 to 48", "above 48"},
     nullptr,
     nullptr,
     "several heads"},
    {"tensors", {"1", "2 equal", "grouped", "2 shapes", "second copied", "first copied", "3", "4"}},
    {"tokens",
     {"1", "2 to 9", "10 to 32", "33 to 100", "101 to 1000", "above 1000"},
     nullptr,
     nullptr,
     "several tokens"},
    {"batch",
     {"1", "2 or 3", "4 to 11", "12 to 100", "above 512"},
     nullptr,
     nullptr,
     "several batch rows"},
    {"bytes of a tensor", {"up to 32 KiB", "up to 4 MiB", "16 MiB"}},
    {"scale",
     {"0", "1", "beside 1", "small", "usual", "negative", "above 4096"},
     choose_scale,
     [](const Case& c) -> int { return c.attention_scale == 0 ? level::zero : level::usual; }},
    {"data",
     {"unit", "wide", "basis", "tiny", "huge", "special", "ends of the type", "zero heads"},
     [](Case& c, int level, const LevelDraw&) {
       constexpr DataPattern patterns[] = {
           DataPattern::unit, DataPattern::wide,    DataPattern::basis, DataPattern::tiny,
           DataPattern::huge, DataPattern::special, DataPattern::edge,  DataPattern::zero_heads};
       c.data = patterns[level];
     }},
    {"frequencies", {"base 10000", "base 500000", "base 2.5", "listed"}},
    {"data types",
     {"alike", "another of the second tensor", "another of all but the first",
      "one of each tensor"},
     nullptr,
     nullptr,
     "tensors of several data types"},
    {"table type", {"usual", "another"}, nullptr, nullptr, "a table of another type"},
    {"before",
     {"nothing", "other contents at the same addresses", "another state", "numbers in outputs"},
     [](Case& c, int level, const LevelDraw&) { c.before = static_cast<Before>(level); }},
    {"callers", {"one", "four at once"}, call_at_once, nullptr, "callers at once"},
    {"axes",
     {"none", "two", "three sections", "three in turn", "three scattered", "one without a pair",
      "four"},
     choose_axes,
     axes_of_base,
     "positions with axes"},
    {"positions of axes",
     {"apart", "equal", "shared", "two equal", "equal at first", "of a picture"},
     choose_planes},
    {"norm",
     {"none", "with weights", "1 + weights", "without weights", "of one tensor",
      "weights of another type"},
     choose_norm,
     norm_of_base,
     "a norm"},
    {"append",
     {"none", "all but the first tensor", "all tensors"},
     choose_append,
     append_of_base,
     "append"},
    {"slots",
     {"in order", "page by page", "anywhere", "some without", "the last third without"},
     choose_slots},
    {"caches", {"packed pages", "head-major pages", "with gaps", "in one buffer"}},
}};

}  // namespace

const std::array<FactorRow, factor_count>& factor_table() {
  return table;
}

LevelSets all_levels() {
  LevelSets all;
  for (std::size_t f = 0; f < factor_count; ++f)
    for (int level = 0; level < std::ssize(table[f].levels); ++level)
      all.add(static_cast<Factor>(f), level);
  return all;
}

std::string words_of(const LevelTuple& tuple) {
  std::string out;
  for (const auto& [f, level] : tuple) {
    const FactorRow& words = table[index_of(f)];
    out += fmt::format("{}{}: {}", out.empty() ? "" : ", ", words.name,
                       words.levels[static_cast<std::size_t>(level)]);
  }
  return out;
}

bool hides_others(Factor f, int level) {
  // One position for a whole row or for all, data whose pairs have no finite truth or a wide bound,
  // zeros. Four callers hide nothing, but take as long as many rows.
  if (f == Factor::position_strides) return level >= level::one_token;
  if (f == Factor::callers) return level == level::four_callers;
  if (f == Factor::planes) return level == level::equal_planes || level == level::shared_planes;
  return f == Factor::data &&
         (level == level::special || level == level::extreme || level == level::zero_heads);
}

}  // namespace ropewalk::properties
