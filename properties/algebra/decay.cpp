// Decay: the bound of RoFormer section 3.4.3 and the sums behind it, measured on the kernel's
// outputs.
//
// With n = rotary_dim / 2, h_i = q_i conj(k_i), h_n = 0, D = m - n_pos and S_j = sum_{i<j} e^(i D
// theta_i):
//   sum h_i e^(i D theta_i) = - sum_i S_(i+1) (h_(i+1) - h_i)                        (Abel)
//   |sum h_i e^(i D theta_i)| <= max_{0<=i<n} |h_(i+1) - h_i| sum_j |S_j|            (bound)
// Random q and k never come near the bound. So there are three structured checks, all on the heads
// of one call.
//
// Prefix sums: q is the indicator of the pairs below j, and k is 1, then i. The dot products are
// the real and imaginary part of S_j. |S_j - S_j,ref| <= j ((1 + e)^2 - 1) with e = |r^ - r|, since
// products with 0 and 1 are exact. The imaginary part shows in which direction the kernel turns.
// With narrow storage e is larger by u / sqrt(2) and by underflow: the components lie in [-1, 1],
// where rounding moves them by at most u / 2.
// Abel: q_i = k_i = sqrt(n - i), so h falls in equal steps. The complex sum equals that of Abel
// within |q| |k| ((1 + (1 + gamma u)(1 + e) - 1)^2 - 1). Narrow storage is one more factor in the
// square, 1 + u and underflow, since no pair is shorter than 1.
// Bound: the same sum is compared with the right-hand side. It comes within 1.01 of it at D = 1.
//
// Kills by itself: wrong_way

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/cases/checked.h"
#include "properties/property.h"
#include "properties/two_runs.h"

namespace ropewalk::properties {
using namespace harness;
namespace {

// Two tokens of one batch row and placement.
struct Measurement {
  const Problem& p;
  const Outputs& outputs;
  std::int64_t b, m, n;

  DoubleDouble dot(std::int64_t q, std::int64_t k) const {
    DoubleDouble sum;
    for (std::int64_t i = 0; i < p.asked.rotary_dim / 2; ++i) {
      const PairValue yq = output_pair(p, outputs, 0, b, m, q, i),
                      yk = output_pair(p, outputs, 0, b, n, k, i);
      sum = sum + (yq.re * yk.re + yq.im * yk.im);
    }
    return sum;
  }
  // sum q_i conj(k_i) e^(i D theta_i): k gives the real part, i * k the imaginary part.
  PairValue complex_dot(std::int64_t q, std::int64_t k_re, std::int64_t k_im) const {
    return {dot(q, k_re), dot(q, k_im)};
  }
  std::int64_t position(std::int64_t token, std::int64_t pair) const {
    return position_of(p, outputs.placement, b, token, pair);
  }
};

// The angles that a correct kernel uses: e^(i (m - n) theta_i), from the oracle or the f32 angle.
std::vector<PairValue> relative_rotations(Subject& subject, const Measurement& at) {
  std::vector<PairValue> out;
  const bool table = at.p.source.contract == ROPE_CONTRACT_TABLE;
  const auto rotations = [&](std::int64_t token) {
    if (!table) return rotations_of(at.p, subject.oracle, at.outputs.placement, 0, at.b, {token});
    std::vector<Rotation> exact;
    for (std::int64_t i = 0; i < at.p.asked.rotary_dim / 2; ++i)
      exact.push_back(given_rotation(at.p, subject.oracle, 0, at.position(token, i), i));
    return exact;
  };
  const auto rm = rotations(at.m), rn = rotations(at.n);
  for (std::size_t i = 0; i < rm.size(); ++i) out.push_back(rotate_transpose(rm[i], rn[i]));
  return out;
}

std::string where_of(const Measurement& at, std::string_view what) {
  return fmt::format("{} of batch {}, tokens {} and {}, distance {}", what, at.b, at.m, at.n,
                     at.position(at.m, 0) - at.position(at.n, 0));
}

void check_prefix_sums(const Measurement& at, const std::vector<PairValue>& z, double e, double u,
                       Tally& tally) {
  const auto half = static_cast<std::int64_t>(z.size());
  PairValue expected{0, 0};
  for (std::int64_t j = 0; j < half; ++j) {
    expected = expected + z[static_cast<std::size_t>(j)];
    const PairValue measured = at.complex_dot(j, half + decay_ones_re, half + decay_ones_im);
    const double bound = static_cast<double>(j + 1) * bounds::compound(e, e);
    tally.add(magnitude(measured - expected), bound, [&](Finding& f) {
      f.where = where_of(at, fmt::format("prefix sum S_{}", j + 1));
      f.bound = bound / (static_cast<double>(j + 1) * u);
      f.bound_unit = "u j";
      f.diagnosis = fmt::format("S is {:+.6g}{:+.6g}i, should be {:+.6g}{:+.6g}i", measured.re.hi,
                                measured.im.hi, expected.re.hi, expected.im.hi);
      f.reason = f.margin <= 1 ? "" : "a prefix sum of rotations is wrong";
    });
  }
}

void check_staircase(const Measurement& at, const std::vector<PairValue>& z, double e,
                     const bounds::Precision& precision, Tally& tally) {
  const auto half = static_cast<std::int64_t>(z.size());
  // h_i = q_i k_i as stored. The last step goes down to h_n = 0.
  std::vector<DoubleDouble> h;
  DoubleDouble norm2;
  for (std::int64_t i = 0; i < half; ++i) {
    const PairValue q = input_pair(at.p, at.outputs, 0, at.b, at.m, half + decay_stair_q, i);
    h.push_back(q.re * q.re);
    norm2 = norm2 + h.back();
  }
  h.emplace_back(0.0);
  PairValue sum{0, 0}, abel{0, 0};
  double largest_step = 0, sum_of_magnitudes = 0;
  for (std::size_t i = 0; i < z.size(); ++i) {
    sum = sum + z[i];
    const DoubleDouble step = h[i + 1] - h[i];
    abel = abel - PairValue{sum.re * step, sum.im * step};
    largest_step = std::max(largest_step, std::abs(step.hi));
    sum_of_magnitudes += magnitude(sum);
  }
  const PairValue measured =
      at.complex_dot(half + decay_stair_q, half + decay_stair_re, half + decay_stair_im);
  const double u = precision.unit();
  const double one = bounds::compound(bounds::compound(bounds::product(precision.u, false), e),
                                      bounds::stored_relative_error(precision));
  const double slack = norm2.hi * bounds::compound(one, one);
  tally.add(magnitude(measured - abel), slack, [&](Finding& f) {
    f.where = where_of(at, "Abel sum");
    f.bound = slack / (norm2.hi * u);
    f.bound_unit = "u |q||k|";
    f.diagnosis = fmt::format("the sum is {:+.6g}{:+.6g}i, Abel's is {:+.6g}{:+.6g}i",
                              measured.re.hi, measured.im.hi, abel.re.hi, abel.im.hi);
    f.reason = f.margin <= 1 ? "" : "the Abel identity does not hold";
  });
  // This claim has slack on one side only. The margin is the excess over the bound, in units of the
  // slack.
  const double excess = magnitude(measured) - largest_step * sum_of_magnitudes;
  tally.add(std::max(0.0, excess), slack, [&](Finding& f) {
    f.where = where_of(at, "decay bound");
    f.bound = slack / (norm2.hi * u);
    f.bound_unit = "u |q||k|";
    f.reason = f.margin <= 1 ? "" : "the decay bound is exceeded";
  });
}

// A case from a replay line must have the heads that the checks read.
void require_shape(const Case& c) {
  constexpr std::int64_t most_pairs = 1024;  // the work grows with their square
  require(c.rotary_dim / 2 <= most_pairs, "decay: rotary_dim above {} takes too long",
          2 * most_pairs);
  require(c.data == DataPattern::decay && c.tensors.size() == 1 && c.tensors[0].rotate &&
              c.tensors[0].values.empty() &&
              c.tensors[0].heads == c.rotary_dim / 2 + decay_extra_heads,
          "decay: needs data=decay and one tensor with rotary_dim / 2 + {} heads",
          static_cast<std::int64_t>(decay_extra_heads));
  require(
      c.operation == Operation::forward && c.attention_scale == 0 && !c.own_tables && c.tokens >= 2,
      "decay: needs op=forward, attention_scale=0, own_tables=0 and at least 2 tokens");
}

Finding check(Subject& subject, const Case& c) {
  require_shape(c);
  const Run done = run(subject, c);
  if (done.failed()) return done.failure;
  const bounds::Precision precision = precision_of(subject.facts, c, 0);
  const double e = rotation_error(subject.facts, c, 0);
  const double e_stored = e + bounds::stored_rotation_error(precision);
  Tally tally;
  for (const Outputs& outputs : done.execution.outputs)
    for (std::int64_t b = 0; b < c.batch; ++b)
      for (std::int64_t m = 0; m < c.tokens; ++m)
        for (std::int64_t n = 0; n < c.tokens; ++n) {
          if (m == n) continue;
          const Measurement at{done.problem, outputs, b, m, n};
          const std::vector<PairValue> z = relative_rotations(subject, at);
          check_prefix_sums(at, z, e_stored, precision.unit(), tally);
          check_staircase(at, z, e, precision, tally);
        }
  return tally.finding();
}

void shape(Case& c, const Offer& offer) {
  constexpr std::int64_t wide = 140;  // the work grows with the cube
  if (offer.any_size) c.rotary_dim = std::min(c.rotary_dim, wide);
  c.data = DataPattern::decay;
  c.own_tables = false;
  c.operation = Operation::forward;
  c.attention_scale = 0;
  c.tensors.resize(1);
  TensorCase& t = c.tensors[0];
  if (!t.rotate) t.head_dim = c.rotary_dim;
  t.rotate = true;
  t.heads = c.rotary_dim / 2 + decay_extra_heads;
  c.tokens = std::clamp<std::int64_t>(c.tokens, 2, 3);
  c.batch = 1;
}

const Registered decay({
    .name = "decay",
    .place = {"rotation", 50},
    .claim = "the decay bound, the Abel identity and the prefix sums hold",
    .without_norm = true,
    .needs = {{Factor::tokens}, {Factor::heads}},
    .shape = shape,
    .check = check,
});

}  // namespace
}  // namespace ropewalk::properties
