// Pair locality: an input that is not finite stays in its pair. Every head gets one such element.
// At least one output of that pair must be not finite, and no other pair may change a bit.
//
// Bound: none. Which output of the pair, and which NaN, is not judged: by Annex G of the C
// standard, std::complex turns (-inf, NaN) into (inf, inf). For a kernel that declares
// ROPE_MIXES_PAIRS only the changed pair is judged, because 0 * inf = NaN reaches all pairs of a
// matrix product.
//
// Kills by itself: nan_to_zero, zero_times_all
#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "harness/cases/data.h"
#include "properties/property.h"
#include "properties/two_runs.h"

namespace ropewalk::properties {
using namespace harness;
namespace {

constexpr double specials[] = {std::numeric_limits<double>::infinity(),
                               -std::numeric_limits<double>::infinity(),
                               std::numeric_limits<double>::quiet_NaN()};

// Which pair of a head is changed, to which value, and in which of its elements, or in both.
struct Hit {
  std::int64_t pair;
  double value;
  bool first, second;
};
Hit hit_of(const Case& c, const HeadPlace& at) {
  const std::uint64_t bits = hash(c.seed, 0x1f, at.tensor, at.b, at.t, at.h);
  return {static_cast<std::int64_t>(bits % static_cast<std::uint64_t>(c.rotary_dim / 2)),
          specials[(bits >> 32) % 3], (bits >> 40) % 4 != 1, (bits >> 40) % 4 != 2};
}

bool finite(const PairValue& y) {
  return std::isfinite(y.re.hi) && std::isfinite(y.im.hi);
}
bool equal(const PairValue& a, const PairValue& b) {
  const auto same = [](double x, double y) {
    return std::bit_cast<std::uint64_t>(x) == std::bit_cast<std::uint64_t>(y);
  };
  return same(a.re.hi, b.re.hi) && same(a.im.hi, b.im.hi);
}

Finding check(Subject& subject, const Case& c) {
  const bool mixes = (subject.facts.flags & ROPE_MIXES_PAIRS) != 0;
  const Run clean = run(subject, c);
  if (clean.failed()) return clean.failure;
  Problem problem = make_problem(c, subject.oracle);
  replace_pairs(problem, [&](int placement, const HeadPlace& at, std::int64_t pair) {
    PairValue x = input_pair(clean.problem, placement, at, pair);
    const Hit hit = hit_of(c, at);
    if (pair == hit.pair && hit.first) x.re = DoubleDouble(hit.value);
    if (pair == hit.pair && hit.second) x.im = DoubleDouble(hit.value);
    return x;
  });
  const Run struck = run(subject, std::move(problem));
  if (struck.failed()) return struck.failure;
  Tally tally;
  for_each_rotated_head(clean.problem, [&](std::uint32_t tensor, std::int64_t b, std::int64_t t,
                                           std::int64_t h) {
    const Hit hit = hit_of(c, {tensor, b, t, h});
    for (std::size_t placement = 0; placement < 2; ++placement)
      for (std::int64_t i = 0; i < c.rotary_dim / 2; ++i) {
        if (mixes && i != hit.pair) continue;
        const auto y = [&](const Run& of) {
          return output_pair(of.problem, of.execution.outputs[placement], tensor, b, t, h, i);
        };
        const bool holds = i == hit.pair ? !finite(y(struck)) : equal(y(struck), y(clean));
        tally.add(holds ? 0 : 1, 0, [&](Finding& f) {
          f.where = fmt::format("{} pair {}", place_text(tensor, b, t, h), i);
          f.bound_unit = "bits";
          if (holds) return;
          f.reason = i == hit.pair
                         ? "an input of the pair is not finite, but both outputs are"
                         : fmt::format("{} in pair {} changed another pair", hit.value, hit.pair);
        });
      }
  });
  return tally.finding();
}

const Registered pair_locality({
    .name = "pair_locality",
    .place = {"memory", 170},
    .claim = "what is not finite stays in its pair",
    .without_norm = true,
    .shape = any_case,
    .check = check,
});

}  // namespace
}  // namespace ropewalk::properties
