// Threads: with ROPE_THREAD_SAFE, four callers at once on one state get the bits that each gets
// alone; with memory of their own, and with shared inputs, tables and positions.
//
// No bound: the same call in another thread gives the same bits. Races are met by chance, so calls
// are counted that were under way together (harness/watch/repeated_calls.h) and the callers go on
// until there are 800, or for a quarter of a second; `compared` says how many there were. Where
// there were 800, a race that shows in one call of a hundred is missed with probability 0.99^800 <
// 4e-4. Where none met in five seconds the case is SKIPPED. Their first calls are made together,
// too, as a state may be completed by the first that comes. Two callers have the inputs of one
// placement and two those of the other: a result that strays shows.
#include <fmt/format.h>

#include <vector>

#include "harness/cases/layouts.h"
#include "properties/property.h"

namespace ropewalk::properties {
using namespace harness;
namespace {

constexpr std::uint32_t callers = 4, rounds = 200;

Finding check(Subject& subject, const Case& c) {
  const Problem problem = make_problem(c, subject.oracle);
  Execution execution;
  Outputs none;
  const auto made = [&](std::uint32_t steps) {
    perform(subject, problem, {steps}, execution, none);
    return execution.result.kind == CallResult::Kind::ok;
  };
  if (!made(protocol::step_supports | protocol::step_prepare)) return failure_of(execution);
  const bool shared = c.shift % 2 == 1;
  const CallResult together = perform_again(subject, problem, 0, callers, rounds, shared);
  if (together.kind != CallResult::Kind::ok) {
    execution.result = together;
    return failure_of(execution);
  }
  if (!made(protocol::step_release)) return failure_of(execution);
  Finding f;
  f.bound_unit = "bits";
  f.compared = static_cast<std::int64_t>(together.count);
  if (f.compared == 0) {
    f.kind = Finding::Kind::skipped;
    f.reason = "no two calls were under way together on this machine";
  }
  return f;
}

bool applies(const Offer& offer) {
  return offer.thread_safe;
}

// Every path is to have callers that meet in it: each case takes another few of what is offered.
std::vector<Case> fixed_cases(const Offer& offer, Profile) {
  std::vector<Case> cases;
  Case narrow = offer.base;
  narrow.property = "threads";
  narrow.position_from = 3;
  const auto add = [&](Case c, std::int64_t shift, std::int64_t tokens, std::int64_t heads) {
    if (offer.tokens) c.tokens = tokens;
    if (offer.many_heads)
      for (TensorCase& t : c.tensors) t.heads = heads;
    if (offer.head_major && c.batch > 1 && shift == 1)
      for (TensorCase& t : c.tensors) t.in = t.out = head_major_strides(c, t);
    c.shift = shift;
    cases.push_back(c);
  };
  // A few microseconds: many calls.
  add(narrow, 0, 7, 3);
  Case part = narrow;
  if (offer.window_offset)
    for (TensorCase& t : part.tensors) {
      t.head_dim = part.rotary_dim + 3;
      t.rotary_offset = 2;
    }
  add(offer.any_size ? part : narrow, 1, 7, 3);
  // Long ones: met somewhere in their middle. Of a base that nothing has seen before, and with
  // heads that fill vectors.
  Case wide = widened(narrow, offer);
  wide.rope_theta = 31337;
  if (offer.two_tensors && wide.tensors.size() == 1) wide.tensors.push_back(wide.tensors[0]);
  add(wide, 0, 32, 4);
  Case back = wide;
  if (offer.transpose) back.operation = Operation::transpose;
  if (offer.scale) back.attention_scale = 1.5;
  add(back, 1, 32, 4);
  // What only many rows or heads take, or a call in place, or one of a decode loop.
  Case rows = narrow;
  if (offer.batch) rows.batch = 3;
  for (TensorCase& t : rows.tensors) t.in_place = offer.in_place;
  add(rows, 0, 9, 8);
  if (offer.i64_positions) rows.position_dtype = Dtype::i64;
  if (offer.rows_by_token) rows.rows_by = ROPE_ROW_BY_TOKEN;
  add(rows, 1, 9, 8);
  Case decode = wide;
  if (offer.batch) decode.batch = 4;
  if (offer.tokens || decode.tokens == 1) add(decode, 0, 1, 8);
  return cases;
}

const Registered threads({
    .name = "threads",
    .order = 260,
    .claim = "concurrent calls with one state give what each gives alone",
    .applies = applies,
    .needs = "ROPE_THREAD_SAFE",
    .fixed_cases = fixed_cases,
    .check = check,
});

}  // namespace
}  // namespace ropewalk::properties
