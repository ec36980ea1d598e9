#include "harness/cases/problem.h"

#include <algorithm>
#include <cstring>

#include "base/system/memory_limits.h"
#include "harness/cases/checked.h"
#include "harness/cases/data.h"
#include "harness/cases/fused.h"
#include "harness/cases/names.h"
#include "harness/cases/poison.h"
#include "harness/cases/tensor_content.h"

namespace ropewalk::harness {
namespace {

// The table rows of one tensor, for all positions of a case. They are made frequency by frequency:
// the oracle has a table for each, which then stays in the cache.
class TableRows {
 public:
  TableRows(const Problem& out, Oracle& oracle, std::uint32_t tensor)
      : asked_(out.asked),
        axis_stride_(out.axes.table_axis_stride),
        type_{out.asked.table_dtype},
        positions_(out.positions) {
    positions_.insert(positions_.end(), out.other_positions.begin(), out.other_positions.end());
    std::sort(positions_.begin(), positions_.end());
    positions_.erase(std::unique(positions_.begin(), positions_.end()), positions_.end());
    const auto half = static_cast<std::size_t>(asked_.rotary_dim / 2);
    row_bytes_ = half * static_cast<std::size_t>(data_type(type_).bytes);
    for (Bytes* rows : {&cos_, &sin_}) rows->resize(positions_.size() * row_bytes_);
    with_floating_type(type_, [&]<class Stored>(std::type_identity<Stored>) {
      for (std::size_t pair = 0; pair < half; ++pair)
        for (std::size_t row = 0; row < positions_.size(); ++row) {
          const auto at = static_cast<std::int64_t>(row * half + pair);
          const Rotation r =
              given_rotation(out, oracle, tensor, positions_[row], static_cast<std::int64_t>(pair));
          store_as<Stored>(cos_, at, r.re.hi);
          store_as<Stored>(sin_, at, r.im.hi);
        }
    });
  }

  // Writes the rows for the tokens at these positions, by token in the table of each axis.
  void fill(const std::vector<std::int64_t>& positions, std::vector<std::byte>& cos,
            std::vector<std::byte>& sin) const {
    const std::int64_t tokens = asked_.batch * asked_.tokens;
    for (std::size_t i = 0; i < positions.size(); ++i) {
      const std::int64_t position = positions[i], token = static_cast<std::int64_t>(i) % tokens,
                         axis = static_cast<std::int64_t>(i) / tokens;
      const std::int64_t row = asked_.table_rows_by == ROPE_ROW_BY_TOKEN ? token : position;
      const std::int64_t at =
          (asked_.table_rows == 1 ? 0 : row * asked_.table_row_stride) + axis * axis_stride_;
      const auto to = static_cast<std::size_t>(at * data_type(type_).bytes);
      const auto found = std::lower_bound(positions_.begin(), positions_.end(), position);
      const std::size_t from = static_cast<std::size_t>(found - positions_.begin()) * row_bytes_;
      std::memcpy(cos.data() + to, cos_.data() + from, row_bytes_);
      std::memcpy(sin.data() + to, sin_.data() + from, row_bytes_);
    }
  }

 private:
  using Bytes = std::vector<std::byte>;

  const rope_problem& asked_;
  std::int64_t axis_stride_;
  Dtype type_;
  std::vector<std::int64_t> positions_;  // sorted, each once
  std::size_t row_bytes_ = 0;
  Bytes cos_, sin_;  // [positions, rotary_dim / 2]
};

/// From the first element of a table, by token that of one axis, to the end of its last row.
std::int64_t elements_of_table(const rope_problem& p) {
  const std::int64_t half = p.rotary_dim / 2;
  return p.table_rows == 1 ? half : plus(times(p.table_rows - 1, p.table_row_stride), half);
}

// Rows that no token uses stay poison, which shows a kernel that reads a wrong row. Both placements
// share one table by position; each has its own table by token.
void add_table(const Case& c, Problem& out, Oracle& oracle, std::uint32_t tensor) {
  const rope_problem& p = out.asked;
  const std::int64_t elements =
      plus(times(c.axes - 1, out.axes.table_axis_stride), elements_of_table(p));
  const Dtype type{p.table_dtype};
  const bool own_sin = c.own_sin && tensor > 0;
  const std::string suffix = c.own_tables || own_sin ? "." + std::string(tensor_words[tensor]) : "";
  TensorPlaces& places = out.tensor[tensor];
  places.cos = own_sin ? out.tensor[0].cos : add_buffer(out, "cos" + suffix, elements, type, false);
  places.sin = add_buffer(out, "sin" + suffix, elements, type, false);
  const auto cos = static_cast<std::size_t>(places.cos), sin = static_cast<std::size_t>(places.sin);
  auto &first_cos = out.buffers[cos].content, &first_sin = out.buffers[sin].content;
  out.other_inputs.resize(out.buffers.size());
  auto &other_cos = out.other_inputs[cos], &other_sin = out.other_inputs[sin];
  const bool by_token = p.table_rows_by == ROPE_ROW_BY_TOKEN;
  const TableRows rows(out, oracle, tensor);
  if (out.other_positions.empty()) return rows.fill(out.positions, first_cos, first_sin);
  if (by_token && !own_sin) other_cos = first_cos;
  if (by_token) other_sin = first_sin;
  rows.fill(out.positions, first_cos, first_sin);
  rows.fill(out.other_positions, by_token ? other_cos : first_cos,
            by_token ? other_sin : first_sin);
}

/// Adds the tables of all tensors, for the positions of both placements.
void add_tables(const Case& c, Problem& out, Oracle& oracle) {
  for (std::uint32_t i = 0; i < out.asked.tensor_count; ++i) {
    if (i == 0 || c.own_tables || c.own_sin) {
      add_table(c, out, oracle, i);
    } else {
      out.tensor[i].cos = out.tensor[0].cos;
      out.tensor[i].sin = out.tensor[0].sin;
    }
  }
}

// The number of elements from the first to one past the last element of a tensor.
std::int64_t extent(const rope_problem& p, const rope_tensor& t, std::int64_t batch_stride,
                    std::int64_t token_stride, std::int64_t head_stride) {
  std::int64_t e = t.head_dim;
  if (p.batch > 1) e = plus(e, times(p.batch - 1, batch_stride));
  if (p.tokens > 1) e = plus(e, times(p.tokens - 1, token_stride));
  if (t.heads > 1) e = plus(e, times(t.heads - 1, head_stride));
  return e;
}

rope_tensor shape_of(const Case& c, const TensorCase& t) {
  rope_tensor s{};
  s.heads = t.heads;
  s.head_dim = t.head_dim;
  // The window is ignored if rotate = 0. An absurd value catches a kernel that uses it.
  s.rotary_offset = t.rotate ? t.rotary_offset : t.head_dim + 3;
  const std::int64_t row = times(t.heads, t.head_dim);
  s.in_head_stride = given_or(t.in.head, t.head_dim);
  s.in_token_stride = given_or(t.in.token, row);
  s.in_batch_stride = given_or(t.in.batch, times(c.tokens, row));
  s.out_head_stride = given_or(t.out.head, t.head_dim);
  s.out_token_stride = given_or(t.out.token, row);
  s.out_batch_stride = given_or(t.out.batch, times(c.tokens, row));
  s.in_dtype = s.out_dtype = in_contract(tensor_dtype(c, t));
  s.rotate = t.rotate ? 1 : 0;
  s.in_place = t.in_place ? 1 : 0;
  return s;
}

// How far min_position and max_position lie outside the positions used, as position_room says. Both
// are only bounds, and a kernel may not take them for the first and last position. For a table by
// position, max_position stays inside the table's rows.
std::pair<std::int64_t, std::int64_t> room_around(const Case& c, std::int64_t low,
                                                  std::int64_t high) {
  const std::uint64_t bits = hash(c.seed, 0x300);
  const bool table = c.contract == ROPE_CONTRACT_TABLE && c.rows_by == ROPE_ROW_BY_POSITION;
  constexpr std::int64_t edge = std::int64_t{1} << 31;
  const auto wanted = [&](int shift) { return static_cast<std::int64_t>(bits >> shift & 15); };
  if (c.position_room == PositionRoom::none) return {0, 0};
  if (!table && c.position_room == PositionRoom::all) return {low + edge, edge - 1 - high};
  return {std::min(wanted(8), table ? low : low + edge),
          std::min(wanted(16), table ? c.table_spare_rows : edge - 1 - high)};
}

void check_table_stride(const rope_problem& p) {
  require(p.table_rows == 1 || p.table_row_stride >= p.rotary_dim / 2,
          "table_row_stride must be at least rotary_dim / 2");
}

rope_problem problem_of(const Case& c, const std::vector<std::int64_t>& positions) {
  rope_problem p = without_positions(c);
  const auto [low, high] = std::minmax_element(positions.begin(), positions.end());
  const auto [more_low, more_high] = room_around(c, *low, *high);
  p.min_position = *low - more_low;
  p.max_position = *high + more_high;
  if (p.angle_source != ROPE_ANGLES_TABLE) return p;
  const std::int64_t needed = c.rows_by == ROPE_ROW_BY_TOKEN ? c.batch * c.tokens : *high + 1;
  p.table_rows = plus(needed, c.table_spare_rows);
  check_table_stride(p);
  return p;
}

// The planes of positions lie one behind the other unless the case says otherwise; tables by token
// do too.
rope_axes axes_of(const Case& c, const rope_problem& p) {
  rope_axes axes{{ROPE_EXT_AXES, sizeof(rope_axes), nullptr}, 0, 0, 0, 0, nullptr};
  if (c.axes == 1) return axes;
  axes.axes = static_cast<std::int32_t>(c.axes);
  axes.position_axis_stride =
      given_or(c.position_axis_stride, plus(position_index(p, c.batch - 1, c.tokens - 1), 1));
  if (p.angle_source == ROPE_ANGLES_TABLE && p.table_rows_by == ROPE_ROW_BY_TOKEN)
    axes.table_axis_stride = given_or(c.table_axis_stride, elements_of_table(p));
  require(p.angle_source != ROPE_ANGLES_TABLE || p.table_rows_by != ROPE_ROW_BY_TOKEN ||
              axes.table_axis_stride >= elements_of_table(p) ||
              (axes.table_axis_stride >= c.rotary_dim / 2 &&
               p.table_row_stride >= (c.axes - 1) * axes.table_axis_stride + c.rotary_dim / 2),
          "the table strides put rows of two axes in the same place");
  return axes;
}

// Marks the elements of a tensor's rows, none of which is owned. row_of(place): -1: there is none.
template <class RowOf>
void mark_rows(const rope_problem& p, std::uint32_t tensor, RowOf&& row_of,
               const std::vector<std::uint8_t>& owned, std::vector<std::uint8_t>& marks,
               std::string_view wrong) {
  const rope_tensor& s = p.tensor[tensor];
  const auto elements = static_cast<std::size_t>(s.head_dim);
  for (std::int64_t b = 0; b < p.batch; ++b)
    for (std::int64_t t = 0; t < p.tokens; ++t)
      for (std::int64_t h = 0; h < s.heads; ++h) {
        const std::int64_t row = row_of(HeadPlace{tensor, b, t, h});
        if (row < 0) continue;
        require(std::memchr(owned.data() + row, 1, elements) == nullptr, "{}: {}",
                tensor_words[tensor], wrong);
        std::memset(marks.data() + row, 1, elements);
      }
}

// Fills outputs with numbers that no output has to be.
void put_numbers(const Case& c, Problem& out) {
  for (Buffer& b : out.buffers) {
    if (!b.writable || b.holds_input) continue;
    b.holds_input = true;
    for (std::size_t i = 0; i < b.owned.size(); ++i)
      if (b.owned[i] != 0)
        store(b.content, b.dtype, static_cast<std::int64_t>(i),
              unit_value(hash(c.seed, 0x01d, i), data_type(b.dtype).format.mantissa));
  }
}

void mark_inputs(Problem& p) {
  for (std::uint32_t i = 0; i < p.asked.tensor_count; ++i) {
    Buffer& b = p.buffers[static_cast<std::size_t>(p.tensor[i].in)];
    const bool stays = p.source.one_buffer || p.tensor[i].in != p.tensor[i].out;
    if (!b.writable || !stays) continue;
    b.kept.resize(b.owned.size());
    mark_rows(
        p.asked, i,
        [&](const HeadPlace& at) {
          return p.tensor[i].in_at + in_index(p.asked, i, at.b, at.t, at.h);
        },
        b.owned, b.kept, "an input element is an output element");
  }
}

// The buffer of a tensor's cache, which several may share.
int add_cache(const Case& c, Problem& out, std::uint32_t tensor) {
  std::int64_t elements = cache_elements(out, tensor);
  if (!c.one_cache)
    return add_buffer(out, std::string(tensor_words[tensor]) + ".cache", elements,
                      tensor_dtype(c, tensor), true);
  for (std::uint32_t i = 0; i < c.tensors.size(); ++i) {
    if (!c.tensors[i].append) continue;
    if (i < tensor) return out.tensor[i].out;
    elements = std::max(elements, cache_elements(out, i));
  }
  return add_buffer(out, "cache", elements, tensor_dtype(c, tensor), true);
}

void add_tensors(const Case& c, Problem& out) {
  const rope_problem& p = out.asked;
  std::int64_t ins[ROPE_MAX_TENSORS] = {}, outs[ROPE_MAX_TENSORS] = {}, all_in = 0, all_out = 0;
  for (std::uint32_t i = 0; i < p.tensor_count; ++i) {
    const rope_tensor& s = p.tensor[i];
    const TensorCase& t = c.tensors[i];
    ins[i] = plus(t.in_at, extent(p, s, s.in_batch_stride, s.in_token_stride, s.in_head_stride));
    outs[i] =
        plus(t.out_at, extent(p, s, s.out_batch_stride, s.out_token_stride, s.out_head_stride));
    all_in = std::max(all_in, ins[i]);
    if (!t.append) all_out = std::max(all_out, outs[i]);
  }
  const bool fused_in_place = c.fused && c.tensors[0].in_place;
  const bool together = fused_in_place || c.one_buffer;
  const Dtype fused = tensor_dtype(c, 0);  // of all tensors that share a buffer
  int fused_in = -1, fused_out = -1;
  if (c.fused)
    fused_in = add_buffer(out, together ? "in_out" : "in",
                          together ? std::max(all_in, all_out) : all_in, fused, together);
  if (fused_in_place) out.buffers.back().holds_input = true;
  if (c.fused && all_out > 0)
    fused_out = together ? fused_in : add_buffer(out, "out", all_out, fused, true);
  for (std::uint32_t i = 0; i < p.tensor_count; ++i) {
    const TensorCase& t = c.tensors[i];
    const std::string name(tensor_words[i]);
    const Dtype dtype = tensor_dtype(c, t);
    TensorPlaces& places = out.tensor[i];
    places.in_at = t.in_at;
    places.out_at = t.append ? t.cache_at : t.out_at;
    if (t.append) {
      places.in = c.fused ? fused_in : add_buffer(out, name + ".in", ins[i], dtype, false);
      places.out = add_cache(c, out, i);
    } else if (c.fused) {
      places.in = fused_in;
      places.out = fused_out;
    } else if (t.in_place || c.one_buffer) {
      places.in = places.out =
          add_buffer(out, name + ".in_out", std::max(ins[i], outs[i]), dtype, true);
      out.buffers.back().holds_input = t.in_place;
    } else {
      places.in = add_buffer(out, name + ".in", ins[i], dtype, false);
      places.out = add_buffer(out, name + ".out", outs[i], dtype, true);
    }
    fill_tensor(c, p, i, t.in_at, out.slots,
                out.buffers[static_cast<std::size_t>(places.in)].content);
    auto& owned = out.buffers[static_cast<std::size_t>(places.out)].owned;
    mark_rows(
        p, i, [&](const HeadPlace& at) { return out_row(out, 0, at); }, owned, owned,
        "output elements overlap");
    if (t.append) check_caches(out, places.out);
  }
  mark_inputs(out);
}

// Writes positions as a kernel reads them. Elements between them stay poison.
void write_positions(const Problem& out, const std::vector<std::int64_t>& positions,
                     std::vector<std::byte>& content) {
  const rope_problem& p = out.asked;
  const Dtype dtype = out.source.position_dtype;
  const std::int64_t size = data_type(dtype).bytes, tokens = p.batch * p.tokens;
  for (std::size_t i = 0; i < positions.size(); ++i) {
    const auto number = static_cast<std::int64_t>(i), token = number % tokens;
    const std::int64_t wide = positions[i];
    const auto narrow = static_cast<std::int32_t>(wide);
    const void* const value = size == 8 ? static_cast<const void*>(&wide) : &narrow;
    std::byte* const at = content.data() + (number / tokens * out.axes.position_axis_stride +
                                            position_index(p, token / p.tokens, token % p.tokens)) *
                                               size;
    require(is_poison(at, dtype, Poison::read_only) ||
                std::memcmp(at, value, static_cast<std::size_t>(size)) == 0,
            "the position strides put two different positions in the same place");
    std::memcpy(at, value, static_cast<std::size_t>(size));
  }
}

// Takes the same positions in opposite order, axis by axis. If this is the same order and they must
// differ, takes their neighbours towards 0.
void choose_other_positions(const Case& c, Problem& out, SecondPositions second) {
  if (second == SecondPositions::none) return;
  out.other_positions = out.positions;
  reverse_planes(out.other_positions, c.axes);
  if (second == SecondPositions::reversed || out.other_positions != out.positions) return;
  for (std::int64_t& position : out.other_positions) position += position > 0 ? -1 : 1;
  const auto [low, high] =
      std::minmax_element(out.other_positions.begin(), out.other_positions.end());
  rope_problem& p = out.asked;
  p.min_position = std::min(p.min_position, *low);
  p.max_position = std::max(p.max_position, *high);
  if (p.angle_source != ROPE_ANGLES_TABLE || p.table_rows_by != ROPE_ROW_BY_POSITION) return;
  p.table_rows = std::max(p.table_rows, plus(*high, 1));
  check_table_stride(p);
}

void add_positions(const Case& c, Problem& out) {
  if (c.positions_null) return;
  const std::int64_t last = plus(position_index(out.asked, c.batch - 1, c.tokens - 1),
                                 times(c.axes - 1, out.axes.position_axis_stride));
  const int buffer = add_buffer(out, "positions", plus(last, 1), c.position_dtype, false);
  out.positions_buffer = buffer;
  auto& content = out.buffers[static_cast<std::size_t>(buffer)].content;
  out.other_inputs.resize(out.buffers.size());
  if (!out.other_positions.empty()) {
    out.other_inputs.back() = content;
    write_positions(out, out.other_positions, out.other_inputs.back());
  }
  write_positions(out, out.positions, content);
}

// Makes values from another seed for the second placement.
void add_other_inputs(Problem& p) {
  Case other = p.source;
  other.seed = hash(p.source.seed, 0x0da7a);
  p.other_inputs.resize(p.buffers.size());
  for (std::uint32_t i = 0; i < p.asked.tensor_count; ++i) {
    const auto in = static_cast<std::size_t>(p.tensor[i].in);
    auto& bytes = p.other_inputs[in];
    if (bytes.empty()) bytes = p.buffers[in].content;
    fill_tensor(other, p.asked, i, p.tensor[i].in_at, p.other_slots, bytes);
  }
}

}  // namespace

int add_buffer(Problem& out, std::string name, std::int64_t elements, Dtype dtype, bool writable) {
  const std::int64_t bytes = times(elements, data_type(dtype).bytes);
  std::int64_t sum = bytes;
  for (const Buffer& other : out.buffers) sum = plus(sum, std::ssize(other.content));
  require(sum <= largest_case_bytes, "the case is larger than 2 GiB");
  // Memory for this copy, for the shared memory, and for the outputs of two placements.
  if (const std::string why = memory_refusal(4 * sum); !why.empty()) throw NoMemory(why);
  Buffer& b = out.buffers.emplace_back();
  b.name = std::move(name);
  b.dtype = dtype;
  b.writable = writable;
  b.content.resize(static_cast<std::size_t>(bytes));
  fill_poison(b.content.data(), b.content.size(), dtype, writable ? Poison::a : Poison::read_only);
  if (writable) b.owned.assign(static_cast<std::size_t>(elements), 0);
  return static_cast<int>(out.buffers.size()) - 1;
}

rope_problem without_positions(const Case& c) {
  rope_problem p{};
  p.struct_size = sizeof(rope_problem);
  p.abi_version = ROPE_ABI_VERSION;
  p.operation = in_contract(c.operation);
  p.pairing = in_contract(c.pairing);
  p.position_dtype = in_contract(c.position_dtype);
  p.batch = c.batch;
  p.tokens = c.tokens;
  p.rotary_dim = c.rotary_dim;
  p.position_token_stride = given_or(c.position_token_stride, 1);
  p.position_batch_stride = given_or(c.position_batch_stride, c.tokens);
  p.angle_source = c.contract == ROPE_CONTRACT_TABLE ? ROPE_ANGLES_TABLE : ROPE_ANGLES_INV_FREQ;
  if (p.angle_source == ROPE_ANGLES_TABLE) {
    p.table_dtype = in_contract(table_dtype(c));
    p.table_rows_by = c.rows_by;
    p.table_row_stride = given_or(c.table_row_stride, c.rotary_dim / 2);
  }
  p.attention_scale = c.attention_scale;
  p.tensor_count = static_cast<std::uint32_t>(c.tensors.size());
  for (std::size_t i = 0; i < c.tensors.size(); ++i) p.tensor[i] = shape_of(c, c.tensors[i]);
  return p;
}

std::int64_t in_index(const rope_problem& p, std::uint32_t tensor, std::int64_t b, std::int64_t t,
                      std::int64_t h) {
  const rope_tensor& s = p.tensor[tensor];
  return (p.batch > 1 ? b * s.in_batch_stride : 0) + (p.tokens > 1 ? t * s.in_token_stride : 0) +
         (s.heads > 1 ? h * s.in_head_stride : 0);
}

std::int64_t out_index(const rope_problem& p, std::uint32_t tensor, std::int64_t b, std::int64_t t,
                       std::int64_t h) {
  const rope_tensor& s = p.tensor[tensor];
  return (p.batch > 1 ? b * s.out_batch_stride : 0) + (p.tokens > 1 ? t * s.out_token_stride : 0) +
         (s.heads > 1 ? h * s.out_head_stride : 0);
}

bool has_output(const Problem& p, std::uint32_t tensor, std::int64_t b, std::int64_t t) {
  const auto token = static_cast<std::size_t>(b * p.asked.tokens + t);
  return !marks(&p.append, tensor) || (p.slots[token] >= 0 && p.other_slots[token] >= 0);
}

std::int64_t out_row(const Problem& p, int placement, const HeadPlace& at) {
  const std::int64_t begin = p.tensor[at.tensor].out_at;
  if (!marks(&p.append, at.tensor)) return begin + out_index(p.asked, at.tensor, at.b, at.t, at.h);
  const auto& slots = placement == 1 ? p.other_slots : p.slots;
  const std::int64_t slot = slots[static_cast<std::size_t>(at.b * p.asked.tokens + at.t)];
  return slot < 0 ? -1
                  : begin + cache_index(p.append, at.tensor, slot) +
                        at.h * p.append.head_stride[at.tensor];
}

std::int64_t position_index(const rope_problem& p, std::int64_t b, std::int64_t t) {
  return plus(p.batch > 1 ? times(b, p.position_batch_stride) : 0,
              p.tokens > 1 ? times(t, p.position_token_stride) : 0);
}

Rotation given_rotation(const Problem& p, Oracle& oracle, std::uint32_t tensor,
                        std::int64_t position, std::int64_t i) {
  const Case& c = p.source;  // shifts are towards 0, so extreme positions stay inside int32
  const bool table = p.asked.angle_source == ROPE_ANGLES_TABLE;
  const bool stays = c.table_apart_pair >= 0
                         ? i != c.table_apart_pair
                         : c.table_apart_pair == -2 && i == 0 && c.rotary_dim > 2;
  const std::int64_t apart =
      !table ? 0 : (c.own_tables ? 1000 * std::int64_t{tensor} : 0) + (stays ? 0 : c.table_apart);
  const std::int64_t at = position - (position >= 0 ? apart : -apart);
  Rotation r = oracle.at(p.inv_freq[static_cast<std::size_t>(i)], at);
  if (c.own_sin && table && tensor > 0) r.im = -r.im;  // negated angle: the same cos
  return r;
}

PairIndex pair_elements(const rope_problem& p, std::uint32_t tensor, std::int64_t pair) {
  const PairIndex at = pair_index(p.pairing, pair, p.rotary_dim / 2);
  const std::int64_t offset = p.tensor[tensor].rotary_offset;
  return {offset + at.first, offset + at.second};
}

Problem make_question(const Case& c) {
  validate(c);
  Problem out;
  out.source = c;
  for (TensorCase& t : out.source.tensors) t.in_place = t.in_place && !t.append;
  out.positions = positions_of(c);
  out.inv_freq = frequencies_of(c);
  out.asked = problem_of(out.source, out.positions);
  out.asked.inv_freq = out.inv_freq.data();
  out.axes = axes_of(c, out.asked);
  out.norm = norm_asked(c);
  out.append = append_asked(c, out.asked);
  out.slots = slots_of(c);
  return out;
}

Problem make_problem(const Case& given, Oracle& oracle, SecondPositions second) {
  Problem out = make_question(given);
  const Case& c = out.source;
  choose_other_positions(c, out, second);
  add_tensors(c, out);
  if (c.before == Before::numbers) put_numbers(c, out);
  add_positions(c, out);
  add_weights_and_slots(c, out, second != SecondPositions::none);
  if (out.asked.angle_source == ROPE_ANGLES_TABLE) add_tables(c, out, oracle);
  if (second != SecondPositions::none) add_other_inputs(out);
  return out;
}

}  // namespace ropewalk::harness
