// A case laid out: the rope_problem that a kernel is given, and the content of every buffer that it
// may touch.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "harness/call/operands.h"
#include "harness/cases/axes.h"
#include "harness/cases/case.h"
#include "harness/cases/stored.h"
#include "kernels/api/kernel.h"
#include "reference/bounds.h"
#include "reference/definition.h"
#include "reference/oracle.h"

namespace ropewalk::harness {

/// One buffer: its bytes before the call and, if writable, which elements the kernel must write
/// (owned = 1). All other elements must keep their bytes.
struct Buffer {
  std::string name;  ///< "q.in", "cos", "positions"
  Dtype dtype = Dtype::f32;
  bool writable = false;
  /// owned elements hold the input before the call (in place), or numbers (Before), not poison
  bool holds_input = false;
  std::vector<std::byte> content;
  /// 1 byte for each element; empty unless the buffer is writable
  std::vector<std::uint8_t> owned;
  /// 1: an input beside the outputs, which must keep its bytes; empty if there is none
  std::vector<std::uint8_t> kept;

  std::int64_t element_bytes() const { return data_type(dtype).bytes; }
};

/// A buffer without its content, and what its first operand is for.
struct BufferLayout {
  std::string name;
  Operand role;
  Dtype dtype;
  bool writable;
  std::int64_t elements;
};

/// Where an operand lies: an index into Problem::buffers (-1: it is not given), and that of its
/// first element.
struct Place {
  int buffer = -1;
  std::int64_t at = 0;
};

/// The nodes are those of `asked`. Their chain is made where it is passed on.
struct Problem : ProblemNodes {
  Case source;
  rope_problem asked{};  ///< its inv_freq points into the vector `inv_freq` below
  std::vector<double> inv_freq;
  std::vector<std::int64_t> slots, other_slots;  ///< [batch, tokens], of the two placements
  std::vector<std::int64_t> positions;           ///< [axes, batch, tokens], of the first placement
  /// Positions of the second placement (SecondPositions). They differ, so that positions kept from
  /// the first call give wrong results. A table by token has its rows in the same order.
  std::vector<std::int64_t> other_positions;
  std::vector<Buffer> buffers;
  /// Replaces the buffers' content for the second placement: same shapes, strides and positions,
  /// values from another seed. Explicit values stay. Empty for buffers without inputs.
  std::vector<std::vector<std::byte>> other_inputs;
  bool poison_alone = false;  ///< no call of it finds numbers around the rows (gap_bits)
  Place places[roles][ROPE_MAX_TENSORS];

  Place& place(Operand role, std::uint32_t tensor = 0) {
    return places[static_cast<std::size_t>(role)][tensor];
  }
  const Place& place(Operand role, std::uint32_t tensor = 0) const {
    return places[static_cast<std::size_t>(role)][tensor];
  }
  int buffer(Operand role, std::uint32_t tensor = 0) const { return place(role, tensor).buffer; }
  /// Of what a tensor writes: its output, or its cache.
  const Place& output(std::uint32_t tensor) const {
    return place(marks(&append, tensor) ? Operand::cache : Operand::out, tensor);
  }
};

/// The heads of DataPattern::decay. The first half = rotary_dim / 2 heads are prefix indicators: in
/// head j, pairs 0..j are 1 and the others 0. The heads of this enumeration follow: q has the
/// staircase sqrt(half - i), and k has ones, i * ones, the staircase, and i * the staircase.
enum DecayHead : std::int64_t {
  decay_stair_q,
  decay_ones_re,
  decay_ones_im,
  decay_stair_re,
  decay_stair_im,
  decay_extra_heads
};

/// The nodes of a problem that a case asks. Throws BadCase.
ProblemNodes nodes_asked(const Case& c, const rope_problem& p);

/// What a case asks, without its positions and what depends on them: min_position, max_position,
/// table_rows, inv_freq.
rope_problem without_positions(const Case& c);

/// The question that a kernel's supports is asked about a case, without buffers. It finds all
/// errors of a case in which no tensor has strides of its own. Throws BadCase.
Problem make_question(const Case& c);

/// Positions of the second placement: those of the first in opposite order, which keeps laws about
/// two cases valid. always_others takes new positions where the opposite order is the same order
/// (one token). none: the problem is for one call, so nothing is made for a second.
enum class SecondPositions { reversed, always_others, none };

/// Sets the places of what a call of the problem's case is given, and returns their buffers.
/// Operands with the same name share one. Throws BadCase on overflow.
std::vector<BufferLayout> place_operands(Problem& out);

/// Lays a case out. The oracle makes the tables. Throws BadCase.
Problem make_problem(const Case& c, Oracle& oracle,
                     SecondPositions second = SecondPositions::reversed);

/// One row of head_dim elements.
struct HeadPlace {
  std::uint32_t tensor = 0;
  std::int64_t b = 0, t = 0, h = 0;
  bool operator==(const HeadPlace&) const = default;
};

/// Index in its buffer of the first element of a row that a call reads.
std::int64_t in_row(const Problem& p, const HeadPlace& at);
/// Index in its buffer of the first element of a row that a call of this placement writes; -1: the
/// token has no slot.
std::int64_t out_row(const Problem& p, int placement, const HeadPlace& at);
/// False: the token has no slot in one placement or in both.
bool has_output(const Problem& p, std::uint32_t tensor, std::int64_t b, std::int64_t t);

/// Index of a head's first element, relative to the tensor's first element.
std::int64_t in_index(const rope_problem& p, std::uint32_t tensor, std::int64_t b, std::int64_t t,
                      std::int64_t h);
std::int64_t out_index(const rope_problem& p, std::uint32_t tensor, std::int64_t b, std::int64_t t,
                       std::int64_t h);

/// Index of a token's position on an axis in its buffer. Throws BadCase on overflow.
std::int64_t position_index(const Problem& p, std::int64_t axis, std::int64_t b, std::int64_t t);
/// Index of the first element of the row of a table that a token of the whole batch uses on an
/// axis, where it has this position. Throws BadCase on overflow.
std::int64_t table_row(const Problem& p, std::int64_t axis, std::int64_t token,
                       std::int64_t position);

/// The bytes of a buffer before the first placement (0) or the second (1).
inline const std::vector<std::byte>& given(const Problem& p, int placement, int buffer) {
  const auto i = static_cast<std::size_t>(buffer);
  return placement == 1 && !p.other_inputs[i].empty() ? p.other_inputs[i] : p.buffers[i].content;
}

/// The position that a pair turns by at a token, in the first placement (0) or the second (1).
inline std::int64_t position_of(const Problem& p, int placement, std::int64_t b, std::int64_t t,
                                std::int64_t pair) {
  const auto& positions = placement == 1 ? p.other_positions : p.positions;
  const std::size_t plane = axis_of(p.source.axis_of_pair, pair) *
                            static_cast<std::size_t>(p.asked.batch * p.asked.tokens);
  return positions[plane + static_cast<std::size_t>(b * p.asked.tokens + t)];
}

using PairValue = Complex<DoubleDouble>;

/// The indices of a pair's two elements in its row.
PairIndex pair_elements(const rope_problem& p, std::uint32_t tensor, std::int64_t pair);

/// The exact rotation of pair i at a position, as the kernel is given it for tensor `tensor`. With
/// own tables, tensor k's table holds the angles of positions that are 1000 k nearer to 0. With an
/// own sin, its angles are negated.
Rotation given_rotation(const Problem& p, Oracle& oracle, std::uint32_t tensor,
                        std::int64_t position, std::int64_t i);

}  // namespace ropewalk::harness
