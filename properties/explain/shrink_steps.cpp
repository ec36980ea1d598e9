#include "properties/explain/shrink_steps.h"

#include <algorithm>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "harness/cases/axes.h"
#include "harness/cases/fields.h"
#include "harness/cases/fused.h"
#include "harness/cases/layouts.h"

namespace ropewalk::properties {
using namespace harness;
namespace {

constexpr unsigned not_by_a_zero = 8;

// A bit for each axis whose rows share elements because its stride is 0, as in a broadcast. Rows
// that overlap in another way give `not_by_a_zero`.
unsigned shared_rows(const Case& c, const TensorCase& t, const Strides& s) {
  const auto stride = [](std::int64_t given, std::int64_t packed) {
    return given == contiguous ? packed : given;
  };
  struct Axis {
    std::int64_t stride, size;
    unsigned bit;
  };
  Axis axes[] = {{stride(s.head, t.head_dim), t.heads, 1},
                 {stride(s.token, t.heads * t.head_dim), c.tokens, 2},
                 {stride(s.batch, c.tokens * t.heads * t.head_dim), c.batch, 4}};
  std::ranges::sort(axes, [](const Axis& a, const Axis& b) { return a.stride < b.stride; });
  unsigned shared = 0;
  std::int64_t extent = t.head_dim;
  for (const Axis& axis : axes) {
    if (axis.size == 1) continue;
    if (axis.stride < extent) shared |= axis.stride == 0 ? axis.bit : not_by_a_zero;
    extent += axis.stride * (axis.size - 1);
  }
  return shared;
}

Case one_tensor(Case c, std::size_t kept) {
  c.tensors = {c.tensors[kept]};
  c.own_tables = c.own_tables && kept > 0;
  return c;
}

Case with_whole_heads(Case c) {
  drop_values(c);
  for (TensorCase& t : c.tensors) {
    t.head_dim = c.rotary_dim;
    t.rotary_offset = 0;
  }
  return c;
}

Case with_plain_memory(Case c) {
  if (c.position_batch_stride == 0 || c.position_token_stride == 0)
    c = part_of(c, 0, c.batch, 0, c.tokens);
  lay_plainly(c);
  return c;
}

// Steps that move several fields together.
using Step = void (*)(Case&);
template <class Change>
constexpr Step in_tensors(Change) {
  return [](Case& c) {
    for (TensorCase& t : c.tensors) Change{}(t);
  };
}
constexpr Step joint_steps[] = {
    drop_axes,
    drop_norm,
    drop_append,
    [](Case& c) {
      constexpr std::int64_t few_rows = 4096;  // a table by position has all up to the largest
      if (largest_position(c) <= few_rows) c.rows_by = ROPE_ROW_BY_POSITION;
    },
    [](Case& c) {
      c.inv_freq.clear();
      c.scaling = "none";
      c.scaling_values.clear();
    },
    [](Case& c) { c = with_fewer_axes(c); },
    [](Case& c) {
      std::ranges::fill(c.axis_of_pair, c.axis_of_pair.empty() ? 0 : c.axis_of_pair[0]);
    },
    [](Case& c) { c.weight_dtype.reset(), c.weight_plus_one = false; },
    in_tensors([](TensorCase& t) { t.weight = t.weight && !t.norm; }),
    [](Case& c) {
      c.one_cache = false;
      for (TensorCase& t : c.tensors) t.cache = {}, t.cache_at = 0;
    },
    in_tensors([](TensorCase& t) { t.in_place = false, t.out = {}; }),
    in_tensors([](TensorCase& t) { t.in_at = t.out_at = 0; }),
    in_tensors([](TensorCase& t) { t.in = t.out; }),
    in_tensors([](TensorCase& t) { t.out = t.in; }),
    in_tensors([](TensorCase& t) { t.in.batch = t.out.batch = contiguous; }),
    in_tensors([](TensorCase& t) { t.in.token = t.out.token = contiguous; }),
    in_tensors([](TensorCase& t) { t.in.head = t.out.head = contiguous; }),
};

constexpr std::string_view kept_tensor_fields[] = {"heads", "head_dim", "offset", "weight",
                                                   "values"};

// Calls use(set), where set(case) gives one of the other fields its plain value, in all tensors.
template <class Use>
void for_each_plain_field(Use&& use) {
  static const Case plain;
  for_each_field(case_fields, [&](const auto& field) {
    if constexpr (std::is_member_object_pointer_v<decltype(field.get)>)
      if (!stays_in_steps(field.word)) use([&](Case& c) { c.*field.get = plain.*field.get; });
  });
  for_each_field(tensor_fields, [&](const auto& field) {
    if (std::ranges::count(kept_tensor_fields, field.word) == 0)
      use([&](Case& c) {
        for (TensorCase& t : c.tensors) t.*field.get = plain.tensors[0].*field.get;
      });
  });
}

std::vector<Case> with_a_plain_field(const Case& c) {
  std::vector<Case> out;
  for_each_plain_field([&](auto&& set) {
    out.push_back(c);
    set(out.back());
  });
  return out;
}

std::vector<Case> with_a_joint_step(const Case& c) {
  std::vector<Case> out;
  for (const Step step : joint_steps) {
    out.push_back(c);
    step(out.back());
  }
  return out;
}

Case with_all_plain(Case c) {
  for (const Step step : joint_steps) step(c);
  for_each_plain_field([&](auto&& set) { set(c); });
  return c;
}

// The first guesses, with all simplifications at once, for errors that any call shows.
std::vector<Case> simplest_cases(const Case& c) {
  const Case calm = with_all_plain(with_plain_memory(c));
  const auto smallest = [](const Case& from, std::int64_t tokens) {
    return with_heads(part_of(one_tensor(from, 0), 0, 1, 0, std::min(from.tokens, tokens)), 1);
  };
  return {with_pairs(with_whole_heads(smallest(calm, 1)), 1),
          with_whole_heads(smallest(calm, 1)),
          smallest(calm, 1),
          smallest(calm, 2),
          smallest(c, 1),
          with_pairs(with_whole_heads(one_tensor(calm, 0)), 1),
          calm};
}

std::vector<Case> with_fewer_tensors(const Case& c) {
  std::vector<Case> out;
  for (std::size_t i = 0; i < c.tensors.size() && c.tensors.size() > 1; ++i)
    out.push_back(one_tensor(c, i));
  if (c.tensors.size() > 2) {
    out.push_back(c);
    out.back().tensors.pop_back();
  }
  return out;
}

std::vector<Case> halves(const Case& c) {
  std::vector<Case> out;
  const std::int64_t row = c.batch / 2, token = c.tokens / 2;
  if (c.batch > 1) {
    out.push_back(part_of(c, 0, row, 0, c.tokens));
    out.push_back(part_of(c, row, c.batch - row, 0, c.tokens));
  }
  if (c.tokens > 1) {
    out.push_back(part_of(c, 0, c.batch, 0, token));
    out.push_back(part_of(c, 0, c.batch, token, c.tokens - token));
  }
  return out;
}

// Puts the rows of batch and heads on one axis. An error that begins at a count of both shows
// there.
std::vector<Case> on_one_axis(const Case& c) {
  const std::int64_t heads = c.tensors[0].heads;
  if (c.batch == 1 || heads == 1 || c.tensors.size() > 1) return {};
  std::vector<Case> out{part_of(c, 0, 1, 0, c.tokens), with_heads(c, 1)};
  out[0].tensors[0].heads *= c.batch;
  out[1].batch *= heads;
  return out;
}

constexpr CaseSource sources[] = {
    simplest_cases,
    with_fewer_tensors,
    halves,
    on_one_axis,
    [](const Case& c) {
      return std::vector<Case>{with_plain_memory(c), with_whole_heads(c)};
    },
    with_a_joint_step,
    with_a_plain_field,
};

}  // namespace

std::int64_t largest_position(const Case& c) {
  std::int64_t largest = 0;
  for (const std::int64_t p : positions_of(c)) largest = std::max({largest, p, -p});
  for (const Case& call : c.calls) largest = std::max(largest, largest_position(call));
  return largest;
}

unsigned shared_rows(const Case& c) {
  unsigned shared = 0;
  for (const TensorCase& t : c.tensors) shared |= c.fused ? 0 : shared_rows(c, t, t.in);
  for (const Case& call : c.calls) shared |= shared_rows(call);
  return shared;
}

bool stays_in_steps(std::string_view word) {
  constexpr std::string_view kept[] = {
      "kernel", "plugin",     "property",  "contract", "pairing",      "dtype",  "batch",
      "tokens", "rotary_dim", "positions", "axes",     "axis_of_pair", "rows_by"};
  return std::ranges::count(kept, word) > 0;
}

void drop_values(Case& c) {
  for (TensorCase& t : c.tensors) t.values.clear();
}

Case part_of(const Case& c, std::int64_t row, std::int64_t rows, std::int64_t token,
             std::int64_t tokens) {
  Case out = c;
  drop_values(out);
  out.batch = rows;
  out.tokens = tokens;
  if (!c.slots.empty()) out.slots = slots_of_part(c, {row, row + rows}, {token, token + tokens});
  const bool by_token =
      c.axis_positions == AxisPositions::after_text || c.axis_positions == AxisPositions::picture;
  if (c.position_rule == PositionRule::consecutive && c.position_token_stride != 0 && !by_token) {
    out.position_from = c.position_from + c.position_step * token;
    return out;
  }
  out.positions = positions_of_part(c, {row, row + rows}, {token, token + tokens});
  out.position_rule = PositionRule::list;
  return out;
}

Case with_heads(Case c, std::int64_t heads) {
  drop_values(c);
  for (TensorCase& t : c.tensors) t.heads = std::min(t.heads, heads);
  return c;
}

// The case with fewer pairs, and with the same dims beside the window.
Case with_pairs(const Case& c, std::int64_t pairs) {
  Case out = c;
  drop_values(out);
  out.rotary_dim = 2 * pairs;
  if (!out.inv_freq.empty()) out.inv_freq.resize(static_cast<std::size_t>(pairs));
  if (out.axes > 1) out.axis_of_pair = map_of_pairs(c, pairs);
  for (TensorCase& t : out.tensors) {
    if (t.rotate) t.head_dim += out.rotary_dim - c.rotary_dim;
    if (!t.weights.empty() && t.head_dim > 0)
      t.weights.resize(static_cast<std::size_t>(t.head_dim));
  }
  if (out.table_row_stride >= 0) out.table_row_stride += (out.rotary_dim - c.rotary_dim) / 2;
  return out;
}

// Inputs of one 1 among zeros, if the case has few elements.
std::vector<Case> basis_vectors(const Case& c) {
  constexpr std::int64_t few = 8;
  std::vector<Case> out;
  if (c.tensors.size() != 1 || !c.tensors[0].values.empty() || c.data != DataPattern::unit ||
      !c.calls.empty())
    return out;
  const std::int64_t count = c.batch * c.tokens * c.tensors[0].heads * c.tensors[0].head_dim;
  for (std::int64_t i = 0; i < count && count <= few; ++i) {
    out.push_back(c);
    out.back().tensors[0].values.assign(static_cast<std::size_t>(count), 0.0);
    out.back().tensors[0].values[static_cast<std::size_t>(i)] = 1;
  }
  return out;
}

// Lists few positions explicitly. They are easier to read, and each can be made smaller.
Case with_listed_positions(Case c) {
  constexpr std::int64_t few = 32;
  if (c.position_rule == PositionRule::list || c.batch * c.tokens > few || !c.calls.empty())
    return c;
  c.positions = positions_of(c);
  c.position_rule = PositionRule::list;
  c.position_from = c.position_to = 0;
  c.position_step = 1;
  return c;
}

Case without_calls(const Case& c, std::size_t at, std::size_t count) {
  std::vector<Case> calls = c.calls;
  calls.insert(calls.begin(), c);
  const auto from = calls.begin() + static_cast<std::ptrdiff_t>(at);
  calls.erase(from, from + static_cast<std::ptrdiff_t>(count));
  Case out = calls.front();
  out.calls.assign(calls.begin() + 1, calls.end());
  return out;
}

Case nearer_to_zero(Case c, std::int64_t by) {
  const auto lower = [by](std::int64_t& p) { p -= std::clamp(p, -by, by); };
  in_each_call(c, [&](Case& call) {
    lower(call.position_from);
    lower(call.position_to);
    std::ranges::for_each(call.positions, lower);
  });
  return c;
}

std::vector<Case> with_fewer_words(const Case& c) {
  constexpr std::size_t few = 64;  // each of the new sequences has as many calls
  std::vector<Case> out;
  if (c.calls.size() > few) return out;
  const auto is_kept = [](const std::string& word) {
    const std::string name = word.substr(0, word.find('='));
    const std::string kept[] = {"kernel",  "plugin", "property", "contract",
                                "pairing", "dtype",  "positions"};
    return name.ends_with(".values") || std::ranges::count(kept, name) > 0;
  };
  std::istringstream in(to_text(c));
  const std::vector<std::string> words{std::istream_iterator<std::string>(in), {}};
  for (std::size_t dropped = 0; dropped < words.size(); ++dropped) {
    if (is_kept(words[dropped])) continue;
    std::string line;
    for (std::size_t i = 0; i < words.size(); ++i)
      if (i != dropped) line += words[i] + " ";
    try {
      out.push_back(case_from_text(line));
    } catch (const BadCase&) {  // another word needs this one
    }
  }
  return out;
}

std::vector<Case> with_listed_slots(const Case& c) {
  constexpr std::int64_t few = 256;
  if (!has_append(c) || !c.slots.empty() || c.batch * c.tokens > few) return {};
  return {listed_slots(c)};
}

std::vector<Case> in_every_call(CaseSource source, const Case& c) {
  std::vector<Case> out = source(c);
  for (std::size_t k = 0; k < c.calls.size(); ++k) {
    std::vector<Case> theirs = source(c.calls[k]);
    out.resize(std::min(out.size(), theirs.size()));
    for (std::size_t i = 0; i < out.size(); ++i) out[i].calls[k] = std::move(theirs[i]);
  }
  return out;
}

std::vector<CaseSource> step_sources() {
  return {std::begin(sources), std::end(sources)};
}

}  // namespace ropewalk::properties
