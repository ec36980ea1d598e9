// Errors in which part of a head is rotated.
#include <bit>
#include <cmath>

#include "properties/mutants/planted.h"

namespace ropewalk::mutants {
namespace {

// Makes the window wider, and turns the new pairs by the window's own angles again.
struct Widened : Correct {
  std::int64_t given_pairs = 0;
  void widen(rope_problem& p, std::int64_t rotary_dim) {
    given_pairs = p.rotary_dim / 2;
    p.rotary_dim = rotary_dim;
  }
  PairIndex entries(const rope_problem&, std::int64_t i) override {
    return {i % given_pairs, i % given_pairs};
  }
};

bool all_fit(const rope_problem& p, std::int64_t rotary_dim) {
  for (std::uint32_t i = 0; i < p.tensor_count; ++i)
    if (p.tensor[i].rotate != 0 && p.tensor[i].rotary_offset + rotary_dim > p.tensor[i].head_dim)
      return false;
  return true;
}

// Rotates the whole head: maxtext #4616, vLLM #43770. Seen by untouched_dims, and by agreement in
// half-split.
struct WholeHead : Widened {
  void see(rope_problem& p, rope_operands&) override {
    const std::int64_t whole = p.tensor[0].head_dim / 2 * 2;
    for (rope_tensor& s : p.tensor) s.rotary_offset = 0;
    widen(p, whole >= p.rotary_dim && all_fit(p, whole) ? whole : p.rotary_dim);
  }
};
const auto head = planted<WholeHead>("mutant_whole_head_table");

// Rounds rotary_dim up to a power of two without a mask: sglang #35096. Seen by untouched_dims and
// agreement.
struct PowerOfTwo : Widened {
  void see(rope_problem& p, rope_operands&) override {
    const auto rounded =
        static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(p.rotary_dim)));
    widen(p, all_fit(p, rounded) ? rounded : p.rotary_dim);
  }
};
const auto two = planted<PowerOfTwo>("mutant_power_of_two_table");

// Assumes that the window begins at 0. Seen by untouched_dims and agreement.
const auto at_zero = planted<SeesEach>("mutant_window_at_zero_table",
                                       [](auto&, rope_tensor& s) { s.rotary_offset = 0; });

// Frequencies theta^(-2i/head_dim) for a smaller rotary_dim: pie PR 603. Seen by agreement and
// decay with partial rotary.
const auto dim =
    planted<Frequency>("mutant_frequencies_of_head_dim_exact", [](auto& p, std::int64_t i) {
      return std::pow(p.inv_freq[i], static_cast<double>(p.rotary_dim) /
                                         static_cast<double>(p.tensor[0].head_dim));
    });

// Writes only the window, which is right in place: several projects. Seen by unwritten_outputs and
// untouched_dims.
const auto written = planted<Sees>("mutant_untouched_never_written_table", [](auto& p, auto& o) {
  for (std::uint32_t i = 0; i < p.tensor_count; ++i) {
    rope_tensor& s = p.tensor[i];
    if (s.rotate == 0) continue;
    o.tensor[i].in = static_cast<const float*>(o.tensor[i].in) + s.rotary_offset;
    o.tensor[i].out = static_cast<float*>(o.tensor[i].out) + s.rotary_offset;
    s.rotary_offset = 0;
    s.head_dim = p.rotary_dim;
  }
});

// Rotates a tensor that should only be copied. Seen by untouched_dims.
const auto tensors = planted<Sees>("mutant_rotates_all_tensors_table", [](auto& p, auto& o) {
  for (std::uint32_t i = 1; i < p.tensor_count; ++i)
    if (rope_tensor& s = p.tensor[i]; s.rotate == 0 && s.head_dim >= p.rotary_dim) {
      s.rotate = 1;
      s.rotary_offset = 0;
      o.tensor[i].cos = o.tensor[0].cos;
      o.tensor[i].sin = o.tensor[0].sin;
    }
});

}  // namespace
}  // namespace ropewalk::mutants
