// Errors in which memory is read and written, and when, and in the place of rows.
#include <algorithm>
#include <cmath>
#include <utility>

#include "properties/mutants/planted.h"

namespace ropewalk::mutants {
namespace {

void touch(const volatile float* at) {
  static_cast<void>(*at);
}

// Stores the first output before its input has made the second: FlagGems PR 5143, vLLM PR 635. It
// is right out of place. Seen in place by agreement, norm, transpose, relative_position.
const auto early = planted<Rotates>("mutant_stored_too_early_table", [](const Pair& x) {
  x.out[x.at.first] = x.scale * (x.in[x.at.first] * x.cos1 - x.in[x.at.second] * x.sin1);
  x.out[x.at.second] = x.scale * (x.in[x.at.second] * x.cos2 + x.in[x.at.first] * x.sin2);
});

// Takes one tensor in place for all in place. A call that mixes both reads its input from an
// output.
const auto none = planted<Sees>("mutant_all_in_place_or_none_table", [](auto& p, auto& o) {
  for (std::uint32_t i = 1; i < p.tensor_count && p.tensor[0].in_place != 0; ++i)
    read_from_output(p, o, i);
});

// A vector loop of 8 pairs without a tail: ONNX Runtime PR 26389 and 26390. Seen by
// unwritten_outputs, and by agreement in place.
struct NoTail : Correct {
  bool leaves_out(const rope_problem& p, std::int64_t i) override {
    return i >= p.rotary_dim / 2 / 8 * 8;
  }
};
const auto tail = planted<NoTail>("mutant_no_tail_table");

// An unmasked load reads one element behind the last row of the table: aiter PR 3078,
// sgl-kernel-xpu PR 202. Seen by every property, through the page behind the buffer.
const auto past_table = planted<Finishes>("mutant_reads_past_table_table", [](auto& p, auto& o) {
  const std::int64_t row = p.table_rows > 1 ? (p.table_rows - 1) * p.table_row_stride : 0;
  touch(static_cast<const float*>(o.tensor[0].cos) + row + p.rotary_dim / 2);
});

// The same error with the last row of the input.
const auto input = planted<Finishes>("mutant_reads_past_input_table", [](auto& p, auto& o) {
  const rope_tensor& s = p.tensor[0];
  touch(in_row(p, o, 0, p.batch - 1, p.tokens - 1, s.heads - 1) + s.head_dim);
});

// Writes one element behind the last row. Seen by every property, through the page behind the
// buffer or the poison around it.
const auto output = planted<Finishes>("mutant_writes_past_output_table", [](auto& p, auto& o) {
  const rope_tensor& s = p.tensor[0];
  out_row(p, o, 0, p.batch - 1, p.tokens - 1, s.heads - 1)[s.head_dim] = 0;
});

// A rounded-up store writes into the gap behind a head, inside the buffer. Seen by every property,
// through the poison between the rows.
const auto gap = planted<Finishes>("mutant_writes_into_gap_table", [](auto& p, auto& o) {
  const rope_tensor& s = p.tensor[0];
  if (s.heads > 1 && s.out_head_stride > s.head_dim && s.out_token_stride > s.out_head_stride)
    out_row(p, o, 0, 0, 0, 0)[s.head_dim] = 0;
});

// Uses as scratch an input that it must not overwrite. Seen by every property, because the input is
// read-only.
const auto writes_input = planted<Finishes>("mutant_writes_input_table", [](auto& p, auto& o) {
  if (p.tensor[0].in_place == 0) *const_cast<float*>(in_row(p, o, 0, 0, 0, 0)) = 0;
});

// Assumes a cleared workspace. Seen by every property, because the workspace begins as NaN.
struct WorkspaceTakenAsZero : Correct {
  float begins_as = 0;
  void see(rope_problem&, rope_operands& o) override {
    begins_as = *static_cast<const float*>(o.workspace);
  }
  float entry(float value) override { return value + begins_as; }
};
const auto as_zero = planted<WorkspaceTakenAsZero>("mutant_workspace_taken_as_zero_exact");

// Asks for a workspace that is one float too small. Seen by every property at a rotary_dim that is
// a multiple of 16, through the page behind it (its begin is aligned to 64 bytes).
const auto small = planted<Sees>("mutant_workspace_too_small_exact", [](auto& p, auto& o) {
  static_cast<float*>(o.workspace)[p.rotary_dim] = 0;
});

// Leaves a pair whose output holds a number: it takes it for done. Seen by agreement where outputs
// hold numbers before the call.
const auto numbers = planted<Rotates>("mutant_leaves_numbers_table", [](const Pair& x) {
  const bool is_done =
      x.in != x.out && std::isfinite(x.out[x.at.first]) && std::isfinite(x.out[x.at.second]);
  if (!is_done) Correct().rotate(x);
});

// Scales by the larger of a row's last element and what lies behind it, to the end of a vector.
// `fmax` ignores NaN. Seen by agreement where a number is in the gap.
const auto and_gap = planted<Finishes>("mutant_largest_of_row_and_gap_table", [](auto& p, auto& o) {
  const rope_tensor& s = p.tensor[0];
  const bool has_gap = s.in_head_stride > s.head_dim && s.in_head_stride < 2 * s.head_dim;
  if (!has_gap || s.heads == 1 || p.tokens == 1 || s.in_token_stride <= s.in_head_stride) return;
  for_each_token(p, o, [&](const Token& token) {
    const float behind = in_row(p, o, 0, token.batch, token.index, 0)[s.head_dim];
    float& last = out_row(p, o, 0, token.batch, token.index, 0)[s.head_dim - 1];
    if (std::fabs(last) < std::fabs(behind)) last *= last / behind;
  });
});

// Takes the larger of a row's last cos and what lies behind it in the table. Seen by agreement
// where a number lies there.
struct LargerBehindTableRow : Correct {
  const float *cos = nullptr, *behind = nullptr;
  void see(rope_problem&, rope_operands& o) override {
    cos = static_cast<const float*>(o.tensor[0].cos);
  }
  void locate(const rope_problem& p, Token& token) override {
    const std::int64_t half = p.rotary_dim / 2;
    const bool has_gap = p.table_row_stride > half && token.table_row + 1 < p.table_rows;
    behind = has_gap && cos ? cos + token.table_row * p.table_row_stride + half : nullptr;
    last = half - 1;
  }
  void rotate(const Pair& x) override {
    Pair larger = x;
    if (behind && x.i == last) larger.cos1 = larger.cos2 = std::fmax(x.cos1, *behind);
    Correct::rotate(larger);
  }
  std::int64_t last = 0;
};
const auto behind_table_row = planted<LargerBehindTableRow>("mutant_larger_behind_table_row_table");

// ---- the place of rows: strides, heads, batch rows, tensors

// A decode step rotates only the first row of the batch: MLX #3494, #3496, #3795, #3949.
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

// Leaves out the last of three heads, and is right for other numbers.
const auto three_heads =
    planted<SeesEach>("mutant_last_of_three_heads_table",
                      [](auto&, rope_tensor& s) { s.heads = s.heads == 3 ? 2 : s.heads; });

// Assumes that no tensor has more heads than the first.
const auto first_tensor = planted<SeesEach>(
    "mutant_heads_of_first_tensor_table",
    [](auto& p, rope_tensor& s) { s.heads = std::min(s.heads, p.tensor[0].heads); });

// Handles only Q and K, and leaves a third tensor, such as V, alone.
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
// what lies beside the window.
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
