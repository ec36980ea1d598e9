// Alignment: every base pointer may lie at any multiple of its element's size, each at its own
// distance from a 64-byte line. The result equals that of the same data at the beginning of a page.
//
// Bound: none if the kernel promises ROPE_BITWISE_INVARIANT, else 2 e rho (compare_same). A kernel
// with ROPE_NEEDS_ALIGN_64 is exempt.
//
// Kills by itself: promises_bits, aligned_loads
#include <vector>

#include "harness/cases/data.h"
#include "properties/fixed_cases.h"
#include "properties/property.h"
#include "properties/two_runs.h"

namespace ropewalk::properties {
using namespace harness;
namespace {

// Runs both placements with all buffers at these distances from the beginning of their pages.
Run run_at(Subject& subject, const Problem& problem,
           const std::function<std::uint64_t(std::size_t)>& lead) {
  return run_like(subject, problem, {.steps = 0, .lead = lead});
}

Finding check(Subject& subject, const Case& c) {
  const Problem problem = make_problem(c, subject.oracle);
  const Run aligned = run_at(subject, problem, [](std::size_t) { return 0; });
  if (aligned.failed()) return aligned.failure;
  const Run apart = run_at(subject, problem, [&](std::size_t buffer) {
    const auto size = static_cast<std::uint64_t>(problem.buffers[buffer].element_bytes());
    const auto at = static_cast<std::int64_t>(buffer);
    // Below 16, `shift` is the distance in elements of two thirds of the buffers; the others get a
    // seeded one. From 16 on, all distances are seeded.
    const std::uint64_t chance = hash(c.seed, 0xa119, c.shift, at);
    const bool common = c.shift < 16 && chance % 3 != 0;
    const std::uint64_t elements = common ? static_cast<std::uint64_t>(c.shift) : chance >> 8;
    return elements % (64 / size) * size;
  });
  if (apart.failed()) return apart.failure;
  Tally tally;
  compare_same(subject, aligned, apart, nullptr, "another alignment gives another result", tally);
  return tally.finding();
}

bool applies(const Offer& offer) {
  return offer.any_alignment;
}

std::vector<Case> fixed_cases(const Offer& offer, Profile profile) {
  std::vector<Case> cases = at_size(offer, profile);
  Case c = with(offer.base, offer, {.from = 3, .tokens = 3});
  const std::int64_t count = profile == Profile::smoke ? 24 : 96;
  for (std::int64_t i = 1; i < count; ++i) {
    c.shift = i;
    const HeadSize size = offer.any_size && i % 4 == 3
                              ? HeadSize{45, 18}
                              : offer.sizes[static_cast<std::size_t>(i) % offer.sizes.size()];
    cases.push_back(with(resized(c, size), offer, {.in_place = i % 3 == 0}));
  }
  return cases;
}

const Registered alignment({
    .name = "alignment",
    .order = 270,
    .claim = "pointers at any multiple of their element give the same",
    .applies = applies,
    .needs = "a kernel without ROPE_NEEDS_ALIGN_64",
    .fixed_cases = fixed_cases,
    .check = check,
});

}  // namespace
}  // namespace ropewalk::properties
