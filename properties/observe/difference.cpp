#include "properties/observe/difference.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "base/system/memory_limits.h"
#include "harness/cases/names.h"
#include "harness/cases/problem.h"
#include "harness/judge/executor.h"
#include "harness/judge/judge.h"
#include "properties/array/array_run.h"
#include "properties/array/asking.h"
#include "properties/fixed_cases.h"

namespace ropewalk::properties {
using namespace harness;
namespace {

// Adds up how far the outputs of two kernels are apart.

/// What a kernel was asked and what it left, in the first placement.
struct OutputSide {
  const harness::Problem& problem;
  const harness::Outputs& outputs;
  const std::byte* row(const harness::HeadPlace& at) const;
};

class OutputComparison {
 public:
  /// `out` gets all that is found, and outlives this. a and b: the kernels' names.
  OutputComparison(CellDifference& out, Oracle& oracle, std::string a, std::string b)
      : out_(out), oracle_(oracle), a_(std::move(a)), b_(std::move(b)) {}

  /// Compares all rows of two problems of one shape. Those of a sweep are noted by position, and
  /// the first difference is that of the smallest position among them.
  void add(const OutputSide& a, const OutputSide& b, bool in_sweep);

 private:
  struct Place {
    harness::HeadPlace row;
    std::int64_t element, pair;  ///< pair: -1 outside the rotated window
    Dtype dtype;
  };
  void add_row(const OutputSide& a, const OutputSide& b, const harness::HeadPlace& at);
  Apart apart(const OutputSide& a, const OutputSide& b, const harness::HeadPlace& at);
  double note(const OutputSide& a, const OutputSide& b, const Place& place);
  std::string nearer_of(const OutputSide& a, const OutputSide& b, const Place& place);

  CellDifference& out_;
  Oracle& oracle_;
  std::string a_, b_;
  bool in_sweep_ = false;
  double largest_ = -1;  ///< distance of out_.worst
};

/// Calls visit(place) for each row of each tensor, also of those that are copied.
template <class Visit>
void for_each_row(const harness::Problem& problem, Visit&& visit) {
  const rope_problem& p = problem.asked;
  for (std::uint32_t i = 0; i < p.tensor_count; ++i)
    for (std::int64_t b = 0; b < p.batch; ++b)
      for (std::int64_t t = 0; t < p.tokens; ++t)
        for (std::int64_t h = 0; h < p.tensor[i].heads && has_output(problem, i, b, t); ++h)
          visit(harness::HeadPlace{i, b, t, h});
}

constexpr std::int64_t most_looked_at = 1 << 18;  // pairs that are held to the exact rotation

std::size_t table_row_of(std::int64_t position) {
  const auto* row = std::ranges::upper_bound(position_rows, position);
  return static_cast<std::size_t>(row - std::begin(position_rows)) - 1;
}

double ulps_apart(const Format& format, double a, double b) {
  const double size = std::max({std::abs(a), std::abs(b), format.normal});
  const double ulps = std::abs(a - b) / (2 * format.u * std::exp2(std::floor(std::log2(size))));
  return std::isnan(ulps) ? INFINITY : ulps;
}

PairValue pair_of(const OutputSide& side, const HeadPlace& at, std::int64_t pair) {
  return output_pair(side.problem, side.outputs, at.tensor, at.b, at.t, at.h, pair);
}

const std::byte* OutputSide::row(const HeadPlace& at) const {
  const auto buffer = static_cast<std::size_t>(problem.output(at.tensor).buffer);
  return outputs[buffer].data() +
         out_row(problem, outputs.placement, at) * problem.buffers[buffer].element_bytes();
}

void OutputComparison::add(const OutputSide& a, const OutputSide& b, bool in_sweep) {
  in_sweep_ = in_sweep;
  for_each_row(a.problem, [&](const HeadPlace& at) { add_row(a, b, at); });
}

void OutputComparison::add_row(const OutputSide& a, const OutputSide& b, const HeadPlace& at) {
  const Apart found = apart(a, b, at);
  out_.all.add(found);
  const std::int64_t position = position_of(a.problem, 0, at.b, at.t, 0);
  if (in_sweep_ && position >= 0 && position <= swept_to)
    out_.by_position[table_row_of(position)].add(found);
}

Apart OutputComparison::apart(const OutputSide& a, const OutputSide& b, const HeadPlace& at) {
  const rope_problem& p = a.problem.asked;
  const rope_tensor& tensor = p.tensor[at.tensor];
  const Dtype dtype = tensor_dtype(a.problem.source, at.tensor);
  const auto bytes = static_cast<std::size_t>(data_type(dtype).bytes);
  const std::byte *row_a = a.row(at), *row_b = b.row(at);
  Apart out{tensor.head_dim, tensor.head_dim, 0, 0};
  if (std::memcmp(row_a, row_b, bytes * static_cast<std::size_t>(tensor.head_dim)) == 0) return out;
  std::vector<std::int64_t> pairs(static_cast<std::size_t>(tensor.head_dim), -1);
  for (std::int64_t i = 0; tensor.rotate != 0 && i < p.rotary_dim / 2; ++i) {
    const PairIndex e = pair_elements(p, at.tensor, i);
    pairs[static_cast<std::size_t>(e.first)] = pairs[static_cast<std::size_t>(e.second)] = i;
  }
  std::vector<bool> is_noted(static_cast<std::size_t>(p.rotary_dim / 2), false);
  for (std::size_t e = 0; e < pairs.size(); ++e) {
    const auto element = static_cast<std::int64_t>(e);
    const double x = load(row_a, dtype, element), y = load(row_b, dtype, element);
    if (std::memcmp(row_a + e * bytes, row_b + e * bytes, bytes) == 0) continue;
    if (std::isnan(x) && std::isnan(y)) continue;
    --out.equal;
    out.ulps = std::max(out.ulps, ulps_apart(data_type(dtype).format, x, y));
    if (pairs[e] >= 0) {  // a pair counts once
      if (is_noted[static_cast<std::size_t>(pairs[e])]) continue;
      is_noted[static_cast<std::size_t>(pairs[e])] = true;
    }
    out.u_rho = std::max(out.u_rho, note(a, b, {at, element, pairs[e], dtype}));
  }
  return out;
}

// Keeps the first and the largest difference. Returns the distance of a pair, or of an element.
double OutputComparison::note(const OutputSide& a, const OutputSide& b, const Place& place) {
  const HeadPlace& at = place.row;
  const Format& format = data_type(place.dtype).format;
  const double x = load(a.row(at), place.dtype, place.element),
               y = load(b.row(at), place.dtype, place.element);
  double distance = std::abs(x - y), size = std::max(std::abs(x), std::abs(y));
  std::string nearer;
  if (place.pair >= 0) {
    size =
        std::abs(scale_of(a.problem.source)) * magnitude(input_pair(a.problem, 0, at, place.pair));
    distance = magnitude(pair_of(a, at, place.pair) - pair_of(b, at, place.pair));
    nearer = nearer_of(a, b, place);
  }
  distance /= std::max(size, format.normal) * format.u;
  if (std::isnan(distance)) distance = INFINITY;
  const std::int64_t pair = std::max<std::int64_t>(place.pair, 0);
  const std::int64_t position = position_of(a.problem, 0, at.b, at.t, pair);
  const bool is_first = !out_.first || (in_sweep_ && position < out_.first->position);
  const bool is_largest = distance > largest_;
  if (!is_first && !is_largest) return distance;
  const Parting parting{
      position,
      fmt::format("{} element {}{}", place_text(at.tensor, at.b, at.t, at.h), place.element,
                  place.pair < 0 ? "" : fmt::format(", pair {}", place.pair)),
      x, y, nearer};
  if (is_largest) out_.worst = parting, largest_ = distance;
  if (is_first) out_.first = parting;
  return distance;
}

std::string OutputComparison::nearer_of(const OutputSide& a, const OutputSide& b,
                                        const Place& place) {
  if (out_.a_nearer + out_.b_nearer >= most_looked_at) return "";
  // Frequencies of this contract are rounded to f32; the other kernel's are not.
  const Problem& asked =
      a.problem.source.contract == ROPE_CONTRACT_F32_ANGLE ? b.problem : a.problem;
  const HeadPlace& at = place.row;
  const Rotation r = given_rotation(asked, oracle_, at.tensor,
                                    position_of(asked, 0, at.b, at.t, place.pair), place.pair);
  const PairValue x = input_pair(a.problem, 0, at, place.pair);
  const bool back = asked.source.operation == Operation::transpose;
  PairValue y = back ? rotate_transpose(x, r) : rotate(x, r);
  const DoubleDouble scale(scale_of(asked.source));
  y = {y.re * scale, y.im * scale};
  const double of_a = magnitude(pair_of(a, at, place.pair) - y),
               of_b = magnitude(pair_of(b, at, place.pair) - y);
  if (of_a < of_b) return ++out_.a_nearer, a_;
  if (of_b < of_a) return ++out_.b_nearer, b_;
  return "";
}

constexpr std::int64_t swept_densely = 131'072, array_cases = 60, most_faults = 3;

// The same case for another kernel. Empty: the contract is another one, and the tables hold other
// angles than the frequencies.
std::optional<Case> asked_of(const KernelFacts& facts, Case c) {
  c.kernel = facts.name;
  c.plugin = facts.plugin;
  if (c.contract == facts.angle_contract) return c;
  if (c.own_tables || c.own_sin || c.table_apart != 0) return {};
  c.contract = facts.angle_contract;
  c.positions_null = false;
  c.table_spare_rows = 0;
  c.table_row_stride = contiguous;
  c.table_dtype.reset();
  c.rows_by = c.contract == ROPE_CONTRACT_TABLE ? ROPE_ROW_BY_TOKEN : ROPE_ROW_BY_POSITION;
  return c;
}

class CellComparison {
 public:
  // The cases are those that `offer`, of the first kernel, allows.
  CellComparison(Subject& a, Subject& b, const Offer& offer, const Offer& other,
                 const VerifyPlan& plan)
      : a_(a),
        b_(b),
        offer_(offer),
        table_of_b_(other.base.table_dtype),
        plan_(plan),
        apart_(out_, a.oracle, a.facts.name, b.facts.name) {}

  // The case's outputs of the second kernel, beside these values.
  CellDifference with_values(const Case& c, const Case& outputs) {
    const Problem problem = make_problem(c, b_.oracle, SecondPositions::none);
    const Execution execution = execute_once(b_, problem, true);
    if (execution.result.kind == CallResult::Kind::unsupported)
      out_.not_compared = b_.facts.name + ": " + execution.result.text;
    if (is_refused(b_, problem, execution)) return std::move(out_);
    Outputs given = execution.outputs[0];
    std::vector<std::size_t> next(outputs.tensors.size(), 0);
    for_each_row(problem, [&](const HeadPlace& at) {
      const std::int64_t row = out_row(problem, given.placement, at);
      for (std::int64_t e = 0; e < problem.asked.tensor[at.tensor].head_dim; ++e)
        store(given[static_cast<std::size_t>(problem.output(at.tensor).buffer)], c.dtype, row + e,
              outputs.tensors.at(at.tensor).values.at(next[at.tensor]++));
    });
    ++out_.cases;
    apart_.add({problem, given}, {problem, execution.outputs[0]}, in_sweep_);
    return std::move(out_);
  }

  CellDifference run() {
    sweep();
    in_sweep_ = false;
    const Property& agreement = property_named("agreement");
    for (const Case& c : agreement.fixed_cases(offer_, Profile::smoke)) compare(c);
    run_cases_of_array();
    return std::move(out_);
  }

 private:
  // ---- cases

  void sweep() {
    const HeadWindow narrow{4, 4}, usual{128, 128};
    const bool of_model = plan_.shapes.only.has_value();
    const auto has = [&](HeadWindow size) {
      return offer_.any_size || std::ranges::any_of(offer_.sizes, [&](HeadWindow each) {
               return each.head_dim == size.head_dim && each.rotary_dim == size.rotary_dim;
             });
    };
    Case c = offer_.base;
    if (!of_model) {
      const Case thin = with(resized(c, narrow), offer_, "heads=8");
      constexpr std::int64_t chunk = 16384;
      if (has(narrow) && offer_.takes(Factor::tokens))
        for (std::int64_t from = 0; from < swept_densely; from += chunk)
          compare(with(thin, offer_, fmt::format("position_from={}; tokens={}", from, chunk)));
      c = has(usual) ? resized(c, usual) : widened(c, offer_);
      c = with(c, offer_, "heads=4");
    }
    if (c.contract == ROPE_CONTRACT_TABLE) c = with(c, offer_, "rows_by=token");
    // A table by position would have to be laid out up to its last row.
    if (c.contract == ROPE_CONTRACT_TABLE && !offer_.takes(Factor::rows_by, level::by_token) &&
        has({16, 16}) && !of_model)
      c = resized(c, {16, 16});
    out_.rotary_dim = c.rotary_dim;
    for (std::size_t row = 0; row < std::size(position_rows); ++row) sweep_row(c, row);
  }

  // Positions of a row of the table, evenly over their logarithm.
  void sweep_row(Case c, std::size_t row) {
    constexpr std::int64_t count = 32;
    const bool is_last = row + 1 == std::size(position_rows);
    const double low = static_cast<double>(std::max<std::int64_t>(position_rows[row], 1)),
                 high = static_cast<double>(is_last ? swept_to : position_rows[row + 1] - 1);
    std::vector<std::int64_t> all{position_rows[row]};
    for (std::int64_t i = 1; i < count; ++i)
      all.push_back(std::llround(
          low * std::pow(high / low, static_cast<double>(i) / static_cast<double>(count - 1))));
    const std::int64_t at_once = offer_.takes(Factor::tokens) && c.tokens == 1 ? count : c.tokens;
    c.position_rule = PositionRule::list;
    c.tokens = at_once;
    for (std::int64_t from = 0; from + at_once <= count; from += at_once) {
      c.positions.clear();
      for (std::int64_t b = 0; b < c.batch; ++b)
        c.positions.insert(c.positions.end(), all.begin() + from, all.begin() + from + at_once);
      compare(c);
    }
  }

  void run_cases_of_array() {
    if (is_over()) return;
    static const Property compares{
        .name = "difference",
        .claim = {},
        .judge = [](Subject&, const Problem& problem, const Execution& execution,
                    const RowSample&) { return of_array->judge(problem, execution); }};
    of_array = this;
    JudgeThreads threads;
    std::vector<Subject> subjects{a_};
    ArrayLimits limits;
    limits.profile = Profile::smoke;
    limits.seed = plan_.seed;
    limits.most_cases = array_cases;
    const PropertyRun run =
        run_array(threads, subjects, offer_, {&compares}, limits).runs[compares.name];
    if (run.failing) note_fault(a_.facts, run.worst.reason, *run.failing);
  }
  static thread_local CellComparison* of_array;

  Finding judge(const Problem& problem, const Execution& execution) {
    Finding f;
    f.compared = 1;
    take(problem, execution.outputs[0]);
    return f;
  }

  // ---- calls

  void compare(const Case& c) {
    if (is_over()) return;
    try {
      const Problem problem =
          make_problem(*asked_of(a_.facts, c), a_.oracle, SecondPositions::none);
      const Execution execution = execute_once(a_, problem, true);
      if (!is_refused(a_, problem, execution)) take(problem, execution.outputs[0]);
    } catch (const NoMemory&) {
      ++out_.refused;
    }
  }

  void take(const Problem& of_a, const Outputs& outputs_of_a) {
    if (is_over()) return;
    std::optional<Case> c = asked_of(b_.facts, of_a.source);
    if (!c) return;
    if (of_a.source.table_dtype == offer_.base.table_dtype) c->table_dtype = table_of_b_;
    try {
      const Problem of_b = make_problem(*c, b_.oracle, SecondPositions::none);
      const Execution execution = execute_once(b_, of_b, true);
      if (is_refused(b_, of_b, execution)) return;
      ++out_.cases;
      apart_.add({of_a, outputs_of_a}, {of_b, execution.outputs[0]}, in_sweep_);
    } catch (const BadCase&) {  // a table that would have to be too large
      ++out_.refused;
    }
  }

  bool is_over() const { return std::ssize(out_.faults) >= most_faults; }

  // Whether there are no outputs. A fault is kept.
  bool is_refused(const Subject& subject, const Problem& problem, const Execution& execution) {
    const Finding f = failure_of(execution);
    if (f.kind == Finding::Kind::measured) return false;
    if (!f.ran()) {
      ++out_.refused;
      return true;
    }
    note_fault(subject.facts, f.reason, problem.source);
    return true;
  }
  void note_fault(const KernelFacts& facts, const std::string& reason, Case c) {
    c.property = "agreement";
    out_.faults.push_back(
        fmt::format("{}: {}; {}", facts.name, reason, replay_line(to_text(c), facts)));
  }

  Subject &a_, &b_;
  const Offer& offer_;
  const std::optional<Dtype> table_of_b_;
  const VerifyPlan& plan_;
  CellDifference out_;
  OutputComparison apart_;
  bool in_sweep_ = true;
};
thread_local CellComparison* CellComparison::of_array = nullptr;

std::string refusal_of(const KernelFacts& facts, const Probe& probe) {
  return facts.name + ": " +
         (probe.reasons.empty() ? probe.last_refusal.text : probe.reasons.front());
}

// How much a kernel takes: cases are made for the one that takes less.
int levels_of(const Offer& offer) {
  int count = offer.any_size ? 1 : 0;
  for (const std::uint8_t levels : offer.levels.of) count += std::popcount(levels);
  return count;
}

CellDifference swapped(CellDifference d) {
  std::swap(d.a_nearer, d.b_nearer);
  for (std::optional<Parting>* each : {&d.first, &d.worst})
    if (*each) std::swap((*each)->a, (*each)->b);
  return d;
}

CellDifference compare_cell(Subject& a, Subject& b, const VerifyPlan& plan, Pairing pairing,
                            Dtype dtype) {
  const Probe of_a = with_levels(a, probe_base(a, pairing, dtype)),
              of_b = with_levels(b, probe_base(b, pairing, dtype));
  CellDifference out;
  if (!of_a.offer || !of_b.offer)
    out.not_compared = of_a.offer ? refusal_of(b.facts, of_b) : refusal_of(a.facts, of_a);
  else if (levels_of(*of_b.offer) < levels_of(*of_a.offer))
    out = swapped(CellComparison(b, a, *of_b.offer, *of_a.offer, plan).run());
  else
    out = CellComparison(a, b, *of_a.offer, *of_b.offer, plan).run();
  if (out.not_compared.empty() && out.cases == 0 && out.faults.empty())
    out.not_compared = "they take no case in common";
  out.pairing = pairing;
  out.dtype = dtype;
  return out;
}

}  // namespace

void Apart::add(const Apart& more) {
  compared += more.compared;
  equal += more.equal;
  ulps = std::max(ulps, more.ulps);
  u_rho = std::max(u_rho, more.u_rho);
}

CellDifference compare_with_values(Subject& subject, Case c, const Case& outputs,
                                   const std::string& name) {
  Subject from_elsewhere = subject;
  from_elsewhere.facts.name = name;
  const Probe probe = probe_base(subject, c.pairing, c.dtype);
  CellDifference out;
  if (probe.offer) {
    c = *asked_of(subject.facts, c);
    c.table_dtype = probe.offer->base.table_dtype;
    for (TensorCase& t : c.tensors) t.in_place = probe.offer->base.tensors[0].in_place;
    out = CellComparison(from_elsewhere, subject, *probe.offer, *probe.offer, {})
              .with_values(c, outputs);
  } else {
    out.not_compared = refusal_of(subject.facts, probe);
  }
  out.pairing = c.pairing;
  out.dtype = c.dtype;
  out.rotary_dim = c.rotary_dim;
  return out;
}

void compare_kernels(Subject& a, Subject& b, const VerifyPlan& plan,
                     const std::function<void(const CellDifference&)>& on_cell,
                     const std::function<void(const std::string&)>& on_progress) {
  a.shapes = b.shapes = &plan.shapes;
  for (const Pairing pairing : plan.pairings)
    for (const Dtype dtype : plan.dtypes) {
      on_progress(fmt::format("{} {}", word_of(pairing), word_of(dtype)));
      on_cell(compare_cell(a, b, plan, pairing, dtype));
    }
}

}  // namespace ropewalk::properties
