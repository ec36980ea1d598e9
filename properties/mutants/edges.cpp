// Errors at one size, one position or one frequency. Some of these kernels accept only a few of
// them.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>

#include "properties/mutants/planted.h"

namespace ropewalk::mutants {
namespace {

using Condition = bool (*)(const rope_problem&);

// Turns in the opposite direction under a condition.
template <Condition condition>
struct WrongWhen : Correct {
  float sin_sign(const rope_problem& p) override {
    return condition(p) ? -Correct::sin_sign(p) : Correct::sin_sign(p);
  }
};

// ---- sizes

bool twelve_heads(const rope_problem& p) {
  return p.tensor[0].heads == 12;
}
const RegisteredKernel wrong_at_twelve_heads =
    on_table<WrongWhen<twelve_heads>>("mutant_twelve_heads_table");

// The token after a block of 128 is wrong.
bool after_a_block(const rope_problem& p) {
  return p.tokens == 129;
}
const RegisteredKernel wrong_after_a_block =
    on_table<WrongWhen<after_a_block>>("mutant_token_after_a_block_table");

bool many_rows(const rope_problem& p) {
  return p.batch > 16;
}
const RegisteredKernel wrong_for_many_rows =
    on_angles<WrongWhen<many_rows>>("mutant_more_than_16_rows_exact");

bool between_usual_widths(const rope_problem& p) {
  return p.rotary_dim > 140 && p.rotary_dim < 256 && p.rotary_dim % 16 != 0;
}
const RegisteredKernel wrong_between_widths =
    on_table<WrongWhen<between_usual_widths>>("mutant_unusual_wide_head_table");

bool wider_than_512(const rope_problem& p) {
  return p.rotary_dim > 512;
}
const RegisteredKernel wrong_when_wide =
    on_angles<WrongWhen<wider_than_512>>("mutant_rotary_dim_above_512_exact");

// Copies at most 192 dims behind the window correctly, like a kernel that copies a block's row.
struct LongTail : Correct {
  void finish(const rope_problem& p, const rope_operands& o) override {
    for (std::uint32_t i = 0; i < p.tensor_count; ++i) {
      const rope_tensor& s = p.tensor[i];
      const std::int64_t tail = s.head_dim - s.rotary_offset - p.rotary_dim;
      if (s.rotate != 0 && tail > 192) out_row(p, o, i, 0, 0, 0)[s.head_dim - 1] = 1;
    }
  }
};
const RegisteredKernel long_tail = on_table<LongTail>("mutant_long_tail_table");

// ---- positions

struct FarPositions : Correct {
  CosSin rotation(double frequency, std::int64_t position) override {
    const bool far = position > (std::int64_t{1} << 30) && position < 2147483644;
    return Correct::rotation(frequency, far ? position - 1 : position);
  }
};
const RegisteredKernel far_positions = on_angles<FarPositions>("mutant_far_positions_exact");

struct FarBelow : Correct {
  CosSin rotation(double frequency, std::int64_t position) override {
    return Correct::rotation(frequency, std::max(position, -(std::int64_t{1} << 30)));
  }
};
const RegisteredKernel far_below = on_angles<FarBelow>("mutant_far_below_zero_exact");

// Assumes a run of positions: the first position and a count.
struct AssumesRuns : Correct {
  std::int64_t first = 0;
  void locate(const rope_problem& p, Token& token) override {
    if (token.index == 0) first = token.position;
    if (p.tokens > 12) token.position = std::min<std::int64_t>(first + token.index, p.max_position);
  }
};
const RegisteredKernel assumes_runs = on_angles<AssumesRuns>("mutant_run_taken_for_granted_exact");

// Refuses far positions, as it declares, and is wrong at one position that it accepts.
template <class Hooks>
KernelInfo near_only(const char* name) {
  KernelInfo info = angles_info<Hooks>(name);
  info.supports = [](const rope_problem* p, const char** reason) {
    constexpr std::int64_t reach = 1 << 24;
    return p->max_position > reach || p->min_position < -reach
               ? refuse(reason, "positions beyond 2^24")
               : supports_angles(p, reason);
  };
  return info;
}
struct WrongAtMillion : Correct {
  CosSin rotation(double frequency, std::int64_t position) override {
    return Correct::rotation(frequency, position == 1'000'000 ? 999'999 : position);
  }
};
const RegisteredKernel wrong_at_million{near_only<WrongAtMillion>("mutant_wrong_in_reach_exact")};
const RegisteredKernel in_reach{near_only<Correct>("control_positions_in_reach_exact")};

// The longest row of a batch changes the frequencies of the others, as a scaling by the longest
// input does.
struct StretchedForLongest : Correct {
  bool stretched = false;
  void see(rope_problem& p, rope_operands&) override {
    stretched = p.batch > 1 && p.max_position > 500'000 && p.max_position < 1'000'000;
  }
  double frequency(const rope_problem& p, std::int64_t i) override {
    return stretched ? p.inv_freq[i] / 2 : p.inv_freq[i];
  }
};
const RegisteredKernel stretched_for_longest =
    on_angles<StretchedForLongest>("mutant_stretched_for_longest_exact");

// ---- frequencies

struct ZeroIsOne : Correct {
  double frequency(const rope_problem& p, std::int64_t i) override {
    return p.inv_freq[i] == 0 ? 1 : p.inv_freq[i];
  }
};
const RegisteredKernel zero_is_one = on_angles<ZeroIsOne>("mutant_zero_frequency_is_one_exact");

struct AtMostOne : Correct {
  double frequency(const rope_problem& p, std::int64_t i) override {
    return std::min(p.inv_freq[i], 1.0);
  }
};
const RegisteredKernel at_most_one = on_angles<AtMostOne>("mutant_frequency_at_most_one_exact");

struct Falling : Correct {
  double frequency(const rope_problem& p, std::int64_t i) override {
    return i == 0 ? p.inv_freq[0] : std::min(p.inv_freq[i - 1], p.inv_freq[i]);
  }
};
const RegisteredKernel falling = on_angles<Falling>("mutant_frequencies_only_fall_exact");

// ---- shared inputs

// Takes a stride of 0 for "not given".
struct ZeroStrideIsDense : Correct {
  void see(rope_problem& p, rope_operands&) override {
    for_each_tensor(p, [](rope_tensor& s) {
      if (s.in_head_stride == 0) s.in_head_stride = s.head_dim;
    });
  }
};
const RegisteredKernel zero_stride =
    on_table<ZeroStrideIsDense>("mutant_zero_stride_is_dense_table");

// Uses one sin for all tensors, because they share one cos.
struct OneSinForAll : Correct {
  void see(rope_problem& p, rope_operands& o) override {
    for (std::uint32_t i = 1; i < p.tensor_count; ++i)
      if (o.tensor[i].cos == o.tensor[0].cos) o.tensor[i].sin = o.tensor[0].sin;
  }
};
const RegisteredKernel one_sin = on_table<OneSinForAll>("mutant_one_sin_for_all_table");

// Takes a token in place for one row, and does not expect K behind Q there.
struct FusedAsDense : Correct {
  void see(rope_problem& p, rope_operands& o) override {
    if (p.tensor_count < 2 || p.tensor[0].in_place == 0) return;
    const rope_tensor& q = p.tensor[0];
    const auto* behind = static_cast<const float*>(o.tensor[0].out) + q.heads * q.head_dim;
    if (o.tensor[1].out == behind && p.tokens > 1) p.operation = ROPE_TRANSPOSE - p.operation;
  }
};
const RegisteredKernel fused_as_dense = on_table<FusedAsDense>("mutant_fused_in_place_table");

// Takes ranges of memory that overlap for a tensor in place, and then reads its input from where
// its output lies.
struct OverlapIsInPlace : Correct {
  void see(rope_problem& p, rope_operands& o) override {
    for (std::uint32_t i = 0; i < p.tensor_count; ++i) {
      const rope_tensor& s = p.tensor[i];
      const auto elements = (p.batch - 1) * s.in_batch_stride + (p.tokens - 1) * s.in_token_stride +
                            (s.heads - 1) * s.in_head_stride + s.head_dim;
      const auto* const in = static_cast<const float*>(o.tensor[i].in);
      const auto* const out = static_cast<const float*>(o.tensor[i].out);
      if (std::less_equal<>{}(in, out) && std::less<>{}(out, in + elements))
        read_from_output(p, o, i);
    }
  }
};
const RegisteredKernel overlap_is_in_place =
    on_table<OverlapIsInPlace>("mutant_overlap_is_in_place_table");

bool no_broadcast(const rope_problem& p) {
  for (std::uint32_t i = 0; i < p.tensor_count; ++i) {
    const rope_tensor& s = p.tensor[i];
    if ((p.batch > 1 && s.in_batch_stride == 0) || (p.tokens > 1 && s.in_token_stride == 0) ||
        (s.heads > 1 && s.in_head_stride == 0))
      return false;
  }
  return true;
}

// ---- alignment

// Reads tables from the 16-byte line that contains their beginning.
struct AlignedLoads : Correct {
  void see(rope_problem& p, rope_operands& o) override {
    for (std::uint32_t i = 0; i < p.tensor_count; ++i) {
      const auto at = reinterpret_cast<std::uintptr_t>(o.tensor[i].cos);
      // NOLINTNEXTLINE: the planted error
      o.tensor[i].cos = reinterpret_cast<const void*>(at & ~std::uintptr_t{15});
    }
  }
};
const RegisteredKernel aligned_loads = on_table<AlignedLoads>("mutant_aligned_loads_table");

// ---- far apart

// Computes offsets of rows in 32 bits: of elements, with a sign or without, or of bytes.
template <class Int>
struct OffsetsIn : Correct {
  static std::int64_t cut(std::int64_t stride, std::int64_t rows) {
    const std::int64_t last = stride * (rows - 1);
    return rows > 1 && last != static_cast<Int>(last) ? 0 : stride;
  }
  void see(rope_problem& p, rope_operands&) override {
    for_each_tensor(p, [&](rope_tensor& s) {
      s.in_batch_stride = cut(s.in_batch_stride, p.batch);
      s.in_token_stride = cut(s.in_token_stride, p.tokens);
      s.in_head_stride = cut(s.in_head_stride, s.heads);
    });
  }
};
using OffsetsIn32Bits = OffsetsIn<std::int32_t>;
const RegisteredKernel offsets_in_32_bits =
    on_table<OffsetsIn32Bits>("mutant_offsets_in_32_bits_table");
const RegisteredKernel unsigned_offsets =
    on_table<OffsetsIn<std::uint32_t>>("mutant_unsigned_offsets_in_32_bits_table");

// Only of the copies out of place: dims behind the window, or a tensor that is not rotated.
template <bool rotated>
struct CopiesIn32Bits : Correct {
  void finish(const rope_problem& p, const rope_operands& o) override {
    for (std::uint32_t i = 0; i < p.tensor_count; ++i) {
      const rope_tensor& s = p.tensor[i];
      if ((s.rotate != 0) != rotated || s.in_place != 0) continue;
      if (rotated && s.rotary_offset + p.rotary_dim == s.head_dim) continue;
      float* const last = out_row(p, o, i, p.batch - 1, p.tokens - 1, s.heads - 1);
      const std::int64_t offset = last - static_cast<float*>(o.tensor[i].out);
      if (offset != static_cast<std::int32_t>(offset)) last[s.head_dim - 1] = 1;
    }
  }
};
const RegisteredKernel tails_in_32_bits =
    on_table<CopiesIn32Bits<true>>("mutant_tail_offset_in_32_bits_table");
const RegisteredKernel copied_in_32_bits =
    on_table<CopiesIn32Bits<false>>("mutant_copied_offset_in_32_bits_table");

// The same in the vector path, but not in its remainder loop. Seen by far_strides.
struct WideOffsetsIn32Bits : OffsetsIn32Bits {
  void see(rope_problem& p, rope_operands& o) override {
    if (p.rotary_dim >= 16) OffsetsIn32Bits::see(p, o);
  }
};
const RegisteredKernel wide_offsets_in_32_bits =
    on_table<WideOffsetsIn32Bits>("mutant_wide_offsets_in_32_bits_table");

struct BytesIn32Bits : Correct {
  static std::int64_t cut(std::int64_t stride, std::int64_t rows) {
    const auto bytes = static_cast<std::uint64_t>(stride * (rows - 1)) * sizeof(float);
    return rows > 1 && bytes != static_cast<std::uint32_t>(bytes) ? 0 : stride;
  }
  void see(rope_problem& p, rope_operands&) override {
    for_each_tensor(p, [&](rope_tensor& s) {
      s.out_batch_stride = cut(s.out_batch_stride, p.batch);
      s.out_token_stride = cut(s.out_token_stride, p.tokens);
      s.out_head_stride = cut(s.out_head_stride, s.heads);
    });
  }
};
const RegisteredKernel bytes_in_32_bits =
    on_table<BytesIn32Bits>("mutant_byte_offsets_in_32_bits_table");

// The same of table rows, and of positions. Seen by far_strides.
struct TableIn32Bits : Correct {
  void see(rope_problem& p, rope_operands&) override {
    p.table_row_stride = OffsetsIn32Bits::cut(p.table_row_stride, p.table_rows);
  }
};
const RegisteredKernel table_in_32_bits =
    on_table<TableIn32Bits>("mutant_table_offset_in_32_bits_table");

struct PositionsIn32Bits : Correct {
  void see(rope_problem& p, rope_operands&) override {
    p.position_batch_stride = OffsetsIn32Bits::cut(p.position_batch_stride, p.batch);
    p.position_token_stride = OffsetsIn32Bits::cut(p.position_token_stride, p.tokens);
  }
};
const RegisteredKernel positions_in_32_bits =
    on_table<PositionsIn32Bits>("mutant_position_offset_in_32_bits_table");

// Keeps a table's row as a number of f32, which holds no odd row beyond 2^24. Seen by far_strides.
struct RowInF32 : Correct {
  void locate(const rope_problem&, Token& token) override {
    token.table_row = static_cast<std::int64_t>(static_cast<float>(token.table_row));
  }
};
const RegisteredKernel row_in_f32 = on_table<RowInF32>("mutant_row_in_f32_table");

// Packs the flat index of a pair into 22 bits. Seen by sizes, not in smoke.
bool beyond_22_bits(const rope_problem& p) {
  return p.tensor[0].heads * p.rotary_dim / 2 > 1 << 22;
}
const RegisteredKernel flat_index =
    on_table<WrongWhen<beyond_22_bits>>("mutant_flat_index_of_22_bits_table");

// The same index over all tokens. By a power of two it is divided by a shift, which is right, and
// by another width in f32. Seen by sizes, not in smoke.
bool divided_in_f32(const rope_problem& p) {
  const std::int64_t pairs = p.rotary_dim / 2;
  return pairs >= 8 && (pairs & (pairs - 1)) != 0 && p.tensor[0].heads < 1000 &&
         p.tokens * p.tensor[0].heads * pairs > 1 << 22;
}
const RegisteredKernel flat_index_of_prompt =
    on_angles<WrongWhen<divided_in_f32>>("mutant_flat_index_of_prompt_exact");

// ---- declared limits: correct kernels pass, and wrong kernels are still judged

template <Condition accepts>
std::int32_t supports_when(const rope_problem* p, const char** reason) {
  return accepts(*p) ? supports_table(p, reason) : refuse(reason, "outside this kernel's limits");
}
template <Condition accepts, class Hooks = Correct>
KernelInfo only(const char* name) {
  KernelInfo info = table_info<Hooks>(name);
  info.supports = supports_when<accepts>;
  return info;
}
bool always(const rope_problem&) {
  return true;
}
bool even_batch(const rope_problem& p) {
  return p.batch % 2 == 0;
}
bool one_head(const rope_problem& p) {
  for (std::uint32_t i = 0; i < p.tensor_count; ++i)
    if (p.tensor[i].heads != 1) return false;
  return true;
}
bool tokens_by_four(const rope_problem& p) {
  return p.tokens % 4 == 0;
}
bool backward(const rope_problem& p) {
  return p.operation == ROPE_TRANSPOSE;
}
bool scaled(const rope_problem& p) {
  return scale_of(p) != 1;
}
bool grouped(const rope_problem& p) {
  return p.tensor_count == 2 && p.tensor[0].heads > p.tensor[1].heads;
}
using Wrong = WrongWhen<always>;
const RegisteredKernel limits[] = {
    RegisteredKernel(only<no_broadcast>("control_refuses_broadcast_table")),
    RegisteredKernel(only<even_batch>("control_even_batch_only_table")),
    RegisteredKernel(only<one_head>("control_one_head_only_table")),
    RegisteredKernel(only<tokens_by_four>("control_tokens_by_four_only_table")),
    RegisteredKernel(only<backward>("control_backward_only_table")),
    RegisteredKernel(only<scaled>("control_scaled_only_table")),
    RegisteredKernel(only<grouped>("control_grouped_only_table")),
    RegisteredKernel(only<even_batch, Wrong>("mutant_even_batch_only_table")),
    RegisteredKernel(only<one_head, Wrong>("mutant_one_head_only_table")),
    RegisteredKernel(only<tokens_by_four, Wrong>("mutant_tokens_by_four_only_table")),
    RegisteredKernel(only<backward, Wrong>("mutant_backward_only_table")),
    RegisteredKernel(only<scaled, Wrong>("mutant_scaled_only_table")),
    RegisteredKernel(only<grouped, Wrong>("mutant_grouped_only_table")),
};

}  // namespace
}  // namespace ropewalk::mutants
