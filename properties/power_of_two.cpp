// Power of two: R (2^k x) = 2^k R x, bit for bit: no rounding sees a power of two as long as
// nothing over- or underflows. k is seeded, between -20 and 20.
//
// Bound: none. It sees what depends on the size of x: fixed point, limits, absolute thresholds.
#include <cmath>

#include "harness/checked.h"
#include "harness/data.h"
#include "properties/property.h"
#include "properties/two_runs.h"

namespace ropewalk {
namespace {

int exponent_of(const Case& c) {
  const auto k = static_cast<int>(hash(c.seed, 0x2e) % 40) - 20;
  return k >= 0 ? k + 1 : k;
}

Finding check(Subject& subject, const Case& c) {
  require(
      c.data != DataPattern::tiny && c.data != DataPattern::huge && c.data != DataPattern::special,
      "power_of_two: data=tiny, huge or special would under- or overflow");
  const DoubleDouble factor(std::ldexp(1.0, exponent_of(c)));
  const auto times = [&](const PairValue& x) { return PairValue{x.re * factor, x.im * factor}; };
  const Run first = run(subject, c);
  if (first.failed()) return first.failure;
  const Run second = run_changed(subject, first, times);
  if (second.failed()) return second.failure;
  Tally tally;
  compare(subject, first, second,
          {"2^k times the input is not 2^k times the output", nullptr, times,
           [](double) { return 0.0; }},
          tally);
  return tally.finding();
}

void shape(Case& c, const Offer&) {
  if (c.data != DataPattern::unit && c.data != DataPattern::basis) c.data = DataPattern::wide;
}

}  // namespace

const Property power_of_two{"power_of_two",
                            "2^k times the input is 2^k times the output, bit for bit",
                            false,
                            nullptr,
                            "",
                            shape,
                            nullptr,
                            check};

}  // namespace ropewalk
