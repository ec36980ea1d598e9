// The regions: conditions that a kernel can see before it computes.
#include <stdexcept>
#include <string>

#include "properties/mutants/composed/meanings.h"

namespace ropewalk::mutants {
namespace {

template <std::int64_t bytes>
bool bytes_above(const rope_problem& p, const rope_operands&, std::uint32_t tensor) {
  const rope_tensor& s = p.tensor[tensor];
  return p.batch * p.tokens * s.heads * s.head_dim * data_type(Dtype{s.in_dtype}).bytes > bytes;
}

struct Meaning {
  std::string_view word;
  Holds holds;
};
constexpr std::int64_t kib = 1024, mib = 1024 * kib;
constexpr Meaning meanings[] = {
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

}  // namespace

Holds holds_of(std::string_view region) {
  for (const Meaning& meaning : meanings)
    if (meaning.word == region) return meaning.holds;
  throw std::logic_error("no such region: " + std::string(region));
}

}  // namespace ropewalk::mutants
