// Order: a permutation of batch rows, of heads, or of tokens with their positions permutes the
// result and changes nothing else. Here each axis is reversed.
//
// Bound: none if the kernel promises ROPE_BITWISE_INVARIANT, else 2 e rho. The property finds a row
// that is taken for another, a head index in the arithmetic, and a neighbour that changes a result.
//
// Kills by itself: row_zero_for_all, counts_on, promises_bits
#include <algorithm>
#include <utility>

#include "properties/fixed_cases.h"
#include "properties/property.h"
#include "properties/two_runs.h"

namespace ropewalk::properties {
using namespace harness;
namespace {

Finding check(Subject& subject, const Case& c) {
  const auto mirrored = [&](const HeadPlace& at) {
    return HeadPlace{at.tensor, c.batch - 1 - at.b, c.tokens - 1 - at.t,
                     c.tensors[at.tensor].heads - 1 - at.h};
  };
  const bool one_head = std::all_of(c.tensors.begin(), c.tensors.end(),
                                    [](const TensorCase& t) { return t.heads == 1; });
  if (c.batch == 1 && c.tokens == 1 && one_head)
    return not_for_this_case("there is only one row to permute");
  const Run first = run(subject, c);
  if (first.failed()) return first.failure;
  Case reversed = with_positions(c, [](std::int64_t p) { return p; });
  std::reverse(reversed.positions.begin(), reversed.positions.end());
  Problem problem = make_problem(reversed, subject.oracle);
  copy_heads(first.problem, problem, mirrored);
  const Run second = run(subject, std::move(problem));
  if (second.failed()) return second.failure;
  Tally tally;
  compare_same(subject, first, second, mirrored, "another order gives another result", tally);
  return tally.finding();
}

bool applies(const Offer& offer) {
  return offer.batch || offer.tokens || offer.many_heads;
}

const Registered order({
    .name = "order",
    .order = 200,
    .claim = "another order of rows, heads and tokens gives the same, in that order",
    .applies = applies,
    .needs = "more than one row",
    .shape = any_case,
    .fixed_cases = at_size,
    .check = check,
});

}  // namespace
}  // namespace ropewalk::properties
