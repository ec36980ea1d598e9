#include "properties/array/factor_case.h"

#include <algorithm>
#include <cmath>

#include "harness/cases/axes.h"
#include "harness/cases/data.h"
#include "properties/array/case_shape.h"
#include "properties/array/factor_table.h"

namespace ropewalk::properties {
using namespace harness;
namespace {

// ---- tensors

bool is_level_of(const std::vector<TensorCase>& set, level::TensorsLevel wanted) {
  return (set.size() == 3 && wanted == level::three) || (set.size() == 4 && wanted == level::four);
}

// The set's tensors after the first: those of the first's shape change with it.
void add_set(Case& c, const std::vector<TensorCase>& set) {
  const TensorCase first = c.tensors[0];
  for (std::size_t i = 1; i < set.size(); ++i) {
    TensorCase& t = c.tensors.emplace_back(first);
    t.rotate = set[i].rotate;
    if (have_one_shape(set[i], set[0])) continue;
    t.heads = set[i].heads;
    t.head_dim = set[i].head_dim;
    t.rotary_offset = set[i].rotary_offset;
  }
}

// The first tensor, and how many heads a grouped second one has.
void add_tensors(Case& c, const Levels& l, const Sizes& sizes, const LevelDraw& draw) {
  const TensorCase first = c.tensors[0];
  // Many tokens of a narrow first tensor would be a large other one.
  const std::int64_t bytes = data_type(c.dtype).bytes, column = c.batch * c.tokens * bytes;
  const std::int64_t most =
      sizes.most_elements > 0 ? 2 * sizes.most_elements * bytes : 8 * 1024 * 1024;
  const auto copied = [&] {
    TensorCase t = first;
    t.rotate = false;
    t.rotary_offset = 0;
    const std::int64_t width = draw.in(q_width, {1, 99});
    if (sizes.any_width && width % 2 == 1 && column * t.heads * width <= most) t.head_dim = width;
    return t;
  };
  const auto reshaped = [&] {
    TensorCase t = first;
    t.heads = 1 + draw.in(q_shape, {0, 16});
    t.head_dim = c.rotary_dim + draw.in(q_group, {0, 9});
    if (column * t.heads * t.head_dim > most) t.heads = 1;
    if (column * t.head_dim > most) t.head_dim = c.rotary_dim;
    t.rotary_offset = draw.in(q_gap, {0, t.head_dim - c.rotary_dim});
    return t;
  };
  const auto wanted = static_cast<level::TensorsLevel>(l[Factor::tensors]);
  if (is_level_of(sizes.set, wanted)) return add_set(c, sizes.set);
  switch (wanted) {
    case level::one:
      return;
    case level::equal:
      c.tensors.push_back(first);
      return;
    case level::grouped: {
      c.tensors.push_back(first);
      if (sizes.second) {
        c.tensors[1].heads = sizes.second->heads;
        c.tensors[1].head_dim = sizes.second->head_dim;
        c.tensors[1].rotary_offset = sizes.second->rotary_offset;
        return;
      }
      std::vector<std::pair<std::int64_t, std::int64_t>> groups = sizes.groups[l[Factor::heads]];
      std::erase_if(groups, [&](const auto& g) { return g.first != first.heads; });
      const std::int64_t divisor = first.heads % 4 == 0   ? 4
                                   : first.heads % 2 == 0 ? 2
                                                          : first.heads;
      c.tensors[1].heads = groups.empty() ? first.heads / divisor : draw.of(q_group, groups).second;
      return;
    }
    case level::reshaped:
      c.tensors.push_back(reshaped());
      return;
    case level::copied_second:
      c.tensors.push_back(copied());
      return;
    case level::copied_first:
      c.tensors = {copied(), first};
      return;
    case level::three:
      c.tensors.push_back(first);
      c.tensors.push_back(sizes.any_width && draw.bits(q_shape) % 4 == 0 ? reshaped() : copied());
      return;
    case level::four:
      c.tensors.push_back(reshaped());
      c.tensors.push_back(copied());
      c.tensors.push_back(first);
      return;
  }
}

// ---- types

// The types that are no wider than the case's, for a tensor whose input and output would have more
// than 32 MiB in f64. All of them, if there are no such types.
std::vector<Dtype> types_for(const Case& c, const TensorCase& t, const std::vector<Dtype>& types) {
  constexpr std::int64_t most = 32 * 1024 * 1024, f64_pair = 16;
  if (c.batch * c.tokens * t.heads * t.head_dim * f64_pair <= most) return types;
  std::vector<Dtype> narrow = types;
  std::erase_if(narrow,
                [&](Dtype type) { return data_type(type).bytes > data_type(c.dtype).bytes; });
  return narrow.empty() ? types : narrow;
}

// The tensor whose bytes are a level keeps the type of the case.
void choose_types(Case& c, const Levels& l, const Sizes& sizes, const LevelDraw& draw) {
  const auto wanted = static_cast<level::TypesLevel>(l[Factor::types]);
  const std::vector<Dtype> types = sizes.types.empty() ? types_beside(c.dtype) : sizes.types;
  const std::size_t sized = l[Factor::tensors] == level::copied_first ? 1 : 0;
  std::uint64_t next = draw.bits(q_types);
  for (std::size_t i = 0; i < c.tensors.size() && wanted != level::alike; ++i) {
    if (i == sized) continue;
    const std::vector<Dtype> fitting = types_for(c, c.tensors[i], types);
    c.tensors[i].dtype = fitting[static_cast<std::size_t>(next % fitting.size())];
    if (wanted == level::second_differs) break;
    if (wanted == level::all_differ) ++next;
  }
  if (l[Factor::table_type] == level::usual_table) return;
  const Dtype usual = table_dtype(c);
  c.table_dtype =
      draw.of(q_table_type, sizes.table_types.empty() ? types_beside(usual) : sizes.table_types);
}

// ---- frequencies

// The first level is that of the base, which may be a model's; 10000 is the usual one.
void choose_frequencies(Case& c, const Case& base, const Levels& l, const LevelDraw& draw) {
  constexpr double edges[] = {0, 1e-9, 6.25, 1, 0.125, 3.25};
  const double bases[] = {base.rope_theta, 500000, 2.5};
  if (l[Factor::frequencies] == 0) {
    c.scaling = base.scaling;
    c.scaling_values = base.scaling_values;
  }
  if (l[Factor::frequencies] != level::listed) {
    c.rope_theta = bases[l[Factor::frequencies]];
    return;
  }
  for (std::int64_t i = 0; i < c.rotary_dim / 2; ++i) {
    const std::uint64_t bits = hash(draw.bits(q_frequency), i);
    const double any = 0.5 + std::abs(unit_value(bits, 24)) * 4;
    c.inv_freq.push_back(double{static_cast<float>(bits % 3 == 0 ? edges[bits % 6] : any)});
  }
}

// ---- positions

// The lowest and highest position of a level, for `span` positions in a row.
// `small`: the largest logarithm of a small power.
SizeRange positions_of_level(int range, std::int64_t span, std::int64_t small,
                             const LevelDraw& draw) {
  const auto beside = [&](std::int64_t log2) {
    const std::int64_t least = (std::int64_t{1} << log2) - draw.in(q_range, {0, span});
    return SizeRange{std::max<std::int64_t>(least, 0), least + span};
  };
  constexpr std::int64_t rows = 131'072, end = std::int64_t{1} << 31;
  switch (static_cast<level::PositionRangeLevel>(range)) {
    case level::from_zero:
      return {0, span};
    case level::beside_small_power:
      return beside(draw.in(q_power, {4, small}));
    case level::past_table:
      return {rows + 1, rows + 1 + span};
    case level::beside_power:
      return beside(draw.in(q_power, {17, 30}));
    case level::at_the_end:
      return draw.bits(q_range) % 2 == 0 ? SizeRange{end - 1 - span, end - 1}
                                         : SizeRange{(std::int64_t{1} << 30) - span, 1 << 30};
    case level::negative:
      return {-(std::int64_t{1} << draw.in(q_power, {1, 30})) - span, -1};
  }
  __builtin_unreachable();
}

// Which positions, for so many tokens.
void choose_positions(Case& c, std::int64_t tokens, const Levels& l, const LevelDraw& draw) {
  const std::int64_t step = draw.in(q_step, {2, 7});
  const auto order = static_cast<level::PositionOrderLevel>(l[Factor::position_order]);
  const std::int64_t span =
      (order == level::stepped ? step : 1) * (tokens - 1) + (order == level::random_order ? 40 : 0);
  // a table by position has all rows up to the last
  const bool has_rows =
      c.contract == ROPE_CONTRACT_TABLE && l[Factor::rows_by] == level::by_position;
  const SizeRange range =
      positions_of_level(l[Factor::position_range], span, has_rows ? 11 : 16, draw);
  c.position_from = order == level::descending ? range.least + span : range.least;
  c.position_step = order == level::stepped ? step : order == level::descending ? -1 : 1;
  if (order == level::random_order) {
    c.position_rule = PositionRule::random;
    c.position_to = range.most;
    c.position_step = 1;
    const bool beside = l[Factor::position_range] == level::beside_small_power ||
                        l[Factor::position_range] == level::beside_power;
    if (beside && draw.bits(q_layout) % 4 == 0) c.position_from = 0;
    const bool of_both_signs = l[Factor::position_range] == level::negative && tokens > 4;
    if (of_both_signs && draw.bits(q_layout) % 4 == 0) c.position_to = -c.position_from;
  }
}

// Three of four shifts lead past a cache of 4096 rows, from position 0 on.
std::int64_t shift_of(std::uint64_t seed) {
  const auto any = static_cast<std::int64_t>(hash(seed, 0x5f) % 4096);
  return hash(seed, 0x60) % 4 == 0 ? 1 + any : 4096 + any % 64;
}

}  // namespace

std::optional<Case> case_of(const Levels& l, const Case& base, const Sizes& sizes,
                            std::uint64_t seed, const ShapeCase& change) {
  const LevelDraw draw(seed);
  const std::optional<CaseShape> shape = shape_of(l, base.dtype, base.contract, sizes, draw);
  if (!shape) return {};
  Case c;
  c.kernel = base.kernel;
  c.plugin = base.plugin;
  c.contract = base.contract;
  c.pairing = base.pairing;
  c.dtype = base.dtype;
  c.table_dtype = base.table_dtype;
  c.seed = seed;
  c.position_shift = shift_of(seed);
  c.cut = static_cast<std::int64_t>(hash(seed, 0xc07) % 4096);
  set_switches(c, hash(seed, 0x5317));
  c.tokens = shape->tokens.value;
  c.batch = shape->batch.value;
  c.rotary_dim = shape->window.rotary_dim;
  c.tensors[0].heads = shape->heads.value;
  c.tensors[0].head_dim = shape->window.head_dim;
  c.tensors[0].rotary_offset = shape->window.offset;
  add_tensors(c, l, sizes, draw);
  choose_types(c, l, sizes, draw);
  for (std::size_t f = 0; f < factor_count; ++f)
    if (const auto set = factor_table()[f].set; set != nullptr) set(c, l.of[f], draw);
  if (const int norm = l[Factor::norm]; norm != level::weighted && norm != level::other_weights)
    c.weight_plus_one |= base.weight_plus_one;  // a kernel may add 1 in each call
  if (base.attention_scale != 0 && l[Factor::scale] == level::usual)
    c.attention_scale = base.attention_scale;
  // a case that is changed may get up to three tokens
  choose_positions(c, change ? std::max<std::int64_t>(c.tokens, 3) : c.tokens, l, draw);
  if (change) change(c);
  if (c.axes > 1) use_map(c, sizes.axis_of_pair);
  if (c.axes > 1) c.axis_of_pair = map_of_pairs(c, c.rotary_dim / 2);
  choose_frequencies(c, base, l, draw);
  lay_out(c, l, draw);
  return c;
}

}  // namespace ropewalk::properties
