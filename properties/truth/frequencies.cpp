// Frequencies: inv_freq may hold any values in [0, 2 pi] in any order, not only the powers of a
// base. Cases have zero, almost zero, nearly a whole turn, all equal, rising and repeated values,
// and the bases of models in use. With a table, inv_freq is only information and may change no
// result.
//
// Bound: that of agreement.
//
// Kills by itself: zero_frequency, frequencies_only
#include <vector>

#include "properties/property.h"
#include "properties/truth/agreement.h"

namespace ropewalk::properties {
using namespace harness;
namespace {

std::vector<Case> fixed_cases(const Offer& offer, Profile) {
  std::vector<Case> cases;
  Case c = offer.base;
  const bool table = c.contract == ROPE_CONTRACT_TABLE;
  if (offer.tokens) {
    c.tokens = 8;
    c.position_rule = PositionRule::list;
    const std::vector<std::int64_t> reached =
        table ? std::vector<std::int64_t>{0, 1, 2, 1000, 77, 1, 5, 9}
              : std::vector<std::int64_t>{0, 1, 2, 1000, 1'048'577, 1, 5, 9};
    c.positions.clear();
    for (std::int64_t b = 0; b < c.batch; ++b)
      c.positions.insert(c.positions.end(), reached.begin(), reached.end());
  } else {
    c.position_from = 1000;
  }
  for (const double theta : {1.0, 100.0, 5e5, 1e6, 1e7, 1e9}) {
    c.rope_theta = theta;
    cases.push_back(c);
    cases.push_back(widened(c, offer));
  }
  c.rope_theta = 10000;
  // All values are exact in f32, as the f32_angle contract demands.
  constexpr double near_whole = 0x1.921fb4p+2, near_half = 0x1.921fb4p+1;
  const std::vector<double> lists[] = {
      {0},
      {0x1p-100},
      {0.5},
      {near_whole},
      {0x1p-20, 0x1p-10, 0.25, 3},        // rising
      {1, 0, 0.125, 0},                   // not monotone
      {near_half, 1.5, 2.75, 5.5},        // above 1
      {1, 0x1p-100, near_whole, 0x1p-30}  // far apart
  };
  for (const std::vector<double>& list : lists) {
    c.inv_freq.clear();
    for (std::int64_t i = 0; i < c.rotary_dim / 2; ++i)
      c.inv_freq.push_back(list[static_cast<std::size_t>(i) % list.size()]);
    cases.push_back(c);
  }
  return cases;
}

const Registered frequencies({
    .name = "frequencies",
    .order = 300,
    .claim = "any frequencies in [0, 2 pi] are taken as they are",
    .judged_by_oracle = true,
    .fixed_cases = fixed_cases,
    .check = check_agreement,
});

}  // namespace
}  // namespace ropewalk::properties
