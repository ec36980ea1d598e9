// Errors in the place of rows: strides, heads, batch rows, tensors.
#include <algorithm>
#include <utility>

#include "properties/mutants/planted.h"

namespace ropewalk::mutants {
namespace {

// A decode step rotates only the first row of the batch: MLX #3494, #3496, #3795, #3949. Seen by
// unwritten_outputs and agreement.
struct DecodeOfFirstRow : Correct {
  void see(rope_problem& p, rope_operands&) override {
    if (p.tokens == 1) p.batch = 1;
  }
};
const RegisteredKernel decode_of_first_row =
    on_table<DecodeOfFirstRow>("mutant_decode_of_first_row_table");

// Takes heads for contiguous: vLLM #16658, llama.cpp #14582 and PR 19296. Seen by agreement, or by
// any property through a stray write.
struct HeadsTakenAsDense : Correct {
  void see(rope_problem& p, rope_operands&) override {
    for_each_tensor(p, [](rope_tensor& s) { s.in_head_stride = s.out_head_stride = s.head_dim; });
  }
};
const RegisteredKernel heads_taken_as_dense =
    on_table<HeadsTakenAsDense>("mutant_heads_taken_as_dense_table");

// Lays the outputs out like the inputs. Seen by unwritten_outputs, or by any property through a
// stray write.
struct OutputsLikeInputs : Correct {
  void see(rope_problem& p, rope_operands&) override {
    for_each_tensor(p, [](rope_tensor& s) {
      s.out_batch_stride = s.in_batch_stride;
      s.out_token_stride = s.in_token_stride;
      s.out_head_stride = s.in_head_stride;
    });
  }
};
const RegisteredKernel outputs_like_inputs =
    on_table<OutputsLikeInputs>("mutant_outputs_like_inputs_table");

// Flattens batch and tokens to rows and reads their pitch from the token axis, but for one token
// that stride means nothing. Released Triton wrappers do this on [batch, heads, 1, head_dim]. Seen
// by agreement and unwritten_outputs, or by any property through a crash or a stray write.
struct PitchOfOneToken : Correct {
  void see(rope_problem& p, rope_operands&) override {
    if (p.tokens > 1) return;
    for_each_tensor(p, [](rope_tensor& s) {
      s.in_batch_stride = s.in_token_stride;
      s.out_batch_stride = s.out_token_stride;
    });
  }
};
const RegisteredKernel pitch_of_one_token =
    on_table<PitchOfOneToken>("mutant_pitch_of_one_token_table");

// Leaves out the last of three heads, and is right for other numbers. Seen by unwritten_outputs and
// agreement.
struct LastOfThreeHeads : Correct {
  void see(rope_problem& p, rope_operands&) override {
    for_each_tensor(p, [](rope_tensor& s) { s.heads = s.heads == 3 ? 2 : s.heads; });
  }
};
const RegisteredKernel last_of_three_heads =
    on_table<LastOfThreeHeads>("mutant_last_of_three_heads_table");

// Assumes that no tensor has more heads than the first. Seen by unwritten_outputs and agreement.
struct HeadsOfFirstTensor : Correct {
  void see(rope_problem& p, rope_operands&) override {
    for_each_tensor(p, [&](rope_tensor& s) { s.heads = std::min(s.heads, p.tensor[0].heads); });
  }
};
const RegisteredKernel heads_of_first_tensor =
    on_table<HeadsOfFirstTensor>("mutant_heads_of_first_tensor_table");

// Handles only Q and K, and leaves a third tensor, such as V, alone. Seen by unwritten_outputs and
// untouched_dims.
struct TwoTensorsOnly : Correct {
  void see(rope_problem& p, rope_operands&) override {
    p.tensor_count = std::min<std::uint32_t>(p.tensor_count, 2);
  }
};
const RegisteredKernel two_tensors_only = on_table<TwoTensorsOnly>("mutant_two_tensors_only_table");

// Recognizes [batch, heads, tokens, head_dim] by its token stride and takes it for packed, but a
// cache of keys has room for more tokens. Seen by agreement, or by any property through a stray
// write.
struct HeadMajorIsPacked : Correct {
  void see(rope_problem& p, rope_operands&) override {
    for_each_tensor(p, [&](rope_tensor& s) {
      if (p.tokens == 1 || s.heads == 1) return;
      if (s.in_token_stride == s.head_dim) s.in_head_stride = p.tokens * s.head_dim;
      if (s.out_token_stride == s.head_dim) s.out_head_stride = p.tokens * s.head_dim;
    });
  }
};
const RegisteredKernel head_major_is_packed =
    on_table<HeadMajorIsPacked>("mutant_head_major_is_packed_table");

// Handles Q, K and V, but turns a fourth tensor always forward.
struct FourthIsForward : Correct {
  void finish(const rope_problem& p, const rope_operands& o) override {
    if (p.tensor_count < 4 || p.tensor[3].rotate == 0 || p.operation == ROPE_FORWARD) return;
    if (p.tensor[3].in_place != 0) return;
    rope_problem fourth = p;
    rope_operands its = o;
    fourth.operation = ROPE_FORWARD;
    for (std::uint32_t i = 0; i < 3; ++i) fourth.tensor[i].heads = 0;
    run(*this, fourth, its);
  }
};
const RegisteredKernel fourth_is_forward = on_table<FourthIsForward>("mutant_fourth_forward_table");

// Where the heads of a fourth tensor share one input, reads the first batch row for all.
struct FourthOfSharedHeads : Correct {
  void see(rope_problem& p, rope_operands&) override {
    if (p.tensor_count < 4) return;
    rope_tensor& s = p.tensor[3];
    if (s.rotate != 0 && s.heads > 1 && s.in_head_stride == 0) s.in_batch_stride = 0;
  }
};
const RegisteredKernel fourth_of_shared_heads =
    on_table<FourthOfSharedHeads>("mutant_fourth_of_shared_heads_table");

// Takes an output close behind the input of another tensor for an input in place, and leaves out
// what lies beside the window. Seen by shared_inputs.
struct BehindOtherIsInPlace : Correct {
  void see(rope_problem& p, rope_operands& o) override {
    for (std::uint32_t i = 0; i < 2 && p.tensor_count == 2; ++i) {
      rope_tensor& s = p.tensor[i];
      const auto away = out_row(p, o, i, 0, 0, 0) - in_row(p, o, 1 - i, 0, 0, 0);
      if (s.rotate == 0 || s.in_place != 0 || away < 0 || away > 1024) continue;
      o.tensor[i].in = in_row(p, o, i, 0, 0, 0) + s.rotary_offset;
      o.tensor[i].out = out_row(p, o, i, 0, 0, 0) + std::exchange(s.rotary_offset, 0);
      s.head_dim = p.rotary_dim;
    }
  }
};
const RegisteredKernel behind_other_is_in_place =
    on_table<BehindOtherIsInPlace>("mutant_behind_other_is_in_place_table");

}  // namespace
}  // namespace ropewalk::mutants
