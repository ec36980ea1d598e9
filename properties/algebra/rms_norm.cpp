// Laws of the RMS norm before the rotation (rope_norm). None needs the oracle.
//
// norm_scaled: 2^k times the input with 4^k times epsilon is normalized to the same bits. Every
// product, sum, root and quotient is that of the first call times a power of two, in any order and
// by any method that has no step of its own at a power of four.
// norm_scaled kills by itself: epsilon_outside_the_root_exact, epsilon_is_1e_6_exact
//
// norm_head_alone: if an input of a head is not finite, an output of that head is not, and no other
// head changes a bit.
// norm_head_alone kills by itself: norm_of_first_head_exact
//
// norm_after_turn: a rotation of pairs before a norm without weights is one after it, as it keeps
// the sum of squares. Bound: the turned input is off by e, and its sum of squares by as much, so
// its norm by 2 e in all; then come the error of the call that normalizes it, at position 0, and
// that of the call that does both. With narrow storage, all three results are rounded.
// norm_after_turn kills by itself: sum_in_bf16_exact, variance_for_mean_of_squares_exact
#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <limits>
#include <set>
#include <tuple>

#include "harness/cases/checked.h"
#include "harness/cases/data.h"
#include "harness/cases/stored.h"
#include "harness/judge/normalized.h"
#include "properties/fixed_cases.h"
#include "properties/property.h"
#include "properties/two_runs.h"

namespace ropewalk::properties {
using namespace harness;
namespace {

// Multiplies the elements of normalized tensors, each once, whichever heads share it.
void scale_rows(Problem& p, double factor) {
  std::set<std::tuple<const void*, std::int64_t>> done;
  for_each_head_of(p, [&](int placement, const HeadPlace& at) {
    if (!marks(&p.norm, at.tensor)) return;
    auto& bytes = input_bytes(p, placement, at.tensor);
    const Dtype dtype = tensor_dtype(p.source, at.tensor);
    const std::int64_t row = in_row(p, at);
    for (std::int64_t e = row; e < row + p.asked.tensor[at.tensor].head_dim; ++e)
      if (done.emplace(bytes.data(), e).second)
        store(bytes, dtype, e, factor * load(bytes, dtype, e));
  });
}

Finding check_norm_scaled(Subject& subject, const Case& c) {
  require(c.data == DataPattern::unit && c.epsilon == 0x1p-20,
          "norm_scaled: needs data=unit and epsilon=2^-20, so that nothing leaves its range");
  const auto k = static_cast<int>(hash(c.seed, 0x2e) % 16) - 8;
  const int power = k >= 0 ? k + 1 : k;
  Case other = c;
  other.epsilon = std::ldexp(c.epsilon, 2 * power);
  Problem scaled = make_problem(other, subject.oracle);
  scale_rows(scaled, std::ldexp(1.0, power));
  return compare_two(subject, run(subject, c), run(subject, std::move(scaled)),
                     {"2^k times the input with 4^k times epsilon is not normalized alike", nullptr,
                      nullptr, nullptr});
}

Finding check_norm_after_turn(Subject& subject, const Case& c) {
  Case plain = listed_positions(c), at_zero = c;
  drop_norm(plain);
  at_zero.position_rule = PositionRule::consecutive;
  at_zero.positions.clear();
  at_zero.position_from = at_zero.position_step = 0;
  const Run both = run(subject, c), turned = run(subject, plain);
  for (const Run* each : {&both, &turned})
    if (each->failed()) return each->failure;
  Problem further = make_problem(at_zero, subject.oracle);
  replace_pairs(further, [&](int placement, const HeadPlace& at, std::int64_t pair) {
    return output_at(turned, static_cast<std::size_t>(placement), at, pair);
  });
  const auto bound = [&](double rho, std::uint32_t tensor) {
    const bounds::Precision precision = precision_of(subject.facts, c, tensor);
    const double before = relative_error_of_one_call(subject, plain, tensor) + precision.stored_u;
    return rho * bounds::compound(2 * before, relative_error_of_one_call(subject, c, tensor)) +
           error_of_one_call(subject, c, tensor, rho) + 2 * bounds::underflow(precision, 1);
  };
  return compare_two(subject, both, run(subject, std::move(further)),
                     {"a norm after the turn is not one before it", nullptr, nullptr, bound, 1,
                      "the norm before the turn", "that after it"});
}

// The element of a head that becomes infinite or NaN; -1: the head stays as it is.
std::int64_t struck_element(const Case& c, const HeadPlace& at) {
  const std::uint64_t bits = hash(c.seed, 0x48, at.tensor, at.b, at.t, at.h);
  const TensorCase& t = c.tensors[at.tensor];
  return t.norm && bits % 3 == 0
             ? static_cast<std::int64_t>(bits / 8 % static_cast<std::uint64_t>(t.head_dim))
             : -1;
}

Finding check_norm_head_alone(Subject& subject, const Case& c) {
  const Run clean = run(subject, c);
  if (clean.failed()) return clean.failure;
  Problem problem = make_problem(c, subject.oracle);
  for_each_head_of(problem, [&](int placement, const HeadPlace& at) {
    const std::int64_t d = struck_element(c, at);
    if (d < 0) return;
    const double value = d % 2 == 0 ? std::numeric_limits<double>::infinity() : std::nan("");
    store(input_bytes(problem, placement, at.tensor), tensor_dtype(c, at.tensor),
          in_row(problem, at) + d, value);
  });
  const Run struck = run(subject, std::move(problem));
  if (struck.failed()) return struck.failure;
  Tally tally;
  for_each_head_of(struck.problem, [&](int placement, const HeadPlace& at) {
    const std::int64_t row = out_row(struck.problem, placement, at);
    const auto out = static_cast<std::size_t>(struck.problem.output(at.tensor).buffer);
    const Dtype dtype = tensor_dtype(c, at.tensor);
    const bool is_struck = struck_element(c, at) >= 0;
    bool finite = true, same = true;
    for (std::int64_t d = row; row >= 0 && d < row + c.tensors[at.tensor].head_dim; ++d) {
      const auto side = static_cast<std::size_t>(placement);
      const double now = load(struck.execution.outputs[side][out], dtype, d);
      finite = finite && std::isfinite(now);
      same = same &&
             std::bit_cast<std::uint64_t>(now) ==
                 std::bit_cast<std::uint64_t>(load(clean.execution.outputs[side][out], dtype, d));
    }
    if (row < 0) return;
    tally.add((is_struck ? finite : !same) ? 1 : 0, 0, [&](Finding& f) {
      f.where = place_text(at.tensor, at.b, at.t, at.h);
      f.bound_unit = "bits";
      f.reason = f.margin <= 1 ? ""
                 : is_struck   ? "an input of the head is not finite, but all outputs are"
                               : "an input of another head is not finite, and this head changed";
    });
  });
  return tally.finding();
}

void shape_scaled(Case& c, const Offer&) {
  give_norm(c);
  c.data = DataPattern::unit;
  c.epsilon = 0x1p-20;
}

// Rows that are short beside epsilon would be lost in the first rounding.
void shape_after_turn(Case& c, const Offer& offer) {
  shape_scaled(c, offer);
  drop_append(c);
  c.attention_scale = 0;
  c.own_tables = false;
  c.axis_positions = AxisPositions::equal;
  for (TensorCase& t : c.tensors) t.weight = false;
  c.weight_plus_one = offer.base.weight_plus_one;  // of no account
}

// As models have it: whole heads of Q and K, of which one is not normalized, or 1 + w.
std::vector<Case> fixed_cases(const Offer& offer, Profile) {
  std::vector<Case> cases;
  for (const std::int64_t tokens : {33, 1}) {
    Case c = with(widened(offer.base, offer), offer,
                  fmt::format("position_from=3; batch=2; tokens={}; heads=3; tensors=2", tokens));
    shape_scaled(c, offer);
    cases.push_back(c);
    c.weight_plus_one = true;
    cases.push_back(c);
  }
  return cases;
}

const Registered laws[] = {
    Registered(
        {.name = "norm_scaled",
         .place = {"norm", 157},
         .claim = "2^k times the input with 4^k times epsilon is normalized to the same bits",
         .needs = {{Factor::norm}},
         .shape = shape_scaled,
         .fixed_cases = fixed_cases,
         .check = check_norm_scaled}),
    Registered({.name = "norm_head_alone",
                .place = {"norm", 159},
                .claim = "an input that is not finite spoils the norm of its head alone",
                .needs = {{Factor::norm}},
                .shape = shape_scaled,
                .fixed_cases = fixed_cases,
                .check = check_norm_head_alone}),
    Registered({.name = "norm_after_turn",
                .place = {"norm", 158},
                .claim = "a norm without weights is the same before the turn and after it",
                .needs = {{Factor::norm}, {Factor::norm, level::no_norm}},
                .shape = shape_after_turn,
                .check = check_norm_after_turn})};

}  // namespace
}  // namespace ropewalk::properties
