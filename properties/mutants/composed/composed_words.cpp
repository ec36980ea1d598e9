// The words of the table: faults and refusals.
#include <algorithm>
#include <stdexcept>

#include "properties/mutants/composed/composed.h"

namespace ropewalk::mutants {
namespace {

template <class Words>
const auto& named(const Words& list, std::string_view word) {
  const auto found =
      std::find_if(list.begin(), list.end(), [&](const auto& each) { return each.word == word; });
  if (found == list.end()) throw std::logic_error("no such word: " + std::string(word));
  return *found;
}

const std::vector<FaultWords>& faults() {
  static const std::vector<FaultWords> list = {
      // ---- windows
      {"window_at_start", {"inner_window"}, "forgets the window's offset", "maxtext #4616"},
      {"front_not_copied",
       {"inner_window", "out_of_place"},
       "leaves the dims in front of the window unwritten",
       "several"},
      {"tail_not_copied",
       {"partial", "out_of_place"},
       "leaves the dims behind the window unwritten",
       "several"},
      {"tail_scaled", {"partial", "scaled"}, "scales the dims behind the window too", ""},
      {"tail_touched",
       {"partial", "ragged_pairs"},
       "stores a whole vector, so the first dim behind the window becomes 0",
       "sglang #35096"},
      // ---- layouts
      {"head_stride_packed", {"padded_in"}, "takes heads for packed", "vLLM #16658"},
      {"token_stride_packed", {"padded_in"}, "takes tokens for packed", "llama.cpp PR 19296"},
      {"batch_stride_packed",
       {"padded_in", "two_rows"},
       "takes batch rows for packed",
       "llama.cpp #14582"},
      {"out_like_in", {"padded_out"}, "lays the output out like the input", ""},
      {"in_like_out", {"padded_in"}, "reads the input by the strides of the output", ""},
      // ---- positions
      {"position_stride_ignored", {"strided_positions"}, "takes positions for packed", ""},
      {"positions_of_row_0",
       {"random_positions", "two_rows"},
       "gives every batch row the positions of row 0",
       "released Triton wrappers of 2026"},
      {"equal_steps_assumed",
       {"random_positions"},
       "makes positions from the first two of a row",
       ""},
      {"i64_as_i32", {"i64_positions"}, "reads 64-bit positions as 32-bit ones", "vLLM PR 43166"},
      {"i64_in_16_bits",
       {"i64_positions", "above_2_15"},
       "cuts 64-bit positions to 16 bits",
       "tokenspeed PR 748"},
      {"position_in_f32",
       {"above_2_24"},
       "carries positions in a float",
       "candle PR 3520, diffusers PR 13922"},
      {"negative_clamped",
       {"negative_positions"},
       "takes negative positions for 0",
       "pegainfer #220"},
      // ---- tables
      {"rows_by_position",
       {"by_token"},
       "takes the table row of the position, not of the token",
       ""},
      {"row_of_token_alone",
       {"by_token", "random_positions", "two_rows"},
       "takes the table row of the token in batch row 0",
       "released Triton wrappers of 2026"},
      {"first_table_for_all", {"own_tables"}, "takes the first tensor's table for all", ""},
      {"first_sin_for_all",
       {"own_sin"},
       "takes the first tensor's sin for tensors that share its cos",
       ""},
      {"table_stride_ignored", {"padded_table"}, "takes table rows for packed", "ORT PR 26389"},
      // ---- scale
      {"scale_ignored", {"scaled"}, "forgets the scale", ""},
      {"scale_twice", {"scaled"}, "scales twice", "vLLM #48351, sglang PR 33558, exllamav3 #259"},
      {"scale_positive", {"negative_scale"}, "takes the scale's absolute value", ""},
      {"scale_in_f16", {"long_scale"}, "rounds the scale to f16", ""},
      {"scale_taken_for_one", {"scale_near_one"}, "takes a scale within 1e-3 of 1 for 1", ""},
      // ---- operation and pairing
      {"always_forward",
       {"transposed"},
       "turns forward in the backward pass",
       "apex PR 1750, flash-attention PR 569"},
      {"backward_unscaled",
       {"transposed", "scaled"},
       "forgets the scale in the backward pass",
       "apex PR 1750, flash-attention PR 569"},
      {"pairs_adjacent", {"interleaved"}, "pairs halves where neighbours are asked", "vLLM #49290"},
      // ---- tensor sets and placement
      {"copied_rotated", {"copied"}, "rotates a tensor that is only copied", ""},
      {"copied_scaled", {"copied", "scaled"}, "scales a tensor that is only copied", ""},
      {"copied_left_out",
       {"copied", "out_of_place"},
       "never copies a tensor that is only copied",
       ""},
      {"heads_of_first", {"more_key_heads"}, "handles as many heads as the first tensor has", ""},
      {"read_after_write",
       {"in_place"},
       "reads the first element of a pair after it was written",
       "FlagGems PR 5143, vLLM PR 635"},
      {"placement_of_first",
       {"first_in_place"},
       "takes every tensor for in place, as the first one is",
       ""},
      // ---- data types
      {"type_of_first", {"mixed_types"}, "takes every tensor for one of the first one's type", ""},
      {"bytes_of_first",
       {"mixed_types"},
       "turns strides into bytes by the elements of the first tensor",
       ""},
      {"copied_in_first_type",
       {"copied_type"},
       "copies a tensor that is only copied as if it had the first one's type",
       ""},
      {"table_of_usual_type",
       {"table_type"},
       "reads cos and sin in the type in which it computes",
       ""},
      // ---- blocks
      {"last_rows_left",
       {"ragged_tokens"},
       "leaves the tokens behind the last block of 16",
       "ORT PR 26390"},
      {"last_pairs_left",
       {"ragged_pairs"},
       "leaves the pairs behind the last vector of 8",
       "ORT PR 26389"},
      // ---- data, earlier calls, threads
      {"overflows_between", {"edge_data"}, "computes with values 16 times as large", ""},
      {"subnormals_flushed",
       {"subnormal_data"},
       "reads subnormal numbers as 0",
       "AVX512-BF16 conversions"},
      {"zero_heads_left", {"zero_heads"}, "leaves the output of an all-zero head", ""},
      {"stale_position",
       {"others_before"},
       "keeps the first position by the address of the positions",
       "KernelBench and GPU MODE exploits"},
      {"stale_row",
       {"others_before", "by_token"},
       "keeps the first table entry by the table's address",
       "KernelBench and GPU MODE exploits"},
      {"scratch_shared",
       {"at_once"},
       "has one static scratch for all threads",
       "vLLM PR 48872, Megatron PR 5980"},
  };
  return list;
}

const std::vector<RefusalWords>& refusals() {
  constexpr std::uint32_t both = ROPE_IN_PLACE | ROPE_OUT_OF_PLACE;
  static const std::vector<RefusalWords> list = {
      {"odd_halves", "refuses rotary_dim that is no multiple of 4", both},
      {"other_windows", "accepts only the last 64 of 192 dims", both},
      {"part_blocks", "accepts one token, or a multiple of 64", both},
      {"other_heads", "accepts only Q of 32 heads with K of 8", both},
      {"long_prompts", "refuses more than 64 tokens", both},
      {"other_models", "accepts one model: Q of 32 and K of 8 heads of 128 dims", both},
      {"odd_sizes", "accepts only powers of two, in all sizes", both},
      {"short_prompts", "accepts one batch row of 128 tokens or more", both},
      {"unfused", "accepts only a fused projection, turned in place", ROPE_IN_PLACE},
      {"packed_positions", "accepts only 64-bit positions with a stride above 1", both},
      {"packed_tables", "accepts only tables by token, with padded rows", both},
      {"odd_tiles", "accepts only heads and tokens in fours", both},
      {"unscaled", "refuses a scale of 1", both},
      {"token_major", "accepts only head-major tensors", both},
  };
  return list;
}

}  // namespace

const FaultWords& fault_named(std::string_view word) {
  return named(faults(), word);
}
const RefusalWords& refusal_named(std::string_view word) {
  return named(refusals(), word);
}

}  // namespace ropewalk::mutants
