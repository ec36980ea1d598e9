#include "properties/explain/shrink_steps.h"

#include <algorithm>
#include <iterator>

#include "harness/cases/layouts.h"

namespace ropewalk::properties {
using namespace harness;
namespace {

// True if rows of an input share elements. No property of this suite makes such data.
bool overlaps(const Case& c, const TensorCase& t, const Strides& s) {
  const auto stride = [](std::int64_t given, std::int64_t packed) {
    return given == contiguous ? packed : given;
  };
  struct Axis {
    std::int64_t stride, size;
  };
  Axis axes[] = {{stride(s.head, t.head_dim), t.heads},
                 {stride(s.token, t.heads * t.head_dim), c.tokens},
                 {stride(s.batch, c.tokens * t.heads * t.head_dim), c.batch}};
  std::sort(std::begin(axes), std::end(axes),
            [](const Axis& a, const Axis& b) { return a.stride < b.stride; });
  std::int64_t extent = t.head_dim;
  for (const Axis& axis : axes) {
    if (axis.size == 1) continue;
    if (axis.stride < extent) return true;
    extent += axis.stride * (axis.size - 1);
  }
  return false;
}

}  // namespace

std::int64_t largest_position(const Case& c) {
  std::int64_t largest = 0;
  for (const std::int64_t p : positions_of(c)) largest = std::max({largest, p, -p});
  return largest;
}

bool inputs_overlap(const Case& c) {
  return std::any_of(c.tensors.begin(), c.tensors.end(),
                     [&](const TensorCase& t) { return !c.fused && overlaps(c, t, t.in); });
}

void drop_values(Case& c) {
  for (TensorCase& t : c.tensors) t.values.clear();
}

// Batch rows [row, row + rows) and tokens [token, token + tokens) of a case.
Case part_of(const Case& c, std::int64_t row, std::int64_t rows, std::int64_t token,
             std::int64_t tokens) {
  Case out = c;
  drop_values(out);
  out.batch = rows;
  out.tokens = tokens;
  if (c.position_rule == PositionRule::consecutive && c.position_token_stride != 0) {
    out.position_from = c.position_from + c.position_step * token;
    return out;
  }
  const std::vector<std::int64_t> positions = positions_of(c);
  out.position_rule = PositionRule::list;
  out.positions.clear();
  for (std::int64_t b = row; b < row + rows; ++b)
    for (std::int64_t t = token; t < token + tokens; ++t)
      out.positions.push_back(positions[static_cast<std::size_t>(b * c.tokens + t)]);
  return out;
}

Case with_heads(const Case& c, std::int64_t heads) {
  Case out = c;
  drop_values(out);
  for (TensorCase& t : out.tensors) t.heads = std::min(t.heads, heads);
  return out;
}

// The case with fewer pairs, and with the same dims beside the window.
Case with_pairs(const Case& c, std::int64_t pairs) {
  Case out = c;
  drop_values(out);
  out.rotary_dim = 2 * pairs;
  if (!out.inv_freq.empty()) out.inv_freq.resize(static_cast<std::size_t>(pairs));
  for (TensorCase& t : out.tensors)
    if (t.rotate) t.head_dim += out.rotary_dim - c.rotary_dim;
  if (out.table_row_stride >= 0) out.table_row_stride += (out.rotary_dim - c.rotary_dim) / 2;
  return out;
}

// Inputs of one 1 among zeros, if the case has few elements.
std::vector<Case> basis_vectors(const Case& c) {
  constexpr std::int64_t few = 8;
  std::vector<Case> out;
  if (c.tensors.size() != 1 || !c.tensors[0].values.empty() || c.data != DataPattern::unit)
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
Case with_listed_positions(const Case& c) {
  constexpr std::int64_t few = 32;
  if (c.position_rule == PositionRule::list || c.batch * c.tokens > few) return c;
  Case listed = c;
  listed.positions = positions_of(c);
  listed.position_rule = PositionRule::list;
  listed.position_from = listed.position_to = 0;
  listed.position_step = 1;
  return listed;
}

namespace {

Case one_tensor(const Case& c, std::size_t kept) {
  Case out = c;
  out.tensors = {c.tensors[kept]};
  out.own_tables = out.own_tables && kept > 0;
  return out;
}

Case with_whole_heads(const Case& c) {
  Case out = c;
  drop_values(out);
  for (TensorCase& t : out.tensors) {
    t.head_dim = c.rotary_dim;
    t.rotary_offset = 0;
  }
  return out;
}

Case with_plain_memory(const Case& c) {
  Case out = c;
  if (c.position_batch_stride == 0 || c.position_token_stride == 0)
    out = part_of(c, 0, c.batch, 0, c.tokens);
  lay_plainly(out);
  return out;
}

// Single simplifications that keep sizes, positions and data.
using Step = void (*)(Case&);
constexpr Step plain_steps[] = {
    [](Case& c) { c.attention_scale = 0; },
    [](Case& c) { c.operation = Operation::forward; },
    [](Case& c) { c.before = Before::nothing; },
    [](Case& c) { c.callers = 1; },
    [](Case& c) {
      for (TensorCase& t : c.tensors) t.in_place = false;
    },
    [](Case& c) {
      for (TensorCase& t : c.tensors) t.rotate = true;
    },
    [](Case& c) { c.position_dtype = Dtype::i32; },
    [](Case& c) { c.positions_null = false; },
    [](Case& c) {
      // a table by position has all rows up to the largest position
      constexpr std::int64_t few_rows = 4096;
      if (largest_position(c) > few_rows) return;
      c.positions_null = false;
      c.rows_by = ROPE_ROW_BY_POSITION;
    },
    [](Case& c) { c.own_tables = false; },
    [](Case& c) { c.own_sin = false; },
    [](Case& c) { c.table_spare_rows = 0; },
    [](Case& c) { c.table_dtype.reset(); },
    [](Case& c) {
      for (TensorCase& t : c.tensors) t.dtype.reset();
    },
    [](Case& c) {
      c.inv_freq.clear();
      c.scaling = "none";
      c.scaling_values.clear();
    },
    [](Case& c) { c.rope_theta = 10000; },
    [](Case& c) { c.data = DataPattern::unit; },
    [](Case& c) { c.seed = 1; },
};
// Single simplifications of memory. Each is tried alone, so the first one that a layout bug needs
// stays out.
constexpr Step memory_steps[] = {
    [](Case& c) { c.fused = false; },
    [](Case& c) {
      for (TensorCase& t : c.tensors) t.in_place = false, t.out = {};
    },
    [](Case& c) { c.table_row_stride = contiguous; },
    [](Case& c) { c.position_token_stride = contiguous; },
    [](Case& c) { c.position_batch_stride = contiguous; },
    [](Case& c) {
      for (TensorCase& t : c.tensors) t.in_at = t.out_at = 0;
    },
    [](Case& c) {
      for (TensorCase& t : c.tensors) t.in = t.out;
    },
    [](Case& c) {
      for (TensorCase& t : c.tensors) t.out = t.in;
    },
    [](Case& c) {
      for (TensorCase& t : c.tensors) t.in = {};
    },
    [](Case& c) {
      for (TensorCase& t : c.tensors) t.out = {};
    },
    [](Case& c) {
      for (TensorCase& t : c.tensors) t.in.batch = t.out.batch = contiguous;
    },
    [](Case& c) {
      for (TensorCase& t : c.tensors) t.in.token = t.out.token = contiguous;
    },
    [](Case& c) {
      for (TensorCase& t : c.tensors) t.in.head = t.out.head = contiguous;
    },
};

template <std::size_t N>
std::vector<Case> each_of(const Step (&steps)[N], const Case& c) {
  std::vector<Case> out;
  for (const Step step : steps) {
    out.push_back(c);
    step(out.back());
  }
  return out;
}

Case with_all_plain(Case c) {
  for (const Step step : plain_steps) step(c);
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

constexpr CaseSource sources[] = {
    simplest_cases,
    with_fewer_tensors,
    halves,
    [](const Case& c) {
      return std::vector<Case>{with_plain_memory(c), with_whole_heads(c)};
    },
    [](const Case& c) { return each_of(plain_steps, c); },
    [](const Case& c) { return each_of(memory_steps, c); },
};

}  // namespace

std::vector<CaseSource> step_sources() {
  return {std::begin(sources), std::end(sources)};
}

std::vector<Case> smaller_cases(const Case& c) {
  std::vector<Case> out;
  for (const CaseSource source : sources)
    for (Case& smaller : source(c)) out.push_back(std::move(smaller));
  for (Case& smaller : basis_vectors(c)) out.push_back(std::move(smaller));
  out.push_back(with_heads(c, 1));
  out.push_back(with_pairs(c, 1));
  out.push_back(with_listed_positions(c));
  return out;
}

}  // namespace ropewalk::properties
