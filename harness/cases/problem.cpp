#include "harness/cases/problem.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "base/system/memory_limits.h"
#include "harness/cases/checked.h"
#include "harness/cases/data.h"
#include "harness/cases/fused.h"
#include "harness/cases/names.h"
#include "harness/cases/poison.h"
#include "harness/cases/tensor_content.h"

namespace ropewalk::harness {
namespace {

// Rows that no token uses stay poison, which shows a kernel that reads a wrong row. Both placements
// share one table by position; each has its own table by token. The tables are made frequency by
// frequency: the oracle has a table for each, which then stays in the cache.
void fill_tables(Problem& out, Oracle& oracle, std::uint32_t tensor) {
  struct Row {
    std::int64_t position;
    bool is_second;
    std::int64_t at;
    auto operator<=>(const Row&) const = default;
  };
  const bool by_token = out.asked.table_rows_by == ROPE_ROW_BY_TOKEN;
  const std::int64_t tokens = out.asked.batch * out.asked.tokens;
  std::vector<Row> rows;
  for (const auto* const positions : {&out.positions, &out.other_positions})
    for (std::int64_t i = 0; i < std::ssize(*positions); ++i) {
      const std::int64_t position = (*positions)[static_cast<std::size_t>(i)];
      rows.push_back({position, by_token && positions != &out.positions,
                      table_row(out, i / tokens, i % tokens, position)});
    }
  std::ranges::sort(rows);
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  const auto bytes_of = [&](Operand role, bool is_second) {
    const auto i = static_cast<std::size_t>(out.buffer(role, tensor));
    if (is_second && out.other_inputs[i].empty()) out.other_inputs[i] = out.buffers[i].content;
    return is_second ? &out.other_inputs[i] : &out.buffers[i].content;
  };
  const bool has_second = by_token && !out.other_positions.empty();
  std::vector<std::byte>* const cos[] = {bytes_of(Operand::cos, false),
                                         bytes_of(Operand::cos, has_second)};
  std::vector<std::byte>* const sin[] = {bytes_of(Operand::sin, false),
                                         bytes_of(Operand::sin, has_second)};
  with_floating_type(Dtype{out.asked.table_dtype}, [&]<class Stored>(std::type_identity<Stored>) {
    for (std::int64_t pair = 0; pair < out.asked.rotary_dim / 2; ++pair) {
      Rotation r;
      for (const Row& row : rows) {
        if (&row == rows.data() || row.position != (&row)[-1].position)
          r = given_rotation(out, oracle, tensor, row.position, pair);
        store_as<Stored>(*cos[row.is_second ? 1 : 0], row.at + pair, r.re.hi);
        store_as<Stored>(*sin[row.is_second ? 1 : 0], row.at + pair, r.im.hi);
      }
    }
  });
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

// Throws BadCase on overflow.
std::int64_t elements_of(const Extent& extent) {
  return plus(extent.elements(), 1) - 1;
}

// The planes of positions lie one behind the other unless the case says otherwise; tables by token
// do too.
rope_axes axes_of(const Case& c, const rope_problem& p) {
  if (c.axes == 1) return {};
  rope_axes axes{{ROPE_EXT_AXES, sizeof(rope_axes), nullptr}, 0, 0, 0, 0, nullptr};
  const Extent plane{1, {{p.batch, p.position_batch_stride}, {p.tokens, p.position_token_stride}}};
  const Extent rows{p.rotary_dim / 2, {{p.table_rows, p.table_row_stride}}};
  axes.axes = static_cast<std::int32_t>(c.axes);
  axes.position_axis_stride = given_or(c.position_axis_stride, elements_of(plane));
  if (p.angle_source != ROPE_ANGLES_TABLE || p.table_rows_by != ROPE_ROW_BY_TOKEN) return axes;
  const std::int64_t table = elements_of(rows);
  axes.table_axis_stride = given_or(c.table_axis_stride, table);
  require(
      axes.table_axis_stride >= table ||
          (axes.table_axis_stride >= c.rotary_dim / 2 &&
           p.table_row_stride >= plus(times(c.axes - 1, axes.table_axis_stride), c.rotary_dim / 2)),
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
  for (std::size_t buffer = 0; buffer < out.buffers.size(); ++buffer) {
    Buffer& b = out.buffers[buffer];
    if (!b.writable || b.holds_input) continue;
    b.holds_input = true;
    for (auto* const bytes : {&b.content, &out.other_inputs[buffer]})
      for (std::size_t i = 0; i < b.owned.size() && !bytes->empty(); ++i)
        if (b.owned[i] != 0)
          store(*bytes, b.dtype, static_cast<std::int64_t>(i),
                unit_value(hash(c.seed, 0x01d, i), data_type(b.dtype).format.mantissa));
  }
}

void mark_inputs(Problem& p) {
  for (std::uint32_t i = 0; i < p.asked.tensor_count; ++i) {
    Buffer& b = p.buffers[static_cast<std::size_t>(p.buffer(Operand::in, i))];
    const bool stays = p.source.one_buffer || p.buffer(Operand::in, i) != p.output(i).buffer;
    if (!b.writable || !stays) continue;
    b.kept.resize(b.owned.size());
    mark_rows(
        p.asked, i, [&](const HeadPlace& at) { return in_row(p, at); }, b.owned, b.kept,
        "an input element is an output element");
  }
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
    std::byte* const at =
        content.data() +
        position_index(out, number / tokens, token / p.tokens, token % p.tokens) * size;
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

// Operands with the same name share a buffer.
std::string buffer_name(const Case& c, const OperandLayout& o) {
  const std::string own = operand_name(o.role, o.tensor), tensor(tensor_words[o.tensor]);
  const TensorCase& t = c.tensors[c.fused ? 0 : o.tensor];
  const bool own_sin = c.own_sin && o.tensor > 0 && o.role == Operand::sin;
  const std::string kind = own.substr(own.find('.') + 1);
  if (o.role == Operand::cache) return c.one_cache ? kind : own;
  if (o.role == Operand::cos || o.role == Operand::sin)
    return c.own_tables || own_sin ? kind + "." + tensor : kind;
  if (o.role != Operand::in && o.role != Operand::out) return own;
  return (c.fused ? "" : tensor + ".") + (c.one_buffer || t.in_place ? "in_out" : kind);
}

std::int64_t first_element(const TensorCase& t, Operand role) {
  return role == Operand::in      ? t.in_at
         : role == Operand::out   ? t.out_at
         : role == Operand::cache ? t.cache_at
                                  : 0;
}

// Adds a buffer, all poison. Throws BadCase, NoMemory.
void add_buffer(Problem& out, const BufferLayout& of) {
  const auto& [name, role, dtype, writable, elements] = of;
  const std::int64_t bytes = times(elements, data_type(dtype).bytes);
  std::int64_t sum = bytes;
  for (const Buffer& other : out.buffers) sum = plus(sum, std::ssize(other.content));
  require(sum <= largest_case_bytes, "the case is larger than 2 GiB");
  // Memory for this copy, for the shared memory, and for the outputs of two placements.
  if (const std::string why = memory_refusal(4 * sum); !why.empty()) throw NoMemory(why);
  Buffer& b = out.buffers.emplace_back();
  b.name = name;
  b.dtype = dtype;
  b.writable = writable;
  b.content.resize(static_cast<std::size_t>(bytes));
  fill_poison(b.content.data(), b.content.size(), dtype, writable ? Poison::a : Poison::read_only);
  if (writable) b.owned.assign(static_cast<std::size_t>(elements), 0);
}

// Gives every buffer its content in both placements, or in the first alone.
void fill_buffers(const Case& c, Problem& out, Oracle& oracle, bool for_second) {
  Case other = c;
  other.seed = hash(c.seed, 0x0da7a);
  // A buffer that nothing fills for the second placement has one content.
  const auto fill = [&](int buffer, auto&& with) {
    const auto i = static_cast<std::size_t>(buffer);
    auto& bytes = out.other_inputs[i];
    if (for_second && bytes.empty()) bytes = out.buffers[i].content;
    if (for_second) with(other, out.other_positions, out.other_slots, bytes);
    with(c, out.positions, out.slots, out.buffers[i].content);
  };
  using Numbers = const std::vector<std::int64_t>&;
  std::set<int> filled;
  for (const OperandLayout& o : operands_of(out.asked, out)) {
    const std::uint32_t i = o.tensor;
    const Place& place = out.place(o.role, i);
    if (place.buffer < 0) continue;
    Buffer& b = out.buffers[static_cast<std::size_t>(place.buffer)];
    if (o.role == Operand::in)
      fill(place.buffer, [&](const Case& of, Numbers, Numbers slots, auto& bytes) {
        fill_tensor(of, out.asked, i, place.at, slots, bytes);
      });
    if (o.role == Operand::positions)
      fill(place.buffer, [&](const Case&, Numbers positions, Numbers, auto& bytes) {
        write_positions(out, positions, bytes);
      });
    if (o.role == Operand::weight)
      fill(place.buffer, [&](const Case& of, Numbers, Numbers, auto& bytes) {
        fill_weight(of, i, o.dtype, bytes);
      });
    if (o.role == Operand::slot)
      fill(place.buffer, [&](const Case&, Numbers, Numbers slots, auto& bytes) {
        fill_slots(slots, o.dtype, bytes);
      });
    // tensors that share their tables share the sin
    if (o.role == Operand::sin && filled.insert(place.buffer).second) fill_tables(out, oracle, i);
    if (!is_output(o.role)) continue;
    if (place.buffer == out.buffer(Operand::in, i))
      b.holds_input = c.tensors[c.fused ? 0 : i].in_place;
    mark_rows(
        out.asked, i, [&](const HeadPlace& at) { return out_row(out, 0, at); }, b.owned, b.owned,
        "output elements overlap");
    if (o.role == Operand::cache) check_caches(out, place.buffer);
  }
  mark_inputs(out);
}

}  // namespace

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
  return b * s.in_batch_stride + t * s.in_token_stride + h * s.in_head_stride;
}

std::int64_t out_index(const rope_problem& p, std::uint32_t tensor, std::int64_t b, std::int64_t t,
                       std::int64_t h) {
  const rope_tensor& s = p.tensor[tensor];
  return b * s.out_batch_stride + t * s.out_token_stride + h * s.out_head_stride;
}

bool has_output(const Problem& p, std::uint32_t tensor, std::int64_t b, std::int64_t t) {
  const auto token = static_cast<std::size_t>(b * p.asked.tokens + t);
  return !marks(&p.append, tensor) || (p.slots[token] >= 0 && p.other_slots[token] >= 0);
}

std::int64_t out_row(const Problem& p, int placement, const HeadPlace& at) {
  const std::int64_t begin = p.output(at.tensor).at;
  if (!marks(&p.append, at.tensor)) return begin + out_index(p.asked, at.tensor, at.b, at.t, at.h);
  const auto& slots = placement == 1 ? p.other_slots : p.slots;
  const std::int64_t slot = slots[static_cast<std::size_t>(at.b * p.asked.tokens + at.t)];
  return slot < 0 ? -1
                  : begin + cache_index(p.append, at.tensor, slot) +
                        at.h * p.append.head_stride[at.tensor];
}

std::int64_t in_row(const Problem& p, const HeadPlace& at) {
  return p.place(Operand::in, at.tensor).at + in_index(p.asked, at.tensor, at.b, at.t, at.h);
}

std::int64_t position_index(const Problem& p, std::int64_t axis, std::int64_t b, std::int64_t t) {
  const rope_problem& asked = p.asked;
  return plus(plus(times(b, asked.position_batch_stride), times(t, asked.position_token_stride)),
              times(axis, p.axes.position_axis_stride));
}

std::int64_t table_row(const Problem& p, std::int64_t axis, std::int64_t token,
                       std::int64_t position) {
  const std::int64_t row = p.asked.table_rows_by == ROPE_ROW_BY_TOKEN ? token : position;
  return plus(p.asked.table_rows > 1 ? times(row, p.asked.table_row_stride) : 0,
              times(axis, p.axes.table_axis_stride));
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

ProblemNodes nodes_asked(const Case& c, const rope_problem& p) {
  return {axes_of(c, p), norm_asked(c), append_asked(c, p)};
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
  static_cast<ProblemNodes&>(out) = nodes_asked(c, out.asked);
  out.slots = slots_of(c);
  return out;
}

std::vector<BufferLayout> place_operands(Problem& out) {
  const Case& c = out.source;
  std::vector<BufferLayout> buffers;
  for (const OperandLayout& o : operands_of(out.asked, out)) {
    const TensorCase& t = c.tensors[o.tensor];
    if (is_of_problem(o.role) || (o.role == Operand::positions && c.positions_null) ||
        (o.role == Operand::weight && !t.weight))
      continue;
    const std::string name = buffer_name(c, o);
    auto at = std::ranges::find(buffers, name, &BufferLayout::name);
    if (at == buffers.end()) at = buffers.insert(at, {name, o.role, o.dtype, false, 0});
    Place& place = out.place(o.role, o.tensor);
    place = {static_cast<int>(at - buffers.begin()), first_element(t, o.role)};
    at->writable |= is_output(o.role);
    at->elements = std::max(at->elements, plus(place.at, o.extent.elements()));
  }
  return buffers;
}

Problem make_problem(const Case& given, Oracle& oracle, SecondPositions second) {
  Problem out = make_question(given);
  const Case& c = out.source;
  const bool for_second = second != SecondPositions::none;
  choose_other_positions(c, out, second);
  out.other_slots = out.slots;
  if (for_second) std::ranges::reverse(out.other_slots);  // other tokens have none
  for (const BufferLayout& buffer : place_operands(out)) add_buffer(out, buffer);
  out.other_inputs.resize(out.buffers.size());
  fill_buffers(c, out, oracle, for_second);
  if (c.before == Before::numbers) put_numbers(c, out);
  return out;
}

}  // namespace ropewalk::harness
