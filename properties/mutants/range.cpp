// Errors that show only at the upper or lower end of a type's range, in f32 and in f64.
#include <cmath>
#include <limits>

#include "kernels/common/support.h"
#include "properties/mutants/planted.h"

namespace ropewalk::mutants {
namespace {

// Sets pairs to 0 if their squared length overflows: from 2^64 on in f32, from 2^512 on in f64.
// Seen by agreement on huge data.
struct HugeIsBroken {
  template <class Real>
  static void rotate(Real& x1, Real& x2, Real c, Real s) {
    const bool broken = x1 * x1 + x2 * x2 > std::numeric_limits<Real>::max();
    const Real y1 = x1 * c - x2 * s, y2 = x2 * c + x1 * s;
    x1 = broken ? 0 : y1;
    x2 = broken ? 0 : y2;
  }
};

// Copies a pair if its squared length underflows to 0. Seen by agreement on tiny data.
struct TinyIsZero {
  template <class Real>
  static void rotate(Real& x1, Real& x2, Real c, Real s) {
    if (x1 * x1 + x2 * x2 == 0) return;
    const Real y1 = x1 * c - x2 * s;
    x2 = x2 * c + x1 * s;
    x1 = y1;
  }
};

// Computes with values twice as large, which is exact except in the last binade. Seen by agreement
// at the upper end of the range.
struct TwiceAsLarge {
  template <class Real>
  static void rotate(Real& x1, Real& x2, Real c, Real s) {
    const Real y1 = 2 * x1 * c - 2 * x2 * s, y2 = 2 * x2 * c + 2 * x1 * s;
    x1 = y1 / 2;
    x2 = y2 / 2;
  }
};

// Reads subnormal inputs as 0 without declaring it. Seen by agreement on subnormal data.
struct SubnormalIsZero {
  template <class Real>
  static void rotate(Real& x1, Real& x2, Real c, Real s) {
    constexpr Real normal = std::numeric_limits<Real>::min();
    if (std::abs(x1) < normal) x1 = 0;
    if (std::abs(x2) < normal) x2 = 0;
    const Real y1 = x1 * c - x2 * s;
    x2 = x2 * c + x1 * s;
    x1 = y1;
  }
};

// Uses a short series for small angles if the value is large. No real kernel does exactly this, but
// many have a special path for one part of the range. Seen by agreement on data of every size.
template <int least, int most>
struct WrongBetween {
  template <class Real>
  static void rotate(Real& x1, Real& x2, Real c, Real s) {
    const Real y1 = x1 * c - x2 * s;
    x2 = x2 * c + x1 * s;
    const int size = y1 != 0 && std::isfinite(y1) ? std::ilogb(y1) : 0;
    x1 = size >= least && size <= most ? -y1 : y1;
  }
};

template <class Real, class Error>
std::int32_t apply_error(const rope_problem* p, const rope_operands* o, void*) {
  rotate_each_head<Real>(*p, *o,
                         [&](const Head<Real>& head, std::int64_t half, Real scale, Real sign) {
                           for (std::int64_t i = 0; i < half; ++i) {
                             const auto [a, b] = pair_index(p->pairing, i, half);
                             Real x1 = head.in[a], x2 = head.in[b];
                             Error::rotate(x1, x2, head.cos[i], sign * head.sin[i]);
                             head.out[a] = scale * x1;
                             head.out[b] = scale * x2;
                           }
                         });
  return ROPE_OK;
}

template <class Real, class Error>
RegisteredKernel in_range(const char* name) {
  return altered(name, [](KernelInfo& info) {
    info.supports = [](const rope_problem* p, const char** reason) {
      return supports_data(*p, ROPE_ANGLES_TABLE, dtype_of<Real>, reason);
    };
    info.apply = apply_error<Real, Error>;
  });
}
const RegisteredKernel huge_f32 = in_range<float, HugeIsBroken>("mutant_range_huge_f32_table");
const RegisteredKernel tiny_f64 = in_range<double, TinyIsZero>("mutant_range_tiny_f64_table");
const RegisteredKernel twice_f32 = in_range<float, TwiceAsLarge>("mutant_range_twice_f32_table");
const RegisteredKernel twice_f64 = in_range<double, TwiceAsLarge>("mutant_range_twice_f64_table");
const RegisteredKernel stretch_f32 =
    in_range<float, WrongBetween<40, 60>>("mutant_range_stretch_f32_table");
const RegisteredKernel stretch_f64 =
    in_range<double, WrongBetween<-300, -200>>("mutant_range_stretch_f64_table");
const RegisteredKernel subnormal_f64 =
    in_range<double, SubnormalIsZero>("mutant_range_subnormal_f64_table");

}  // namespace
}  // namespace ropewalk::mutants
