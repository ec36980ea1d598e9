// The refusals of correct kernels that cover one use only. Each is honest: what it accepts, it
// handles.
#include <algorithm>
#include <bit>
#include <iterator>
#include <stdexcept>
#include <string>

#include "properties/mutants/composed/meanings.h"

namespace ropewalk::mutants {
namespace {

template <class Test>
bool all_tensors(const rope_problem& p, Test&& test) {
  return std::all_of(std::begin(p.tensor), std::begin(p.tensor) + p.tensor_count, test);
}

bool queries_and_keys(const rope_problem& p) {
  return p.tensor_count == 2 && p.tensor[0].heads == 32 && p.tensor[1].heads == 8;
}

bool is_power_of_two(std::int64_t size) {
  return std::has_single_bit(static_cast<std::uint64_t>(size));
}

constexpr std::uint32_t both = ROPE_IN_PLACE | ROPE_OUT_OF_PLACE;
constexpr Refusal meanings[] = {
    {"odd_halves", "refuses rotary_dim that is not a multiple of 4", both,
     [](const rope_problem& p) { return p.rotary_dim % 4 == 0; }},
    {"other_windows", "accepts only the last 64 of 192 dims", both,
     [](const rope_problem& p) {
       return p.rotary_dim == 64 && all_tensors(p, [](const rope_tensor& s) {
                return s.rotate != 0 && s.head_dim == 192 && s.rotary_offset == 128;
              });
     }},
    {"part_blocks", "accepts one token, or a multiple of 64", both,
     [](const rope_problem& p) { return p.tokens == 1 || p.tokens % 64 == 0; }},
    {"other_heads", "accepts only Q of 32 heads with K of 8", both, queries_and_keys},
    {"long_prompts", "refuses more than 64 tokens", both,
     [](const rope_problem& p) { return p.tokens <= 64; }},
    {"other_models", "accepts one model: Q of 32 and K of 8 heads of 128 dims", both,
     [](const rope_problem& p) {
       return queries_and_keys(p) && p.rotary_dim == 128 &&
              all_tensors(p,
                          [](const rope_tensor& s) { return s.rotate != 0 && s.head_dim == 128; });
     }},
    {"odd_sizes", "accepts only powers of two, in all sizes", both,
     [](const rope_problem& p) {
       return is_power_of_two(p.batch) && is_power_of_two(p.tokens) &&
              is_power_of_two(p.rotary_dim) && all_tensors(p, [](const rope_tensor& s) {
                return is_power_of_two(s.heads) && is_power_of_two(s.head_dim);
              });
     }},
    {"short_prompts", "accepts one batch row of 128 tokens or more", both,
     [](const rope_problem& p) { return p.batch == 1 && p.tokens >= 128; }},
    // All tensors lie side by side in every token of one buffer.
    {"unfused", "accepts only a fused projection, turned in place", ROPE_IN_PLACE,
     [](const rope_problem& p) {
       std::int64_t row = 0;
       for (std::uint32_t i = 0; i < p.tensor_count; ++i)
         row += p.tensor[i].heads * p.tensor[i].head_dim;
       return p.tensor_count >= 2 && p.tokens > 1 && all_tensors(p, [&](const rope_tensor& s) {
                return s.in_place != 0 && s.in_token_stride == row &&
                       (s.heads == 1 || s.in_head_stride == s.head_dim) &&
                       (p.batch == 1 || s.in_batch_stride == p.tokens * row);
              });
     }},
    {"packed_positions", "accepts only 64-bit positions with a stride above 1", both,
     [](const rope_problem& p) {
       return p.position_dtype == ROPE_I64 && p.tokens > 1 && p.position_token_stride > 1;
     }},
    {"packed_tables", "accepts only tables by token, with padded rows", both,
     [](const rope_problem& p) {
       return p.table_rows_by == ROPE_ROW_BY_TOKEN && p.table_rows > 1 &&
              p.table_row_stride > p.rotary_dim / 2;
     }},
    {"odd_tiles", "accepts only heads and tokens in fours", both,
     [](const rope_problem& p) {
       return p.tokens % 4 == 0 &&
              all_tensors(p, [](const rope_tensor& s) { return s.heads % 4 == 0; });
     }},
    {"unscaled", "refuses a scale of 1", both,
     [](const rope_problem& p) { return p.attention_scale != 0 && p.attention_scale != 1; }},
    {"token_major", "accepts only head-major tensors", both,
     [](const rope_problem& p) {
       return p.tokens > 1 && all_tensors(p, [](const rope_tensor& s) {
                return s.heads > 1 && s.in_head_stride > s.in_token_stride &&
                       s.out_head_stride > s.out_token_stride;
              });
     }},
};

}  // namespace

const Refusal& refusal_named(std::string_view word) {
  for (const Refusal& meaning : meanings)
    if (meaning.word == word) return meaning;
  throw std::logic_error("no such refusal: " + std::string(word));
}

}  // namespace ropewalk::mutants
