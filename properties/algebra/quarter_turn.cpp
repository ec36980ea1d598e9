// Quarter turn: rotations of a plane commute, R (i x) = i R x with i x = (-x2, x1).
//
// Bound: both calls turn vectors of the same length by the same R^, so 2 e rho. Bits may differ,
// because an FMA kernel rounds only one of the two products, and not the same one in both calls.
// The property finds different treatment of a pair's halves: a wrongly tiled table, a sign on one
// side, a scale on one element.
//
// Kills by itself: row_repeated, pairing_swapped, one_output_in_bf16
#include "properties/property.h"
#include "properties/two_runs.h"

namespace ropewalk::properties {
using namespace harness;
namespace {

PairValue quarter_turned(const PairValue& x) {
  return {DoubleDouble(0) - x.im, x.re};
}

Finding check(Subject& subject, const Case& c) {
  const Run first = run(subject, c);
  if (first.failed()) return first.failure;
  const Run second = run_changed(subject, first, quarter_turned);
  if (second.failed()) return second.failure;
  Tally tally;
  compare(subject, first, second,
          {"a quarter turn before is not a quarter turn after", nullptr, quarter_turned,
           [&](double rho, std::uint32_t tensor) {
             return 2 * error_of_one_call(subject, c, tensor, rho);
           }},
          tally);
  return tally.finding();
}

const Registered quarter_turn({
    .name = "quarter_turn",
    .order = 110,
    .claim = "a quarter turn before is a quarter turn after",
    .shape = any_case,
    .check = check,
});

}  // namespace
}  // namespace ropewalk::properties
