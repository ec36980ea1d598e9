// Laws about a shift of all positions.
//
// Relative position: q.k depends on m - n only. All positions are shifted by s, and every dot
// product between two tokens must stay the same (RoFormer, section 3.1, eq. 11).
//
// Bound: a rotated vector is off by at most |x| e with e = (1 + gamma u)(1 + |r^ - r|) - 1. So a
// dot product is off by a^2 |q| |k| ((1 + e)^2 - 1), and the difference of two by twice that. Under
// the f32_angle contract the angles are off by delta, known for each position, which adds to |r^ -
// r|. With narrow storage let dq and dk be the storage errors of a pair of q and of k. They move
// each dot product by up to sum (dq |k| + |q| dk + dq dk), with the lengths of the stored pairs.
//
// relative_position kills by itself: position_in_bf16, position_clamped, one_term_reduction
//
// Attention: shifting all positions changes neither the logits of softmax attention nor its
// outputs. The kernel rotates queries and keys. The suite makes the logits q.k / sqrt(head_dim),
// the softmax and the weighted sum of values in double-double, once over all tokens and once over
// those up to the query's (causal). Query head h reads key head h * (key heads) / (query heads), as
// with grouped queries.
//
// Bound on a logit: that of relative_position over sqrt(head_dim). Dims that are not rotated add
// the same to both, and are left out.
//
// Bound on an output: let no logit of a query move by more than E. A set of tokens with the weight
// P then has at most P e^2E / (1 - P + P e^2E), and so no set gains more than tanh(E / 2), which P
// = 1 / (1 + e^E) reaches. Weights sum to 1, so what some tokens gain others lose, and the output
// moves by at most tanh(E / 2) times the largest distance of two values. The suite's own rounding
// adds twice 2^-80 of the largest value, which is shorter than 2 (reference/attention.h), and 2^-30
// of E: a dot product of 2^14 dims is off by 2^-88 of the lengths, E is at least 2^-51 of them.
// From E = 2 on, as with a huge scale, an output may move by three quarters of that distance. It is
// then not compared; the logits are.
//
// A rotation that moves an output has moved a logit, which relative_position sees. Of 396 mutants
// it kills five in smoke that relative_position lets live, because other cases were drawn; all five
// die by other properties too. It says what an error is worth to a model, and runs from the profile
// standard on.
//
// attention kills by itself: position_in_bf16, position_clamped, one_term_reduction
// attention kills by itself: keys_turned_back
//
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
// linear_attention kills by itself: position_in_bf16, position_clamped_exact, keys_turned_back
// linear_attention kills by itself: counts_on_exact
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/cases/checked.h"
#include "harness/cases/data.h"
#include "properties/property.h"
#include "properties/two_runs.h"
#include "reference/attention.h"

namespace ropewalk::properties {
using namespace harness;
namespace {

/// Two runs with the same inputs. In the second, each position is larger by the case's shift; with
/// several axes, those of one axis or of all, by the seed.
/// Throws BadCase if q and k turn by other angles, or if their products may leave the range of a
/// type.
struct ShiftedRuns {
  Run here, there;
  harness::Finding failure;  ///< its kind is measured if there are outputs of both
  double angle = 0;          ///< the larger angle_error of the two
};

struct HeadRef {
  std::uint32_t tensor;
  std::int64_t h;
};

/// Where the two vectors of a dot product lie: q at token m, k at token n.
struct DotPlace {
  std::size_t placement;
  std::int64_t b;
  HeadRef q;
  std::int64_t m;
  HeadRef k;
  std::int64_t n;
};

struct Dot {
  DoubleDouble value;  ///< q.k of the outputs, over the rotated dims
  double norms;        ///< |q| |k| of the inputs
  double stored;       ///< largest change of value by storing the outputs
};

/// The bound on the change of a dot product by the shift, for heads of these two tensors.
class ShiftBound {
 public:
  ShiftBound(const Subject& subject, const ShiftedRuns& runs, std::uint32_t q, std::uint32_t k) {
    const Case& c = runs.here.problem.source;
    const double scale = scale_of(c);
    // Relative to its length, how far an output of this tensor may be from the exact rotation.
    const auto error_of = [&](std::uint32_t tensor) {
      return bounds::compound(bounds::product(precision_of(subject.facts, c, tensor).u, scale != 1),
                              rotation_error(subject.facts, c, tensor) + runs.angle);
    };
    relative_ = 2 * scale * scale * bounds::compound(error_of(q), error_of(k));
  }
  double operator()(const Dot& before, const Dot& after) const {
    return before.norms * relative_ + before.stored + after.stored;
  }

 private:
  double relative_;
};

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
  Case there = with_positions(c, [&](std::int64_t p) { return p + c.position_shift; });
  const auto axes = static_cast<std::size_t>(c.axes);
  const std::size_t alone = hash(c.seed, 0xa17) % (axes + 1), plane = there.positions.size() / axes;
  const bool one_alone = axes > 1 && alone < axes && c.position_axis_stride != 0;
  for (std::size_t i = 0; one_alone && i < there.positions.size(); ++i)
    if (i / plane != alone) there.positions[i] -= c.position_shift;
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

// Calls visit with each query head and the key head that it reads, for both placements and each
/// batch row: `m` and `n` are 0. Queries are the first rotated tensor; keys are the second, or the
/// first too. Query head h reads key head h * (key heads) / (query heads), as grouped queries do.
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

/// Gives a case data, tables and positions for a shift, and 2 to `most_tokens` tokens.
void shape_for_shift(Case& c, std::int64_t most_tokens) {
  c.data = DataPattern::unit;
  c.own_tables = false;  // q and k must turn by the same angles
  c.tokens = std::clamp<std::int64_t>(c.tokens, 2, most_tokens);
  c.batch = std::min<std::int64_t>(c.batch, 2);
  keep_room_for_shift(c);
}

/// Says of a comparison of attention where it was, its bound in u, and what is broken if it failed.
void describe(Finding& f, const Subject& subject, const ShiftedRuns& runs, const DotPlace& at,
              std::string_view what, const char* broken) {
  const Case& c = runs.here.problem.source;
  f.where =
      fmt::format("{}, {} against head {}, shifted by {}",
                  place_text(at.q.tensor, at.b, at.m, at.q.h), what, at.k.h, c.position_shift);
  f.bound /= precision_of(subject.facts, c, at.q.tensor).unit();
  f.bound_unit = "u";
  f.reason = f.margin <= 1 ? "" : broken;
}

/// Values of attention that no kernel touches: [token][4], each component in (-1, 1).
Values attention_values(const Case& c, std::int64_t b, std::int64_t head) {
  Values out(static_cast<std::size_t>(c.tokens));
  for (std::size_t t = 0; t < out.size(); ++t)
    for (int e = 0; e < 4; ++e)
      out[t].push_back(unit_value(hash(c.seed, 0x7a1, b, head, t, e), 24));
  return out;
}

// ---- relative_position

// Compares every pair of tokens of one batch row and placement.
void compare_relative_position(const Subject& subject, const ShiftedRuns& runs,
                               std::size_t placement, std::int64_t b, HeadRef q, HeadRef k,
                               Tally& tally) {
  const Case& c = runs.here.problem.source;
  const ShiftBound bound_of(subject, runs, q.tensor, k.tensor);
  const double unit = precision_of(subject.facts, c, q.tensor).unit();
  for (std::int64_t m = 0; m < c.tokens; ++m)
    for (std::int64_t n = 0; n < c.tokens; ++n) {
      const Dot before = dot(subject, runs.here, {placement, b, q, m, k, n});
      const Dot after = dot(subject, runs.there, {placement, b, q, m, k, n});
      const double bound = bound_of(before, after);
      tally.add(std::abs(static_cast<double>(before.value - after.value)), bound, [&](Finding& f) {
        f.where = fmt::format("{} . {} shifted by {}", place_text(q.tensor, b, m, q.h),
                              place_text(k.tensor, b, n, k.h), c.position_shift);
        f.bound = before.norms > 0 ? bound / (before.norms * unit) : 0;
        f.bound_unit = "u |q||k|";
        const auto at = [&](const Run& run, std::int64_t token) {
          return position_of(run.problem, static_cast<int>(placement), b, token, 0);
        };
        f.diagnosis = fmt::format("q.k at positions ({}, {}) is {:.9g}, at ({}, {}) {:.9g}",
                                  at(runs.here, m), at(runs.here, n), before.value.hi,
                                  at(runs.there, m), at(runs.there, n), after.value.hi);
        f.reason = f.margin <= 1 ? "" : "q.k changed with a shift of all positions";
      });
    }
}

Finding check_relative_position(Subject& subject, const Case& c) {
  const ShiftedRuns runs = run_shifted(subject, make_problem(c, subject.oracle));
  if (runs.failure.kind != Finding::Kind::measured) return runs.failure;
  const rope_problem& asked = runs.here.problem.asked;
  std::vector<HeadRef> heads;
  for (std::uint32_t i = 0; i < asked.tensor_count; ++i)
    for (std::int64_t h = 0; h < asked.tensor[i].heads && asked.tensor[i].rotate != 0; ++h)
      heads.push_back({i, h});
  Tally tally;
  for (std::size_t placement = 0; placement < 2; ++placement)
    for (std::int64_t b = 0; b < c.batch; ++b)
      for (std::size_t i = 0; i < heads.size(); ++i)
        compare_relative_position(subject, runs, placement, b, heads[i],
                                  heads[(i + 1) % heads.size()], tally);
  return tally.finding();
}

const Registered relative_position({
    .name = "relative_position",
    .place = {"rotation", 40},
    .claim = "q.k depends on m - n only",
    .needs = {{Factor::tokens}},
    // every pair of tokens is compared
    .shape = [](Case& c, const Offer&) { shape_for_shift(c, 4); },
    .check = check_relative_position,
});

// ---- attention

constexpr double most_told = 2;  ///< outputs are compared if no logit may move by more
constexpr const char* broken = "attention changed with a shift of all positions";

// The largest distance of two of the first `count` values.
double diameter(const Values& values, std::size_t count) {
  double most = 0;
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t j = 0; j < i; ++j) most = std::max(most, distance(values[i], values[j]));
  return most;
}

// What one query sees before and after the shift, token by token.
struct Logits {
  Numbers before, after;      ///< logits
  std::vector<double> moved;  ///< bound on the change of each
};

// One query head with its key head, in one batch row and placement.
class HeadPair {
 public:
  HeadPair(const Subject& subject, const ShiftedRuns& runs, const DotPlace& heads)
      : subject_(subject),
        runs_(runs),
        bound_(subject, runs, heads.q.tensor, heads.k.tensor),
        at_(heads),
        values_(attention_values(runs.here.problem.source, heads.b, heads.k.h)) {}

  void compare(std::int64_t m, Tally& tally) {
    at_.m = m;
    const Logits seen = see();
    for (std::size_t n = 0; n < seen.before.size(); ++n)
      tally.add(std::abs(static_cast<double>(seen.before[n] - seen.after[n])), seen.moved[n],
                [&](Finding& f) {
                  describe(f, subject_, runs_, at_, fmt::format("logit of token {}", n), broken);
                  f.diagnosis = fmt::format("the logit {:.9g} became {:.9g}", seen.before[n].hi,
                                            seen.after[n].hi);
                });
    for (const std::size_t count : {static_cast<std::size_t>(m) + 1, seen.before.size()})
      compare_output(seen, count, tally);
  }

 private:
  Logits see() {
    const rope_problem& p = runs_.here.problem.asked;
    const double root = std::sqrt(static_cast<double>(p.tensor[at_.q.tensor].head_dim));
    Logits out;
    for (at_.n = 0; at_.n < p.tokens; ++at_.n) {
      const Dot before = dot(subject_, runs_.here, at_), after = dot(subject_, runs_.there, at_);
      out.before.push_back(before.value / root);
      out.after.push_back(after.value / root);
      out.moved.push_back(bound_(before, after) / root * (1 + 0x1p-30));
    }
    return out;
  }

  // Over the first `count` tokens: all, or those that a causal mask leaves.
  void compare_output(const Logits& seen, std::size_t count, Tally& tally) {
    const auto first = [&](const Numbers& logits) {
      return Numbers(logits.begin(), logits.begin() + static_cast<std::ptrdiff_t>(count));
    };
    const double most = *std::max_element(seen.moved.begin(),
                                          seen.moved.begin() + static_cast<std::ptrdiff_t>(count));
    if (most >= most_told) return;
    const Numbers before = softmax_attention(first(seen.before), values_).value(),
                  after = softmax_attention(first(seen.after), values_).value();
    const double bound = std::tanh(most / 2) * diameter(values_, count) + 0x1p-78;
    tally.add(distance(before, after), bound, [&](Finding& f) {
      describe(f, subject_, runs_, at_, count == seen.before.size() ? "output" : "causal output",
               broken);
      f.diagnosis = fmt::format("no logit may move by more than {:.3g}", most);
    });
  }

  const Subject& subject_;
  const ShiftedRuns& runs_;
  ShiftBound bound_;
  DotPlace at_;
  Values values_;
};

Finding check_attention(Subject& subject, const Case& c) {
  const ShiftedRuns runs = run_shifted(subject, make_problem(c, subject.oracle));
  if (runs.failure.kind != Finding::Kind::measured) return runs.failure;
  Tally tally;
  for_each_query_head(runs.here.problem, [&](const DotPlace& heads) {
    HeadPair pair(subject, runs, heads);
    for (std::int64_t m = 0; m < c.tokens; ++m) pair.compare(m, tally);
  });
  return tally.finding();
}

// Grouped queries, one key head for all, and one token that attends to itself.
std::vector<Case> fixed_cases_attention(const Offer& offer, Profile) {
  std::vector<Case> cases;
  Case c = widened(offer.base, offer);
  c.position_shift = 4096;
  cases.push_back(c);
  if (!offer.takes(Factor::tensors, level::equal) || !offer.takes(Factor::heads) ||
      c.tensors.size() > 1)
    return cases;
  c.tokens = 8;
  c.tensors.push_back(c.tensors[0]);
  for (const std::int64_t key_heads : {2, 1}) {
    c.tensors[0].heads = offer.takes_other_heads() ? 8 : key_heads;
    c.tensors[1].heads = key_heads;
    cases.push_back(c);
  }
  return cases;
}

const Registered attention({
    .name = "attention",
    .place = {"rotation", 45},
    .claim = "softmax attention does not change when all positions shift",
    .from = Profile::standard,
    .without_norm = true,
    .needs = {{Factor::tokens}},
    // every pair of tokens is compared
    .shape = [](Case& c, const Offer&) { shape_for_shift(c, 8); },
    .fixed_cases = fixed_cases_attention,
    .check = check_attention,
});

// ---- linear_attention

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
  const InputPairs inputs(whole.problem, outputs_of(whole).placement,
                          {head.tensor, heads.b, t, head.h});
  for (std::int64_t i = 0; i < c.rotary_dim / 2; ++i) {
    out.whole.push_back(
        output_pair(whole.problem, outputs_of(whole), head.tensor, heads.b, t, head.h, i));
    out.alone.push_back(
        output_pair(alone.problem, outputs_of(alone), head.tensor, heads.b, 0, head.h, i));
    const double rho = magnitude(inputs[i]);
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

Finding check_linear_attention(Subject& subject, const Case& c) {
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
    .place = {"rotation", 46},
    .claim = "linear attention does not change with a shift, and its two forms agree",
    .from = Profile::standard,
    .without_norm = true,
    .needs = {{Factor::tokens}},
    // each token is a call too
    .shape = [](Case& c, const Offer&) { shape_for_shift(c, 5); },
    .check = check_linear_attention,
});

}  // namespace

}  // namespace ropewalk::properties
