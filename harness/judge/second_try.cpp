#include "harness/judge/second_try.h"

#include <fmt/format.h>

#include "harness/process/time_limits.h"

namespace ropewalk::harness {
using namespace protocol;

bool learn_pace(Subject& subject, const Case& c) {
  constexpr std::int64_t part = 16;
  if (c.tokens < 2 * part || subject.worker.pace(subject.facts.index, without_positions(c)))
    return false;
  Case few = c;
  few.calls.clear();
  few.before = Before::nothing;
  few.tokens = c.tokens / part;
  if (c.position_rule == PositionRule::list)
    few.positions.assign(static_cast<std::size_t>(few.batch * few.tokens), 1);
  for (TensorCase& t : few.tensors) t.values.clear();
  try {
    const Problem problem = make_problem(few, subject.oracle);
    Execution execution;
    Outputs none;
    perform(subject, problem, {step_supports | step_prepare}, execution, none);
    const double begin_s = subject.worker.cpu_s();
    if (execution.result.kind == CallResult::Kind::ok)
      perform(subject, problem, {step_apply | step_release}, execution, none);
    if (execution.result.kind != CallResult::Kind::ok) return false;
    const double s_per_row = (subject.worker.cpu_s() - begin_s) / rows_of(problem.asked);
    if (s_per_row * rows_of(without_positions(c)) < 0.5) return false;  // the least limit is 1 s
    subject.worker.set_pace({subject.facts.index, problem.asked.tensor[0].head_dim,
                             problem.asked.rotary_dim, s_per_row});
    return true;
  } catch (const BadCase&) {  // the layout is of all tokens
    return false;
  }
}

std::string killed_twice(const CallResult& result) {
  return fmt::format("{}, and once more in a fresh process: {}", result.text, ended_from_outside);
}

}  // namespace ropewalk::harness
