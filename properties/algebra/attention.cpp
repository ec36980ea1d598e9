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
// Kills by itself: position_in_bf16, position_clamped, one_term_reduction, keys_turned_back
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "properties/property.h"
#include "properties/shifted_runs.h"

namespace ropewalk::properties {
using namespace harness;
namespace {

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

Finding check(Subject& subject, const Case& c) {
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
std::vector<Case> fixed_cases(const Offer& offer, Profile) {
  std::vector<Case> cases;
  Case c = widened(offer.base, offer);
  c.shift = 4096;
  cases.push_back(c);
  if (!offer.two_tensors || !offer.many_heads || c.tensors.size() > 1) return cases;
  c.tokens = 8;
  c.tensors.push_back(c.tensors[0]);
  for (const std::int64_t key_heads : {2, 1}) {
    c.tensors[0].heads = offer.different_shapes ? 8 : key_heads;
    c.tensors[1].heads = key_heads;
    cases.push_back(c);
  }
  return cases;
}

const Registered attention({
    .name = "attention",
    .order = 45,
    .claim = "softmax attention does not change when all positions shift",
    .from = Profile::standard,
    .applies = [](const Offer& offer) { return offer.tokens; },
    .needs = "two tokens in one call",
    .shape = [](Case& c,
                const Offer&) { shape_for_shift(c, 8); },  // every pair of tokens is compared
    .fixed_cases = fixed_cases,
    .check = check,
});

}  // namespace
}  // namespace ropewalk::properties
