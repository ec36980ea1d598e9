#include "properties/observe/difference.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/system/memory_limits.h"
#include "harness/cases/names.h"
#include "properties/array/array_run.h"
#include "properties/array/offered_features.h"
#include "properties/fixed_cases.h"
#include "properties/observe/output_comparison.h"

namespace ropewalk::properties {
using namespace harness;
namespace {

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
      const TensorPlaces& places = problem.tensor[at.tensor];
      const std::int64_t row = out_row(problem, given.placement, at);
      for (std::int64_t e = 0; e < problem.asked.tensor[at.tensor].head_dim; ++e)
        store(given[static_cast<std::size_t>(places.out)], c.dtype, row + e,
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
    const HeadSize narrow{4, 4}, usual{128, 128};
    const bool of_model = plan_.shapes.only.has_value();
    const auto has = [&](HeadSize size) {
      return offer_.any_size || std::ranges::any_of(offer_.sizes, [&](HeadSize each) {
               return each.head_dim == size.head_dim && each.rotary_dim == size.rotary_dim;
             });
    };
    Case c = offer_.base;
    if (!of_model) {
      const Case thin = with(resized(c, narrow), offer_, {.heads = 8});
      constexpr std::int64_t chunk = 16384;
      if (has(narrow) && offer_.tokens)
        for (std::int64_t from = 0; from < swept_densely; from += chunk)
          compare(with(thin, offer_, {.from = from, .tokens = chunk}));
      c = has(usual) ? resized(c, usual) : widened(c, offer_);
      c = with(c, offer_, {.heads = 4});
    }
    c = with(c, offer_, {.by_token = c.contract == ROPE_CONTRACT_TABLE});
    // A table by position would have to be laid out up to its last row.
    if (c.contract == ROPE_CONTRACT_TABLE && !offer_.rows_by_token && has({16, 16}) && !of_model)
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
    const std::int64_t at_once = offer_.tokens && c.tokens == 1 ? count : c.tokens;
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
    Answers answers(subjects[0], offer_);
    ArrayLimits limits;
    limits.profile = Profile::smoke;
    limits.seed = plan_.seed;
    limits.most_cases = array_cases;
    const PropertyRun run =
        run_array(threads, subjects, answers, {&compares}, limits).runs[compares.name];
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

// How much a kernel leaves out: cases are made for the one that takes fewer.
int limits_of(const Offer& offer) {
  return !offer.any_size + !offer.tokens + !offer.many_heads + (offer.base.tensors.size() > 1);
}

CellDifference swapped(CellDifference d) {
  std::swap(d.a_nearer, d.b_nearer);
  for (std::optional<Parting>* each : {&d.first, &d.worst})
    if (*each) std::swap((*each)->a, (*each)->b);
  return d;
}

CellDifference compare_cell(Subject& a, Subject& b, const VerifyPlan& plan, Pairing pairing,
                            Dtype dtype) {
  const Probe of_a = with_features(a, probe_base(a, pairing, dtype)),
              of_b = with_features(b, probe_base(b, pairing, dtype));
  CellDifference out;
  if (!of_a.offer || !of_b.offer)
    out.not_compared = of_a.offer ? refusal_of(b.facts, of_b) : refusal_of(a.facts, of_a);
  else if (limits_of(*of_b.offer) > limits_of(*of_a.offer))
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
