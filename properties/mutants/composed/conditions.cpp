// The conditions that a kernel can see before it computes: regions, and the refusals of correct
// kernels that cover one use only. Each refusal is honest: what the kernel accepts, it handles.
#include <algorithm>
#include <bit>
#include <iterator>
#include <stdexcept>
#include <string>

#include "properties/mutants/composed/frame.h"

namespace ropewalk::mutants {
namespace {

template <std::int64_t bytes>
bool bytes_above(const rope_problem& p, const rope_operands&, std::uint32_t tensor) {
  const rope_tensor& s = p.tensor[tensor];
  return p.batch * p.tokens * s.heads * s.head_dim * data_type(Dtype{s.in_dtype}).bytes > bytes;
}

struct Region {
  std::string_view word;
  Holds holds;
};
constexpr std::int64_t kib = 1024, mib = 1024 * kib;
constexpr Region regions[] = {
    // ---- sizes
    {"above_33_tokens", [](auto& p, auto&, auto) { return p.tokens > 33; }},
    {"from_64_tokens", [](auto& p, auto&, auto) { return p.tokens >= 64; }},
    {"from_100_tokens", [](auto& p, auto&, auto) { return p.tokens >= 100; }},
    {"above_1200_tokens", [](auto& p, auto&, auto) { return p.tokens > 1200; }},
    {"ragged_tokens", [](auto& p, auto&, auto) { return p.tokens > 16 && p.tokens % 16 != 0; }},
    {"above_17_heads", [](auto& p, auto&, auto tensor) { return p.tensor[tensor].heads > 17; }},
    {"from_36_heads", [](auto& p, auto&, auto tensor) { return p.tensor[tensor].heads >= 36; }},
    {"odd_heads",
     [](auto& p, auto&, auto tensor) {
       return p.tensor[tensor].heads > 8 && p.tensor[tensor].heads % 2 == 1;
     }},
    {"above_14_rows", [](auto& p, auto&, auto) { return p.batch > 14; }},
    {"above_600_rows", [](auto& p, auto&, auto) { return p.batch > 600; }},
    {"wide_ragged",
     [](auto& p, auto&, auto) { return p.rotary_dim > 64 && p.rotary_dim % 16 != 0; }},
    {"above_128_dims", [](auto& p, auto&, auto tensor) { return p.tensor[tensor].head_dim > 128; }},
    {"above_256_kib", bytes_above<256 * kib>},
    {"above_6_mib", bytes_above<6 * mib>},
    {"above_12_mib", bytes_above<12 * mib>},
    // ---- one feature
    {"transposed", [](auto& p, auto&, auto) { return p.operation == ROPE_TRANSPOSE; }},
    {"interleaved", [](auto& p, auto&, auto) { return p.pairing == ROPE_INTERLEAVED; }},
    {"in_place", [](auto& p, auto&, auto tensor) { return p.tensor[tensor].in_place != 0; }},
    {"first_in_place",
     [](auto& p, auto&, auto tensor) {
       return p.tensor[0].in_place != 0 && p.tensor[tensor].in_place == 0;
     }},
    {"scaled",
     [](auto& p, auto&, auto) { return p.attention_scale != 0 && p.attention_scale != 1; }},
    {"partial",
     [](auto& p, auto&, auto tensor) {
       return p.tensor[tensor].rotate != 0 && p.tensor[tensor].head_dim > p.rotary_dim;
     }},
    {"second_tensor", [](auto&, auto&, auto tensor) { return tensor > 0; }},
    {"own_tables",
     [](auto& p, auto& o, auto) {
       bool found = false;
       for (std::uint32_t i = 1; i < p.tensor_count; ++i)
         found |= p.tensor[i].rotate != 0 && o.tensor[i].cos != o.tensor[0].cos;
       return found;
     }},
    {"by_token",
     [](auto& p, auto&, auto) {
       return p.angle_source == ROPE_ANGLES_TABLE && p.table_rows_by == ROPE_ROW_BY_TOKEN;
     }},
    {"i64_positions", [](auto& p, auto&, auto) { return p.position_dtype == ROPE_I64; }},
    {"strided_positions",
     [](auto& p, auto&, auto) { return p.tokens > 1 && p.position_token_stride > 1; }},
    {"above_2_17",
     [](auto& p, auto& o, auto) {
       bool found = false;
       for_each_token(p, o, [&](const Token& token) { found |= token.position > (1 << 17); });
       return found;
     }},
    // ---- layouts
    {"head_major",
     [](auto& p, auto&, auto tensor) {
       const rope_tensor& s = p.tensor[tensor];
       return p.tokens > 1 && s.heads > 1 && s.in_head_stride > s.in_token_stride;
     }},
};

// ---- refusals

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
constexpr Refusal refusals[] = {
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

template <class Meaning>
const Meaning& named(std::string_view word, const Meaning* first, const Meaning* end) {
  const Meaning* const found =
      std::find_if(first, end, [&](auto& each) { return each.word == word; });
  return found != end ? *found : throw std::logic_error("no such condition: " + std::string(word));
}

}  // namespace

Holds holds_of(std::string_view region) {
  return named(region, std::begin(regions), std::end(regions)).holds;
}

const Refusal& refusal_named(std::string_view word) {
  return named(word, std::begin(refusals), std::end(refusals));
}

}  // namespace ropewalk::mutants
