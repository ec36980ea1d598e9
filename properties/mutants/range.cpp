// Errors that show only at the upper or lower end of a type's range, in f32 and in f64, and an
// error of f64 data.
#include <cmath>
#include <limits>

#include "kernels/common/support.h"
#include "properties/mutants/planted.h"

namespace ropewalk::mutants {
namespace {

// A kernel that turns a pair by `turn(x1, x2, cos, sin)`, which replaces both values.
template <class Real, class Turn>
RegisteredKernel in_range(const char* name, Turn) {
  return altered(name, [](KernelInfo& info) {
    info.supports = [](const rope_problem* p, const char** reason) {
      return supports_data(*p, ROPE_ANGLES_TABLE, dtype_of<Real>, reason);
    };
    info.apply = [](const rope_problem* p, const rope_operands* o, void*) -> std::int32_t {
      rotate_each_head<Real>(*p, *o,
                             [p](const Head<Real>& head, std::int64_t half, Real scale, Real sign) {
                               for (std::int64_t i = 0; i < half; ++i) {
                                 const auto [a, b] = pair_index(p->pairing, i, half);
                                 Real x1 = head.in[a], x2 = head.in[b];
                                 Turn{}(x1, x2, head.cos[i], sign * head.sin[i]);
                                 head.out[a] = scale * x1;
                                 head.out[b] = scale * x2;
                               }
                             });
      return ROPE_OK;
    };
  });
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

// Reads subnormal inputs as 0 without declaring it. Seen by agreement on subnormal data.
const auto subnormal_f64 = in_range<double>(
    "mutant_range_subnormal_f64_table", [](double& x1, double& x2, double c, double s) {
      for (double* x : {&x1, &x2})
        if (std::abs(*x) < std::numeric_limits<double>::min()) *x = 0;
      turn(x1, x2, c, s);
    });

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

// Turns by polar form in the widest type: where that is wider than double, an output is rounded
// about once. No product with 1 or 0 keeps its outputs exact, not even at position 0.
const auto f64_polar_form = in_range<double>(
    "control_polar_form_f64_table", [](double& x1, double& x2, double c, double s) {
      using Wide = long double;
      const Wide length = std::hypot(Wide{x1}, Wide{x2}) * std::hypot(Wide{c}, Wide{s});
      const Wide angle = std::atan2(Wide{x2}, Wide{x1}) + std::atan2(Wide{s}, Wide{c});
      x1 = static_cast<double>(length * std::cos(angle));
      x2 = static_cast<double>(length * std::sin(angle));
    });

}  // namespace
}  // namespace ropewalk::mutants
