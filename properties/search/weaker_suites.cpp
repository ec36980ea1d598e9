// Limits that other suites use. They are not derived: an absolute error of 1e-2, a similarity of
// 0.999, an NMSE of 1e-7. The two means take whole outputs of the cases that agreement generates,
// so only the metric differs.
#include "properties/search/weaker_suites.h"

#include <algorithm>
#include <cmath>

#include "properties/explain/diagnosis.h"
#include "properties/fixed_cases.h"
#include "properties/whole_output.h"

namespace ropewalk::properties {
using namespace harness;
namespace {

// Runs a case. `measure` adds the error and limit of each placement's pairs to the tally.
template <class Measure>
Finding measured(Subject& subject, const Case& c, Measure&& measure) {
  const Problem problem = make_problem(c, subject.oracle);
  const Execution execution = execute(subject, problem);
  Finding f = failure_of(execution);
  // Writes outside the rows are no failure here, as such suites do not look for them.
  if (f.kind == Finding::Kind::broken && !execution.stray_write.empty()) f = {};
  if (f.kind != Finding::Kind::measured) return f;
  Tally tally;
  const Scene scene = scene_of(subject, problem, execution);
  for (const int placement : {0, 1}) {
    std::vector<const Seen*> pairs;
    for (const Seen& s : scene.pairs)
      if (s.placement == placement) pairs.push_back(&s);
    if (!pairs.empty()) measure(pairs, tally);
  }
  return tally.finding();
}

using Pairs = std::vector<const Seen*>;

Finding check_absolute(Subject& subject, const Case& c) {
  constexpr double limit = 1e-2;
  return measured(subject, c, [](const Pairs& pairs, Tally& tally) {
    for (const Seen* s : pairs) {
      const std::complex<double> error = s->y - s->truth;
      for (const double e : {error.real(), error.imag()})
        tally.add(std::abs(e), limit, [](Finding& f) { f.reason = "above 1e-2"; });
    }
  });
}

// One shape, positions 0 to 40, forward, contiguous.
std::vector<Case> one_shape(const Offer& offer, Profile) {
  const Case c = with(offer.base, offer, {.tokens = 41, .heads = 4, .second = true});
  const auto usual = std::ranges::find_if(
      offer.sizes, [](HeadSize s) { return s.rotary_dim == 64 && s.head_dim == 64; });
  return {usual == offer.sizes.end() ? c : resized(c, *usual)};
}

Finding check_cosine(Subject& subject, const Case& c) {
  constexpr double limit = 1 - 0.999;
  return measured(subject, c, [](const Pairs& pairs, Tally& tally) {
    double dot = 0, y2 = 0, truth2 = 0;
    for (const Seen* s : pairs) {
      dot += s->y.real() * s->truth.real() + s->y.imag() * s->truth.imag();
      y2 += std::norm(s->y);
      truth2 += std::norm(s->truth);
    }
    if (truth2 == 0) return;
    tally.add(1 - dot / std::sqrt(y2 * truth2), limit,
              [](Finding& f) { f.reason = "cosine similarity below 0.999"; });
  });
}

Finding check_nmse(Subject& subject, const Case& c) {
  constexpr double limit = 1e-7;
  return measured(subject, c, [](const Pairs& pairs, Tally& tally) {
    double error2 = 0, truth2 = 0;
    for (const Seen* s : pairs) {
      error2 += std::norm(s->y - s->truth);
      truth2 += std::norm(s->truth);
    }
    if (truth2 == 0) return;
    tally.add(error2 / truth2, limit, [](Finding& f) { f.reason = "NMSE above 1e-7"; });
  });
}

// If squares of values overflow or vanish, their mean has no meaning.
void ordinary_data(Case& c, const Offer&) {
  c.data = DataPattern::unit;
}

const Property no_array{
    .name = without_array,
    .claim = "whole outputs of agreement's fixed and random cases, without the covering array",
    .judged_by_oracle = true,
    .shape = any_case,
    .fixed_cases =
        [](const Offer& offer, Profile profile) {
          return property_named("agreement").fixed_cases(offer, profile);
        },
    .check = check_whole_output,
};
const Property typical_test{
    .name = "typical_test",
    .claim = "one shape, positions 0 to 40, within 1e-2 of the exact outputs",
    .judged_by_oracle = true,
    .fixed_cases = one_shape,
    .check = check_absolute,
};
const Property cosine{
    .name = "cosine",
    .claim = "cosine similarity of whole outputs with the exact ones at least 0.999",
    .judged_by_oracle = true,
    .shape = ordinary_data,
    .check = check_cosine,
};
const Property nmse{
    .name = "nmse",
    .claim = "normalised mean square error of whole outputs at most 1e-7",
    .judged_by_oracle = true,
    .shape = ordinary_data,
    .check = check_nmse,
};

}  // namespace

const std::vector<const Property*>& weaker_suites() {
  static const std::vector<const Property*> list = {&no_array, &typical_test, &cosine, &nmse};
  return list;
}

}  // namespace ropewalk::properties
