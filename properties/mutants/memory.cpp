// Errors in which memory is read and written, and when.
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
struct StoredTooEarly : Correct {
  void rotate(const Pair& x) override {
    x.out[x.at.first] = x.scale * (x.in[x.at.first] * x.cos1 - x.in[x.at.second] * x.sin1);
    x.out[x.at.second] = x.scale * (x.in[x.at.second] * x.cos2 + x.in[x.at.first] * x.sin2);
  }
};
const RegisteredKernel stored_too_early_table =
    on_table<StoredTooEarly>("mutant_stored_too_early_table");
const RegisteredKernel stored_too_early_exact =
    on_angles<StoredTooEarly>("mutant_stored_too_early_exact");

// Takes one tensor in place for all in place. A call that mixes both reads its input from an
// output. Seen by agreement and norm.
struct AllInPlaceOrNone : Correct {
  void see(rope_problem& p, rope_operands& o) override {
    for (std::uint32_t i = 1; i < p.tensor_count && p.tensor[0].in_place != 0; ++i)
      read_from_output(p, o, i);
  }
};
const RegisteredKernel all_in_place_or_none =
    on_table<AllInPlaceOrNone>("mutant_all_in_place_or_none_table");

// A vector loop of 8 pairs without a tail: ONNX Runtime PR 26389 and 26390. Seen by
// unwritten_outputs, and by agreement in place.
struct NoTail : Correct {
  bool leaves_out(const rope_problem& p, std::int64_t i) override {
    return i >= p.rotary_dim / 2 / 8 * 8;
  }
};
const RegisteredKernel no_tail_table = on_table<NoTail>("mutant_no_tail_table");
const RegisteredKernel no_tail_exact = on_angles<NoTail>("mutant_no_tail_exact");

// Forgets one element, out of place only. Seen by unwritten_outputs, whatever the memory held
// before.
struct OneElementForgotten : Correct {
  float before = 0;
  static float* forgotten(const rope_problem& p, const rope_operands& o) {
    const rope_tensor& s = p.tensor[p.tensor_count - 1];
    return s.in_place != 0
               ? nullptr
               : out_row(p, o, p.tensor_count - 1, p.batch - 1, p.tokens - 1, s.heads - 1);
  }
  void see(rope_problem& p, rope_operands& o) override {
    if (const float* at = forgotten(p, o)) before = *at;
  }
  void finish(const rope_problem& p, const rope_operands& o) override {
    if (float* at = forgotten(p, o)) *at = before;
  }
};
const RegisteredKernel one_element_forgotten =
    on_table<OneElementForgotten>("mutant_one_element_forgotten_table");

// An unmasked load reads one element behind the last row of the table: aiter PR 3078,
// sgl-kernel-xpu PR 202. Seen by every property, through the page behind the buffer.
struct ReadsPastTable : Correct {
  void finish(const rope_problem& p, const rope_operands& o) override {
    const std::int64_t row = p.table_rows > 1 ? (p.table_rows - 1) * p.table_row_stride : 0;
    touch(static_cast<const float*>(o.tensor[0].cos) + row + p.rotary_dim / 2);
  }
};
const RegisteredKernel reads_past_table = on_table<ReadsPastTable>("mutant_reads_past_table_table");

// The same error with the frequencies.
struct ReadsPastFrequencies : Correct {
  void finish(const rope_problem& p, const rope_operands&) override {
    touch(reinterpret_cast<const float*>(p.inv_freq + p.rotary_dim / 2));
  }
};
const RegisteredKernel reads_past_frequencies =
    on_angles<ReadsPastFrequencies>("mutant_reads_past_frequencies_exact");

// The same error with the last row of the input.
struct ReadsPastInput : Correct {
  void finish(const rope_problem& p, const rope_operands& o) override {
    const rope_tensor& s = p.tensor[0];
    touch(in_row(p, o, 0, p.batch - 1, p.tokens - 1, s.heads - 1) + s.head_dim);
  }
};
const RegisteredKernel reads_past_input = on_table<ReadsPastInput>("mutant_reads_past_input_table");

// Reads one element before the first row of the input. Seen by every property, through the page
// before the buffer.
struct ReadsBeforeInput : Correct {
  void finish(const rope_problem& p, const rope_operands& o) override {
    touch(in_row(p, o, 0, 0, 0, 0) - 1);
  }
};
const RegisteredKernel reads_before_input =
    on_table<ReadsBeforeInput>("mutant_reads_before_input_table");

// Writes one element behind the last row. Seen by every property, through the page behind the
// buffer or the poison around it.
struct WritesPastOutput : Correct {
  void finish(const rope_problem& p, const rope_operands& o) override {
    const rope_tensor& s = p.tensor[0];
    out_row(p, o, 0, p.batch - 1, p.tokens - 1, s.heads - 1)[s.head_dim] = 0;
  }
};
const RegisteredKernel writes_past_output =
    on_table<WritesPastOutput>("mutant_writes_past_output_table");

// A rounded-up store writes into the gap behind a head, inside the buffer. Seen by every property,
// through the poison between the rows.
struct WritesIntoGap : Correct {
  void finish(const rope_problem& p, const rope_operands& o) override {
    const rope_tensor& s = p.tensor[0];
    if (s.heads > 1 && s.out_head_stride > s.head_dim && s.out_token_stride > s.out_head_stride)
      out_row(p, o, 0, 0, 0, 0)[s.head_dim] = 0;
  }
};
const RegisteredKernel writes_into_gap = on_table<WritesIntoGap>("mutant_writes_into_gap_table");

// Uses as scratch an input that it must not overwrite. Seen by every property, because the input is
// read-only.
struct WritesInput : Correct {
  void finish(const rope_problem& p, const rope_operands& o) override {
    if (p.tensor[0].in_place == 0) *const_cast<float*>(in_row(p, o, 0, 0, 0, 0)) = 0;
  }
};
const RegisteredKernel writes_input = on_table<WritesInput>("mutant_writes_input_table");

// Assumes a cleared workspace. Seen by every property, because the workspace begins as NaN.
struct WorkspaceTakenAsZero : Correct {
  float begins_as = 0;
  void see(rope_problem&, rope_operands& o) override {
    begins_as = *static_cast<const float*>(o.workspace);
  }
  float entry(float value) override { return value + begins_as; }
};
const RegisteredKernel workspace_taken_as_zero =
    on_angles<WorkspaceTakenAsZero>("mutant_workspace_taken_as_zero_exact");

// Keeps its first position in the workspace, marked, and counts on from there. Seen by every
// property that changes positions, because the second call's workspace holds what the first one
// left.
struct KeptInWorkspace : Correct {
  static constexpr std::int64_t mark = 0x5eed'0f'a'ca11;
  std::int64_t shift = 0;
  void see(rope_problem& p, rope_operands& o) override {
    auto* kept =
        reinterpret_cast<std::int64_t*>(static_cast<std::byte*>(o.workspace) + row_bytes(&p));
    bool is_first = true;
    std::int64_t first = 0;
    for_each_token(p, o, [&](const Token& token) {
      if (std::exchange(is_first, false)) first = token.position;
    });
    if (kept[0] != mark) {
      kept[0] = mark;
      kept[1] = first;
    }
    shift = kept[1] - first;
  }
  void locate(const rope_problem&, Token& token) override { token.position += shift; }
};
KernelInfo kept_in_workspace_info() {
  KernelInfo info = angles_info<KeptInWorkspace>("mutant_kept_in_workspace_exact");
  info.workspace_bytes = [](const rope_problem* p) {
    return row_bytes(p) + 2 * sizeof(std::int64_t);
  };
  return info;
}
const RegisteredKernel kept_in_workspace{kept_in_workspace_info()};

// Asks for a workspace that is one float too small. Seen by every property at a rotary_dim that is
// a multiple of 16, through the page behind it (its begin is aligned to 64 bytes).
struct WorkspaceTooSmall : Correct {
  void see(rope_problem& p, rope_operands& o) override {
    static_cast<float*>(o.workspace)[p.rotary_dim] = 0;
  }
};
const RegisteredKernel workspace_too_small =
    on_angles<WorkspaceTooSmall>("mutant_workspace_too_small_exact");

// Flushes to zero without declaring it, like -ffast-math in a constructor. Seen by agreement on
// tiny values.
struct FlushesSubnormals : Correct {
  static float flushed(float v) { return v > -0x1p-126f && v < 0x1p-126f ? 0 : v; }
  void rotate(const Pair& x) override {
    Correct::rotate(x);
    x.out[x.at.first] = flushed(x.out[x.at.first]);
    x.out[x.at.second] = flushed(x.out[x.at.second]);
  }
};
const RegisteredKernel flushes_subnormals =
    on_table<FlushesSubnormals>("mutant_flushes_subnormals_table");

// Leaves a pair whose output holds a number: it takes it for done. Seen by agreement where outputs
// hold numbers before the call.
struct LeavesNumbers : Correct {
  void rotate(const Pair& x) override {
    const bool is_done =
        x.in != x.out && std::isfinite(x.out[x.at.first]) && std::isfinite(x.out[x.at.second]);
    if (!is_done) Correct::rotate(x);
  }
};
const RegisteredKernel leaves_numbers = on_table<LeavesNumbers>("mutant_leaves_numbers_table");

// Scales by the larger of a row's last element and what lies behind it, to the end of a vector.
// `fmax` ignores NaN. Seen by agreement where a number is in the gap.
struct LargestOfRowAndGap : Correct {
  void finish(const rope_problem& p, const rope_operands& o) override {
    const rope_tensor& s = p.tensor[0];
    const bool has_gap = s.in_head_stride > s.head_dim && s.in_head_stride < 2 * s.head_dim;
    if (!has_gap || s.heads == 1 || p.tokens == 1 || s.in_token_stride <= s.in_head_stride) return;
    for_each_token(p, o, [&](const Token& token) {
      const float behind = in_row(p, o, 0, token.batch, token.index, 0)[s.head_dim];
      float& last = out_row(p, o, 0, token.batch, token.index, 0)[s.head_dim - 1];
      if (std::fabs(last) < std::fabs(behind)) last *= last / behind;
    });
  }
};
const RegisteredKernel largest_of_row_and_gap =
    on_table<LargestOfRowAndGap>("mutant_largest_of_row_and_gap_table");

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
const RegisteredKernel larger_behind_table_row =
    on_table<LargerBehindTableRow>("mutant_larger_behind_table_row_table");

}  // namespace
}  // namespace ropewalk::mutants
