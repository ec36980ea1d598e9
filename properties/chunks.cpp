// Chunks: a prompt in two parts gives what the whole gives, as a prefill in pieces and a decode
// step after it do.
//
// Bound: none where the kernel promises ROPE_BITWISE_INVARIANT, else 2 e rho. It sees a kernel that
// counts positions itself, treats one token as the first, or goes on from the token before.
#include <algorithm>
#include <utility>
#include <vector>

#include "properties/property.h"
#include "properties/two_runs.h"

namespace ropewalk {
namespace {

// The tokens [from, from + count) of a case.
Case part_of(const Case& c, std::int64_t from, std::int64_t count) {
  Case part = with_positions(c, [](std::int64_t p) { return p; });
  std::vector<std::int64_t> kept;
  for (std::int64_t b = 0; b < c.batch; ++b)
    for (std::int64_t t = from; t < from + count; ++t)
      kept.push_back(part.positions[static_cast<std::size_t>(b * c.tokens + t)]);
  part.positions = kept;
  part.tokens = count;
  return part;
}

Finding check(Subject& subject, const Case& c) {
  if (c.tokens < 2) return not_for_this_case("one token has no two parts");
  const Run whole = run(subject, c);
  if (whole.failed()) return whole.failure;
  const std::int64_t cut = 1 + c.shift % (c.tokens - 1);
  Tally tally;
  for (const auto& [from, count] :
       {std::pair{std::int64_t{0}, cut}, std::pair{cut, c.tokens - cut}}) {
    const auto source = [first = from](HeadPlace at) {
      at.t += first;
      return at;
    };
    Problem problem = make_problem(part_of(c, from, count), subject.oracle);
    copy_heads(whole.problem, problem, source);
    const Run part = run(subject, std::move(problem));
    if (part.failed()) return part.failure;
    compare_same(subject, whole, part, source, "a part differs from the whole", tally);
  }
  return tally.finding();
}

bool applies(const Offer& offer) {
  return offer.tokens;
}

void shape(Case& c, const Offer&) {
  c.tokens = std::max<std::int64_t>(c.tokens, 2);
}

}  // namespace

const Property chunks{"chunks",
                      "a prompt in parts gives what the whole gives",
                      false,
                      applies,
                      "two tokens in one call",
                      shape,
                      nullptr,
                      check};

}  // namespace ropewalk
