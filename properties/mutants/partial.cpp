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
    for_each_tensor(p, [](rope_tensor& s) { s.rotary_offset = 0; });
    widen(p, whole >= p.rotary_dim && all_fit(p, whole) ? whole : p.rotary_dim);
  }
};
const RegisteredKernel whole_head_table = on_table<WholeHead>("mutant_whole_head_table");
const RegisteredKernel whole_head_exact = on_angles<WholeHead>("mutant_whole_head_exact");

// Rounds rotary_dim up to a power of two without a mask: sglang #35096. Seen by untouched_dims and
// agreement.
struct PowerOfTwo : Widened {
  void see(rope_problem& p, rope_operands&) override {
    const auto rounded =
        static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(p.rotary_dim)));
    widen(p, all_fit(p, rounded) ? rounded : p.rotary_dim);
  }
};
const RegisteredKernel power_of_two_table = on_table<PowerOfTwo>("mutant_power_of_two_table");
const RegisteredKernel power_of_two_exact = on_angles<PowerOfTwo>("mutant_power_of_two_exact");

// Assumes that the window begins at 0. Seen by untouched_dims and agreement.
struct WindowAtZero : Correct {
  void see(rope_problem& p, rope_operands&) override {
    for_each_tensor(p, [](rope_tensor& s) { s.rotary_offset = 0; });
  }
};
const RegisteredKernel window_at_zero = on_table<WindowAtZero>("mutant_window_at_zero_table");

// Frequencies theta^(-2i/head_dim) for a smaller rotary_dim: pie PR 603. Seen by agreement and
// decay with partial rotary.
struct FrequenciesOfHeadDim : Correct {
  double frequency(const rope_problem& p, std::int64_t i) override {
    return std::pow(p.inv_freq[i],
                    static_cast<double>(p.rotary_dim) / static_cast<double>(p.tensor[0].head_dim));
  }
};
const RegisteredKernel frequencies_of_head_dim =
    on_angles<FrequenciesOfHeadDim>("mutant_frequencies_of_head_dim_exact");

// Writes only the window, which is right in place: several projects. Seen by unwritten_outputs and
// untouched_dims.
struct UntouchedNeverWritten : Correct {
  void see(rope_problem& p, rope_operands& o) override {
    for (std::uint32_t i = 0; i < p.tensor_count; ++i) {
      rope_tensor& s = p.tensor[i];
      if (s.rotate == 0) continue;
      o.tensor[i].in = static_cast<const float*>(o.tensor[i].in) + s.rotary_offset;
      o.tensor[i].out = static_cast<float*>(o.tensor[i].out) + s.rotary_offset;
      s.rotary_offset = 0;
      s.head_dim = p.rotary_dim;
    }
  }
};
const RegisteredKernel untouched_never_written =
    on_table<UntouchedNeverWritten>("mutant_untouched_never_written_table");

// Rotates a tensor that should only be copied. Seen by untouched_dims.
struct RotatesAllTensors : Correct {
  void see(rope_problem& p, rope_operands& o) override {
    for (std::uint32_t i = 1; i < p.tensor_count; ++i)
      if (rope_tensor& s = p.tensor[i]; s.rotate == 0 && s.head_dim >= p.rotary_dim) {
        s.rotate = 1;
        s.rotary_offset = 0;
        o.tensor[i].cos = o.tensor[0].cos;
        o.tensor[i].sin = o.tensor[0].sin;
      }
  }
};
const RegisteredKernel rotates_all_tensors_table =
    on_table<RotatesAllTensors>("mutant_rotates_all_tensors_table");
const RegisteredKernel rotates_all_tensors_exact =
    on_angles<RotatesAllTensors>("mutant_rotates_all_tensors_exact");

// In place, a store of two elements at the end of a head also writes the lone dim behind the
// window, with what was read of the next head. Seen by sizes.
struct OneDimBehind : Correct {
  void finish(const rope_problem& p, const rope_operands& o) override {
    const rope_tensor& s = p.tensor[0];
    if (s.rotate == 0 || s.in_place == 0 || s.heads < 2 || s.head_dim != p.rotary_dim + 1) return;
    if (s.rotary_offset == 0)
      out_row(p, o, 0, 0, 0, 0)[p.rotary_dim] = out_row(p, o, 0, 0, 0, 1)[p.rotary_dim];
  }
};
const RegisteredKernel one_dim_behind = on_angles<OneDimBehind>("mutant_one_dim_behind_exact");

// Copies unrotated elements through a buffer of 512. Seen by sizes.
struct CopiesAtMost512 : Correct {
  void finish(const rope_problem& p, const rope_operands& o) override {
    for_each_token(p, o, [&](const Token& token) {
      for (std::uint32_t i = 0; i < p.tensor_count; ++i) {
        const rope_tensor& s = p.tensor[i];
        if (s.rotate == 0 || s.in_place != 0) continue;
        for (std::int64_t h = 0; h < s.heads; ++h) {
          float* row = out_row(p, o, i, token.batch, token.index, h);
          for (std::int64_t e = 512; e < s.rotary_offset; ++e) row[e] = 0;
          for (std::int64_t e = s.rotary_offset + p.rotary_dim + 512; e < s.head_dim; ++e)
            row[e] = 0;
        }
      }
    });
  }
};
const RegisteredKernel copies_at_most_512 =
    on_table<CopiesAtMost512>("mutant_copies_at_most_512_table");

}  // namespace
}  // namespace ropewalk::mutants
