// A case laid out: the rope_problem a kernel is given and the content of every buffer it may touch.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "harness/cases/case.h"
#include "harness/cases/stored.h"
#include "kernels/api/kernel.h"
#include "reference/bounds.h"
#include "reference/definition.h"
#include "reference/oracle.h"

namespace ropewalk::harness {

/// One buffer: its bytes before the call and, where it may be written, which elements a kernel must
/// write (owned = 1); all the others must stay as they are.
struct Buffer {
  std::string name;  ///< "q.in", "cos", "positions"
  Dtype dtype = Dtype::f32;
  bool writable = false;
  bool holds_input = false;  ///< in place: owned elements begin as the input, not as poison
  std::vector<std::byte> content;
  std::vector<std::uint8_t> owned;  ///< one an element; empty unless writable

  std::int64_t element_bytes() const { return data_type(dtype).bytes; }
};

/// Which buffers a tensor uses (index into Problem::buffers, -1: none) and where it begins in them.
struct TensorPlaces {
  int in = -1, out = -1, cos = -1, sin = -1;
  std::int64_t in_at = 0, out_at = 0;  ///< element
};

struct Problem {
  Case source;
  rope_problem asked{};  ///< inv_freq points into `inv_freq`
  std::vector<double> inv_freq;
  std::vector<std::int64_t> positions;  ///< [batch, tokens], of the first placement
  /// Of the second (SecondPositions), so that none kept from the first call serves it; a table by
  /// token has its rows accordingly.
  std::vector<std::int64_t> other_positions;
  std::vector<Buffer> buffers;
  /// What the second placement is given in place of a buffer's content: same shapes, strides and
  /// positions, values of another seed (explicit ones stay). Empty for buffers without inputs.
  std::vector<std::vector<std::byte>> other_inputs;
  int positions_buffer = -1;
  TensorPlaces tensor[ROPE_MAX_TENSORS];
};

/// DataPattern::decay, heads after the half prefix indicators (head j: pairs 0..j are 1, others 0):
/// q's staircase sqrt(half - i); then k: ones, i * ones, the staircase, i * the staircase.
enum DecayHead : std::int64_t {
  decay_stair_q,
  decay_ones_re,
  decay_ones_im,
  decay_stair_re,
  decay_stair_im,
  decay_extra_heads
};

/// What a kernel's supports is asked about a case, without a buffer: as long as no tensor has
/// strides of its own, all that can be wrong with the case is found. Throws BadCase.
Problem make_question(const Case& c);

/// The positions of the second placement: those of the first in the opposite order, which keeps
/// what a law says of two cases; or, where that is no other order (one token), others.
enum class SecondPositions { reversed, always_others };

/// Lays a case out. Throws BadCase. The oracle makes the tables.
Problem make_problem(const Case& c, Oracle& oracle,
                     SecondPositions second = SecondPositions::reversed);

/// Element index, relative to the tensor's first, of the first element of a head.
std::int64_t in_index(const rope_problem& p, std::uint32_t tensor, std::int64_t b, std::int64_t t,
                      std::int64_t h);
std::int64_t out_index(const rope_problem& p, std::uint32_t tensor, std::int64_t b, std::int64_t t,
                       std::int64_t h);

/// The bytes of a buffer before the first placement (0) or the second (1).
inline const std::vector<std::byte>& given(const Problem& p, int placement, int buffer) {
  const auto i = static_cast<std::size_t>(buffer);
  return placement == 1 && !p.other_inputs[i].empty() ? p.other_inputs[i] : p.buffers[i].content;
}

/// The position whose angles turn a token in the first placement (0) or the second (1).
inline std::int64_t position_of(const Problem& p, int placement, std::int64_t b, std::int64_t t) {
  const auto& positions = placement == 1 ? p.other_positions : p.positions;
  return positions[static_cast<std::size_t>(b * p.asked.tokens + t)];
}

using PairValue = Complex<DoubleDouble>;

/// One row of head_dim elements.
struct HeadPlace {
  std::uint32_t tensor;
  std::int64_t b, t, h;
};

/// The two elements of a pair, counted from the first of its row.
PairIndex pair_elements(const rope_problem& p, std::uint32_t tensor, std::int64_t pair);

/// The exact rotation of pair i at a position, as tensor `tensor` is given it: with own tables,
/// tensor k's table holds the angles of positions 1000 k nearer to 0; with an own sin, minus them.
Rotation given_rotation(const Problem& p, Oracle& oracle, std::uint32_t tensor,
                        std::int64_t position, std::int64_t i);

}  // namespace ropewalk::harness
