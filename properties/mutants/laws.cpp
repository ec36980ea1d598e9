// Errors that laws about two calls find best. They depend on the size of x, on values that are not
// finite, on a tensor's place, or on its neighbours.
#include <cmath>
#include <complex>
#include <cstdint>

#include "properties/mutants/planted.h"

namespace ropewalk::mutants {
namespace {

// A matrix product that multiplies its zeros too, without declaring ROPE_MIXES_PAIRS. Seen by
// pair_locality only.
struct ZeroTimesAll : Correct {
  std::int64_t elements = 0;
  void see(rope_problem& p, rope_operands&) override {
    elements = 0;
    for (std::uint32_t i = 0; i < p.tensor_count; ++i)
      // in place it would need a copy
      if (p.tensor[i].rotate != 0 && p.tensor[i].in_place != 0) return;
    elements = p.rotary_dim;
  }
  void rotate(const Pair& x) override {
    Correct::rotate(x);
    float zero = 0;
    for (std::int64_t e = 0; e < elements; ++e) zero += 0 * x.in[e];
    x.out[x.at.first] += zero;
    x.out[x.at.second] += zero;
  }
};
const auto times_all = planted<ZeroTimesAll>("mutant_zero_times_all_table");

// Promises equal bits, and uses fused operations only if its output happens to be aligned. Seen by
// strides, placement, order or chunks, while it keeps every bound.
struct FusedWhereAligned : Correct {
  void rotate(const Pair& x) override {
    if (reinterpret_cast<std::uintptr_t>(x.out + x.at.first) % 16 != 0) return Correct::rotate(x);
    const float x1 = x.in[x.at.first], x2 = x.in[x.at.second];
    x.out[x.at.first] = x.scale * std::fma(x1, x.cos1, -(x2 * x.sin1));
    x.out[x.at.second] = x.scale * std::fma(x2, x.cos2, x1 * x.sin2);
  }
};
const auto promises_bits = altered<FusedWhereAligned>(
    "mutant_promises_bits_table", [](KernelInfo& info) { info.flags |= ROPE_BITWISE_INVARIANT; });
// Without the promise, the same kernel is correct.
const auto aligned = planted<FusedWhereAligned>("control_fused_where_aligned_table");

// Counts on from the first position, whatever the other positions are.
struct CountsOn : Correct {
  std::int64_t first = 0;
  void locate(const rope_problem& p, Token& token) override {
    if (token.index == 0) first = token.position;
    const std::int64_t position = first + token.index;
    if (position < p.min_position || position > p.max_position) return;  // outside the table
    token.position = token.table_row = position;
  }
};
const auto counts_on = planted<CountsOn>("mutant_counts_on_exact");

// Uses the first tensor's strides for all. Seen by tensors_apart, by agreement, or by a crash.
const auto first_tensor = planted<Sees>("mutant_strides_of_first_tensor_table", [](auto& p, auto&) {
  for (std::uint32_t i = 1; i < p.tensor_count; ++i) {
    p.tensor[i].in_token_stride = p.tensor[0].in_token_stride;
    p.tensor[i].out_token_stride = p.tensor[0].out_token_stride;
  }
});

// Rounds one of the two outputs to bf16, like a kernel with one narrow path.
const auto bf16 = planted<Rotates>("mutant_one_output_in_bf16_table", [](const Pair& x) {
  Correct().rotate(x);
  x.out[x.at.second] = to_bf16(x.out[x.at.second]);
});

// Computes all frequencies from the ratio of the first two.
const auto two = planted<Frequency>("mutant_ratio_of_first_two_exact", [](auto& p, std::int64_t i) {
  if (i < 2) return p.inv_freq[i];
  return p.inv_freq[0] * std::pow(p.inv_freq[1] / p.inv_freq[0], static_cast<double>(i));
});

// Multiplies unrotated elements by 1 and adds 0, so -0 becomes +0. Seen by untouched_dims only.
const auto plus_zero = planted<Finishes>("mutant_untouched_plus_zero_table", [](auto& p, auto& o) {
  for_each_out_row(p, o, [&](float* row, const rope_tensor& s, auto...) {
    const std::int64_t end = s.rotate != 0 ? s.rotary_offset + p.rotary_dim : 0;
    for (std::int64_t e = end; e < s.head_dim; ++e)
      if (row[e] == 0) row[e] = 0;
  });
});

// Turns every tensor after the first the other way, out of place: keys by the conjugate of the
// table that turns the queries. For a pair, x conj(r) is x^2 conj(y) / |x|^2 of the right y = x r.
// norm and transpose hold.
const auto turned_back = planted<Finishes>("mutant_keys_turned_back_table", [](auto& p, auto& o) {
  for_each_out_row(p, o, [&](float* row, auto& s, std::uint32_t tensor, auto& token, auto head) {
    if (tensor == 0 || s.rotate == 0 || s.in_place != 0) return;
    const float* const in = in_row(p, o, tensor, token.batch, token.index, head) + s.rotary_offset;
    float* const out = row + s.rotary_offset;
    for (std::int64_t i = 0; i < p.rotary_dim / 2; ++i) {
      const PairIndex at = pair_index(p.pairing, i, p.rotary_dim / 2);
      const std::complex<double> x(in[at.first], in[at.second]), y(out[at.first], out[at.second]);
      if (std::norm(x) == 0) continue;
      const std::complex<double> back = x * x * std::conj(y) / std::norm(x);
      out[at.first] = static_cast<float>(back.real());
      out[at.second] = static_cast<float>(back.imag());
    }
  });
});

}  // namespace
}  // namespace ropewalk::mutants
