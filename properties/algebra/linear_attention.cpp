// Linear attention with RoPE (RoFormer, eq. 19):
//   sum_n (R_m phi(q_m)) . (R_n phi(k_n)) v_n  over  sum_n phi(q_m) . phi(k_n).
// Only the numerator is rotated. So the denominator is free of positions, and positive where phi
// is, which reference/attention_test.cpp asserts. The kernel rotates phi(x) = |x|. Two things must
// hold, with the sums over all tokens and over those up to the query's (causal):
//
// A shift of all positions keeps the numerator. Bound: each q.k_n moves by at most the bound of
// relative_position, so the numerator moves by the sum of this times |v_n|.
//
// The recurrent form is the quadratic one. It reads q^T S_m from the state S_m, the sum of k_n
// v_n^T up to m. Its vectors come from calls of one token each, as in decoding; those of the
// quadratic form come from one call. Bound: of two calls with one rotation each pair differs by at
// most d = 2 e rho plus both storage errors, with e as in the property chunks. So q.k_n differs by
// at most sum (dq |k| + |q| dk + dq dk) over its pairs. S_m is a running sum, whose rounding grows
// with the tokens: (tokens + dims + 2) 2^-101 of the sum of |q||k_n||v_n|. If a kernel
// refuses calls of one token, only the shift is compared.
//
// Of 396 mutants it kills one in smoke that relative_position and chunks let live, as it draws
// other scales; attention_scale kills that one too. So it runs from the profile standard on.
//
// Kills by itself: position_in_bf16, position_clamped_exact, keys_turned_back, counts_on
#include <fmt/format.h>

#include <cmath>
#include <utility>
#include <vector>

#include "properties/property.h"
#include "properties/shifted_runs.h"

namespace ropewalk::properties {
using namespace harness;
namespace {

// Over the keys up to the query's token, and over all.
void compare_shift(const Subject& subject, const ShiftedRuns& runs, DotPlace at, Tally& tally) {
  const Values values = attention_values(runs.here.problem.source, at.b, at.k.h);
  const ShiftBound bound_of(subject, runs, at.q.tensor, at.k.tensor);
  Numbers before, after;
  double bound = 0;
  for (at.n = 0; at.n < std::ssize(values); ++at.n) {
    const Dot here = dot(subject, runs.here, at), there = dot(subject, runs.there, at);
    before.push_back(here.value);
    after.push_back(there.value);
    bound += bound_of(here, there) * length(values[static_cast<std::size_t>(at.n)]);
    if (at.n != at.m && at.n + 1 != std::ssize(values)) continue;
    tally.add(distance(linear_numerator(before, values), linear_numerator(after, values)), bound,
              [&](Finding& f) {
                describe(f, subject, runs, at, fmt::format("numerator of {} keys", at.n + 1),
                         "linear attention changed with a shift of all positions");
              });
  }
}

// A rotated vector as it came from the call with all tokens, and as it came from a call of its own.
struct Vectors {
  std::vector<PairValue> whole, alone;
  std::vector<double> differ;  ///< bound on the difference of each pair
};

Vectors vectors_of(const Subject& subject, const Run& whole, const Run& alone,
                   const DotPlace& heads, HeadRef head, std::int64_t t) {
  const Case& c = whole.problem.source;
  const bounds::Precision precision = precision_of(subject.facts, c, head.tensor);
  const auto outputs_of = [&](const Run& of) -> const Outputs& {
    return of.execution.outputs[heads.placement];
  };
  Vectors out;
  for (std::int64_t i = 0; i < c.rotary_dim / 2; ++i) {
    out.whole.push_back(
        output_pair(whole.problem, outputs_of(whole), head.tensor, heads.b, t, head.h, i));
    out.alone.push_back(
        output_pair(alone.problem, outputs_of(alone), head.tensor, heads.b, 0, head.h, i));
    const double rho =
        magnitude(input_pair(whole.problem, outputs_of(whole), head.tensor, heads.b, t, head.h, i));
    out.differ.push_back(2 * error_of_one_call(subject, c, head.tensor, rho) +
                         stored_error(precision, out.whole.back()) +
                         stored_error(precision, out.alone.back()));
  }
  return out;
}

Numbers components(const std::vector<PairValue>& pairs) {
  Numbers out;
  for (const PairValue& x : pairs) {
    out.push_back(x.re);
    out.push_back(x.im);
  }
  return out;
}

// Causal: the state has the keys up to the query's token.
void compare_recurrent(const Subject& subject, const ShiftedRuns& runs,
                       const std::vector<Run>& alone, DotPlace heads, Tally& tally) {
  const Run& whole = runs.here;
  const Case& c = whole.problem.source;
  const Values values = attention_values(c, heads.b, heads.k.h);
  LinearState state;
  std::vector<Vectors> keys;
  for (std::int64_t m = 0; m < c.tokens; ++m) {
    const auto token = static_cast<std::size_t>(m);
    heads.m = m;
    const Vectors q = vectors_of(subject, whole, alone[token], heads, heads.q, m);
    keys.push_back(vectors_of(subject, whole, alone[token], heads, heads.k, m));
    state.add(components(keys.back().alone), values[token]);
    Numbers dots;
    double bound = 0;
    const double rounded = static_cast<double>(c.tokens + c.rotary_dim + 2) * 0x1p-101;
    for (std::size_t n = 0; n < keys.size(); ++n) {
      DoubleDouble sum;
      double differs = 0;
      for (std::size_t i = 0; i < q.whole.size(); ++i) {
        const PairValue &a = q.whole[i], &b = keys[n].whole[i];
        sum = sum + (a.re * b.re + a.im * b.im);
        const double dq = q.differ[i], dk = keys[n].differ[i];
        differs += dq * magnitude(b) + magnitude(a) * dk + dq * dk;
        differs += rounded * (magnitude(a) + dq) * (magnitude(b) + dk);
      }
      dots.push_back(sum);
      bound += differs * length(values[n]);
    }
    tally.add(distance(linear_numerator(dots, values), state.read(components(q.alone))), bound,
              [&](Finding& f) {
                describe(f, subject, runs, heads, "recurrent numerator",
                         "the recurrent form is not the quadratic one");
              });
  }
}

// The calls of one token each. Empty: the kernel refuses them, or one failed.
std::vector<Run> decode(Subject& subject, const Run& whole, Finding& failure) {
  const Case& c = whole.problem.source;
  std::vector<Run> out;
  for (std::int64_t t = 0; t < c.tokens; ++t) {
    out.push_back(run_part(subject, whole, part_of(c, {0, c.batch}, {t, t + 1})));
    if (!out.back().failed()) continue;
    if (out.back().failure.kind != Finding::Kind::unsupported) failure = out.back().failure;
    return {};
  }
  return out;
}

Finding check(Subject& subject, const Case& c) {
  Problem problem = make_problem(c, subject.oracle);
  keep_positions(problem);
  replace_pairs(problem, [from = problem](int placement, const HeadPlace& at, std::int64_t pair) {
    const PairValue x = input_pair(from, placement, at, pair);
    return PairValue{DoubleDouble(std::abs(x.re.hi)), DoubleDouble(std::abs(x.im.hi))};
  });
  const ShiftedRuns runs = run_shifted(subject, std::move(problem));
  Finding failure = runs.failure;
  if (failure.kind != Finding::Kind::measured) return failure;
  const std::vector<Run> alone = decode(subject, runs.here, failure);
  if (failure.kind != Finding::Kind::measured) return failure;
  Tally tally;
  for_each_query_head(runs.here.problem, [&](const DotPlace& heads) {
    DotPlace at = heads;
    for (at.m = 0; at.m < c.tokens; ++at.m) compare_shift(subject, runs, at, tally);
    if (!alone.empty()) compare_recurrent(subject, runs, alone, heads, tally);
  });
  return tally.finding();
}

const Registered linear_attention({
    .name = "linear_attention",
    .order = 46,
    .claim = "linear attention does not change with a shift, and its two forms agree",
    .from = Profile::standard,
    .applies = [](const Offer& offer) { return offer.tokens; },
    .needs = "two tokens in one call",
    .shape = [](Case& c, const Offer&) { shape_for_shift(c, 5); },  // each token is a call too
    .check = check,
});

}  // namespace
}  // namespace ropewalk::properties
