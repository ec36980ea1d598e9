// Chunks: a prompt in two parts gives the same as the whole. Inference runs such parts: a prefill
// in pieces, then a decode step.
//
// Bound: none if the kernel promises ROPE_BITWISE_INVARIANT, else 2 e rho. The property finds a
// kernel that counts positions itself, treats a single token as the first, or continues from the
// token before.
//
// Kills by itself: decode_at_zero, counts_on, promises_bits, stretched_for_longest
#include <algorithm>
#include <utility>
#include <vector>

#include "properties/fixed_cases.h"
#include "properties/property.h"
#include "properties/two_runs.h"

namespace ropewalk::properties {
using namespace harness;
namespace {

std::vector<CasePart> parts_of(const Case& c) {
  std::vector<CasePart> parts;
  if (c.tokens > 1) {
    const std::int64_t cut = 1 + c.shift % (c.tokens - 1);
    parts = {{0, c.batch, 0, cut}, {0, c.batch, cut, c.tokens - cut}};
  }
  if (c.batch > 1) {
    const std::int64_t cut = 1 + c.shift % (c.batch - 1);
    parts.push_back({0, cut, 0, c.tokens});
    parts.push_back({cut, c.batch - cut, 0, c.tokens});
  }
  return parts;
}

Finding check(Subject& subject, const Case& c) {
  if (c.tokens < 2 && c.batch < 2) return not_for_this_case("one token has no two parts");
  Problem problem = make_problem(c, subject.oracle);
  keep_positions(problem);  // of the first placement: a part would get others than the whole
  const Run whole = run(subject, std::move(problem));
  if (whole.failed()) return whole.failure;
  Tally tally;
  for (const CasePart& part : parts_of(c)) {
    const Run alone = run_part(subject, whole, part);
    if (alone.failed()) return alone.failure;
    compare_same(subject, whole, alone, source_of(part), "a part differs from the whole", tally);
  }
  return tally.finding();
}

bool applies(const Offer& offer) {
  return offer.tokens || offer.batch;
}

void shape(Case& c, const Offer& offer) {
  if (offer.tokens) c.tokens = std::max<std::int64_t>(c.tokens, 2);
}

// Batch rows at very different places, with the first and the last cut off alone. No row may depend
// on its neighbours, as a frequency that is stretched for the longest row would.
std::vector<Case> fixed_cases(const Offer& offer, Profile profile) {
  std::vector<Case> cases = at_size(offer, profile);
  std::erase_if(cases, [](const Case& c) { return c.tokens < 2 && c.batch < 2; });
  if (!offer.batch) return cases;
  Case c = offer.base;
  c.position_rule = PositionRule::list;
  const bool table = c.contract == ROPE_CONTRACT_TABLE;
  for (const std::int64_t batch : {2, 4, 9, 17}) {
    c.batch = batch;
    c.positions.clear();
    for (std::int64_t b = 0; b < batch; ++b)
      for (std::int64_t t = 0; t < c.tokens; ++t)
        c.positions.push_back((b % 3 == 1 ? (table ? 900 : 900'000) : 3 * b) + t);
    for (const std::int64_t cut : {std::int64_t{0}, batch - 2}) {
      c.shift = cut;
      cases.push_back(c);
    }
  }
  return cases;
}

const Registered chunks({
    .name = "chunks",
    .order = 210,
    .claim = "a prompt in parts gives what the whole gives",
    .applies = applies,
    .needs = "two tokens or batch rows in one call",
    .shape = shape,
    .fixed_cases = fixed_cases,
    .check = check,
});

}  // namespace
}  // namespace ropewalk::properties
