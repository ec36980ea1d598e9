// Errors at one size, one position or one frequency. Some of these kernels accept only a few of
// them.
#include <algorithm>
#include <cstdint>
#include <functional>

#include "properties/mutants/planted.h"

namespace ropewalk::mutants {
namespace {

// ---- sizes

const auto twelve_heads = planted<WrongWhen>("mutant_twelve_heads_table",
                                             [](auto& p) { return p.tensor[0].heads == 12; });

// The token after a block of 128 is wrong.
const auto after_a_block =
    planted<WrongWhen>("mutant_token_after_a_block_table", [](auto& p) { return p.tokens == 129; });

const auto many_rows =
    planted<WrongWhen>("mutant_more_than_16_rows_exact", [](auto& p) { return p.batch > 16; });

const auto between_widths = planted<WrongWhen>("mutant_unusual_wide_head_table", [](auto& p) {
  return p.rotary_dim > 140 && p.rotary_dim < 256 && p.rotary_dim % 16 != 0;
});

const auto wide = planted<WrongWhen>("mutant_rotary_dim_above_512_exact",
                                     [](auto& p) { return p.rotary_dim > 512; });

// Copies at most 192 dims behind the window correctly, like a kernel that copies a block's row.
const auto long_tail = planted<Finishes>("mutant_long_tail_table", [](auto& p, auto& o) {
  for (std::uint32_t i = 0; i < p.tensor_count; ++i) {
    const rope_tensor& s = p.tensor[i];
    const std::int64_t tail = s.head_dim - s.rotary_offset - p.rotary_dim;
    if (s.rotate != 0 && tail > 192) out_row(p, o, i, 0, 0, 0)[s.head_dim - 1] = 1;
  }
});

// ---- positions

const auto positions = planted<Locates>("mutant_far_positions_exact", [](auto&, Token& token) {
  if (token.position > (std::int64_t{1} << 30) && token.position < 2147483644) --token.position;
});

const auto far_below = planted<Locates>("mutant_far_below_zero_exact", [](auto&, Token& token) {
  token.position = std::max(token.position, -(std::int64_t{1} << 30));
});

// Refuses far positions, as it declares, and is wrong at one position that it accepts.
constexpr auto is_near = [](auto& p) {
  constexpr std::int64_t reach = 1 << 24;
  return p.max_position <= reach && p.min_position >= -reach;
};
struct WrongAtMillion : Correct {
  void locate(const rope_problem&, Token& token) override {
    if (token.position == 1'000'000) token.position = 999'999;
  }
};
const auto wrong_at_million = limited<WrongAtMillion>("mutant_wrong_in_reach_exact", is_near);
const auto in_reach = limited("control_positions_in_reach_exact", is_near);

// The longest row of a batch changes the frequencies of the others, as a scaling by the longest
// input does.
const auto longest =
    planted<Frequency>("mutant_stretched_for_longest_exact", [](auto& p, std::int64_t i) {
      const bool is_long = p.max_position > 500'000 && p.max_position < 1'000'000;
      return p.batch > 1 && is_long ? p.inv_freq[i] / 2 : p.inv_freq[i];
    });

// ---- frequencies

const auto one = planted<Frequency>(
    "mutant_zero_frequency_is_one_exact",
    [](auto& p, std::int64_t i) { return p.inv_freq[i] == 0 ? 1 : p.inv_freq[i]; });

const auto fall =
    planted<Frequency>("mutant_frequencies_only_fall_exact", [](auto& p, std::int64_t i) {
      return i == 0 ? p.inv_freq[0] : std::min(p.inv_freq[i - 1], p.inv_freq[i]);
    });

// ---- shared inputs

// Takes a stride of 0 for "not given".
const auto dense =
    planted<SeesEach>("mutant_zero_stride_is_dense_table", [](auto&, rope_tensor& s) {
      if (s.in_head_stride == 0) s.in_head_stride = s.head_dim;
    });

// Takes a token in place for one row, and does not expect K behind Q there.
const auto place = planted<Sees>("mutant_fused_in_place_table", [](auto& p, auto& o) {
  if (p.tensor_count < 2 || p.tensor[0].in_place == 0) return;
  const rope_tensor& q = p.tensor[0];
  const auto* behind = static_cast<const float*>(o.tensor[0].out) + q.heads * q.head_dim;
  if (o.tensor[1].out == behind && p.tokens > 1) p.operation = ROPE_TRANSPOSE - p.operation;
});

// Takes ranges of memory that overlap for a tensor in place, and then reads its input from where
// its output lies.
const auto is_in_place = planted<Sees>("mutant_overlap_is_in_place_table", [](auto& p, auto& o) {
  for (std::uint32_t i = 0; i < p.tensor_count; ++i) {
    const rope_tensor& s = p.tensor[i];
    const auto elements = (p.batch - 1) * s.in_batch_stride + (p.tokens - 1) * s.in_token_stride +
                          (s.heads - 1) * s.in_head_stride + s.head_dim;
    const auto* const in = static_cast<const float*>(o.tensor[i].in);
    const auto* const out = static_cast<const float*>(o.tensor[i].out);
    if (std::less_equal<>{}(in, out) && std::less<>{}(out, in + elements))
      read_from_output(p, o, i);
  }
});

const auto no_broadcast = [](auto& p) {
  return std::all_of(p.tensor, p.tensor + p.tensor_count, [&](const rope_tensor& s) {
    return (p.batch == 1 || s.in_batch_stride != 0) && (p.tokens == 1 || s.in_token_stride != 0) &&
           (s.heads == 1 || s.in_head_stride != 0);
  });
};

// ---- alignment

// Reads tables from the 16-byte line that contains their beginning.
const auto loads = planted<Sees>("mutant_aligned_loads_table", [](auto& p, auto& o) {
  for (std::uint32_t i = 0; i < p.tensor_count; ++i) {
    const auto at = reinterpret_cast<std::uintptr_t>(o.tensor[i].cos);
    // NOLINTNEXTLINE: the planted error
    o.tensor[i].cos = reinterpret_cast<const void*>(at & ~std::uintptr_t{15});
  }
});

// ---- far apart

// Computes offsets of rows in 32 bits: of elements, with a sign or without, or of bytes.
template <class Int>
std::int64_t cut(std::int64_t stride, std::int64_t rows) {
  const std::int64_t last = stride * (rows - 1);
  return rows > 1 && last != static_cast<Int>(last) ? 0 : stride;
}
template <class Int>
void cut_inputs(const rope_problem& p, rope_tensor& s) {
  s.in_batch_stride = cut<Int>(s.in_batch_stride, p.batch);
  s.in_token_stride = cut<Int>(s.in_token_stride, p.tokens);
  s.in_head_stride = cut<Int>(s.in_head_stride, s.heads);
}
const auto signed_offsets =
    planted<SeesEach>("mutant_offsets_in_32_bits_table",
                      [](auto& p, rope_tensor& s) { cut_inputs<std::int32_t>(p, s); });
const auto unsigned_offsets =
    planted<SeesEach>("mutant_unsigned_offsets_in_32_bits_table",
                      [](auto& p, rope_tensor& s) { cut_inputs<std::uint32_t>(p, s); });
// In the vector path, but not in its remainder loop.
const auto wide_offsets =
    planted<SeesEach>("mutant_wide_offsets_in_32_bits_table", [](auto& p, rope_tensor& s) {
      if (p.rotary_dim >= 16) cut_inputs<std::int32_t>(p, s);
    });
const auto byte_offsets =
    planted<SeesEach>("mutant_byte_offsets_in_32_bits_table", [](auto& p, rope_tensor& s) {
      constexpr std::int64_t bytes = sizeof(float);
      const auto in_bytes = [](std::int64_t stride, std::int64_t rows) {
        return cut<std::uint32_t>(stride * bytes, rows) / bytes;
      };
      s.out_batch_stride = in_bytes(s.out_batch_stride, p.batch);
      s.out_token_stride = in_bytes(s.out_token_stride, p.tokens);
      s.out_head_stride = in_bytes(s.out_head_stride, s.heads);
    });

// Only of the copies out of place: dims behind the window, or a tensor that is not rotated.
template <bool rotated>
void copy_in_32_bits(const rope_problem& p, const rope_operands& o) {
  for (std::uint32_t i = 0; i < p.tensor_count; ++i) {
    const rope_tensor& s = p.tensor[i];
    if ((s.rotate != 0) != rotated || s.in_place != 0) continue;
    if (rotated && s.rotary_offset + p.rotary_dim == s.head_dim) continue;
    float* const last = out_row(p, o, i, p.batch - 1, p.tokens - 1, s.heads - 1);
    const std::int64_t offset = last - static_cast<float*>(o.tensor[i].out);
    if (offset != static_cast<std::int32_t>(offset)) last[s.head_dim - 1] = 1;
  }
}
const auto tails = planted<Finishes>("mutant_tail_offset_in_32_bits_table",
                                     [](auto& p, auto& o) { copy_in_32_bits<true>(p, o); });
const auto copies = planted<Finishes>("mutant_copied_offset_in_32_bits_table",
                                      [](auto& p, auto& o) { copy_in_32_bits<false>(p, o); });

// The same of table rows, and of positions.
const auto table_in_32_bits =
    planted<Sees>("mutant_table_offset_in_32_bits_table", [](auto& p, auto&) {
      p.table_row_stride = cut<std::int32_t>(p.table_row_stride, p.table_rows);
    });

const auto offset_in_32_bits =
    planted<Sees>("mutant_position_offset_in_32_bits_table", [](auto& p, auto&) {
      p.position_batch_stride = cut<std::int32_t>(p.position_batch_stride, p.batch);
      p.position_token_stride = cut<std::int32_t>(p.position_token_stride, p.tokens);
    });

// Keeps a table's row as a number of f32, which holds no odd row beyond 2^24.
const auto f32 = planted<Locates>("mutant_row_in_f32_table", [](auto&, Token& token) {
  token.table_row = static_cast<std::int64_t>(static_cast<float>(token.table_row));
});

// Packs the flat index of a pair into 22 bits. Seen by sizes, not in smoke.
const auto flat_index = planted<WrongWhen>("mutant_flat_index_of_22_bits_table", [](auto& p) {
  return p.tensor[0].heads * p.rotary_dim / 2 > 1 << 22;
});

// The same index over all tokens. By a power of two it is divided by a shift, which is right, and
// by another width in f32. Seen by sizes, not in smoke.
const auto of_prompt = planted<WrongWhen>("mutant_flat_index_of_prompt_exact", [](auto& p) {
  const std::int64_t pairs = p.rotary_dim / 2;
  return pairs >= 8 && (pairs & (pairs - 1)) != 0 && p.tensor[0].heads < 1000 &&
         p.tokens * p.tensor[0].heads * pairs > 1 << 22;
});

// ---- declared limits: correct kernels pass, and wrong kernels are still judged

const auto even_batch = [](auto& p) { return p.batch % 2 == 0; };
const auto one_head = [](auto& p) {
  return std::all_of(p.tensor, p.tensor + p.tensor_count, [](auto& s) { return s.heads == 1; });
};
const auto backward = [](auto& p) { return p.operation == ROPE_TRANSPOSE; };
constexpr auto always = [](auto&) { return true; };
using Wrong = WrongWhen<decltype(always)>;
const RegisteredKernel limits[] = {
    limited("control_refuses_broadcast_table", no_broadcast),
    limited("control_even_batch_only_table", even_batch),
    limited("control_one_head_only_table", one_head),
    limited("control_backward_only_table", backward),
    limited<Wrong>("mutant_one_head_only_table", one_head),
    limited<Wrong>("mutant_backward_only_table", backward),
};

}  // namespace
}  // namespace ropewalk::mutants
