// Relative position: q.k depends on m - n only. All positions are shifted by s and every dot
// product between two tokens must stay what it was (RoFormer, section 3.1, eq. 11).
//
// Bound: a rotated vector is off by at most |x| e, e = (1 + gamma u)(1 + |r^ - r|) - 1, so a dot
// product by a^2 |q| |k| ((1 + e)^2 - 1), and two of them by twice that. Under the f32_angle
// contract the angles themselves are off by delta, known for each position, which adds to |r^ - r|.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/checked.h"
#include "harness/judge.h"
#include "properties/property.h"

namespace ropewalk {
namespace {

// The largest angle error of the f32_angle contract over all positions and pairs, in rad; 0 for
// others.
double angle_error(const Problem& p) {
  if (p.source.contract != ROPE_CONTRACT_F32_ANGLE) return 0;
  double worst = 0;
  for (const std::int64_t position : p.positions)
    for (const double f : p.inv_freq) {
      const float angle = static_cast<float>(position) * static_cast<float>(f);
      worst = std::max(worst, std::abs(double{angle} - static_cast<double>(position) * f));
    }
  return worst;
}

struct HeadRef {
  std::uint32_t tensor;
  std::int64_t h;
};

struct Dot {
  DoubleDouble value;  ///< q.k of the outputs
  double norms;        ///< |q| |k| of the inputs
};

Dot dot(const Problem& p, const Outputs& outputs, std::int64_t b, HeadRef q, std::int64_t m,
        HeadRef k, std::int64_t n) {
  DoubleDouble sum, q2, k2;
  for (std::int64_t i = 0; i < p.asked.rotary_dim / 2; ++i) {
    const PairValue yq = output_pair(p, outputs, q.tensor, b, m, q.h, i);
    const PairValue yk = output_pair(p, outputs, k.tensor, b, n, k.h, i);
    sum = sum + (yq.re * yk.re + yq.im * yk.im);
    const PairValue xq = input_pair(p, outputs, q.tensor, b, m, q.h, i);
    const PairValue xk = input_pair(p, outputs, k.tensor, b, n, k.h, i);
    q2 = q2 + (xq.re * xq.re + xq.im * xq.im);
    k2 = k2 + (xk.re * xk.re + xk.im * xk.im);
  }
  return {sum, std::sqrt(static_cast<double>(q2) * static_cast<double>(k2))};
}

// Compares every pair of tokens of one batch row and placement.
void compare(const Subject& subject, const Problem& here, const Problem& there,
             const Outputs& at_here, const Outputs& at_there, std::int64_t b, HeadRef q, HeadRef k,
             double error, Tally& tally) {
  const Case& c = here.source;
  const double scale = c.attention_scale == 0 ? 1 : c.attention_scale;
  const double u = precision_of(subject.facts, c.dtype).u;
  for (std::int64_t m = 0; m < c.tokens; ++m)
    for (std::int64_t n = 0; n < c.tokens; ++n) {
      const Dot before = dot(here, at_here, b, q, m, k, n);
      const Dot after = dot(there, at_there, b, q, m, k, n);
      const double bound = 2 * scale * scale * before.norms * error;
      tally.add(std::abs(static_cast<double>(before.value - after.value)), bound, [&](Finding& f) {
        f.where = fmt::format("{} . {} shifted by {}", place_text(q.tensor, b, m, q.h),
                              place_text(k.tensor, b, n, k.h), c.shift);
        f.bound = before.norms > 0 ? bound / (before.norms * u) : 0;
        f.bound_unit = "u |q||k|";
        f.diagnosis =
            fmt::format("q.k went from {:.9g} to {:.9g}", before.value.hi, after.value.hi);
        f.reason = f.margin <= 1 ? "" : "q.k changed with a shift of all positions";
      });
    }
}

Finding check(Subject& subject, const Case& c) {
  require(!c.own_tables, "relative_position: needs own_tables=0, q and k turn by the same angles");
  Case moved = c;
  moved.position_rule = PositionRule::list;
  moved.positions = positions_of(c);
  for (std::int64_t& p : moved.positions) p += c.shift;
  const Problem here = make_problem(c, subject.oracle), there = make_problem(moved, subject.oracle);
  const Execution at_here = execute(subject, here);
  if (const Finding f = failure_of(at_here); f.kind != Finding::Kind::measured) return f;
  const Execution at_there = execute(subject, there);
  if (const Finding f = failure_of(at_there); f.kind != Finding::Kind::measured) return f;

  const double u = precision_of(subject.facts, c.dtype).u;
  const bool scaled = c.attention_scale != 0 && c.attention_scale != 1;
  const double delta =
      rotation_error(subject.facts, c.dtype) + std::max(angle_error(here), angle_error(there));
  const double e = bounds::compound(bounds::product(u, scaled), delta);
  const double error = bounds::compound(e, e);
  std::vector<HeadRef> heads;
  for (std::uint32_t i = 0; i < here.asked.tensor_count; ++i)
    for (std::int64_t h = 0; h < here.asked.tensor[i].heads && here.asked.tensor[i].rotate != 0;
         ++h)
      heads.push_back({i, h});
  Tally tally;
  if (heads.empty()) return tally.finding();
  for (std::size_t placement = 0; placement < 2; ++placement)
    for (std::int64_t b = 0; b < c.batch; ++b)
      for (std::size_t i = 0; i < heads.size(); ++i)
        compare(subject, here, there, at_here.outputs[placement], at_there.outputs[placement], b,
                heads[i], heads[(i + 1) % heads.size()], error, tally);
  return tally.finding();
}

bool applies(const Offer& offer) {
  return offer.tokens;
}

void shape(Case& c, const Offer&) {
  c.data = DataPattern::unit;
  c.own_tables = false;                                 // q and k must turn by the same angles
  c.tokens = std::clamp<std::int64_t>(c.tokens, 2, 4);  // every pair of tokens is compared
  c.batch = std::min<std::int64_t>(c.batch, 2);
  if (c.shift == 0) c.shift = 1;
  if (c.position_to > (std::int64_t{1} << 30)) c.position_to = std::int64_t{1} << 30;
}

}  // namespace

const Property relative_position{
    "relative_position", "q.k depends on m - n only", false, applies, shape, nullptr, check};

}  // namespace ropewalk
