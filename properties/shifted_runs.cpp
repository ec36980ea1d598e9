#include "properties/shifted_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "harness/cases/checked.h"
#include "harness/cases/data.h"

namespace ropewalk::properties {
using namespace harness;

ShiftedRuns run_shifted(Subject& subject, Problem problem) {
  ShiftedRuns out;
  const Case c = problem.source;
  require(!c.own_tables && !c.own_sin && c.data != DataPattern::tiny &&
              c.data != DataPattern::huge && c.data != DataPattern::far &&
              c.data != DataPattern::special,
          "{}: needs own_tables=0 and own_sin=0, as q and k must turn by the same angles, and data "
          "whose products stay in range: not tiny, huge or special",
          c.property);
  out.here = run(subject, std::move(problem));
  out.failure = out.here.failure;
  if (out.here.failed()) return out;
  Case there = with_positions(c, [&](std::int64_t p) { return p + c.shift; });
  const auto axes = static_cast<std::size_t>(c.axes);
  const std::size_t alone = hash(c.seed, 0xa17) % (axes + 1), plane = there.positions.size() / axes;
  const bool one_alone = axes > 1 && alone < axes && c.position_axis_stride != 0;
  for (std::size_t i = 0; one_alone && i < there.positions.size(); ++i)
    if (i / plane != alone) there.positions[i] -= c.shift;
  out.there = run_part(subject, out.here, {there});
  out.failure = out.there.failure;
  if (out.there.failed()) return out;
  out.angle = std::max(angle_error(out.here.problem), angle_error(out.there.problem));
  return out;
}

Dot dot(const Subject& subject, const Run& run, const DotPlace& at) {
  const Problem& p = run.problem;
  const bounds::Precision of_q = precision_of(subject.facts, p.source, at.q.tensor),
                          of_k = precision_of(subject.facts, p.source, at.k.tensor);
  const Outputs& outputs = run.execution.outputs[at.placement];
  DoubleDouble sum, q2, k2;
  double stored = 0;
  const InputPairs of_query(p, outputs.placement, {at.q.tensor, at.b, at.m, at.q.h}),
      of_key(p, outputs.placement, {at.k.tensor, at.b, at.n, at.k.h});
  for (std::int64_t i = 0; i < p.asked.rotary_dim / 2; ++i) {
    const PairValue yq = output_pair(p, outputs, at.q.tensor, at.b, at.m, at.q.h, i);
    const PairValue yk = output_pair(p, outputs, at.k.tensor, at.b, at.n, at.k.h, i);
    sum = sum + (yq.re * yk.re + yq.im * yk.im);
    if (of_q.stored_u > 0 || of_k.stored_u > 0) {
      const double dq = stored_error(of_q, yq), dk = stored_error(of_k, yk);
      stored += dq * magnitude(yk) + magnitude(yq) * dk + dq * dk;
    }
    const PairValue xq = of_query[i], xk = of_key[i];
    q2 = q2 + (xq.re * xq.re + xq.im * xq.im);
    k2 = k2 + (xk.re * xk.re + xk.im * xk.im);
  }
  return {sum, std::sqrt(static_cast<double>(q2) * static_cast<double>(k2)), stored};
}

ShiftBound::ShiftBound(const Subject& subject, const ShiftedRuns& runs, std::uint32_t q,
                       std::uint32_t k) {
  const Case& c = runs.here.problem.source;
  const double scale = scale_of(c);
  // Relative to its length, how far an output of this tensor may be from the exact rotation.
  const auto error_of = [&](std::uint32_t tensor) {
    return bounds::compound(bounds::product(precision_of(subject.facts, c, tensor).u, scale != 1),
                            rotation_error(subject.facts, c, tensor) + runs.angle);
  };
  relative_ = 2 * scale * scale * bounds::compound(error_of(q), error_of(k));
}

void for_each_query_head(const Problem& problem,
                         const std::function<void(const DotPlace&)>& visit) {
  const rope_problem& p = problem.asked;
  std::vector<std::uint32_t> rotated;
  for (std::uint32_t i = 0; i < p.tensor_count; ++i)
    if (p.tensor[i].rotate != 0) rotated.push_back(i);
  if (rotated.empty()) return;
  const std::uint32_t q = rotated.front(), k = rotated[rotated.size() > 1 ? 1 : 0];
  for (std::size_t placement = 0; placement < 2; ++placement)
    for (std::int64_t b = 0; b < p.batch; ++b)
      for (std::int64_t h = 0; h < p.tensor[q].heads; ++h)
        visit({placement, b, {q, h}, 0, {k, h * p.tensor[k].heads / p.tensor[q].heads}, 0});
}

void shape_for_shift(Case& c, std::int64_t most_tokens) {
  c.data = DataPattern::unit;
  c.own_tables = false;  // q and k must turn by the same angles
  c.tokens = std::clamp<std::int64_t>(c.tokens, 2, most_tokens);
  c.batch = std::min<std::int64_t>(c.batch, 2);
  keep_room_for_shift(c);
}

void describe(Finding& f, const Subject& subject, const ShiftedRuns& runs, const DotPlace& at,
              std::string_view what, const char* broken) {
  const Case& c = runs.here.problem.source;
  f.where = fmt::format("{}, {} against head {}, shifted by {}",
                        place_text(at.q.tensor, at.b, at.m, at.q.h), what, at.k.h, c.shift);
  f.bound /= precision_of(subject.facts, c, at.q.tensor).unit();
  f.bound_unit = "u";
  f.reason = f.margin <= 1 ? "" : broken;
}

Values attention_values(const Case& c, std::int64_t b, std::int64_t head) {
  Values out(static_cast<std::size_t>(c.tokens));
  for (std::size_t t = 0; t < out.size(); ++t)
    for (int e = 0; e < 4; ++e)
      out[t].push_back(unit_value(hash(c.seed, 0x7a1, b, head, t, e), 24));
  return out;
}

}  // namespace ropewalk::properties
