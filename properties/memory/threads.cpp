// Threads: with ROPE_THREAD_SAFE, four concurrent callers of one state, or of two, get the same
// bits as each gets alone. They use memory of their own in one part, and shared inputs, tables and
// positions in another. There they have one cache too, in which each writes every fourth slot. A
// second state asks the same problem, or another one in arguments of the same sizes.
//
// No bound: the same call in another thread gives the same bits. A race shows only by chance. So
// overlapping calls are counted (harness/worker/caller.h), and the callers go on until there
// are 800, or for 0.25 s. With 800, a race that shows in 1 of 100 calls is missed with probability
// 0.99^800 < 4e-4. If no calls overlap within 5 s, the case is SKIPPED. Their first calls are made
// together too, since a first call may complete the state. Two callers have the inputs of one
// placement, and two those of the other, so a result in the wrong place shows. Their positions
// differ too, in calls of one row as well.
//
// The device of a device's kernel is kept busy beside the calls (harness/device/device_memory.h).
// Two callers make calls of more blocks than it holds at once.
//
// Two callers also make the first calls of a process, in fresh workers, as a path may make what it
// needs when it is first met. In one case each has a state. With one processor they cannot begin
// together, so these cases are SKIPPED.
//
// Rows of the covering array with four callers make 80 calls, so that callers meet beside every
// other level. Every other such row is the first of a process too.
//
// Kills by itself: made_late, static_scratch, shared_last, scratch_in_state, prepared_thread
// Kills by itself: backward_made_late, shared_row_of_decode, scratch_locked
// Kills by itself: current_problem, form_made_late
// Kills by itself: device_shares_scratch, decode_static_scratch, wide_static_scratch
// Kills by itself: slots_behind_stored_again, scratch_shared
#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <deque>
#include <utility>
#include <vector>

#include "harness/cases/data.h"
#include "harness/cases/layouts.h"
#include "properties/fixed_cases.h"
#include "properties/property.h"
#include "properties/two_runs.h"

namespace ropewalk::properties {
using namespace harness;
namespace {

constexpr std::uint32_t usual_callers = 4, rounds = 200;
constexpr std::int64_t most_shared_slots = 1 << 14;  // each caller's problem has them all
constexpr std::uint32_t few_rounds = 20;  // of a row of the array, of which there are many

// The problem of the second state of two problems: all changes, or those that the kernel accepts.
Problem of_second_state(Subject& subject, Problem problem) {
  constexpr void (*changes[])(Case&) = {turn_back,
                                        [](Case& c) { c.attention_scale = scale_of(c) / 2; },
                                        [](Case& c) {
                                          c.inv_freq = frequencies_of(c);
                                          for (double& f : c.inv_freq) f /= 2;
                                        }};
  const auto accepted = [&](const Case& c) {
    Problem other = make_problem(c, subject.oracle, SecondPositions::always_others);
    const bool is_accepted = ask_supports(subject, other).kind == CallResult::Kind::ok;
    if (is_accepted) problem = std::move(other);
    return is_accepted;
  };
  Case all = problem.source;
  for (const auto change : changes) change(all);
  if (accepted(all)) return problem;
  for (const auto change : changes) {
    Case c = problem.source;
    change(c);
    accepted(c);
  }
  return problem;
}

// The case with slots for so many callers, of which the first has each first one.
Case with_slots_for(const Case& c, std::int64_t callers) {
  Case out = listed_slots(c);
  out.pages *= callers;
  for (std::int64_t& slot : out.slots) slot = std::max<std::int64_t>(slot * callers, -1);
  return out;
}
// The same problem with the slots behind those of the first caller.
Problem of_caller(Subject& subject, const Problem& first, std::int64_t caller) {
  Case c = first.source;
  for (std::int64_t& slot : c.slots) slot += slot < 0 ? 0 : caller;
  return make_problem(c, subject.oracle, SecondPositions::always_others);
}

Finding call_together(Subject& subject, const Problem& problem, std::uint32_t rounds_wanted) {
  const Case& c = problem.source;
  const std::uint32_t callers =
      c.callers > 1 ? static_cast<std::uint32_t>(c.callers) : usual_callers;
  const bool one_cache = c.callers_share && has_append(c);
  const bool shared = c.callers_share && pages_of(c) * c.page_size <= most_shared_slots;
  const Problem first =
      one_cache && shared
          ? make_problem(with_slots_for(c, callers), subject.oracle, SecondPositions::always_others)
          : problem;
  std::vector<PreparedState> states{{&first}};
  const bool differ = c.caller_states == CallerStates::two_problems;
  const Problem second = differ ? of_second_state(subject, first) : first;
  if (c.caller_states != CallerStates::one) states.push_back({&second, 1});
  Execution execution;
  Outputs none;
  const auto made = [&](std::uint32_t steps) {
    return std::all_of(states.begin(), states.end(), [&](const PreparedState& state) {
      perform(subject, *state.problem, {steps, 0, true, state.number}, execution, none);
      return execution.result.kind == CallResult::Kind::ok;
    });
  };
  if (!made(protocol::step_supports | protocol::step_prepare)) return failure_of(execution);
  std::vector<PreparedState> of_callers;
  std::deque<Problem> of_slots;
  for (std::uint32_t i = 0; i < callers; ++i) {
    of_callers.push_back(states[i * states.size() / callers]);
    const Problem*& mine = of_callers.back().problem;
    if (one_cache && shared) mine = &of_slots.emplace_back(of_caller(subject, *mine, i));
  }
  const CallResult together = perform_again(subject, of_callers, rounds_wanted, shared);
  if (together.kind != CallResult::Kind::ok) {
    execution.result = together;
    return failure_of(execution);
  }
  if (!made(protocol::step_release)) return failure_of(execution);
  Finding f;
  f.bound_unit = "bits";
  f.compared = together.repeated > 0 ? 1 : 0;  // a case: time decides how many calls overlap
  f.where = fmt::format("{} calls overlapped", together.repeated);
  if (f.compared == 0) {
    f.kind = Finding::Kind::skipped;
    f.reason = "no two calls overlapped on this machine";
  }
  return f;
}

bool has_one_processor() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) == 1;
}

// A start with a device or an interpreter takes a second.
int workers_of(const Subject& subject, const Case& c) {
  return subject.facts.device.empty() && c.dtype == Dtype::f32 ? 2 : 1;
}

// What a process makes at its first call is made once, so each two callers get a fresh worker.
Finding first_of_process(Subject& subject, const Problem& problem) {
  Finding all;
  if (has_one_processor()) {
    all.kind = Finding::Kind::skipped;
    all.reason = "one processor: two callers cannot begin together";
    return all;
  }
  const int most = workers_of(subject, problem.source);
  Worker worker = subject.worker.another();
  Subject fresh = subject.in(worker);
  for (int i = 0; i < most; ++i) {
    worker.restart();
    Finding f = call_together(fresh, problem, 1);
    if (f.holds()) {
      f.compared += all.compared;
      all = f;
      continue;
    }
    if (f.ran() && call_together(fresh, problem, 1).holds() && worker.starts() == i + 1)
      f.reason += " (the same calls, made again in this process, held)";
    return f;
  }
  return all;
}

Finding check(Subject& subject, const Case& c) {
  const Problem problem = make_problem(c, subject.oracle, SecondPositions::always_others);
  return c.fresh ? first_of_process(subject, problem) : call_together(subject, problem, rounds);
}

// With positions as in the fixed cases, also so that both problems of two span the same ones.
Finding judge(Subject& subject, const Problem& problem, const Execution&, const RowSample&) {
  const Case& c = problem.source;
  const bool is_first = c.fresh && subject.facts.device.empty() && !has_one_processor();
  const Problem again = make_problem(c, subject.oracle, SecondPositions::always_others);
  if (is_first) {  // these are the first calls of a process too
    Worker worker = subject.worker.another();
    Subject fresh = subject.in(worker);
    if (const Finding f = call_together(fresh, again, 1); fails(f)) return f;
  }
  return call_together(subject, again, few_rounds);
}

// Of the three kinds of data that a row with extreme ones is made of, one is enough.
bool judges(const Case& c) {
  return c.callers > 1 && c.data != DataPattern::subnormal && c.data != DataPattern::span;
}

// Callers must meet in every code path, so each case uses other levels of the offer.
std::vector<Case> fixed_cases(const Offer& offer, Profile profile) {
  std::vector<Case> cases;
  const Case narrow = with(offer.base, offer, "position_from=3");
  const auto add = [&](Case c, bool share, std::int64_t tokens, std::int64_t heads,
                       CallerStates states = CallerStates::one) {
    c.caller_states = states;
    c = with(c, offer, fmt::format("tokens={}; heads={}", tokens, heads));
    if (offer.takes(Factor::in_layout, level::head_major) && c.batch > 1 && share)
      for (TensorCase& t : c.tensors) t.in = t.out = head_major_strides(c, t);
    c.callers_share = share;
    cases.push_back(c);
  };
  // Short calls of a few microseconds, so there are many.
  add(narrow, false, 7, 3);
  add(narrow, true, 7, 3, CallerStates::two);
  const Case part = offer.any_size ? with(narrow, offer, "head_dim=rotary+3 offset=2") : narrow;
  add(part, true, 7, 3);
  // Long calls, which overlap in their middle. They have a base that no case had before, and heads
  // that fill vectors.
  Case wide = with(widened(narrow, offer), offer, "tensors=2");
  wide.rope_theta = 31337;
  add(wide, false, 32, 4, CallerStates::two_problems);
  add(with(wide, offer, "op=transpose; scale=1.5"), true, 32, 4);
  // Slots beside each other in one cache.
  if (offer.takes(Factor::append)) {
    Case cached = with(narrow, offer, "tensors=2");
    give_append(cached);
    cached.page_size = 4;
    add(cached, true, 7, 3);
  }
  // Calls with many rows or heads, in place, or from a decode loop.
  Case rows = with(narrow, offer, "batch=3; in_place=1");
  add(rows, false, 9, 8);
  rows = with(rows, offer, "position_dtype=i64; rows_by=token");
  add(rows, true, 9, 8);
  const bool decodes = offer.takes(Factor::tokens) || wide.tokens == 1;
  if (decodes) add(wide, false, 1, 8);
  if (decodes && offer.takes(Factor::batch)) add(with(wide, offer, "batch=4"), false, 1, 8);
  // In fresh workers.
  Case fresh = narrow;
  fresh.fresh = true;
  fresh.callers = 2;
  add(fresh, false, 7, 3);
  if (narrow.dtype == Dtype::f32) add(fresh, true, 7, 3, CallerStates::two_problems);
  for (const Case& c : many_blocks(offer, profile)) cases.emplace_back(c).callers = 2;
  const std::vector<Case> large = at_size(offer, profile);
  // In smoke every other one, as each takes 0.1 s: a long prompt in place, and many rows backward.
  const std::size_t step = profile == Profile::smoke ? 2 : 1;
  for (std::size_t i = step - 1; i < large.size(); i += step) cases.push_back(large[i]);
  return cases;
}

const Registered threads({
    .name = "threads",
    .place = {"sequences", 260},
    .claim = "concurrent calls, of one state or of two, give what each gives alone",
    .needs = {{Factor::callers}},
    .fixed_cases = fixed_cases,
    .check = check,
    .judge = judge,
    .judges = judges,
});

}  // namespace
}  // namespace ropewalk::properties
