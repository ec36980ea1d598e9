// Errors in the place of rows: strides, heads, batch rows, tensors.
#include <algorithm>
#include <utility>

#include "properties/mutants/planted.h"

namespace ropewalk::mutants {
namespace {

// A decode step rotates only the first row of the batch: MLX #3494, #3496, #3795, #3949. Seen by
// unwritten_outputs and agreement.
const auto row = planted<Sees>("mutant_decode_of_first_row_table", [](auto& p, auto&) {
  if (p.tokens == 1) p.batch = 1;
});

// Takes heads for contiguous: vLLM #16658, llama.cpp #14582 and PR 19296. Seen by agreement, or by
// any property through a stray write.
const auto dense = planted<SeesEach>(
    "mutant_heads_taken_as_dense_table",
    [](auto&, rope_tensor& s) { s.in_head_stride = s.out_head_stride = s.head_dim; });

// Flattens batch and tokens to rows and reads their pitch from the token axis, but for one token
// that stride means nothing. Released Triton wrappers do this on [batch, heads, 1, head_dim]. Seen
// by agreement and unwritten_outputs, or by any property through a crash or a stray write.
const auto pitch =
    planted<SeesEach>("mutant_pitch_of_one_token_table", [](auto& p, rope_tensor& s) {
      if (p.tokens > 1) return;
      s.in_batch_stride = s.in_token_stride;
      s.out_batch_stride = s.out_token_stride;
    });

// Leaves out the last of three heads, and is right for other numbers. Seen by unwritten_outputs and
// agreement.
const auto three_heads =
    planted<SeesEach>("mutant_last_of_three_heads_table",
                      [](auto&, rope_tensor& s) { s.heads = s.heads == 3 ? 2 : s.heads; });

// Assumes that no tensor has more heads than the first. Seen by unwritten_outputs and agreement.
const auto first_tensor = planted<SeesEach>(
    "mutant_heads_of_first_tensor_table",
    [](auto& p, rope_tensor& s) { s.heads = std::min(s.heads, p.tensor[0].heads); });

// Handles only Q and K, and leaves a third tensor, such as V, alone. Seen by unwritten_outputs and
// untouched_dims.
const auto only = planted<Sees>("mutant_two_tensors_only_table", [](auto& p, auto&) {
  p.tensor_count = std::min<std::uint32_t>(p.tensor_count, 2);
});

// Where the heads of a fourth tensor share one input, reads the first batch row for all.
const auto shared_heads = planted<Sees>("mutant_fourth_of_shared_heads_table", [](auto& p, auto&) {
  if (p.tensor_count < 4) return;
  rope_tensor& s = p.tensor[3];
  if (s.rotate != 0 && s.heads > 1 && s.in_head_stride == 0) s.in_batch_stride = 0;
});

// Takes an output close behind the input of another tensor for an input in place, and leaves out
// what lies beside the window. Seen by shared_inputs.
const auto place = planted<Sees>("mutant_behind_other_is_in_place_table", [](auto& p, auto& o) {
  for (std::uint32_t i = 0; i < 2 && p.tensor_count == 2; ++i) {
    rope_tensor& s = p.tensor[i];
    const auto away = out_row(p, o, i, 0, 0, 0) - in_row(p, o, 1 - i, 0, 0, 0);
    if (s.rotate == 0 || s.in_place != 0 || away < 0 || away > 1024) continue;
    o.tensor[i].in = in_row(p, o, i, 0, 0, 0) + s.rotary_offset;
    o.tensor[i].out = out_row(p, o, i, 0, 0, 0) + std::exchange(s.rotary_offset, 0);
    s.head_dim = p.rotary_dim;
  }
});

}  // namespace
}  // namespace ropewalk::mutants
