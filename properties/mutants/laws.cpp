// Errors that laws about two calls find best. They depend on the size of x, on values that are not
// finite, on a tensor's place, or on its neighbours.
#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <cstdint>

#include "properties/mutants/planted.h"

namespace ropewalk::mutants {
namespace {

// Rotates (f(x1), f(x2)) instead of (x1, x2).
template <float (*f)(float)>
struct InputThrough : Correct {
  void rotate(const Pair& x) override {
    const float both[2] = {f(x.in[x.at.first]), f(x.in[x.at.second])};
    Pair changed = x;
    changed.in = both;
    changed.at = {0, 1};
    float out[2];
    changed.out = out;
    Correct::rotate(changed);
    x.out[x.at.first] = out[0];
    x.out[x.at.second] = out[1];
  }
};

// Saturates like a fixed-point unit. Seen by agreement, linearity, power_of_two.
float limited(float x) {
  return std::clamp(x, -0.75f, 0.75f);
}
const RegisteredKernel limited_input =
    on_table<InputThrough<limited>>("mutant_limited_input_table");

// Rounds to absolute steps of 2^-20. Seen by agreement, linearity, power_of_two.
float in_steps(float x) {
  return std::nearbyint(x * 0x1p20f) * 0x1p-20f;
}
const RegisteredKernel fixed_point = on_table<InputThrough<in_steps>>("mutant_fixed_point_table");

// Replaces values that are not finite, so no finite input shows it. Seen by pair_locality only.
float tidied(float x) {
  return std::isfinite(x) ? x : 0;
}
const RegisteredKernel nan_to_zero = on_table<InputThrough<tidied>>("mutant_nan_to_zero_table");

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
const RegisteredKernel zero_times_all = on_table<ZeroTimesAll>("mutant_zero_times_all_table");

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
KernelInfo promised(KernelInfo info, std::uint32_t flags) {
  info.flags |= flags;
  return info;
}
const RegisteredKernel promises_bits{
    promised(table_info<FusedWhereAligned>("mutant_promises_bits_table"), ROPE_BITWISE_INVARIANT)};
// Without the promise, the same kernel is correct.
const RegisteredKernel fused_where_aligned =
    on_table<FusedWhereAligned>("control_fused_where_aligned_table");

// Counts on from the first position, whatever the other positions are. Seen by order, chunks,
// agreement.
struct CountsOn : Correct {
  std::int64_t first = 0;
  void locate(const rope_problem& p, Token& token) override {
    if (token.index == 0) first = token.position;
    const std::int64_t position = first + token.index;
    if (position < p.min_position || position > p.max_position) return;  // outside the table
    token.position = token.table_row = position;
  }
};
const RegisteredKernel counts_on = on_angles<CountsOn>("mutant_counts_on_exact");

// Uses the first tensor's strides for all. Seen by tensors_apart, by agreement, or by a crash.
struct StridesOfFirstTensor : Correct {
  void see(rope_problem& p, rope_operands&) override {
    for (std::uint32_t i = 1; i < p.tensor_count; ++i) {
      p.tensor[i].in_token_stride = p.tensor[0].in_token_stride;
      p.tensor[i].out_token_stride = p.tensor[0].out_token_stride;
    }
  }
};
const RegisteredKernel strides_of_first =
    on_table<StridesOfFirstTensor>("mutant_strides_of_first_tensor_table");

// Rounds one of the two outputs to bf16, like a kernel with one narrow path. Seen by quarter_turn
// and agreement.
struct OneOutputInBf16 : Correct {
  void rotate(const Pair& x) override {
    Correct::rotate(x);
    x.out[x.at.second] = to_bf16(x.out[x.at.second]);
  }
};
const RegisteredKernel one_output_in_bf16 =
    on_table<OneOutputInBf16>("mutant_one_output_in_bf16_table");

// Uses the head's index in the arithmetic, like a slope of ALiBi. Seen by order and agreement.
struct SlopeOfHead : Correct {
  std::int64_t head = -1;
  const float* last = nullptr;
  void rotate(const Pair& x) override {
    if (x.i == 0) head = last != nullptr && x.in > last ? head + 1 : 0;
    last = x.in;
    Pair sloped = x;
    sloped.scale *= 1 + 0x1p-20f * static_cast<float>(head);
    Correct::rotate(sloped);
  }
};
const RegisteredKernel slope_of_head = on_table<SlopeOfHead>("mutant_slope_of_head_table");

// A block of eight tokens has a loop of its own, which ignores the scale. Seen by agreement and
// attention_scale.
struct BlockWithoutScale : Correct {
  void see(rope_problem& p, rope_operands&) override {
    if (p.tokens >= 8) p.attention_scale = 0;
  }
};
const RegisteredKernel block_without_scale =
    on_table<BlockWithoutScale>("mutant_block_without_scale_table");

// Computes all frequencies from the ratio of the first two. Seen by agreement.
struct RatioOfFirstTwo : Correct {
  double frequency(const rope_problem& p, std::int64_t i) override {
    if (i < 2) return p.inv_freq[i];
    return p.inv_freq[0] * std::pow(p.inv_freq[1] / p.inv_freq[0], static_cast<double>(i));
  }
};
const RegisteredKernel ratio_of_first_two =
    on_angles<RatioOfFirstTwo>("mutant_ratio_of_first_two_exact");

// Multiplies unrotated elements by 1 and adds 0, so -0 becomes +0. Seen by untouched_dims only.
struct UntouchedPlusZero : Correct {
  void finish(const rope_problem& p, const rope_operands& o) override {
    for_each_token(p, o, [&](const Token& token) {
      for (std::uint32_t i = 0; i < p.tensor_count; ++i) {
        const rope_tensor& s = p.tensor[i];
        for (std::int64_t h = 0; h < s.heads; ++h) {
          float* row = out_row(p, o, i, token.batch, token.index, h);
          const std::int64_t end = s.rotate != 0 ? s.rotary_offset + p.rotary_dim : 0;
          for (std::int64_t e = end; e < s.head_dim; ++e)
            if (row[e] == 0) row[e] = 0;
        }
      }
    });
  }
};
const RegisteredKernel untouched_plus_zero =
    on_table<UntouchedPlusZero>("mutant_untouched_plus_zero_table");

// Turns every tensor after the first the other way, out of place: keys by the conjugate of the
// table that turns the queries. For a pair, x conj(r) is x^2 conj(y) / |x|^2 of the right y = x r.
// norm and transpose hold. Seen by agreement, relative_position, attention, linear_attention.
struct KeysTurnedBack : Correct {
  void finish(const rope_problem& p, const rope_operands& o) override {
    for_each_token(p, o, [&](const Token& token) {
      for (std::uint32_t i = 1; i < p.tensor_count; ++i)
        for (std::int64_t h = 0; h < p.tensor[i].heads; ++h)
          if (p.tensor[i].rotate != 0 && p.tensor[i].in_place == 0)
            turn_back(p, in_row(p, o, i, token.batch, token.index, h) + p.tensor[i].rotary_offset,
                      out_row(p, o, i, token.batch, token.index, h) + p.tensor[i].rotary_offset);
    });
  }
  static void turn_back(const rope_problem& p, const float* in, float* out) {
    for (std::int64_t i = 0; i < p.rotary_dim / 2; ++i) {
      const PairIndex at = pair_index(p.pairing, i, p.rotary_dim / 2);
      const std::complex<double> x(in[at.first], in[at.second]), y(out[at.first], out[at.second]);
      if (std::norm(x) == 0) continue;
      const std::complex<double> back = x * x * std::conj(y) / std::norm(x);
      out[at.first] = static_cast<float>(back.real());
      out[at.second] = static_cast<float>(back.imag());
    }
  }
};
const RegisteredKernel keys_turned_back = on_table<KeysTurnedBack>("mutant_keys_turned_back_table");

}  // namespace
}  // namespace ropewalk::mutants
