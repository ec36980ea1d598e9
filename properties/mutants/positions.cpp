// Errors in which position, or which row of the table, a token gets.
#include <algorithm>
#include <iterator>

#include "properties/mutants/planted.h"

namespace ropewalk::mutants {
namespace {

bool by_position(const rope_problem& p) {
  return p.angle_source == ROPE_ANGLES_TABLE && p.table_rows_by == ROPE_ROW_BY_POSITION;
}

// Makes positions in bf16, where they fall together in blocks: candle PR 3520, diffusers PR 13922.
// Seen by agreement, position_sweep, relative_position, decay.
struct PositionInBf16 : Correct {
  void locate(const rope_problem& p, Token& token) override {
    token.position = static_cast<std::int64_t>(to_bf16(static_cast<float>(token.position)));
    if (p.angle_source == ROPE_ANGLES_TABLE)
      token.table_row =
          std::min(static_cast<std::int64_t>(to_bf16(static_cast<float>(token.table_row))),
                   p.table_rows - 1);
  }
};
const RegisteredKernel position_in_bf16_table =
    on_table<PositionInBf16>("mutant_position_in_bf16_table");
const RegisteredKernel position_in_bf16_exact =
    on_angles<PositionInBf16>("mutant_position_in_bf16_exact");

// A cache of 4096 rows. Its last row serves all later positions: pegainfer #220. Seen by
// agreement and position_sweep, and by relative_position and decay at large positions.
struct PositionClamped : Correct {
  void locate(const rope_problem&, Token& token) override {
    token.position = std::min<std::int64_t>(token.position, 4095);
    token.table_row = std::min<std::int64_t>(token.table_row, 4095);
  }
};
const RegisteredKernel position_clamped_table =
    on_table<PositionClamped>("mutant_position_clamped_table");
const RegisteredKernel position_clamped_exact =
    on_angles<PositionClamped>("mutant_position_clamped_exact");

// A decode step takes position 0: executorch PR 2010, mlx-vlm #1983. Seen by agreement.
struct DecodeAtZero : Correct {
  void locate(const rope_problem& p, Token& token) override {
    if (p.tokens > 1) return;
    token.position = 0;
    if (by_position(p)) token.table_row = 0;
  }
};
const RegisteredKernel decode_at_zero_table = on_table<DecodeAtZero>("mutant_decode_at_zero_table");
const RegisteredKernel decode_at_zero_exact =
    on_angles<DecodeAtZero>("mutant_decode_at_zero_exact");

// Every batch row takes row 0's angles. Released Triton wrappers do this: they flatten the angles
// and cut them to the first row. Seen by agreement.
struct RowZeroForAll : Correct {
  void see(rope_problem& p, rope_operands&) override { p.position_batch_stride = 0; }
  void locate(const rope_problem& p, Token& token) override {
    if (!by_position(p)) token.table_row = token.index;
  }
};
const RegisteredKernel row_zero_for_all_table =
    on_table<RowZeroForAll>("mutant_row_zero_for_all_table");
const RegisteredKernel row_zero_for_all_exact =
    on_angles<RowZeroForAll>("mutant_row_zero_for_all_exact");

// Takes positions for contiguous, and so reads past a row of positions that the batch shares. Seen
// by agreement, or by any property through a crash.
struct PositionsTakenAsDense : Correct {
  void see(rope_problem& p, rope_operands&) override { p.position_batch_stride = p.tokens; }
};
const RegisteredKernel positions_taken_as_dense_table =
    on_table<PositionsTakenAsDense>("mutant_positions_taken_as_dense_table");
const RegisteredKernel positions_taken_as_dense_exact =
    on_angles<PositionsTakenAsDense>("mutant_positions_taken_as_dense_exact");

// The same where the tokens of a row lie side by side: positions in a slice of longer rows. Seen by
// agreement.
struct SideBySideIsDense : Correct {
  void see(rope_problem& p, rope_operands&) override {
    if (p.tokens > 1 && p.position_token_stride == 1 && p.position_batch_stride != 0)
      p.position_batch_stride = p.tokens;
  }
};
const RegisteredKernel side_by_side_is_dense =
    on_table<SideBySideIsDense>("mutant_side_by_side_is_dense_table");

/// The positions of a call: [batch, tokens], packed, in memory that exists already. An allocation
/// would be found instead of the error. NULL if the call gives no positions.
std::int64_t* positions_of(const rope_problem& p, const rope_operands& o) {
  static std::int64_t positions[1 << 17];
  std::size_t count = 0;
  if (o.positions == nullptr || p.batch * p.tokens > std::ssize(positions)) return nullptr;
  for_each_token(p, o, [&](const Token& token) { positions[count++] = token.position; });
  return positions;
}

/// A hook that gives a token the position of another token.
struct MistakenPosition : Correct {
  const std::int64_t* positions = nullptr;
  void see(rope_problem& p, rope_operands& o) override { positions = positions_of(p, o); }
  void take(const rope_problem& p, Token& token, std::int64_t batch, std::int64_t index) const {
    if (positions == nullptr) return;
    token.position = positions[batch * p.tokens + index];
    if (p.table_rows_by == ROPE_ROW_BY_POSITION) token.table_row = token.position;
  }
};

// Decodes in blocks of 32 rows, and reads the positions of the first block for each. Seen by sizes.
struct PositionsOfFirstRows : MistakenPosition {
  void locate(const rope_problem& p, Token& token) override {
    if (p.tokens == 1) take(p, token, token.batch % 32, 0);
  }
};
const RegisteredKernel positions_of_first_rows =
    on_table<PositionsOfFirstRows>("mutant_positions_of_first_rows_table");

// Handles prompts in blocks of 128 tokens, and from the second block on ignores the batch row. Seen
// by sizes.
struct RowForgottenInBlocks : MistakenPosition {
  void locate(const rope_problem& p, Token& token) override {
    if (token.index >= 128) take(p, token, 0, token.index);
  }
};
const RegisteredKernel row_forgotten_in_blocks =
    on_table<RowForgottenInBlocks>("mutant_row_forgotten_in_blocks_table");

// Makes cos and sin of 64 tokens at a time, for Q and then for K, but K's blocks begin at 0 again.
// Seen by agreement and sizes.
std::int32_t apply_first_block_for_k(const rope_problem* p, const rope_operands* o, void*) {
  rope_problem problem = *p;
  rope_operands operands = *o;
  std::int64_t* const positions = positions_of(*p, *o);
  for (std::int64_t i = 0; positions != nullptr && i < p->batch * p->tokens; ++i) {
    const std::int64_t index = i % p->tokens;
    positions[i] = positions[i - index + index % 64];
  }
  problem.tensor_count = 1;
  apply<Correct>(&problem, &operands, nullptr);
  problem.tensor_count = p->tensor_count - 1;
  for (std::uint32_t i = 1; i < p->tensor_count; ++i) {
    problem.tensor[i - 1] = p->tensor[i];
    operands.tensor[i - 1] = o->tensor[i];
  }
  if (positions != nullptr) read_positions_from(problem, operands, positions);
  return problem.tensor_count == 0 ? ROPE_OK : apply<Correct>(&problem, &operands, nullptr);
}
const RegisteredKernel first_block_for_k{[] {
  KernelInfo info = table_info<Correct>("mutant_first_block_for_k_table");
  info.apply = apply_first_block_for_k;
  return info;
}()};

// The same for a column of a wider array, as in positions [tokens, 3] of a multimodal model. A
// stride of 0 is respected. Seen by agreement.
struct PositionStrideIsOne : Correct {
  void see(rope_problem& p, rope_operands&) override {
    p.position_token_stride = std::min<std::int64_t>(p.position_token_stride, 1);
  }
};
const RegisteredKernel position_stride_is_one_table =
    on_table<PositionStrideIsOne>("mutant_position_stride_is_one_table");
const RegisteredKernel position_stride_is_one_exact =
    on_angles<PositionStrideIsOne>("mutant_position_stride_is_one_exact");

// Reads 64-bit positions as 32-bit ones: every second one is 0 on a little-endian machine. Seen by
// agreement, relative_position, decay.
struct WidePositionsReadNarrow : Correct {
  void see(rope_problem& p, rope_operands&) override { p.position_dtype = ROPE_I32; }
};
const RegisteredKernel wide_positions_read_narrow_table =
    on_table<WidePositionsReadNarrow>("mutant_wide_positions_read_narrow_table");
const RegisteredKernel wide_positions_read_narrow_exact =
    on_angles<WidePositionsReadNarrow>("mutant_wide_positions_read_narrow_exact");

// Drops the sign of negative positions (relative attention, left padding). Seen by agreement,
// position_sweep, relative_position.
struct PositionsWithoutSign : Correct {
  void locate(const rope_problem&, Token& token) override {
    token.position = std::max(token.position, -token.position);
  }
};
const RegisteredKernel positions_without_sign =
    on_angles<PositionsWithoutSign>("mutant_positions_without_sign_exact");

// Takes the rows of a padded table for contiguous. Seen by agreement, and by norm, since the gap is
// no rotation.
struct TableTakenAsDense : Correct {
  void see(rope_problem& p, rope_operands&) override { p.table_row_stride = p.rotary_dim / 2; }
};
const RegisteredKernel table_taken_as_dense =
    on_table<TableTakenAsDense>("mutant_table_taken_as_dense_table");

// Turns K by Q's table. Seen by agreement, if the two tables differ.
struct OneTableForAll : Correct {
  void see(rope_problem& p, rope_operands& o) override {
    for (std::uint32_t i = 1; i < p.tensor_count; ++i) {
      o.tensor[i].cos = o.tensor[0].cos;
      o.tensor[i].sin = o.tensor[0].sin;
    }
  }
};
const RegisteredKernel one_table_for_all =
    on_table<OneTableForAll>("mutant_one_table_for_all_table");

// Never reads the table, but computes its own angles, which usually are the same. Seen by
// agreement, if Q and K have tables of their own or there are no positions.
struct TableIgnored : Correct {
  void see(rope_problem& p, rope_operands&) override { p.angle_source = ROPE_ANGLES_INV_FREQ; }
};
KernelInfo table_ignored_info() {
  KernelInfo info = table_info<TableIgnored>("mutant_table_ignored_table");
  info.workspace_bytes = row_bytes;
  return info;
}
const RegisteredKernel table_ignored{table_ignored_info()};

// An error of 1e-6 at one element of one position, which a spot check misses. Only position_sweep
// surely looks there.
struct OnePositionOff : Correct {
  void finish(const rope_problem& p, const rope_operands& o) override {
    for_each_token(p, o, [&](const Token& token) {
      const rope_tensor& q = p.tensor[0];
      if (token.position == 70'001 && q.rotate != 0)
        out_row(p, o, 0, token.batch, token.index, 0)[q.rotary_offset] += 1e-6f;
    });
  }
};
const RegisteredKernel one_position_off_table =
    on_table<OnePositionOff>("mutant_one_position_off_table");
const RegisteredKernel one_position_off_exact =
    on_angles<OnePositionOff>("mutant_one_position_off_exact");

// Takes positions for ordered if their number fits the range from the least to the largest. Seen by
// agreement.
struct RunByItsEnds : MistakenPosition {
  bool in_order = false;
  void see(rope_problem& p, rope_operands& o) override {
    MistakenPosition::see(p, o);
    in_order = positions != nullptr && p.batch == 1 && positions[0] == p.min_position &&
               p.max_position - p.min_position + 1 == p.tokens;
  }
  void locate(const rope_problem&, Token& token) override {
    if (in_order) token.position = positions[0] + token.index;
  }
};
const RegisteredKernel run_by_its_ends = on_angles<RunByItsEnds>("mutant_run_by_its_ends_exact");

// Assumes that the first token has the least position. Seen by agreement.
struct FirstIsLeast : Correct {
  void locate(const rope_problem& p, Token& token) override {
    if (token.batch == 0 && token.index == 0) token.position = p.min_position;
  }
};
const RegisteredKernel first_is_least = on_angles<FirstIsLeast>("mutant_first_is_least_exact");

// In a batch of long prompts, takes the tokens from 1025 on from row 0. Seen by sizes.
struct LongPromptOfFirstRow : MistakenPosition {
  void locate(const rope_problem& p, Token& token) override {
    if (token.index > 1024) take(p, token, 0, token.index);
  }
};
const RegisteredKernel long_prompt_of_first_row =
    on_table<LongPromptOfFirstRow>("mutant_long_prompt_of_first_row_table");

// Reads the positions of batch rows past 65,535 by an index of 16 bits. Seen by sizes.
struct RowsIn16Bits : MistakenPosition {
  void locate(const rope_problem& p, Token& token) override {
    if (token.batch > 0xffff) take(p, token, token.batch & 0xffff, token.index);
  }
};
const RegisteredKernel rows_in_16_bits = on_table<RowsIn16Bits>("mutant_rows_in_16_bits_table");

// Keeps the positions of ten blocks of 1,024 tokens, and in place begins again behind them. Seen by
// sizes.
struct TenBlocksInPlace : MistakenPosition {
  void locate(const rope_problem& p, Token& token) override {
    constexpr std::int64_t kept = 10'240;
    if (p.tensor[0].in_place != 0 && token.index >= kept)
      take(p, token, token.batch, token.index - kept);
  }
};
const RegisteredKernel ten_blocks = on_table<TenBlocksInPlace>("mutant_ten_blocks_in_place_table");

// Takes the one position of a call, which all rows and tokens share, for that of the first row, and
// counts on from it. Seen by agreement.
struct CountsFromOnePosition : Correct {
  void locate(const rope_problem& p, Token& token) override {
    if (p.batch > 1 && p.tokens > 1 && p.position_batch_stride == 0 && p.position_token_stride == 0)
      token.position += token.batch;
  }
};
const RegisteredKernel counts_from_one =
    on_angles<CountsFromOnePosition>("mutant_counts_from_one_position_exact");

// Takes a table that has more rows than a call needs for a packed one. Seen by agreement.
struct SpareRowsArePacked : Correct {
  void see(rope_problem& p, rope_operands&) override {
    if (p.table_rows_by == ROPE_ROW_BY_TOKEN && p.table_rows > p.batch * p.tokens)
      p.table_row_stride = p.rotary_dim / 2;
  }
};
const RegisteredKernel spare_rows_packed =
    on_table<SpareRowsArePacked>("mutant_spare_rows_are_packed_table");

// Takes rows of a batch for equal if their first, middle and last positions are. Seen by agreement.
struct RowsAlikeByThree : Correct {
  void see(rope_problem& p, rope_operands& o) override {
    if (p.batch < 2 || o.positions == nullptr || p.table_rows_by == ROPE_ROW_BY_TOKEN) return;
    const auto at = [&](std::int64_t b, std::int64_t t) {
      const std::int64_t i =
          b * p.position_batch_stride + (p.tokens > 1 ? t * p.position_token_stride : 0);
      return p.position_dtype == ROPE_I64 ? static_cast<const std::int64_t*>(o.positions)[i]
                                          : static_cast<const std::int32_t*>(o.positions)[i];
    };
    for (std::int64_t b = 1; b < p.batch; ++b)
      for (const std::int64_t t : {std::int64_t{0}, p.tokens / 2, p.tokens - 1})
        if (at(b, t) != at(0, t)) return;
    p.position_batch_stride = 0;
  }
};
const RegisteredKernel rows_alike_table =
    on_table<RowsAlikeByThree>("mutant_rows_alike_by_three_table");

}  // namespace
}  // namespace ropewalk::mutants
