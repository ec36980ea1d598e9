#include "properties/two_runs.h"

#include "harness/cases/fused.h"
#include "harness/judge/normalized.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <utility>

namespace ropewalk::properties {
using namespace harness;
namespace {

// Calls visit(place in the second run, place in the first) for every head of the second.
template <class Visit>
void for_each_head_of_both(const Run& first, const Run& second, const HeadSource& source,
                           Visit&& visit) {
  const rope_problem& p = second.problem.asked;
  for (std::uint32_t i = 0; i < p.tensor_count; ++i)
    for (std::int64_t b = 0; b < p.batch; ++b)
      for (std::int64_t t = 0; t < p.tokens; ++t)
        for (std::int64_t h = 0; h < p.tensor[i].heads && has_output(second.problem, i, b, t);
             ++h) {
          const HeadPlace at{i, b, t, h}, origin = source ? source(at) : at;
          if (has_output(first.problem, origin.tensor, origin.b, origin.t)) visit(at, origin);
        }
}

const std::byte* output_row(const Run& run, std::size_t placement, const HeadPlace& at) {
  const Problem& p = run.problem;
  const auto buffer = static_cast<std::size_t>(p.output(at.tensor).buffer);
  const std::int64_t row = out_row(p, static_cast<int>(placement), at);
  return run.execution.outputs[placement][buffer].data() + row * p.buffers[buffer].element_bytes();
}

std::string text_of(const PairValue& z) {
  return fmt::format("({:g}, {:g})", z.re.hi, z.im.hi);
}

// The largest loss by underflow when 16-bit results are stored. It is eta / 2 for each component at
// the least normal number or below, or that number itself if the kernel flushes.
double lost_on_store(const bounds::Precision& p, const PairValue& y) {
  if (p.stored_u == 0) return 0;
  const double lost = bounds::half_ulp(p, 0);
  const auto of = [&](const DoubleDouble& v) {
    return std::abs(v.hi) > p.stored_normal ? 0 : lost;
  };
  return std::hypot(of(y.re), of(y.im));
}

// The elements of a row that a law compares.
std::vector<std::int64_t> compared_elements(const rope_problem& p, std::uint32_t tensor,
                                            const Law& law) {
  std::vector<std::int64_t> out;
  if (!law.only)
    for (std::int64_t e = 0; e < p.tensor[tensor].head_dim; ++e) out.push_back(e);
  for (std::int64_t i = 0; law.only && p.tensor[tensor].rotate != 0 && i < p.rotary_dim / 2; ++i)
    if (const PairIndex e = pair_elements(p, tensor, i); law.only(i))
      out.insert(out.end(), {e.first, e.second});
  return out;
}

void compare_bits(const Run& first, const Run& second, const HeadPlace& at, const HeadPlace& origin,
                  const Law& law, const std::vector<std::int64_t>& elements, Tally& tally) {
  const Dtype dtype = tensor_dtype(second.problem.source, at.tensor);
  const auto size = static_cast<std::size_t>(data_type(dtype).bytes);
  for (std::size_t placement = 0; placement < 2; ++placement) {
    const std::byte* expected = output_row(first, placement, origin);
    const std::byte* got = output_row(second, placement, at);
    for (const std::int64_t e : elements) {
      const bool equal = std::memcmp(expected + static_cast<std::size_t>(e) * size,
                                     got + static_cast<std::size_t>(e) * size, size) == 0;
      tally.add(equal ? 0 : 1, 0, [&](Finding& f) {
        f.where = fmt::format("{} element {}", place_text(at.tensor, at.b, at.t, at.h), e);
        f.bound_unit = "bits";
        f.reason =
            equal ? ""
                  : fmt::format("{}: other bits, although ROPE_BITWISE_INVARIANT promises the same",
                                law.broken);
      });
    }
  }
}

}  // namespace

PairValue output_at(const Run& run, std::size_t placement, const HeadPlace& at, std::int64_t pair) {
  return output_pair(run.problem, run.execution.outputs[placement], at.tensor, at.b, at.t, at.h,
                     pair);
}

void for_each_pair(const Run& run,
                   const std::function<void(std::size_t, const HeadPlace&, std::int64_t)>& visit) {
  for_each_rotated_head(run.problem,
                        [&](std::uint32_t tensor, std::int64_t b, std::int64_t t, std::int64_t h) {
                          for (std::size_t placement = 0; placement < 2; ++placement)
                            for (std::int64_t i = 0; i < run.problem.asked.rotary_dim / 2; ++i)
                              visit(placement, {tensor, b, t, h}, i);
                        });
}

void add_pair(Tally& tally, const HeadPlace& at, std::int64_t pair, double error, double bound,
              double unit, const char* unit_name, const char* broken) {
  tally.add(error, bound, [&](Finding& f) {
    f.where = fmt::format("{} pair {}", place_text(at.tensor, at.b, at.t, at.h), pair);
    f.bound = bound / unit;
    f.bound_unit = unit_name;
    f.reason = f.margin <= 1 ? "" : broken;
  });
}

Run run(Subject& subject, Problem problem) {
  Run out{std::move(problem), {}, {}};
  out.execution = execute(subject, out.problem);
  out.failure = failure_of(out.execution);
  return out;
}

Run run(Subject& subject, const Case& c) {
  return run(subject, make_problem(c, subject.oracle));
}

Run run_like(Subject& subject, const Problem& problem, Call like) {
  Run out{problem, {}, {}};
  Execution& e = out.execution;
  for (const int placement : {0, 1}) {
    like.steps =
        protocol::step_apply | (placement == 0 ? protocol::step_supports | protocol::step_prepare
                                               : protocol::step_release);
    like.placement = placement;
    like.at_end = placement == 0;
    perform(subject, problem, like, e, e.outputs[static_cast<std::size_t>(placement)]);
    if (e.result.kind != CallResult::Kind::ok) break;
  }
  out.failure = failure_of(e);
  return out;
}

Part part_of(const Case& c, CaseRange rows, CaseRange tokens) {
  Part out{listed_positions(c), [=](HeadPlace at) {
             at.b += rows.first;
             at.t += tokens.first;
             return at;
           }};
  out.alone.positions = positions_of_part(c, {rows.first, rows.end}, {tokens.first, tokens.end});
  const Case listed = listed_slots(c);
  out.alone.slots = slots_of_part(listed, rows, tokens);
  out.alone.pages = listed.pages;
  for (TensorCase& t : out.alone.tensors) t.values.clear();  // they are copied from the whole
  out.alone.batch = rows.end - rows.first;
  out.alone.tokens = tokens.end - tokens.first;
  return out;
}

Run run_part(Subject& subject, const Run& whole, const Part& part) {
  Problem problem = make_problem(part.alone, subject.oracle);
  copy_heads(
      whole.problem, problem, part.source ? part.source : [](const HeadPlace& at) { return at; });
  if (whole.problem.other_positions == whole.problem.positions) keep_positions(problem);
  return run(subject, std::move(problem));
}

bool fails(const Finding& f) {
  return f.ran() && !f.holds() && !(f.kind == Finding::Kind::measured && f.compared == 0);
}

Finding worse_of(const Finding& a, const Finding& b) {
  Finding worst = a.compared == 0 || !(b.margin <= a.margin) ? b : a;
  worst.compared = a.compared + b.compared;
  return worst;
}

double relative_error_of_one_call(const Subject& subject, const Case& c, std::uint32_t tensor) {
  const double u = precision_of(subject.facts, c, tensor).u;
  const double norm = norm_error_of(subject.facts, c, tensor);
  if (subject.facts.error_bound > 0) return bounds::compound(norm, subject.facts.error_bound * u);
  const double product = bounds::product(u, scale_of(c) != 1);
  if (c.contract != ROPE_CONTRACT_TABLE)
    return bounds::compound(norm, bounds::compound(product, bounds::computed_rotation * u));
  const double length = 1 + bounds::table_error(data_type(table_dtype(c)));
  return bounds::compound(
      norm, product * length + table_rounding(subject.facts, c, tensor) * (1 + product));
}

double error_of_one_call(const Subject& subject, const Case& c, std::uint32_t tensor, double rho) {
  return std::abs(scale_of(c)) * rho * relative_error_of_one_call(subject, c, tensor) +
         bounds::underflow(precision_of(subject.facts, c, tensor), scale_of(c)) +
         std::abs(scale_of(c)) * norm_lost_of(subject.facts, c, tensor);
}

void compare(const Subject& subject, const Run& first, const Run& second, const Law& law,
             Tally& tally) {
  const Case& c = first.problem.source;
  const bool bits = law.same_bits && (subject.facts.flags & ROPE_BITWISE_INVARIANT) != 0;
  std::vector<std::int64_t> elements[ROPE_MAX_TENSORS];
  for (std::uint32_t i = 0; bits && i < second.problem.asked.tensor_count; ++i)
    elements[i] = compared_elements(second.problem.asked, i, law);
  for_each_head_of_both(
      first, second, law.source, [&](const HeadPlace& at, const HeadPlace& origin) {
        if (bits) return compare_bits(first, second, at, origin, law, elements[at.tensor], tally);
        if (second.problem.asked.tensor[at.tensor].rotate == 0) return;
        const bounds::Precision precision = precision_of(subject.facts, c, origin.tensor);
        for (std::size_t placement = 0; placement < 2; ++placement) {
          std::optional<InputPairs> inputs;
          for (std::int64_t i = 0; i < c.rotary_dim / 2; ++i) {
            if (law.only && !law.only(i)) continue;
            const PairValue before = output_at(first, placement, origin, i);
            const PairValue expected = law.expected ? law.expected(before) : before;
            const PairValue got = output_at(second, placement, at, i);
            const double difference = magnitude(got - expected);
            if (difference == 0 && tally.finding().compared > 0) {
              tally.count_harmless();
              continue;
            }
            if (!inputs) inputs.emplace(first.problem, static_cast<int>(placement), origin);
            const double rho = magnitude((*inputs)[i]);
            const double bound =
                law.bound
                    ? law.bound(rho, origin.tensor) + law.gain * stored_error(precision, before) +
                          stored_error(precision, got)
                    : (law.gain * lost_on_store(precision, before) +
                       lost_on_store(precision, got)) *
                          (1 + 0x1p-50);  // ties reach the bound, and this sum is itself rounded
            tally.add(difference, bound, [&](Finding& f) {
              f.where = fmt::format("{} pair {}", place_text(at.tensor, at.b, at.t, at.h), i);
              f.bound = rho > 0 ? bound / (rho * precision.unit()) : 0;
              f.bound_unit = "u rho";
              f.diagnosis = fmt::format("{} gave {}", law.first, text_of(before));
              if (law.expected)
                f.diagnosis +=
                    fmt::format(", so {} should give {}, and gave", law.second, text_of(expected));
              else
                f.diagnosis += fmt::format(", {} gave", law.second);
              f.diagnosis += " " + text_of(got);
              f.reason = f.margin <= 1 ? "" : law.broken;
            });
          }
        }
      });
}

Law within_two_errors(const Subject& subject, const Case& c, const char* broken,
                      const HeadSource& source,
                      const std::function<PairValue(const PairValue&)>& expected) {
  return {broken, source, expected, [&](double rho, std::uint32_t tensor) {
            return 2 * error_of_one_call(subject, c, tensor, rho);
          }};
}

Finding compare_two(const Subject& subject, const Run& first, const Run& second, const Law& law) {
  if (first.failed()) return first.failure;
  if (second.failed()) return second.failure;
  Tally tally;
  compare(subject, first, second, law, tally);
  return tally.finding();
}

Law the_same(const Subject& subject, const Case& c, const char* broken) {
  Law law = within_two_errors(subject, c, broken);
  law.same_bits = true;
  return law;
}

double angle_error(const Problem& p) {
  if (p.source.contract != ROPE_CONTRACT_F32_ANGLE) return 0;
  double worst = 0;
  for (const std::int64_t position : p.positions)
    for (const double f : p.inv_freq) {
      const float angle = static_cast<float>(position) * static_cast<float>(f);
      worst = std::max(worst, std::abs(double{angle} - static_cast<double>(position) * f));
    }
  return worst;
}

void keep_room_for_shift(Case& c) {
  constexpr std::int64_t far = std::int64_t{1} << 30;
  c.position_to = std::min(c.position_to, far);
  c.position_from = std::clamp(c.position_from, -far, far);
}

Case with_positions(const Case& c, const std::function<std::int64_t(std::int64_t)>& changed) {
  Case out = c;
  out.positions = positions_of(c);
  for (std::int64_t& p : out.positions) p = changed(p);
  out.position_rule = PositionRule::list;
  out.position_from = out.position_to = 0;
  out.position_step = 1;
  return out;
}

Case listed_positions(const Case& c) {
  return with_positions(c, [](std::int64_t p) { return p; });
}

}  // namespace ropewalk::properties
