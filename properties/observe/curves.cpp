// Curves for the report: B(D) = (1/n) sum_j |S_j| of the reference and of each kernel's outputs,
// and how far a kernel's outputs are from the exact rotation, position by position. Verdicts hold
// each kernel to its own angle contract. Here all kernels are held to the same truth, so a reader
// sees how the error of a contract grows in a long context.
#include "properties/observe/curves.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>

#include "harness/cases/names.h"
#include "harness/judge/judge.h"
#include "properties/array/asking.h"
#include "properties/fixed_cases.h"
#include "reference/curves.h"
#include "reference/frequencies.h"

namespace ropewalk::properties {
using namespace harness;
using namespace report;
namespace {

constexpr std::int64_t curve_rotary_dim = 128;
constexpr double curve_theta = 10000;
constexpr std::int64_t curve_heads = 8;  // of the curve over positions
constexpr std::int64_t last_position = (std::int64_t{1} << 31) - 1;
// A table by position is laid out up to its last row. A table by token needs one row for each
// token.
constexpr std::int64_t last_table_position = std::int64_t{1} << 16;

// ---- decay

// 0, 1, 2 ... up to 16384. The steps grow to about 8 %.
std::vector<std::int64_t> distances() {
  std::vector<std::int64_t> out;
  for (std::int64_t d = 0; d <= 16384; d = std::max(d + 1, (d * 108 + 50) / 100)) out.push_back(d);
  return out;
}

Case decay_case(const Offer& offer) {
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

// ---- error over position

// 0, 1, 2, 4 ... 2^30, 2^31 - 1.
std::vector<std::int64_t> curve_positions(std::int64_t last) {
  std::vector<std::int64_t> out{0};
  for (std::int64_t p = 1; p <= std::min(last, last_position); p *= 2) out.push_back(p);
  if (last >= last_position) out.push_back(last_position);
  return out;
}

Case position_case(const Offer& offer, std::vector<std::int64_t> positions) {
  Case c = resized(offer.base, {curve_rotary_dim, curve_rotary_dim});
  c = with(c, offer, fmt::format("heads={}; rows_by=token", curve_heads));
  c.property = "agreement";
  c.rope_theta = curve_theta;
  c.position_rule = PositionRule::list;
  c.tokens = std::ssize(positions);
  c.positions = std::move(positions);
  return c;
}

// The largest |y - x r| / |x| of each token. r is the rotation of the exact frequencies, whatever
// frequencies the kernel was given.
std::vector<double> errors_of_tokens(const Problem& p, Oracle& oracle, const Execution& execution) {
  const std::vector<double> inv_freq = inverse_frequencies(curve_theta, curve_rotary_dim);
  std::vector<double> errors(p.positions.size(), 0);
  const auto add = [&](const Outputs& outputs, const HeadPlace& at) {
    const std::int64_t position = position_of(p, outputs.placement, at.b, at.t, 0);
    const auto token =
        static_cast<std::size_t>(std::ranges::find(p.positions, position) - p.positions.begin());
    for (std::size_t i = 0; i < inv_freq.size(); ++i) {
      const auto pair = static_cast<std::int64_t>(i);
      const PairValue x = input_pair(p, outputs.placement, at, pair);
      const PairValue y = output_pair(p, outputs, at.tensor, at.b, at.t, at.h, pair);
      const Rotation r = oracle.at(inv_freq[i], position);
      const double error = magnitude(y - rotate(x, r)) / magnitude(x);
      if (!(error <= errors[token])) errors[token] = error;  // a NaN stays
    }
  };
  for_each_rotated_head(p,
                        [&](std::uint32_t tensor, std::int64_t b, std::int64_t t, std::int64_t h) {
                          for (const Outputs& outputs : execution.outputs)
                            add(outputs, {tensor, b, t, h});
                        });
  return errors;
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
    reference.y.push_back(mean_prefix_magnitude(oracle, inv_freq, d));
  }
  std::vector<CurveRow> curves{reference};
  for (const KernelFacts& facts : kernels) {
    Subject subject{workers.of(facts), oracle, facts};
    const auto offer =
        with_levels(subject, probe_base(subject, Pairing::half_split, Dtype::f32)).offer;
    if (!offer || !offer->takes(Factor::tokens) || !offer->takes(Factor::heads)) continue;
    const Problem problem = make_problem(decay_case(*offer), oracle);
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

std::vector<CurveRow> position_curves(OwnWorkers& workers, Oracle& oracle,
                                      const std::vector<KernelFacts>& kernels) {
  std::vector<CurveRow> curves;
  for (const KernelFacts& facts : kernels) {
    Subject subject{workers.of(facts), oracle, facts};
    const auto offer = first_offer(subject);
    if (!offer) continue;
    const bool any_position = facts.angle_contract != ROPE_CONTRACT_TABLE ||
                              offer->takes(Factor::rows_by, level::by_token);
    const auto positions = curve_positions(any_position ? last_position : last_table_position);
    CurveRow row;
    row.chart = "error_over_position";
    row.series = facts.name;
    row.dtype = word_of(offer->base.dtype);
    row.note = fmt::format("contract {}, {}, rotary_dim {}, rope_theta {}",
                           word_of(contract_words, facts.angle_contract), row.dtype,
                           curve_rotary_dim, curve_theta);
    // A kernel that accepts only one token a call is run position by position.
    const std::size_t at_once = offer->takes(Factor::tokens) ? positions.size() : 1;
    for (std::size_t i = 0; i < positions.size(); i += at_once) {
      const auto from = positions.begin() + static_cast<std::ptrdiff_t>(i);
      const Problem problem = make_problem(
          position_case(*offer, {from, from + static_cast<std::ptrdiff_t>(at_once)}), oracle);
      const Execution execution = execute(subject, problem);
      if (execution.result.kind != CallResult::Kind::ok) break;
      const auto errors = errors_of_tokens(problem, oracle, execution);
      for (std::size_t token = 0; token < errors.size(); ++token) {
        row.x.push_back(static_cast<double>(problem.positions[token]));
        row.y.push_back(errors[token]);
      }
    }
    if (!row.x.empty()) curves.push_back(row);
  }
  return curves;
}

}  // namespace ropewalk::properties
