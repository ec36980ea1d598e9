// Transpose: the backward pass undoes the forward pass, R^T R x = a^2 x.
//
// Bound: two products and two rotations, the second on a vector as long as the first's result:
// a^2 |x| (((1 + gamma u)(1 + | |r^| - 1 |))^2 - 1); the angle's own error cancels, because both
// passes use the same r^.
#include <fmt/format.h>

#include "harness/checked.h"
#include "harness/judge.h"
#include "properties/property.h"

namespace ropewalk {
namespace {

// The outputs of a tensor in logical order, as the explicit input of the way back.
std::vector<double> values_of(const Problem& p, const Outputs& outputs, std::uint32_t tensor) {
  std::vector<double> values;
  const TensorPlaces& at = p.tensor[tensor];
  for (std::int64_t b = 0; b < p.asked.batch; ++b)
    for (std::int64_t t = 0; t < p.asked.tokens; ++t)
      for (std::int64_t h = 0; h < p.asked.tensor[tensor].heads; ++h)
        for (std::int64_t e = 0; e < p.asked.tensor[tensor].head_dim; ++e)
          values.push_back(load(outputs[static_cast<std::size_t>(at.out)], p.source.dtype,
                                at.out_at + out_index(p.asked, tensor, b, t, h) + e));
  return values;
}

Finding check(Subject& subject, const Case& c) {
  require(c.operation == ROPE_FORWARD, "transpose: needs op=forward, it makes the way back itself");
  const Problem there = make_problem(c, subject.oracle);
  const Execution forward = execute(subject, there);
  if (const Finding f = failure_of(forward); f.kind != Finding::Kind::measured) return f;
  Case back = c;
  back.operation = ROPE_TRANSPOSE;
  for (std::uint32_t i = 0; i < there.asked.tensor_count; ++i)
    back.tensors[i].values = values_of(there, forward.outputs[0], i);
  const Problem here = make_problem(back, subject.oracle);
  const Execution returned = execute(subject, here);
  if (const Finding f = failure_of(returned); f.kind != Finding::Kind::measured) return f;

  const double scale = c.attention_scale == 0 ? 1 : c.attention_scale;
  const bounds::Precision precision = precision_of(subject.facts, c.dtype);
  const double one_way = bounds::compound(bounds::product(precision.u, scale != 1),
                                          rotation_error(subject.facts, c.dtype));
  const double both_ways = bounds::compound(one_way, one_way);
  Tally tally;
  for_each_rotated_head(
      there.asked, [&](std::uint32_t tensor, std::int64_t b, std::int64_t t, std::int64_t h) {
        for (const Outputs& outputs : returned.outputs)
          for (std::int64_t i = 0; i < c.rotary_dim / 2; ++i) {
            const PairValue x = input_pair(there, forward.outputs[0], tensor, b, t, h, i);
            const PairValue y = output_pair(here, outputs, tensor, b, t, h, i);
            const PairValue expected{x.re * (DoubleDouble(scale) * DoubleDouble(scale)),
                                     x.im * (DoubleDouble(scale) * DoubleDouble(scale))};
            const double bound = magnitude(expected) * both_ways +
                                 2 * (1 + scale * scale) * bounds::underflow(precision.eta, scale);
            tally.add(magnitude(y - expected), bound, [&](Finding& f) {
              f.where = fmt::format("{} pair {}", place_text(tensor, b, t, h), i);
              f.bound = bound / (magnitude(expected) * precision.u);
              f.bound_unit = "u |x|";
              f.reason = f.margin <= 1 ? "" : "forward then transpose did not come back";
            });
          }
      });
  return tally.finding();
}

bool applies(const Offer& offer) {
  return offer.transpose;
}

void shape(Case& c, const Offer&) {
  c.operation = ROPE_FORWARD;
  c.data = DataPattern::unit;
}

}  // namespace

const Property transpose{
    "transpose", "the backward pass undoes the forward pass", false, applies, shape, nullptr,
    check};

}  // namespace ropewalk
