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
const auto bf16 = planted<Locates>("mutant_position_in_bf16_exact", [](auto& p, Token& token) {
  token.position = static_cast<std::int64_t>(to_bf16(static_cast<float>(token.position)));
  if (p.angle_source == ROPE_ANGLES_TABLE)
    token.table_row = std::min(
        static_cast<std::int64_t>(to_bf16(static_cast<float>(token.table_row))), p.table_rows - 1);
});

// A cache of 4096 rows. Its last row serves all later positions: pegainfer #220. Seen by
// agreement and position_sweep, and by relative_position and decay at large positions.
const auto clamp_position = [](auto&, Token& token) {
  token.position = std::min<std::int64_t>(token.position, 4095);
  token.table_row = std::min<std::int64_t>(token.table_row, 4095);
};
const auto clamped_table = planted<Locates>("mutant_position_clamped_table", clamp_position);
const auto clamped_exact = planted<Locates>("mutant_position_clamped_exact", clamp_position);

// A decode step takes position 0: executorch PR 2010, mlx-vlm #1983.
const auto at_zero = planted<Locates>("mutant_decode_at_zero_exact", [](auto& p, Token& token) {
  if (p.tokens > 1) return;
  token.position = 0;
  if (by_position(p)) token.table_row = 0;
});

// Every batch row takes row 0's angles. Released Triton wrappers do this: they flatten the angles
// and cut them to the first row.
struct RowZeroForAll : Correct {
  void see(rope_problem& p, rope_operands&) override { p.position_batch_stride = 0; }
  void locate(const rope_problem& p, Token& token) override {
    if (!by_position(p)) token.table_row = token.index;
  }
};
const auto for_all = planted<RowZeroForAll>("mutant_row_zero_for_all_table");

// Takes positions for contiguous, and so reads past a row of positions that the batch shares. Seen
// by agreement, or by any property through a crash.
const auto dense = planted<Sees>("mutant_positions_taken_as_dense_exact",
                                 [](auto& p, auto&) { p.position_batch_stride = p.tokens; });

// The same where the tokens of a row lie side by side: positions in a slice of longer rows.
const auto is_dense = planted<Sees>("mutant_side_by_side_is_dense_table", [](auto& p, auto&) {
  if (p.tokens > 1 && p.position_token_stride == 1 && p.position_batch_stride != 0)
    p.position_batch_stride = p.tokens;
});

// The same for a column of a wider array, as in positions [tokens, 3] of a multimodal model. A
// stride of 0 is respected.
const auto one = planted<Sees>("mutant_position_stride_is_one_exact", [](auto& p, auto&) {
  p.position_token_stride = std::min<std::int64_t>(p.position_token_stride, 1);
});

// Reads 64-bit positions as 32-bit ones: every second one is 0 on a little-endian machine.
const auto narrow = planted<Sees>("mutant_wide_positions_read_narrow_exact",
                                  [](auto& p, auto&) { p.position_dtype = ROPE_I32; });

// Drops the sign of negative positions (relative attention, left padding).
const auto sign = planted<Locates>("mutant_positions_without_sign_exact", [](auto&, Token& token) {
  token.position = std::max(token.position, -token.position);
});

// Takes the rows of a padded table for contiguous. Seen by agreement, and by norm, since the gap is
// no rotation.
const auto as_dense = planted<Sees>("mutant_table_taken_as_dense_table",
                                    [](auto& p, auto&) { p.table_row_stride = p.rotary_dim / 2; });

// Turns K by Q's table. Seen by agreement, if the two tables differ.
const auto table_for_all = planted<Sees>("mutant_one_table_for_all_table", [](auto& p, auto& o) {
  for (std::uint32_t i = 1; i < p.tensor_count; ++i) {
    o.tensor[i].cos = o.tensor[0].cos;
    o.tensor[i].sin = o.tensor[0].sin;
  }
});

// An error of 1e-6 at one element of one position, which a spot check misses. Only position_sweep
// surely looks there.
const auto one_off = [](auto& p, auto& o) {
  for_each_token(p, o, [&](const Token& token) {
    const rope_tensor& q = p.tensor[0];
    if (token.position == 70'001 && q.rotate != 0)
      out_row(p, o, 0, token.batch, token.index, 0)[q.rotary_offset] += 1e-6f;
  });
};
const auto one_off_table = planted<Finishes>("mutant_one_position_off_table", one_off);
const auto one_off_exact = planted<Finishes>("mutant_one_position_off_exact", one_off);

// A hook that gives a token the position of another token. The positions of a call are kept in
// memory that exists already, as an allocation would be found instead of the error; NULL if the
// call gives none.
struct MistakenPosition : Correct {
  const std::int64_t* positions = nullptr;
  void see(rope_problem& p, rope_operands& o) override {
    static std::int64_t kept[1 << 17];
    std::size_t count = 0;
    if (o.positions == nullptr || p.batch * p.tokens > std::ssize(kept)) return;
    for_each_token(p, o, [&](const Token& token) { kept[count++] = token.position; });
    positions = kept;
  }
  void take(const rope_problem& p, Token& token, std::int64_t batch, std::int64_t index) const {
    if (positions == nullptr) return;
    token.position = positions[batch * p.tokens + index];
    if (p.table_rows_by == ROPE_ROW_BY_POSITION) token.table_row = token.position;
  }
};

// Takes positions for ordered if their number fits the range from the least to the largest.
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
const auto ends = planted<RunByItsEnds>("mutant_run_by_its_ends_exact");

// Assumes that the first token has the least position.
const auto least = planted<Locates>("mutant_first_is_least_exact", [](auto& p, Token& token) {
  if (token.batch == 0 && token.index == 0) token.position = p.min_position;
});

// In a batch of long prompts, takes the tokens from 1025 on from row 0.
struct LongPromptOfFirstRow : MistakenPosition {
  void locate(const rope_problem& p, Token& token) override {
    if (token.index > 1024) take(p, token, 0, token.index);
  }
};
const auto row = planted<LongPromptOfFirstRow>("mutant_long_prompt_of_first_row_table");

// Reads the positions of batch rows past 65,535 by an index of 16 bits.
struct RowsIn16Bits : MistakenPosition {
  void locate(const rope_problem& p, Token& token) override {
    if (token.batch > 0xffff) take(p, token, token.batch & 0xffff, token.index);
  }
};
const auto bits = planted<RowsIn16Bits>("mutant_rows_in_16_bits_table");

// Keeps the positions of ten blocks of 1,024 tokens, and in place begins again behind them.
struct TenBlocksInPlace : MistakenPosition {
  void locate(const rope_problem& p, Token& token) override {
    constexpr std::int64_t kept = 10'240;
    if (p.tensor[0].in_place != 0 && token.index >= kept)
      take(p, token, token.batch, token.index - kept);
  }
};
const auto place = planted<TenBlocksInPlace>("mutant_ten_blocks_in_place_table");

// Takes the one position of a call, which all rows and tokens share, for that of the first row, and
// counts on from it.
const auto one_position =
    planted<Locates>("mutant_counts_from_one_position_exact", [](auto& p, Token& token) {
      if (p.batch > 1 && p.tokens > 1 && p.position_batch_stride == 0 &&
          p.position_token_stride == 0)
        token.position += token.batch;
    });

// Takes rows of a batch for equal if their first, middle and last positions are.
const auto three = planted<Sees>("mutant_rows_alike_by_three_table", [](auto& p, auto& o) {
  if (p.batch < 2 || o.positions == nullptr || p.table_rows_by == ROPE_ROW_BY_TOKEN) return;
  const auto at = [&](auto b, auto t) { return token_at(p, o, b, t).position; };
  for (std::int64_t b = 1; b < p.batch; ++b)
    for (const std::int64_t t : {std::int64_t{0}, p.tokens / 2, p.tokens - 1})
      if (at(b, t) != at(0, t)) return;
  p.position_batch_stride = 0;
});

}  // namespace
}  // namespace ropewalk::mutants
