// Errors of f64 data, where u is 2^-53. The frame of the other mutants is f32.
#include <cmath>

#include "kernels/common/support.h"
#include "properties/mutants/planted.h"

namespace ropewalk::mutants {
namespace {

struct Turned {
  double re, im;
};

// Each value passes through the type Narrow: float, or double for no change.
template <class Narrow>
Turned product(double x1, double x2, double c, double s, double scale) {
  const auto a = static_cast<Narrow>(x1), b = static_cast<Narrow>(x2);
  const auto re = static_cast<Narrow>(c), im = static_cast<Narrow>(s);
  const auto by = static_cast<Narrow>(scale);
  return {double{by * (a * re - b * im)}, double{by * (b * re + a * im)}};
}

// Turns by polar form in the widest type: where that is wider than double, an output is rounded
// about once.
Turned polar_form(double x1, double x2, double c, double s, double scale) {
  using Wide = long double;
  const Wide length = Wide{scale} * std::hypot(Wide{x1}, Wide{x2}) * std::hypot(Wide{c}, Wide{s});
  const Wide angle = std::atan2(Wide{x2}, Wide{x1}) + std::atan2(Wide{s}, Wide{c});
  return {static_cast<double>(length * std::cos(angle)),
          static_cast<double>(length * std::sin(angle))};
}

template <Turned (*turn)(double x1, double x2, double c, double s, double scale)>
RegisteredKernel on_f64(const char* name) {
  return altered(name, [](KernelInfo& info) {
    info.supports = [](const rope_problem* p, const char** reason) {
      return supports_data(*p, ROPE_ANGLES_TABLE, ROPE_F64, reason);
    };
    info.apply = [](const rope_problem* p, const rope_operands* o, void*) -> std::int32_t {
      rotate_each_head<double>(
          *p, *o, [p](const Head<double>& head, std::int64_t half, double scale, double sign) {
            for (std::int64_t i = 0; i < half; ++i) {
              const auto [a, b] = pair_index(p->pairing, i, half);
              const Turned y = turn(head.in[a], head.in[b], head.cos[i], sign * head.sin[i], scale);
              head.out[a] = y.re;
              head.out[b] = y.im;
            }
          });
      return ROPE_OK;
    };
  });
}

// Computes f64 data in f32, like kernels that cast every input to float first. Seen by all
// properties but untouched_dims and unwritten_outputs.
const auto f64_in_f32 = on_f64<product<float>>("mutant_f64_in_f32_table");

// The same frame without the error.
const auto f64_control = on_f64<product<double>>("control_f64_table");

// No product with 1 or 0 keeps its outputs exact, not even at position 0.
const auto f64_polar_form = on_f64<polar_form>("control_polar_form_f64_table");

}  // namespace
}  // namespace ropewalk::mutants
