// B(D) = (1/n) sum_j |S_j| for the report: the reference's curve, and that of each kernel's
// outputs.
#include "properties/observe/decay_curve.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>

#include "harness/judge/judge.h"
#include "properties/array/offered_features.h"
#include "properties/search/verify.h"
#include "reference/decay.h"
#include "reference/frequencies.h"

namespace ropewalk::properties {
using namespace harness;
using namespace report;
namespace {

constexpr std::int64_t curve_rotary_dim = 128;
constexpr double curve_theta = 10000;

// 0, 1, 2 ... up to 16384. The steps grow to about 8 %.
std::vector<std::int64_t> distances() {
  std::vector<std::int64_t> out;
  for (std::int64_t d = 0; d <= 16384; d = std::max(d + 1, (d * 108 + 50) / 100)) out.push_back(d);
  return out;
}

Case curve_case(const Offer& offer) {
  Case c = offer.base;
  property_named("decay").shape(c, offer);
  c.property = "decay";
  c.rotary_dim = curve_rotary_dim;
  c.rope_theta = curve_theta;
  TensorCase& t = c.tensors[0];
  t.head_dim = c.rotary_dim;
  t.heads = c.rotary_dim / 2 + decay_extra_heads;
  c.position_rule = PositionRule::list;
  c.positions = distances();  // against token 0 at position 0
  c.tokens = std::ssize(c.positions);
  return c;
}

double measured_mean(const Problem& p, const Outputs& outputs, std::int64_t token) {
  const std::int64_t half = p.asked.rotary_dim / 2;
  double sum = 0;
  for (std::int64_t j = 0; j < half; ++j) {
    std::complex<double> s;
    for (std::int64_t i = 0; i < half; ++i) {
      const auto value = [&](std::int64_t at, std::int64_t head) {
        const PairValue y = output_pair(p, outputs, 0, 0, at, head, i);
        return std::complex<double>(y.re.hi, y.im.hi);
      };
      s += value(token, j) * std::conj(value(0, half + decay_ones_re));
    }
    sum += std::abs(s);
  }
  return sum / static_cast<double>(half);
}

}  // namespace

std::vector<CurveRow> decay_curves(OwnWorkers& workers, Oracle& oracle,
                                   const std::vector<KernelFacts>& kernels) {
  CurveRow reference;
  reference.chart = "decay";
  reference.series = "reference";
  reference.note = fmt::format("rotary_dim {}, rope_theta {}", curve_rotary_dim, curve_theta);
  const auto inv_freq = inverse_frequencies(curve_theta, curve_rotary_dim);
  for (const std::int64_t d : distances()) {
    reference.x.push_back(static_cast<double>(d));
    reference.y.push_back(mean_prefix_magnitude(prefix_sums(oracle, inv_freq, d)));
  }
  std::vector<CurveRow> curves{reference};
  for (const KernelFacts& facts : kernels) {
    Subject subject{workers.of(facts), oracle, facts};
    const auto offer =
        with_features(subject, probe_base(subject, Pairing::half_split, Dtype::f32)).offer;
    if (!offer || !offer->tokens || !offer->many_heads) continue;
    const Problem problem = make_problem(curve_case(*offer), oracle);
    const Execution execution = execute(subject, problem);
    if (execution.result.kind != CallResult::Kind::ok) continue;
    CurveRow row = reference;
    row.series = facts.name;
    for (std::size_t token = 0; token < row.y.size(); ++token)
      row.y[token] = measured_mean(problem, execution.outputs[0], static_cast<std::int64_t>(token));
    curves.push_back(row);
  }
  return curves;
}

}  // namespace ropewalk::properties
