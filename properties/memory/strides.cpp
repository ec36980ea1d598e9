// Strides: a tensor with gaps, heads before tokens, or Q and K side by side in one buffer is
// rotated like the same tensor packed.
//
// Bound: none if the kernel promises ROPE_BITWISE_INVARIANT, else 2 e rho.
//
// Kills by itself: promises_bits, heads_taken_as_dense
#include <algorithm>
#include <utility>
#include <vector>

#include "properties/property.h"
#include "properties/two_runs.h"

namespace ropewalk::properties {
using namespace harness;
namespace {

Finding check(Subject& subject, const Case& c) {
  const Case packed = contiguous_case(c);
  if (with_positions(c, [](std::int64_t p) { return p; }) == packed)
    return not_for_this_case("its memory is contiguous already");
  const Run spread = run(subject, c);
  if (spread.failed()) return spread.failure;
  Problem together = make_problem(packed, subject.oracle);
  copy_heads(spread.problem, together, [](const HeadPlace& at) { return at; });
  const Run contiguous = run(subject, std::move(together));
  if (contiguous.failed()) return contiguous.failure;
  Tally tally;
  compare_same(subject, contiguous, spread, nullptr, "the strides change the result", tally);
  return tally.finding();
}

bool applies(const Offer& offer) {
  return offer.padded || offer.head_major || offer.fused || offer.strided_positions ||
         offer.padded_table;
}

// One token, whose table has one row. The stride of that row is never used, so it may be anything:
// less than a row, as in a broadcast, or far beyond the table.
std::vector<Case> fixed_cases(const Offer& offer, Profile) {
  std::vector<Case> cases;
  if (!offer.rows_by_token || !offer.padded_table) return cases;
  Case c = offer.base;
  // What offers padded tables takes this, though it may refuse a single token.
  c.tokens = std::max<std::int64_t>(c.tokens, 2);
  c.table_row_stride = c.rotary_dim / 2 + 3;
  cases.push_back(c);
  if (offer.batch) c.batch = 1;
  c.tokens = 1;
  if (c.batch > 1) return cases;
  c.position_from = 5;
  c.rows_by = ROPE_ROW_BY_TOKEN;
  for (const std::int64_t stride : {0, 1, 1'000'003}) {
    c.table_row_stride = stride;
    cases.push_back(c);
  }
  return cases;
}

const Registered strides({
    .name = "strides",
    .order = 190,
    .claim = "strided memory gives what contiguous memory gives",
    .applies = applies,
    .needs = "memory that is not contiguous",
    .shape = any_case,
    .fixed_cases = fixed_cases,
    .check = check,
});

}  // namespace
}  // namespace ropewalk::properties
