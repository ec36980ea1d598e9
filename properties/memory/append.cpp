// Laws of rows that are appended to a paged cache (rope_append). None needs the oracle. What no
// slot names keeps its bits: every execution checks that.
//
// append_is_copy: append is the rotation, and then a copy to the slot. Bound: the same bits if
// ROPE_BITWISE_INVARIANT promises them, else the errors of two calls. Tensors that are only copied
// are compared by untouched_dims.
// append_is_copy kills by itself: slot_of_next_token_exact, k_of_row_zero_exact, v_rotated_exact
//
// slot_order: the same rows go to the same slots in another order, or to others, with nothing else
// changed. Bound: as above.
// slot_order kills by itself: slots_of_first_call_exact
//
// two_appends: a prompt that is appended in two calls to one cache is the prompt appended in one,
// and the rows of the first call keep their bits in the second. Bound: as above.
// two_appends kills by itself: last_partial_page_lost_exact
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "harness/cases/checked.h"
#include "harness/cases/data.h"
#include "properties/fixed_cases.h"
#include "properties/property.h"
#include "properties/two_runs.h"

namespace ropewalk::properties {
using namespace harness;
namespace {

Finding check_append_is_copy(Subject& subject, const Case& c) {
  Case plain = listed_positions(c);
  drop_append(plain);
  return compare_two(subject, run(subject, plain), run(subject, c),
                     the_same(subject, c, "append is not the rotation and then a copy"));
}

Finding check_slot_order(Subject& subject, const Case& c) {
  Case other = listed_slots(listed_positions(c));
  std::vector<std::int64_t>& slots = other.slots;
  const std::int64_t end = other.pages * other.page_size;
  const std::uint64_t bits = hash(c.seed, 0x520);
  const auto by = bits % 2 == 0 ? 0 : static_cast<std::int64_t>(bits / 2) % end;
  for (std::int64_t& slot : slots)
    if (slot >= 0) slot = (slot + by) % end;
  std::ranges::reverse(slots);
  return compare_two(subject, run(subject, c), run(subject, other),
                     the_same(subject, c, "other slots change the rows"));
}

// Marks the rows that an earlier call wrote, with their bits, as rows that must keep them.
void keep_rows(const Run& before, Problem& problem) {
  for (const int placement : {0, 1})
    for (std::uint32_t i = 0; i < problem.asked.tensor_count; ++i) {
      if (!marks(&problem.append, i)) continue;
      const auto buffer = static_cast<std::size_t>(problem.output(i).buffer);
      Buffer& b = problem.buffers[buffer];
      const auto& from = before.execution.outputs[static_cast<std::size_t>(placement)][buffer];
      auto& to = placement == 0 ? b.content : problem.other_inputs[buffer];
      if (placement == 1 && to.empty()) to = problem.buffers[buffer].content;
      b.kept.resize(b.owned.size());
      const rope_problem& p = before.problem.asked;
      const auto dims = static_cast<std::size_t>(p.tensor[i].head_dim);
      const auto size = static_cast<std::size_t>(b.element_bytes());
      for (std::int64_t k = 0; k < p.batch * p.tokens; ++k)
        for (std::int64_t h = 0; h < p.tensor[i].heads; ++h) {
          const std::int64_t row =
              out_row(before.problem, placement, {i, k / p.tokens, k % p.tokens, h});
          if (row < 0) continue;
          const auto at = static_cast<std::size_t>(row);
          std::memcpy(to.data() + at * size, from.data() + at * size, dims * size);
          std::memset(b.kept.data() + at, 1, dims);
        }
    }
}

Finding check_two_appends(Subject& subject, const Case& c) {
  require(c.tokens > 1, "two_appends: needs two tokens or more");
  Problem all = make_problem(c, subject.oracle);
  keep_positions(all);
  const Run whole = run(subject, std::move(all));
  if (whole.failed()) return whole.failure;
  const std::int64_t cut = cut_of(c.cut, c.tokens);
  Law law = the_same(subject, c, "two appends to one cache are not one append");
  Tally tally;
  Run first;
  for (const CaseRange tokens : {CaseRange{0, cut}, CaseRange{cut, c.tokens}}) {
    const Part part = part_of(c, {0, c.batch}, tokens);
    Problem problem = make_problem(part.alone, subject.oracle);
    copy_heads(whole.problem, problem, part.source);
    keep_positions(problem);
    if (tokens.first > 0) keep_rows(first, problem);
    Run done = run(subject, std::move(problem));
    if (done.failed()) return done.failure;
    law.source = part.source;
    compare(subject, whole, done, law, tally);
    first = std::move(done);
  }
  return tally.finding();
}

void shape_append(Case& c, const Offer&) {
  give_append(c);
}

void shape_two_appends(Case& c, const Offer& offer) {
  give_append(c);
  if (c.tokens < 2 && offer.takes(Factor::tokens)) c.tokens = 2;
}

// K and V beside Q, in pages as an engine leaves them, a decode step and a prompt.
std::vector<Case> fixed_cases(const Offer& offer, Profile) {
  std::vector<Case> cases;
  for (const std::int64_t tokens : {1, 41}) {
    Case c = with(widened(offer.base, offer), offer,
                  fmt::format("position_from=5; batch=3; tokens={}; heads=2; tensors=2", tokens));
    c.page_size = 8;
    for (const SlotRule rule : {SlotRule::paged, SlotRule::scattered}) {
      c.slot_rule = rule;
      give_append(c);
      cases.push_back(c);
    }
  }
  for (Case& c : adopted_lines(
           offer.base, offer,
           {"tokens=1; tensors=2", "tokens=3; tensors=2", "batch=2; tokens=1; tensors=2"})) {
    give_append(c);
    c.slots.assign(static_cast<std::size_t>(c.batch * c.tokens), -1);
    if (offer.takes(Factor::norm)) give_norm(c);
    if (c.tensors.size() > 1 && !c.tensors[0].append) cases.push_back(c);  // Q is left
  }
  std::erase_if(cases, [](const Case& c) { return c.tokens == 1 && c.property == "two_appends"; });
  return cases;
}

const Registered laws[] = {
    Registered({.name = "append_is_copy",
                .place = {"append", 262},
                .claim = "append is the rotation and then a copy to the slot",
                .needs = {{Factor::append}, {Factor::append, level::no_append}},
                .shape = shape_append,
                .fixed_cases = fixed_cases,
                .check = check_append_is_copy}),
    Registered({.name = "slot_order",
                .place = {"append", 264},
                .claim = "the same rows go to any slots, in any order",
                .needs = {{Factor::append}},
                .shape = shape_append,
                .fixed_cases = fixed_cases,
                .check = check_slot_order}),
    Registered({.name = "two_appends",
                .place = {"append", 266},
                .claim = "two appends to one cache are one, and leave the rows before alone",
                .needs = {{Factor::append}, {Factor::tokens}},
                .shape = shape_two_appends,
                .fixed_cases = fixed_cases,
                .check = check_two_appends})};

}  // namespace
}  // namespace ropewalk::properties
