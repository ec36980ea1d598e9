// Errors of one data type, and correct kernels of unusual style: what only f16 or bf16 kernels do,
// at the ends of the range of f32 and f64, and with f64 data. The frame is one correct kernel. An
// error replaces one of its members.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "kernels/common/own_angles.h"
#include "kernels/common/support.h"
#include "properties/mutants/planted.h"

namespace ropewalk::mutants {
namespace {

template <class Real>
struct TurnedTo {
  Real re, im;
};
using Turned = TurnedTo<float>;

template <class Data>
struct Right {
  using Real = TableOf<Data>;
  static Real entry(Real value) { return value; }  ///< an entry of the table
  static std::int64_t position(std::int64_t position) { return position; }
  static Real load(Data value) { return value; }
  static Data store(Real value) { return Data(value); }
  /// Turns one pair, before the scale.
  static TurnedTo<Real> rotate(Real x1, Real x2, Real c, Real s) {
    return {x1 * c - x2 * s, x2 * c + x1 * s};
  }
};

template <class Data, class Hooks, class Table = TableOf<Data>>
std::int32_t turn_each(const rope_problem& p, const rope_operands& o) {
  const std::int64_t half = p.rotary_dim / 2;
  using Real = TableOf<Data>;
  const auto scale = static_cast<Real>(scale_of(p));
  const Real sign = sign_of(p);
  for_each_token(p, o, [&](Token token) {
    if (p.table_rows_by == ROPE_ROW_BY_POSITION)
      token.table_row = std::min(Hooks::position(token.table_row), p.table_rows - 1);
    for_each_head<Data, Table>(p, o, token, [&](const Head<Data, Table>& head) {
      for (std::int64_t i = 0; i < half; ++i) {
        const auto [a, b] = pair_index(p.pairing, i, half);
        // NOLINTNEXTLINE(clang-analyzer-core.NullDereference): supports refuses without a table
        const Real cos = Hooks::entry(head.cos[i]), sin = sign * Hooks::entry(head.sin[i]);
        const auto y = Hooks::rotate(Hooks::load(head.in[a]), Hooks::load(head.in[b]), cos, sin);
        head.out[a] = Hooks::store(scale * y.re);
        head.out[b] = Hooks::store(scale * y.im);
      }
    });
  });
  return ROPE_OK;
}

template <class Data, class Hooks>
RegisteredKernel of_type(const char* name, double error_bound = 0, std::uint32_t flags = 0) {
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

const RegisteredKernel right_f16 = of_type<F16, Right<F16>>("control_f16_table");
const RegisteredKernel right_bf16 = of_type<Bf16, Right<Bf16>>("control_bf16_table");

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
const RegisteredKernel truncated = of_type<Bf16, Truncated>("mutant_half_truncated_bf16_table");
const RegisteredKernel truncated_declared =
    of_type<Bf16, Truncated>("control_half_truncated_bf16_table", 3);

// Rounds twice: each product and their sum to the data type. Seen by agreement, in a few of many
// pairs.
struct ProductsRounded : Right<Bf16> {
  static Turned rotate(float x1, float x2, float c, float s) {
    return {Bf16(x1 * c) - Bf16(x2 * s), Bf16(x2 * c) + Bf16(x1 * s)};
  }
};
const RegisteredKernel products =
    of_type<Bf16, ProductsRounded>("mutant_half_products_rounded_bf16_table");

// Rounds the table to the data type inside the kernel. Only a declared bound allows this. Seen by
// every property with a bound.
template <class Data>
struct TableRounded : Right<Data> {
  static float entry(float value) { return Data(value); }
};
const RegisteredKernel table_bf16 =
    of_type<Bf16, TableRounded<Bf16>>("mutant_half_table_rounded_bf16_table");

// Positions in the data type of the tensors. They fall together from 2049 on.
struct PositionRounded : Right<F16> {
  static std::int64_t position(std::int64_t position) {
    const float rounded = F16(static_cast<float>(position));
    return static_cast<std::int64_t>(std::min(rounded, 0x1p31F - 128));
  }
};
const RegisteredKernel position_f16 =
    of_type<F16, PositionRounded>("mutant_half_position_rounded_f16_table");

// Computes with values 16 times too large, which is harmless until f16 overflows. Seen by agreement
// at the upper end of the type.
struct OverflowsBetween : Right<F16> {
  static float load(F16 value) { return F16(16 * float{value}); }
  static F16 store(float value) { return F16(value / 16); }
};
const RegisteredKernel overflows =
    of_type<F16, OverflowsBetween>("mutant_half_overflows_f16_table");

// Reads and stores subnormal numbers as 0, like the AVX512-BF16 conversions, or -ffast-math in a
// constructor. Undeclared, it is seen by agreement on tiny data. Declared, it is correct.
template <class Data>
struct Flushes : Right<Data> {
  using Real = TableOf<Data>;
  static constexpr auto normal = static_cast<Real>(data_type(Dtype{dtype_of<Data>}).format.normal);
  static Real flushed(Real v) { return v > -normal && v < normal ? 0 : v; }
  static Real load(Data value) { return flushed(value); }
  static Data store(Real value) { return Data(flushed(value)); }
};
const RegisteredKernel flushes_f64 =
    of_type<double, Flushes<double>>("mutant_range_subnormal_f64_table");
const RegisteredKernel flushes_f32_declared =
    of_type<float, Flushes<float>>("control_flushes_subnormals_table", 0, ROPE_FLUSHES_SUBNORMALS);
const RegisteredKernel flushes_bf16 =
    of_type<Bf16, Flushes<Bf16>>("mutant_half_flushes_bf16_table");
const RegisteredKernel flushes_bf16_declared =
    of_type<Bf16, Flushes<Bf16>>("control_half_flushes_bf16_table", 0, ROPE_FLUSHES_SUBNORMALS);
const RegisteredKernel flushes_f16_declared =
    of_type<F16, Flushes<F16>>("control_half_flushes_f16_table", 0, ROPE_FLUSHES_SUBNORMALS);

// Every subnormal product becomes zero too, as FTZ does in the whole loop.
struct FlushesProducts : Flushes<float> {
  static Turned rotate(float x1, float x2, float c, float s) {
    return {flushed(flushed(x1 * c) - flushed(x2 * s)), flushed(flushed(x2 * c) + flushed(x1 * s))};
  }
};
const RegisteredKernel flushes_products =
    of_type<float, FlushesProducts>("control_flushes_products_table", 0, ROPE_FLUSHES_SUBNORMALS);

// Errors of f32 data that change an input before it is turned.

// Saturates like a fixed-point unit.
struct Limited : Right<float> {
  static float load(float x) { return std::clamp(x, -0.75f, 0.75f); }
};
const RegisteredKernel limited_input = of_type<float, Limited>("mutant_limited_input_table");

// Rounds to absolute steps of 2^-20.
struct InSteps : Right<float> {
  static float load(float x) { return std::nearbyint(x * 0x1p20f) * 0x1p-20f; }
};
const RegisteredKernel fixed_point = of_type<float, InSteps>("mutant_fixed_point_table");

// Replaces values that are not finite, so no finite input shows it. Seen by pair_locality only.
struct Tidied : Right<float> {
  static float load(float x) { return std::isfinite(x) ? x : 0; }
};
const RegisteredKernel nan_to_zero = of_type<float, Tidied>("mutant_nan_to_zero_table");

// Uses fused multiply-adds.
struct Fused : Right<Bf16> {
  static Turned rotate(float x1, float x2, float c, float s) {
    return {std::fma(x1, c, -(x2 * s)), std::fma(x2, c, x1 * s)};
  }
};
const RegisteredKernel fused = of_type<Bf16, Fused>("control_half_fma_bf16_table");

// Computes in double, then rounds to f32 and once more to f16.
struct ByDouble : Right<F16> {
  static Turned rotate(float x1, float x2, float c, float s) {
    return {static_cast<float>(double{x1} * c - double{x2} * s),
            static_cast<float>(double{x2} * c + double{x1} * s)};
  }
};
const RegisteredKernel by_double = of_type<F16, ByDouble>("control_half_by_double_f16_table");

// Computes everything in f16, table and scale too, like half2 kernels, and declares what that needs
// (reference/bounds.h): sqrt(5) + 2 + 0.71 of the table, which is below 5 u.
struct AllInF16 : TableRounded<F16> {
  static Turned rotate(float x1, float x2, float c, float s) {
    return {F16(F16(x1 * c) - F16(x2 * s)), F16(F16(x2 * c) + F16(x1 * s))};
  }
};
const RegisteredKernel all_in_f16 = of_type<F16, AllInF16>("control_half_all_in_f16_table", 5);

// The table has five bits of mantissa, and the kernel declares all that the contract allows. Such a
// kernel keeps its promise, 6 % of a pair, and no report may show it as a plain PASS.
struct TableOfFiveBits : Right<Bf16> {
  static float entry(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    return std::bit_cast<float>((bits + (1u << 18)) & ~((1u << 19) - 1));
  }
};
const RegisteredKernel five_bits =
    of_type<Bf16, TableOfFiveBits>("control_half_five_bits_bf16_table", 16);

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

// ---- errors at an end of a type's range

// A kernel that turns a pair by `turn(x1, x2, cos, sin)`, which replaces both values.
template <class Data, class Turn>
struct Turns : Right<Data> {
  static TurnedTo<Data> rotate(Data x1, Data x2, Data c, Data s) {
    Turn{}(x1, x2, c, s);
    return {x1, x2};
  }
};
template <class Real, class Turn>
RegisteredKernel in_range(const char* name, Turn) {
  return of_type<Real, Turns<Real, Turn>>(name);
}

constexpr auto turn = []<class Real>(Real& x1, Real& x2, Real c, Real s) {
  const Real y1 = x1 * c - x2 * s;
  x2 = x2 * c + x1 * s;
  x1 = y1;
};

// Sets pairs to 0 if their squared length overflows: from 2^64 on in f32. Seen by agreement on huge
// data.
const auto huge_f32 =
    in_range<float>("mutant_range_huge_f32_table", [](float& x1, float& x2, float c, float s) {
      const bool broken = x1 * x1 + x2 * x2 > std::numeric_limits<float>::max();
      turn(x1, x2, c, s);
      if (broken) x1 = x2 = 0;
    });

// Copies a pair if its squared length underflows to 0. Seen by agreement on tiny data.
const auto tiny_f64 =
    in_range<double>("mutant_range_tiny_f64_table", [](double& x1, double& x2, double c, double s) {
      if (x1 * x1 + x2 * x2 != 0) turn(x1, x2, c, s);
    });

// Computes with values twice as large, which is exact except in the last binade. Seen by agreement
// at the upper end of the range.
constexpr auto twice = []<class Real>(Real& x1, Real& x2, Real c, Real s) {
  x1 *= 2;
  x2 *= 2;
  turn(x1, x2, c, s);
  x1 /= 2;
  x2 /= 2;
};
const auto twice_f32 = in_range<float>("mutant_range_twice_f32_table", twice);
const auto twice_f64 = in_range<double>("mutant_range_twice_f64_table", twice);

// Uses a short series for small angles if the value is large. No real kernel does exactly this, but
// many have a special path for one part of the range. Seen by agreement on data of every size.
template <int least, int most>
constexpr auto wrong_between = []<class Real>(Real& x1, Real& x2, Real c, Real s) {
  turn(x1, x2, c, s);
  const int size = x1 != 0 && std::isfinite(x1) ? std::ilogb(x1) : 0;
  if (size >= least && size <= most) x1 = -x1;
};
const auto stretch_f32 = in_range<float>("mutant_range_stretch_f32_table", wrong_between<40, 60>);
const auto stretch_f64 =
    in_range<double>("mutant_range_stretch_f64_table", wrong_between<-300, -200>);

// ---- f64 data, where u is 2^-53. The frame of the other mutants is f32.

const auto f64_control = in_range<double>("control_f64_table", turn);

// Computes f64 data in f32, like kernels that cast every input to float first. Seen by all
// properties but untouched_dims and unwritten_outputs.
const auto f64_in_f32 =
    in_range<double>("mutant_f64_in_f32_table", [](double& x1, double& x2, double c, double s) {
      auto a = static_cast<float>(x1), b = static_cast<float>(x2);
      turn(a, b, static_cast<float>(c), static_cast<float>(s));
      x1 = a;
      x2 = b;
    });

// Turns by polar form, lengths by hypot and angles by atan2, in a wider type: where there is one,
// an output is rounded about once. But no product with 1 or 0 keeps it exact. So position 0 changes
// the small element of a pair of unlike elements: of f32 by 1e-16 of the length, where that is more
// than half its last place.
constexpr auto polar_form = []<class Real>(Real& x1, Real& x2, Real c, Real s) {
  using Wide = std::conditional_t<std::is_same_v<Real, float>, double, long double>;
  const Wide length = std::hypot(Wide{x1}, Wide{x2}) * std::hypot(Wide{c}, Wide{s});
  const Wide angle = std::atan2(Wide{x2}, Wide{x1}) + std::atan2(Wide{s}, Wide{c});
  x1 = static_cast<Real>(length * std::cos(angle));
  x2 = static_cast<Real>(length * std::sin(angle));
};
const auto polar_form_f32 = in_range<float>("control_polar_form_table", polar_form);
const auto polar_form_f64 = in_range<double>("control_polar_form_f64_table", polar_form);

}  // namespace
}  // namespace ropewalk::mutants
