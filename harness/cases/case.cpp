#include "harness/cases/case.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "base/text_file.h"
#include "harness/cases/axes.h"
#include "harness/cases/checked.h"
#include "harness/cases/data.h"
#include "harness/cases/fields.h"
#include "harness/cases/fused.h"
#include "harness/cases/names.h"
#include "harness/cases/problem.h"
#include "reference/frequency_rule.h"

namespace ropewalk::harness {
namespace {

template <class T>
concept List = requires(const T& v) {
  v.begin();
};

struct FieldName {
  std::string_view tensor, word;
};
std::string text_of(const FieldName& name) {
  return fmt::format("{}{}{}", name.tensor, name.tensor.empty() ? "" : ".", name.word);
}

// Throws BadCase unless each number of a field is in its range. A text has no range.
template <class T, std::size_t N>
void hold_to_range(const FieldName& name, const T& v, const Words<N>& words, Range range) {
  if constexpr (std::is_arithmetic_v<T>) {
    if (std::isinf(range.least) && std::isinf(range.most)) return;  // NaN is a value too
    const auto number = static_cast<double>(v);
    if (number >= range.least && number <= range.most) return;
    throw BadCase(fmt::format("{} must be {}, got {}", text_of(name), range_text(range), v));
  } else if constexpr (std::is_enum_v<T>) {
    const auto number = static_cast<double>(v);
    if (number >= range.least && number <= range.most) return;
    throw BadCase(fmt::format("{} must be one of {}", text_of(name),
                              fmt::join(words_in(words, range), ", ")));
  } else if constexpr (std::is_same_v<T, Strides>) {
    for (const std::int64_t s : {v.batch, v.token, v.head}) hold_to_range(name, s, words, range);
  } else if constexpr (requires { v.has_value(); }) {
    if (v) hold_to_range(name, *v, words, range);
  } else if constexpr (List<T> && !std::is_same_v<T, std::string>) {
    for (const auto& each : v) hold_to_range(name, each, words, range);
  }
}

void check_ranges(const Case& c) {
  for_each_field(case_fields, [&](const auto& field) {
    hold_to_range({"", field.word}, std::invoke(field.get, c), field.words, field.range);
  });
  for (std::size_t i = 0; i < c.tensors.size() && i < tensor_words.size(); ++i)
    for_each_field(tensor_fields, [&](const auto& field) {
      hold_to_range({tensor_words[i], field.word}, std::invoke(field.get, c.tensors[i]),
                    field.words, field.range);
    });
}

void check_sizes(const Case& c) {
  require(c.rotary_dim % 2 == 0, "rotary_dim must be even, got {}", c.rotary_dim);
  require(!c.tensors.empty() && c.tensors.size() <= ROPE_MAX_TENSORS, "1 to 4 tensors are allowed");
  require(c.table_apart_pair < c.rotary_dim / 2,
          "table_apart_pair must be -1, -2, or a pair below rotary_dim / 2 = {}", c.rotary_dim / 2);
  require(!(c.own_tables && c.own_sin), "own_tables and own_sin exclude each other");
  require(c.inv_freq.empty() || std::ssize(c.inv_freq) == c.rotary_dim / 2,
          "inv_freq needs rotary_dim / 2 = {} values, got {}", c.rotary_dim / 2, c.inv_freq.size());
  const FrequencyRule* rule = find_frequency_rule(c.scaling);
  require(rule != nullptr, "scaling '{}' is unknown", c.scaling);
  if (const auto fault = rule_fault(*rule, c.rope_theta, c.rotary_dim, c.scaling_values))
    throw BadCase(fault->what);
  std::int64_t all_bytes = 0;  // size of inputs and outputs, as if contiguous
  for (std::size_t i = 0; i < c.tensors.size(); ++i) {
    const TensorCase& t = c.tensors[i];
    const auto name = tensor_words[i];
    const Dtype dtype = tensor_dtype(c, t);
    require(c.contract != ROPE_CONTRACT_F32_ANGLE || data_type(dtype).computed_in == Dtype::f32,
            "the f32_angle contract is not for f64 data");
    require(!t.rotate || (t.rotary_offset >= 0 && c.rotary_dim <= t.head_dim &&
                          t.rotary_offset <= t.head_dim - c.rotary_dim),
            "{}: the window [{}, +{}) is not inside head_dim {}", name, t.rotary_offset,
            c.rotary_dim, t.head_dim);
    require(!t.in_place || (t.in == t.out && t.in_at == t.out_at),
            "{}: in place needs equal strides and offsets", name);
    require(!c.one_buffer || !t.in_place, "{}: one_buffer and in_place exclude each other", name);
    require(!c.fused || t.append || t.in_place == c.tensors[0].in_place,
            "fused tensors must be in place all or none");
    require(!c.fused || dtype == tensor_dtype(c, 0), "fused tensors must have one dtype");
    const auto wanted = times(times(c.batch, c.tokens), times(t.heads, t.head_dim));
    require(t.values.empty() || std::ssize(t.values) == wanted, "{}.values needs {} values, got {}",
            name, wanted, t.values.size());
    all_bytes = plus(all_bytes, times(wanted, times(data_type(dtype).bytes, t.in_place ? 1 : 2)));
    require(all_bytes <= largest_case_bytes, "the case is larger than 2 GiB");
  }
}

void check_axes(const Case& c) {
  const std::int64_t wanted = c.axes == 1 ? 0 : c.rotary_dim / 2;
  require(std::ssize(c.axis_of_pair) == wanted,
          "axis_of_pair needs rotary_dim / 2 = {} axes, got {}: it is for axes=2 to 4", wanted,
          c.axis_of_pair.size());
  for (const std::uint8_t axis : c.axis_of_pair)
    require(axis < c.axes, "axis_of_pair has axis {}, but there are {}", axis, c.axes);
  require(c.axes > 1 || c.axis_positions == AxisPositions::equal,
          "axis_positions is for axes=2 to 4");
  require(c.table_axis_stride == contiguous ||
              (c.axes > 1 && c.contract == ROPE_CONTRACT_TABLE && c.rows_by == ROPE_ROW_BY_TOKEN),
          "table_axis_stride is for tables by token, of several axes");
}

void check_positions(const Case& c, const std::vector<std::int64_t>& positions) {
  require(std::ssize(positions) == c.axes * c.batch * c.tokens,
          "positions needs {}batch * tokens = {} values, got {}", c.axes > 1 ? "axes * " : "",
          c.axes * c.batch * c.tokens, positions.size());
  const bool table = c.contract == ROPE_CONTRACT_TABLE;
  for (const std::int64_t p : positions) {
    require(p >= -position_limit && p < position_limit, "position {} is outside [-2^31, 2^31)", p);
    require(!table || c.rows_by == ROPE_ROW_BY_TOKEN || p >= 0,
            "position {} is negative: a table by position has no such row", p);
  }
  require(!c.positions_null || (table && c.rows_by == ROPE_ROW_BY_TOKEN),
          "positions_null is for tables by token");
  for (std::int64_t axis = 0; axis < c.axes; ++axis)
    for (std::int64_t b = 0; b < c.batch; ++b)
      for (std::int64_t t = 0; t < c.tokens; ++t) {
        const auto at = [&](std::int64_t plane, std::int64_t row, std::int64_t token) {
          return positions[static_cast<std::size_t>((plane * c.batch + row) * c.tokens + token)];
        };
        require(at(axis, b, t) == at(c.position_axis_stride == 0 ? 0 : axis,
                                     c.position_batch_stride == 0 ? 0 : b,
                                     c.position_token_stride == 0 ? 0 : t),
                "a broadcast position stride (0) needs equal positions along that axis");
      }
}

void check_alone(const Case& c) {
  check_ranges(c);
  check_sizes(c);
  check_axes(c);
  const std::int64_t tokens = times(times(c.batch, c.tokens), c.axes);
  require(tokens <= largest_case_bytes / 8, "the case is larger than 2 GiB");
  require(c.position_rule != PositionRule::random || c.position_from <= c.position_to,
          "positions=random:A:B needs A <= B");
  constexpr std::int64_t far = std::int64_t{1} << 32;
  for (const std::int64_t v : {c.position_from, c.position_to, c.position_step})
    require(v > -far && v < far, "positions are outside [-2^31, 2^31)");
  check_positions(c, positions_of(c));
  check_fused(c);
}

// Calls of one state are given equal problems, apart from positions and table rows, which the
// sequence makes equal.
void check_calls(const Case& c) {
  require(!c.outputs_kept, "outputs_kept: no call is before the first");
  require(c.apply || !c.calls.empty(), "apply=0 is for a call of a sequence");
  require(std::ssize(c.calls) < most_calls, "a sequence has at most {} calls", most_calls);
  const Case* of_state[most_states] = {};
  of_state[c.state] = &c;
  for (std::size_t i = 0; i < c.calls.size(); ++i) {
    const Case& call = c.calls[i];
    const std::size_t number = i + 2;
    require(call.kernel == c.kernel && call.plugin == c.plugin && call.property == c.property &&
                call.contract == c.contract && call.callers == c.callers &&
                call.caller_states == c.caller_states && call.before == c.before &&
                call.fresh == c.fresh && call.calls.empty(),
            "call {}: the kernel, the property, the contract, callers, before and fresh are those "
            "of the whole sequence",
            number);
    require(call.tensors.size() == c.tensors.size(),
            "call {}: all calls of a sequence have the same tensors", number);
    check_alone(call);
    const Case*& other = of_state[call.state];
    if (other == nullptr) other = &call;
    const rope_problem mine = without_positions(call), theirs = without_positions(*other);
    require(std::memcmp(&mine, &theirs, sizeof mine) == 0 && call.rope_theta == other->rope_theta &&
                call.scaling == other->scaling && call.scaling_values == other->scaling_values &&
                call.inv_freq == other->inv_freq &&
                call.table_spare_rows == other->table_spare_rows && call.axes == other->axes &&
                call.axis_of_pair == other->axis_of_pair &&
                call.position_axis_stride == other->position_axis_stride &&
                call.table_axis_stride == other->table_axis_stride && ask_alike(call, *other),
            "call {} asks another problem than state {} was made for: give it another state",
            number, call.state);
  }
}

}  // namespace

std::string range_text(Range range) {
  constexpr double largest = std::numeric_limits<double>::max();
  if (range.least < -largest) return "any number";
  if (range.least == -largest) return "finite";
  const std::string least = fmt::format("at least {}", range.least);
  if (range.most > largest) return least;
  return range.most == largest ? "finite and " + least
                               : fmt::format("{} to {}", range.least, range.most);
}

void validate(const Case& c) {
  check_alone(c);
  check_calls(c);
}

void set_switches(Case& c, std::uint64_t bits) {
  const auto is_odd = [bits](unsigned mask) { return std::popcount(bits & mask) % 2 != 0; };
  c.heap_at_end = is_odd(0b1);
  c.nodes_reversed = is_odd(0b11);
  c.graph_first = is_odd(0b101);
  c.other_state_stays = is_odd(0b111);
  c.position_room = !is_odd(0b1001)                    ? PositionRoom::none
                    : (bits & 0b110'0000) == 0b10'0000 ? PositionRoom::all
                                                       : PositionRoom::some;
}

std::vector<Dtype> types_beside(Dtype dtype) {
  std::vector<Dtype> out(tensor_dtypes.begin(), tensor_dtypes.end());
  std::erase(out, dtype);
  return out;
}

std::vector<std::int64_t> positions_of(const Case& c) {
  if (c.position_rule == PositionRule::list) return c.positions;
  std::vector<std::int64_t> out;
  out.reserve(static_cast<std::size_t>(c.axes * c.batch * c.tokens));
  // A broadcast axis (stride 0) repeats its first value.
  const bool one_row = c.position_batch_stride == 0, one_token = c.position_token_stride == 0;
  for (std::int64_t b = 0; b < c.batch; ++b)
    for (std::int64_t t = 0; t < c.tokens; ++t) {
      const std::int64_t row = one_row ? 0 : b, token = one_token ? 0 : t;
      if (c.position_rule == PositionRule::consecutive) {
        out.push_back(c.position_from + c.position_step * token);
      } else {
        const auto span = static_cast<std::uint64_t>(c.position_to - c.position_from) + 1;
        out.push_back(c.position_from +
                      static_cast<std::int64_t>(hash(c.seed, 0x705, row, token) % span));
      }
    }
  if (c.axes > 1) add_planes(c, out);
  return out;
}

std::vector<std::int64_t> positions_of_part(const Case& c, CaseRange rows, CaseRange tokens) {
  const std::vector<std::int64_t> all = positions_of(c);
  std::vector<std::int64_t> out;
  for (std::int64_t axis = 0; axis < c.axes; ++axis)
    for (std::int64_t b = rows.first; b < rows.end; ++b)
      for (std::int64_t t = tokens.first; t < tokens.end; ++t)
        out.push_back(all[static_cast<std::size_t>((axis * c.batch + b) * c.tokens + t)]);
  return out;
}

std::vector<double> frequencies_of(const Case& c) {
  if (!c.inv_freq.empty()) return c.inv_freq;
  const FrequencyRule* rule = find_frequency_rule(c.scaling);
  if (rule == nullptr) throw BadCase("scaling '" + shown(c.scaling) + "' is unknown");
  const auto make = c.contract == ROPE_CONTRACT_F32_ANGLE ? rule_frequencies_f32 : rule_frequencies;
  return make(*rule, c.rope_theta, c.rotary_dim, c.scaling_values);
}

}  // namespace ropewalk::harness
