// How far a kernel's outputs are from the exact rotation, position by position, for the report.
// Verdicts hold each kernel to its own angle contract. Here all kernels are held to the same truth,
// so a reader sees how the error of a contract grows in a long context.
#include "properties/observe/position_curve.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/cases/names.h"
#include "harness/judge/judge.h"
#include "properties/array/offered_features.h"
#include "properties/fixed_cases.h"
#include "properties/search/verify.h"
#include "reference/frequencies.h"

namespace ropewalk::properties {
using namespace harness;
using namespace report;
namespace {

constexpr std::int64_t curve_rotary_dim = 128;
constexpr double curve_theta = 10000;
constexpr std::int64_t curve_heads = 8;
constexpr std::int64_t last_position = (std::int64_t{1} << 31) - 1;
// A table by position is laid out up to its last row. A table by token needs one row for each
// token.
constexpr std::int64_t last_table_position = std::int64_t{1} << 16;

// 0, 1, 2, 4 ... 2^30, 2^31 - 1.
std::vector<std::int64_t> curve_positions(std::int64_t last) {
  std::vector<std::int64_t> out{0};
  for (std::int64_t p = 1; p <= std::min(last, last_position); p *= 2) out.push_back(p);
  if (last >= last_position) out.push_back(last_position);
  return out;
}

Case curve_case(const Offer& offer, std::vector<std::int64_t> positions) {
  Case c = resized(offer.base, {curve_rotary_dim, curve_rotary_dim});
  c = with(c, offer, {.heads = curve_heads, .by_token = true});
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
    const std::int64_t position = position_of(p, outputs.placement, at.b, at.t);
    const auto token = static_cast<std::size_t>(
        std::find(p.positions.begin(), p.positions.end(), position) - p.positions.begin());
    for (std::size_t i = 0; i < inv_freq.size(); ++i) {
      const auto pair = static_cast<std::int64_t>(i);
      const PairValue x = input_pair(p, outputs.placement, at, pair);
      const PairValue y = output_pair(p, outputs, at.tensor, at.b, at.t, at.h, pair);
      const Rotation r = oracle.at(inv_freq[i], position);
      const double error = magnitude(y - rotate(x, r)) / magnitude(x);
      if (!(error <= errors[token])) errors[token] = error;  // a NaN stays
    }
  };
  for_each_rotated_head(p.asked,
                        [&](std::uint32_t tensor, std::int64_t b, std::int64_t t, std::int64_t h) {
                          for (const Outputs& outputs : execution.outputs)
                            add(outputs, {tensor, b, t, h});
                        });
  return errors;
}

}  // namespace

std::vector<CurveRow> position_curves(OwnWorkers& workers, Oracle& oracle,
                                      const std::vector<KernelFacts>& kernels) {
  std::vector<CurveRow> curves;
  for (const KernelFacts& facts : kernels) {
    Subject subject{workers.of(facts), oracle, facts};
    const auto offer = first_offer(subject);
    if (!offer) continue;
    const bool any_position = facts.angle_contract != ROPE_CONTRACT_TABLE || offer->rows_by_token;
    const auto positions = curve_positions(any_position ? last_position : last_table_position);
    CurveRow row;
    row.chart = "error_over_position";
    row.series = facts.name;
    row.dtype = word_of(offer->base.dtype);
    row.note = fmt::format("contract {}, {}, rotary_dim {}, rope_theta {}",
                           word_of(contract_words, facts.angle_contract), row.dtype,
                           curve_rotary_dim, curve_theta);
    // A kernel that accepts only one token a call is run position by position.
    const std::size_t at_once = offer->tokens ? positions.size() : 1;
    for (std::size_t i = 0; i < positions.size(); i += at_once) {
      const auto from = positions.begin() + static_cast<std::ptrdiff_t>(i);
      const Problem problem = make_problem(
          curve_case(*offer, {from, from + static_cast<std::ptrdiff_t>(at_once)}), oracle);
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
