// Errors that only f16 or bf16 kernels make, and correct kernels of unusual style. The frame is one
// correct kernel. An error replaces one of its members.
#include <algorithm>
#include <bit>
#include <cmath>
#include <type_traits>

#include "kernels/common/own_angles.h"
#include "kernels/common/support.h"
#include "properties/mutants/planted.h"

namespace ropewalk::mutants {
namespace {

struct Turned {
  float re, im;
};

template <class Data>
struct Right {
  static float entry(float value) { return value; }  ///< an entry of the table
  static std::int64_t position(std::int64_t position) { return position; }
  static float load(Data value) { return value; }
  static Data store(float value) { return Data(value); }
  /// Turns one pair, before the scale.
  static Turned rotate(float x1, float x2, float c, float s) {
    return {x1 * c - x2 * s, x2 * c + x1 * s};
  }
  static void finish(const rope_problem&, const rope_operands&) {}
};

template <class Data, class Hooks, class Table = float>
std::int32_t turn_each(const rope_problem& p, const rope_operands& o) {
  const std::int64_t half = p.rotary_dim / 2;
  const auto scale = static_cast<float>(scale_of(p));
  const float sign = sign_of(p);
  for_each_token(p, o, [&](Token token) {
    if (p.table_rows_by == ROPE_ROW_BY_POSITION)
      token.table_row = std::min(Hooks::position(token.table_row), p.table_rows - 1);
    for_each_head<Data, Table>(p, o, token, [&](const Head<Data, Table>& head) {
      for (std::int64_t i = 0; i < half; ++i) {
        const auto [a, b] = pair_index(p.pairing, i, half);
        // NOLINTNEXTLINE(clang-analyzer-core.NullDereference): supports refuses without a table
        const float cos = Hooks::entry(head.cos[i]), sin = sign * Hooks::entry(head.sin[i]);
        const Turned y = Hooks::rotate(Hooks::load(head.in[a]), Hooks::load(head.in[b]), cos, sin);
        head.out[a] = Hooks::store(scale * y.re);
        head.out[b] = Hooks::store(scale * y.im);
      }
    });
  });
  Hooks::finish(p, o);
  return ROPE_OK;
}

template <class Data, class Hooks>
RegisteredKernel on_half(const char* name, double error_bound = 0, std::uint32_t flags = 0) {
  return altered(name, [&](KernelInfo& info) {
    info.supports = [](const rope_problem* p, const char** reason) {
      return supports_data(*p, ROPE_ANGLES_TABLE, dtype_of<Data>, reason);
    };
    info.apply = [](const rope_problem* p, const rope_operands* o, void*) {
      return turn_each<Data, Hooks>(*p, *o);
    };
    info.error_bound = error_bound;
    info.flags |= flags;
  });
}

const RegisteredKernel right_f16 = on_half<F16, Right<F16>>("control_f16_table");
const RegisteredKernel right_bf16 = on_half<Bf16, Right<Bf16>>("control_bf16_table");

// Stores the upper half of the float unrounded, a bias of half a unit towards 0. Seen by every
// property with a bound. With a declared bound this is correct.
struct Truncated : Right<Bf16> {
  static Bf16 store(float value) {
    Bf16 out;
    out.bits = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16);
    if (std::isnan(value)) out.bits |= 0x40;
    return out;
  }
};
const RegisteredKernel truncated = on_half<Bf16, Truncated>("mutant_half_truncated_bf16_table");
const RegisteredKernel truncated_declared =
    on_half<Bf16, Truncated>("control_half_truncated_bf16_table", 3);

// Rounds twice: each product and their sum to the data type. Seen by agreement, in a few of many
// pairs.
struct ProductsRounded : Right<Bf16> {
  static Turned rotate(float x1, float x2, float c, float s) {
    return {Bf16(x1 * c) - Bf16(x2 * s), Bf16(x2 * c) + Bf16(x1 * s)};
  }
};
const RegisteredKernel products =
    on_half<Bf16, ProductsRounded>("mutant_half_products_rounded_bf16_table");

// Rounds the table to the data type inside the kernel. Only a declared bound allows this. Seen by
// every property with a bound.
template <class Data>
struct TableRounded : Right<Data> {
  static float entry(float value) { return Data(value); }
};
const RegisteredKernel table_bf16 =
    on_half<Bf16, TableRounded<Bf16>>("mutant_half_table_rounded_bf16_table");

// Positions in the data type of the tensors. They fall together from 257 (bf16) or 2049 (f16) on.
template <class Data>
struct PositionRounded : Right<Data> {
  static std::int64_t position(std::int64_t position) {
    const float rounded = Data(static_cast<float>(position));
    return static_cast<std::int64_t>(std::min(rounded, 0x1p31F - 128));
  }
};
const RegisteredKernel position_bf16 =
    on_half<Bf16, PositionRounded<Bf16>>("mutant_half_position_rounded_bf16_table");
const RegisteredKernel position_f16 =
    on_half<F16, PositionRounded<F16>>("mutant_half_position_rounded_f16_table");

// Computes with values 16 times too large, which is harmless until f16 overflows. Seen by agreement
// at the upper end of the type.
struct OverflowsBetween : Right<F16> {
  static float load(F16 value) { return F16(16 * float{value}); }
  static F16 store(float value) { return F16(value / 16); }
};
const RegisteredKernel overflows =
    on_half<F16, OverflowsBetween>("mutant_half_overflows_f16_table");

// Copies unrotated elements through a float, so signalling NaNs become quiet. Seen by
// untouched_dims.
struct CopiesByFloat : Right<F16> {
  static void finish(const rope_problem& p, const rope_operands& o) {
    for_each_tensor_alone(p, o, [&](rope_problem one, const rope_operands& its) {
      rope_tensor& row = one.tensor[0];  // copies each whole row as a window of its own
      const bool rotated = row.rotate != 0;
      const std::int64_t begin = rotated ? row.rotary_offset : 0;
      const std::int64_t end = rotated ? begin + p.rotary_dim : 0;
      one.rotary_dim = row.head_dim;
      row.rotary_offset = 0;
      row.rotate = 1;
      one.angle_source = ROPE_ANGLES_INV_FREQ;
      for_each_token(one, its, [&](const Token& token) {
        for_each_head<F16>(one, its, token, [&](const Head<F16>& head) {
          for (std::int64_t e = 0; e < row.head_dim; ++e)
            if (e < begin || e >= end) head.out[e] = F16(float{head.in[e]});
        });
      });
    });
  }
};
const RegisteredKernel copies =
    on_half<F16, CopiesByFloat>("mutant_half_copies_by_float_f16_table");

// Reads and stores subnormal numbers as 0, like the AVX512-BF16 conversions. Undeclared, it is seen
// by agreement on tiny data. Declared, it is correct.
template <class Data>
struct Flushes : Right<Data> {
  static constexpr float normal = std::is_same_v<Data, F16> ? 0x1p-14F : 0x1p-126F;
  static float flushed(float v) { return v > -normal && v < normal ? 0 : v; }
  static float load(Data value) { return flushed(value); }
  static Data store(float value) { return Data(flushed(value)); }
};
const RegisteredKernel flushes_bf16 =
    on_half<Bf16, Flushes<Bf16>>("mutant_half_flushes_bf16_table");
const RegisteredKernel flushes_bf16_declared =
    on_half<Bf16, Flushes<Bf16>>("control_half_flushes_bf16_table", 0, ROPE_FLUSHES_SUBNORMALS);
const RegisteredKernel flushes_f16_declared =
    on_half<F16, Flushes<F16>>("control_half_flushes_f16_table", 0, ROPE_FLUSHES_SUBNORMALS);

// Uses fused multiply-adds.
struct Fused : Right<Bf16> {
  static Turned rotate(float x1, float x2, float c, float s) {
    return {std::fma(x1, c, -(x2 * s)), std::fma(x2, c, x1 * s)};
  }
};
const RegisteredKernel fused = on_half<Bf16, Fused>("control_half_fma_bf16_table");

// Computes in double, then rounds to f32 and once more to f16.
struct ByDouble : Right<F16> {
  static Turned rotate(float x1, float x2, float c, float s) {
    return {static_cast<float>(double{x1} * c - double{x2} * s),
            static_cast<float>(double{x2} * c + double{x1} * s)};
  }
};
const RegisteredKernel by_double = on_half<F16, ByDouble>("control_half_by_double_f16_table");

// Computes everything in f16, table and scale too, like half2 kernels, and declares what that needs
// (reference/bounds.h): sqrt(5) + 2 + 0.71 of the table, which is below 5 u.
struct AllInF16 : TableRounded<F16> {
  static Turned rotate(float x1, float x2, float c, float s) {
    return {F16(F16(x1 * c) - F16(x2 * s)), F16(F16(x2 * c) + F16(x1 * s))};
  }
};
const RegisteredKernel all_in_f16 = on_half<F16, AllInF16>("control_half_all_in_f16_table", 5);

// The table has five bits of mantissa, and the kernel declares all that the contract allows. Such a
// kernel keeps its promise, 6 % of a pair, and no report may show it as a plain PASS.
struct TableOfFiveBits : Right<Bf16> {
  static float entry(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    return std::bit_cast<float>((bits + (1u << 18)) & ~((1u << 19) - 1));
  }
};
const RegisteredKernel five_bits =
    on_half<Bf16, TableOfFiveBits>("control_half_five_bits_bf16_table", 16);

// The cos and sin of many models: made in f32 and stored in the type of the data. The kernel takes
// no other table.
const auto rows_in_bf16 = altered("control_half_rows_in_bf16_table", [](KernelInfo& info) {
  info.supports = [](const rope_problem* p, const char** reason) {
    if (p->table_dtype != ROPE_BF16) return refuse(reason, "only a bf16 table");
    for (std::uint32_t i = 0; i < p->tensor_count; ++i)
      if (p->tensor[i].in_dtype != ROPE_BF16) return refuse(reason, "only bf16 data");
    return supports_any_types(p, reason);
  };
  info.apply = [](const rope_problem* p, const rope_operands* o, void*) {
    return turn_each<Bf16, Right<Bf16>, Bf16>(*p, *o);
  };
});

// Angles of the model's own code, for bf16 data.
const auto f32_angle = altered("control_half_bf16_f32_angle", [](KernelInfo& info) {
  info.angle_contract = ROPE_CONTRACT_F32_ANGLE;
  info.supports = [](const rope_problem* p, const char** reason) {
    return supports_data(*p, ROPE_ANGLES_INV_FREQ, ROPE_BF16, reason);
  };
  info.apply = [](const rope_problem* p, const rope_operands* o, void*) -> std::int32_t {
    rotate_by_own_angles<Bf16>(*p, *o, [&](std::int64_t i, std::int64_t position) {
      const float angle = static_cast<float>(position) * static_cast<float>(p->inv_freq[i]);
      return Turn{std::cos(angle), std::sin(angle)};
    });
    return ROPE_OK;
  };
});

}  // namespace
}  // namespace ropewalk::mutants
